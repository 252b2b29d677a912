"""Finds the program that a command really runs, behind `sudo`, `npx`, `docker exec`, `bash -c` and their like."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from assay.sessions.shell.commands import (
    find_flag_value,
    find_operand_places,
    find_program,
    has_flag,
    is_assignment,
    is_option,
)
from assay.sessions.shell.rules import Wrapper, load_tables

Dialect = Literal["bash", "powershell"]

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash"})
_POWERSHELLS = frozenset({"powershell", "pwsh"})
_INTERPRETERS = frozenset({"python", "node", "php", "ruby", "perl", "deno", "bun"})
# `cargo +nightly test` names its tool chain first.
_RUSTUP_SHIMS = frozenset({"cargo", "rustc", "rustfmt"})
_SHELL_SCRIPT = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_VERSION = re.compile(r"(?<=.)@[^/]*$")
_STEM = re.compile(r"\.(?:js|mjs|cjs|ts|phar|php|rb|py|pl)$")


class ShellText(NamedTuple):
    """A command that is itself a shell text."""

    text: str
    dialect: Dialect
    options: tuple[str, ...] = ()
    """`set` options that hold in it."""


def unwrap_command(words: list[str], stdin: str) -> list[str] | ShellText | None:
    """One wrapper off: the words or the text that are run; `None` when the command is what it seems."""
    program = find_program(words[0])
    if program in _SHELLS:
        return _unwrap_shell(words, stdin)
    if program.lower() in _POWERSHELLS:
        return _unwrap_powershell(words, stdin)
    if program == "cmd" and len(words) > 2 and words[1].lower() in ("/c", "/k"):
        return ShellText(" ".join(words[2:]), "bash")
    if len(words) > 1 and words[1][:1] == "+" and program in _RUSTUP_SHIMS:
        return [words[0], *words[2:]]
    known = load_tables()
    wrapper = known.wrappers.get(program)
    if wrapper is not None:
        return _step_over(words, 1, wrapper)
    if program in known.wrapped_subs:
        return _unwrap_subcommand(words, program)
    if known.find_key(program) in _INTERPRETERS:
        return _unwrap_interpreter(words, known.find_key(program))
    return None


def _unwrap_shell(words: list[str], stdin: str) -> list[str] | ShellText | None:
    """`bash -lc '…'`, `bash -s <<EOF`, `bash run.sh`."""
    options: list[str] = []
    for at, word in enumerate(words[1:], 1):
        if _SHELL_SCRIPT.fullmatch(word) and not word.startswith("--"):
            rest = [w for w in words[at + 1 :] if not is_option(w) and w != "pipefail"]
            return ShellText(rest[0], "bash", tuple(words[1:])) if rest else None
        if not is_option(word) and word != "-" and words[at - 1] not in ("-o", "+o", "-euo", "-eo", "-uo"):
            return None if "-n" in options else words[at:]
        options.append(word)
    return ShellText(stdin, "bash", tuple(options)) if stdin else None


def _unwrap_powershell(words: list[str], stdin: str) -> ShellText | list[str] | None:
    """`powershell -NoProfile -Command "…"`."""
    for at, word in enumerate(words[1:], 1):
        lower = word.lower()
        if len(lower) > 1 and ("-command".startswith(lower) or lower == "/c"):
            return ShellText(" ".join(words[at + 1 :]), "powershell")
        if lower in ("-file", "-f"):
            return words[at + 1 :] or None
        if not is_option(word) and not words[at - 1].lower().startswith(("-ex", "-ep", "-w", "-ver", "-wor")):
            return ShellText(" ".join(words[at:]), "powershell")
    return ShellText(stdin, "powershell") if stdin else None


def _step_over(words: list[str], start: int, wrapper: Wrapper) -> list[str] | ShellText | None:
    """Step over a wrapper's own flags and operands."""
    own = words[start:]
    if wrapper.never and own and own[0] in wrapper.never:
        return None
    # `su -c '…' app`, `npx -c '…'`: the text is a flag's value.
    if wrapper.script and (text := find_flag_value(own, wrapper.script)):
        return ShellText(text, "bash")
    if wrapper.rest:
        at = next((i for i, word in enumerate(own) if word in wrapper.rest), len(own))
        return own[at + 1 :] or None
    if wrapper.dashes:
        return own[own.index("--") + 1 :] or None if "--" in own else None
    places = find_operand_places(words, wrapper.values, start)
    skipped = 0
    for at in places:
        if wrapper.sets and is_assignment(words[at]):
            continue
        if skipped < wrapper.skip:
            skipped += 1
            continue
        return _build_inner(words[at:], wrapper)
    return None


def _build_inner(words: list[str], wrapper: Wrapper) -> list[str] | ShellText | None:
    if words[0] == "--":
        words = words[1:] or [""]
    if wrapper.text:
        return ShellText(" ".join(words), "bash")
    if wrapper.through:
        return [wrapper.through, *words]
    first = _VERSION.sub("", words[0])
    if wrapper.known and load_tables().find_key(find_program(first)) not in load_tables().rules:
        return None
    return [first, *words[1:]] if first else None


def _unwrap_subcommand(words: list[str], program: str) -> list[str] | ShellText | None:
    """`uv run …`, `docker compose exec app …`: the wrapper is a subcommand."""
    known = load_tables()
    rule = known.rules.get(known.find_key(program))
    places = find_operand_places(words, rule.values if rule else (), 1)
    first = next(places, None)
    if first is None:
        return None
    for subs, wrapper in known.wrapped_subs[program]:
        if words[first] != subs[0]:
            continue
        at = first
        for sub in subs[1:]:
            # Between `compose` and `exec` flags with values may stand, so look for the word itself.
            at = next((i for i in range(at + 1, len(words)) if words[i] == sub), -1)
            if at < 0:
                break
        if at >= 0 and (program != "coverage" or has_flag(words, {"-m"}) or at + 1 < len(words)):
            return _unwrap_coverage(words, at) if wrapper.through else _step_over(words, at + 1, wrapper)
    return None


def _unwrap_coverage(words: list[str], at: int) -> list[str] | None:
    """`coverage run -m pytest` takes what python takes, after flags of its own."""
    rest = words[at + 1 :]
    if "-m" in rest:
        return ["python", *rest[rest.index("-m") :]]
    return None


def _unwrap_interpreter(words: list[str], key: str) -> list[str] | None:
    """`python -m pytest`, `python manage.py test`, `node node_modules/.bin/jest`."""
    known = load_tables().rules
    for at, word in enumerate(words[1:], 1):
        if key == "python" and word == "-m" and at + 1 < len(words):
            module = words[at + 1]
            module = module if module in known else module.partition(".")[0]
            return [module, *words[at + 2 :]] if module in known else None
        if word in ("-c", "-e", "-r", "-p", "--eval", "--test", "-"):
            return None
        if is_option(word):
            continue
        program = find_program(word)
        stem = program if program in known else _STEM.sub("", program)
        is_tool = stem in known and (stem == program or "node_modules" in word or "vendor" in word or "/bin/" in word)
        return [stem, *words[at + 1 :]] if is_tool and key not in ("deno", "bun") else None
    return None


def list_executed(words: Sequence[str], program: str) -> list[list[str]]:
    """Commands that `find -exec` and `fd -x` run for each file."""
    flags = {"find": ("-exec", "-execdir", "-ok", "-okdir")}.get(program, ("-x", "-X", "--exec", "--exec-batch"))
    found: list[list[str]] = []
    for at, word in enumerate(words):
        if word in flags:
            rest = list(words[at + 1 :])
            ends = [i for i, each in enumerate(rest) if each in (";", "+", r"\;")]
            found.append(rest[: ends[0]] if ends else rest)
    return [each for each in found if each]
