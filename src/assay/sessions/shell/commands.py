"""A simple command as a parser leaves it: how far the exit code speaks for it, its words, the lines it writes."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from assay.types.lines import hash_lines

ToldBy = Literal["exit", "success", "output"]

_WEIGHT: dict[ToldBy, int] = {"exit": 0, "success": 1, "output": 2}

# They as good as never fail, so a failing chain was failed by somebody else.
_STEADY = frozenset({
    "cd", "pushd", "popd", "export", "source", ".", "set", "unset", "shopt", "echo", "printf", "mkdir", "touch",
    "rm", "true", ":", "sleep", "date", "pwd", "clear", "alias", "umask", "ulimit", "trap", "local", "declare",
    "readonly", "typeset", "whoami", "head", "tail", "cat", "tee", "sort", "uniq", "wc", "tr", "cut", "column",
    "ls", "Set-Location", "Push-Location", "Pop-Location", "Write-Host", "Write-Output", "Select-Object",
    "Out-Host", "Out-String", "Out-Null",
})  # fmt: skip
_STEADY_GIT = frozenset({"add", "status", "diff", "log", "show", "branch", "rev-parse"})
_QUOTED = re.compile(
    r"""'([^']*)'"""  # 1: raw
    r"""|\$'((?:[^'\\]|\\.)*)'"""  # 2: with C escapes
    r'''|\$?"((?:[^"\\]|\\.)*)"'''  # 3: with expansions
    r"""|\\(\n|.)""",  # 4: one escaped character
    re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\([\\"$`\n])')
_C_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "", "b": "", "e": "", "0": ""}
_C_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"""['"\\]""")
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_CLUSTER = re.compile(r"-[A-Za-z]+")

_UNREADABLE = re.compile(r"[$`\n]|^/dev/|\{\}|^(?:nul|NUL)$|^-$")
_SCRATCH = re.compile(
    r"(?:/private)?/tmp(?:/|$)|(?:/private)?/var/(?:tmp|folders)(?:/|$)|/dev/|nul$|\$null$"
    r"|\$\{?(?:TMPDIR|TMP|TEMP|RUNNER_TEMP|CLAUDE_TMPDIR)\b|\$env:TE?MP\b|%TE?MP%|\$\(mktemp"
    r"|[A-Z]:[\\/](?:Users[\\/][^\\/]+[\\/]AppData[\\/]Local[\\/])?Te?mp(?:[\\/]|$)",
    re.IGNORECASE,
)
WRITERS = frozenset({"cat", "tee", "echo", "printf"})
ESCAPED = "\\n"
ANY_TEXT = ("%s", f"%s{ESCAPED}")


class SimpleCommand(Struct, gc=False):
    """Words without quotes, files redirected into, the text on stdin; `told_by` is filled in while walking."""

    words: list[str]
    writes: list[str]
    stdin: str = ""
    appends: bool = False
    """What it is redirected into keeps what it has."""
    told_by: ToldBy = "exit"
    is_fallback: bool = False
    """It stands behind `||`."""
    prints: int = -1
    """Index of the simple command whose exit status this one prints."""


def pick_weaker(one: ToldBy, other: ToldBy) -> ToldBy:
    """The weaker of two ties to the exit code."""
    return one if _WEIGHT[one] >= _WEIGHT[other] else other


def weaken_range(found: list[SimpleCommand], start: int, end: int, told_by: ToldBy) -> None:
    """Let the exit code tell no more than `told_by` of the commands in a range."""
    for simple in found[start:end]:
        simple.told_by = pick_weaker(simple.told_by, told_by)


def mark_fallback(found: list[SimpleCommand], start: int, middle: int, end: int) -> None:
    """Note that a range only ran if the one before it failed, so that the exit code speaks for neither."""
    weaken_range(found, start, end, "output")
    for simple in found[middle:end]:
        simple.is_fallback = True


def is_steady(simple: SimpleCommand) -> bool:
    """Whether a command can be left out when asking who failed a chain."""
    if simple.told_by == "output":
        return True
    words = simple.words
    if words[0] == "git":
        return len(words) > 1 and words[1] in _STEADY_GIT
    return words[0] in _STEADY


def chain_ranges(found: list[SimpleCommand], start: int, middle: int, end: int) -> None:
    """Join two ranges of which the second runs only after the first succeeded."""
    if all(map(is_steady, found[start:middle])) or all(map(is_steady, found[middle:end])):
        return
    weaken_range(found, start, end, "success")


# --- words: quotes taken off, options told from operands ------------------------------------


def _unquote_match(match: re.Match[str]) -> str:
    raw, escaped, double, single = match.groups()
    if raw is not None:
        return str(raw)
    if escaped is not None:
        return _C_ESCAPE.sub(lambda m: _C_ESCAPES.get(m[1], m[1]), escaped)
    if double is not None:
        return _IN_DOUBLE.sub(lambda m: "" if m[1] == "\n" else str(m[1]), double)
    return "" if single == "\n" else str(single)


def unquote_word(text: str) -> str:
    """What the shell would pass on for a word; expansions stay as written."""
    return _QUOTED.sub(_unquote_match, text) if _SPECIAL.search(text) else text


def find_program(word: str) -> str:
    """Program name of a command word: the last part of its path, without a Windows suffix."""
    if word.startswith(("$(", "`")):
        return word
    if "\\" in word:
        word = word.replace("\\", "/")
    if "/" in word:
        word = word.rstrip("/").rpartition("/")[2]
    return _SUFFIX.sub("", word) if "." in word else word


def is_assignment(word: str) -> bool:
    """Whether a word is `NAME=value`."""
    return "=" in word and _ASSIGNMENT.match(word) is not None


def is_option(word: str) -> bool:
    """Whether a word is a flag; a lone `-` means stdin."""
    return word[:1] == "-" and word != "-"


def has_flag(words: Sequence[str], flags: Collection[str]) -> bool:
    """Whether one of the flags stands among the words, alone, with `=value`, or in a cluster such as `-rf`."""
    for word in words:
        if word[:1] not in "-/" or not word:
            continue
        if word in flags or word.partition("=")[0] in flags:
            return True
        if _CLUSTER.fullmatch(word) and any("-" + letter in flags for letter in word[1:]):
            return True
    return False


def find_flag_value(words: Sequence[str], flags: Collection[str]) -> str:
    """Value of the first of these flags: the next word, what follows `=`, or what is glued to a short one."""
    for at, word in enumerate(words):
        if word in flags:
            return words[at + 1] if at + 1 < len(words) else ""
        head, equals, rest = word.partition("=")
        if equals and head in flags:
            return rest
        if word[:2] in flags and word[:2] != "--":
            return word[2:]
    return ""


def find_operand_places(words: Sequence[str], values: Collection[str], start: int = 0) -> Iterator[int]:
    """Places of the words that are neither flags nor flags' values."""
    at, end = start, len(words)
    while at < end:
        word = words[at]
        if word == "--":
            yield from range(at + 1, end)
            return
        if is_option(word):
            at += 2 if word in values else 1
            continue
        yield at
        at += 1


def list_operands(words: Sequence[str], values: Collection[str] = (), start: int = 0) -> list[str]:
    """The words that are neither flags nor flags' values."""
    return [words[at] for at in find_operand_places(words, values, start)]


def is_scratch(path: str) -> bool:
    """Whether writing to a path leaves the work untouched."""
    return _SCRATCH.match(path) is not None


def is_path(word: str) -> bool:
    """Whether a file can be named without running the command."""
    return bool(word) and not _UNREADABLE.search(word)


# --- the lines a command writes, where its own text holds them ------------------------------


def hash_written_lines(program: str, simple: SimpleCommand) -> bytes:
    """Hashes of the lines a command writes; expansions stay as written, so a line with one is found nowhere."""
    words = simple.words
    if program == "tee":
        return hash_lines(simple.stdin.split("\n"))
    if find_program(words[0]) != program:
        return b""
    if program == "cat":
        return hash_lines(simple.stdin.split("\n")) if words[1:] in ([], ["-"]) else b""
    return hash_lines(list_echo_lines(words[1:]) if program == "echo" else list_printf_lines(words[1:]))


def is_appending(program: str, simple: SimpleCommand) -> bool:
    """Whether what is in the written file stays."""
    return simple.appends or (program == "tee" and has_flag(simple.words, {"-a", "--append"}))


def list_echo_lines(words: list[str]) -> list[str]:
    """The lines that `echo` prints."""
    flags = ""
    while words and words[0] in ("-e", "-n", "-en", "-ne", "-E"):
        flags, words = flags + words[0], words[1:]
    text = " ".join(words)
    return (text.replace(ESCAPED, "\n") if "e" in flags else text).split("\n")


def list_printf_lines(words: list[str]) -> list[str]:
    """The lines that `printf` prints: a text without places for others, or the others one to a line."""
    if len(words) > 1 and words[0] in ANY_TEXT:
        return "\n".join(words[1:]).split("\n") if ESCAPED in words[0] else "".join(words[1:]).split("\n")
    return words[0].replace(ESCAPED, "\n").replace("%%", "%").split("\n") if len(words) == 1 else []


def follow_cd(simple: SimpleCommand, folder: str) -> str:
    """Where the shell stands after a command; what can't be known (`$X`, `-`) becomes a folder that is nowhere."""
    if simple.words[0] == "popd":
        return posixpath.join(folder, "-")
    if simple.words[0] not in ("cd", "pushd"):
        return folder
    target = next((word for word in simple.words[1:] if word == "-" or word[:1] != "-"), "~")
    return target if target.startswith("~") else posixpath.normpath(posixpath.join(folder, target))
