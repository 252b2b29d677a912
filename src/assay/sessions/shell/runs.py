"""From the text of a command to its runs: parsed, wrappers taken off, tables asked, files weighed."""

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from msgspec import structs

from assay.sessions.shell import bash, powershell
from assay.sessions.shell.commands import (
    WRITERS,
    SimpleCommand,
    find_flag_value,
    find_operand_places,
    find_program,
    follow_cd,
    has_flag,
    hash_written_lines,
    is_appending,
    is_path,
    is_scratch,
    list_operands,
    pick_weaker,
)
from assay.sessions.shell.powershell import judge_cmdlet
from assay.sessions.shell.programs import PROGRAM_JUDGES, STDIN_JUDGES
from assay.sessions.shell.rules import NO_EFFECT, Effect, ProgramRule, judge_script, judge_tasks, load_tables
from assay.sessions.shell.wrappers import Dialect, ShellText, list_executed, unwrap_command
from assay.types import Purpose, Run

STATUS_PRINTER: Final = "echo $?"
"""Program of a run that prints the exit status of the nearest run with a purpose before it."""

# A wrapper in a wrapper in a wrapper: nobody writes more, hostile text does.
_MAX_LAYERS: Final = 12
_RUN_OTHERS: Final = frozenset({"find", "fd", "fdfind"})
_ASKS: Final = frozenset({"--help", "--version"})

# The parser needs time by the square of what it cannot make sense of: about a second for this much, 17 for 64 KB.
MAX_CHARS: Final = 16_000
# Commands get long by the documents in them, of which a part is enough.
_OPENER = re.compile(r"<<-?[ \t]*['\"\\]?(\w+)")
_BODY_HEAD: Final = 3_000
_BODY_TAIL: Final = 1_000
# A long command is hardly ever repeated, and the cache should stay below some tens of megabytes.
_CACHED_CHARS: Final = 4_000


def read_command(command: str, dialect: Dialect = "bash") -> tuple[Run, ...]:
    """Runs of all simple commands in order of appearance, nested ones included; never raises."""
    if len(command) <= _CACHED_CHARS:
        return _read_cached(command, dialect)
    return read_uncached(command, dialect)


def _shorten_text(text: str) -> str:
    """The text without the middle of long here-documents, and cut where even that is too long."""
    if len(text) <= MAX_CHARS:
        return text
    kept: list[str] = []
    body: list[str] = []
    tag = ""
    for line in text.split("\n"):
        if tag and line.strip() != tag:
            body.append(line)
            continue
        if tag:
            kept.append(_clip_body("\n".join(body)))
            body, tag = [], ""
        elif match := _OPENER.search(line):
            tag = match[1]
        kept.append(line)
    # A document without an end may be no document at all, so it stays whole.
    return "\n".join(kept + body)[:MAX_CHARS]


def _clip_body(body: str) -> str:
    if len(body) <= _BODY_HEAD + _BODY_TAIL:
        return body
    return body[: body.rfind("\n", 0, _BODY_HEAD) + 1] + body[body.find("\n", len(body) - _BODY_TAIL) + 1 :]


def _parse_text(text: ShellText) -> list[SimpleCommand]:
    short = _shorten_text(text.text)
    return powershell.parse_powershell(short) if text.dialect == "powershell" else bash.parse_bash(short, text.options)


def read_uncached(command: str, dialect: Dialect) -> tuple[Run, ...]:
    """Runs of a command, read without the cache."""
    return tuple(find_runs(_parse_text(ShellText(command, dialect)), dialect))


def list_commands_for(command: str, dialect: Dialect, purposes: Collection[Purpose]) -> tuple[str, ...]:
    """The simple commands in a command that serve one of these purposes, each with its words."""
    return tuple(
        shlex.join(simple.words)
        for simple in _parse_text(ShellText(command, dialect))
        if any(run.purpose in purposes for run in find_runs([simple], dialect))
    )


_read_cached = lru_cache(maxsize=4096)(read_uncached)


def find_runs(found: list[SimpleCommand], dialect: Dialect, depth: int = 0) -> Iterator[Run]:
    """Runs of these simple commands, and of the texts they hand to other shells."""
    told_last = -1
    folder = ""
    for at, simple in enumerate(found):
        is_printer = simple.prints >= 0 and simple.prints == told_last and simple.words[0] in ("echo", "printf")
        for run in _expand_command(simple, dialect, depth):
            if run.purpose is not None:
                told_last = at
            if folder and (run.new or run.program == "rm"):
                run = structs.replace(run, folder=posixpath.join(folder, run.folder))
            yield structs.replace(run, program=STATUS_PRINTER) if is_printer else run
        folder = follow_cd(simple, folder)


def _expand_command(simple: SimpleCommand, dialect: Dialect, depth: int) -> Iterator[Run]:
    words = simple.words
    if (known := _classify_alone(tuple(words), simple.stdin, dialect)) is not None:
        yield _add_context(known, simple)
        return
    inner = _strip_wrappers(words, simple.stdin)
    if isinstance(inner, ShellText) and depth < _MAX_LAYERS:
        nested = _parse_text(inner)
        for each in nested:
            each.told_by = pick_weaker(each.told_by, simple.told_by)
            each.is_fallback = each.is_fallback or simple.is_fallback
        if nested:
            nested[-1].writes.extend(simple.writes)
            yield from find_runs(nested, inner.dialect, depth + 1)
            return
    words = words if isinstance(inner, ShellText) else inner
    program = find_program(words[0])
    yield _add_context(_build_run(program, words, simple.stdin, dialect), simple)
    if program in _RUN_OTHERS:
        for command in list_executed(words, program):
            each = SimpleCommand(words=command, writes=[], told_by="output")
            yield from _expand_command(each, dialect, depth + 1)


def _strip_wrappers(words: list[str], stdin: str) -> list[str] | ShellText:
    """The words of a command without its wrappers, or the text it hands to another shell."""
    for _ in range(_MAX_LAYERS):
        inner = unwrap_command(words, stdin)
        if inner is None:
            return words
        if isinstance(inner, ShellText):
            return inner
        words = inner
    return words


@lru_cache(maxsize=8192)
def _classify_alone(words: tuple[str, ...], stdin: str, dialect: Dialect) -> Run | None:
    """The run of a command that starts no other one; `None` for one that may."""
    bare = _strip_wrappers(list(words), stdin)
    if isinstance(bare, ShellText) or find_program(bare[0]) in _RUN_OTHERS:
        return None
    return _build_run(find_program(bare[0]), bare, stdin, dialect)


def _build_run(program: str, words: list[str], stdin: str, dialect: Dialect) -> Run:
    """The run of a command, without what it is redirected into and how far the exit code speaks for it."""
    verdict = _judge_command(program, words, stdin, dialect) if len(words) > 1 or program else NO_EFFECT
    mutates = verdict.mutates and not (verdict.touched and all(map(is_scratch, verdict.touched)))
    paths = [path for path in verdict.paths if is_path(path)] if verdict.mutates else []
    return Run(program=program, purpose=verdict.purpose, mutates=mutates, paths=tuple(dict.fromkeys(paths)))


def _add_context(run: Run, simple: SimpleCommand) -> Run:
    """The run with what it is redirected into, and how far the exit code speaks for it."""
    if simple.writes:
        paths = [*run.paths, *(target for target in simple.writes if is_path(target))]
        mutates = run.mutates or not all(map(is_scratch, simple.writes))
        run = structs.replace(run, mutates=mutates, paths=tuple(dict.fromkeys(paths)))
    if (
        run.mutates
        and run.program in WRITERS
        and len(run.paths) == 1
        and (new := hash_written_lines(run.program, simple))
    ):
        run = structs.replace(run, new=new, appends=is_appending(run.program, simple))
    if (simple.told_by, simple.is_fallback) == (run.told_by, run.is_fallback):
        return run
    return structs.replace(run, told_by=simple.told_by, is_fallback=simple.is_fallback)


def _judge_command(program: str, words: list[str], stdin: str, dialect: Dialect) -> Effect:
    """The effect of a command, by whoever knows its program, the most particular first."""
    args = words[1:]
    if args and not _ASKS.isdisjoint(args) and "--" not in args:
        return NO_EFFECT
    if dialect == "powershell" and (judged := judge_cmdlet(program, args)) is not None:
        return judged
    known = load_tables()
    key = known.find_key(program)
    if (judge := PROGRAM_JUDGES.get(key)) is not None and (judged := judge(args)) is not None:
        return judged
    if (fed := STDIN_JUDGES.get(key)) is not None and (judged := fed(args, stdin)) is not None:
        return judged
    rule = known.rules.get(key)
    if rule is not None:
        return follow_rule(rule, words, 1)
    return judge_script(program)


def follow_rule(rule: ProgramRule, words: list[str], start: int) -> Effect:
    """The effect that a rule says, followed down its subcommands."""
    known = load_tables()
    while True:
        if rule.like:
            rule = known.rules[rule.like]
        places = list(find_operand_places(words, rule.values, start)) if rule.subs or rule.scripts else []
        if not places:
            return _apply_rule(rule.subs[""], words, start) if "" in rule.subs else _apply_rule(rule, words, start)
        sub = rule.subs.get(words[places[0]])
        if sub is None:
            break
        start = places[0] + 1
        # `yarn workspace web test`: the name of the workspace stands between.
        if sub.skip:
            start += sub.skip
        rule = sub
    if rule.scripts and (not rule.dry or not has_flag(words[start:], rule.dry)):
        return _judge_task_operands(rule, words, places)
    return _apply_rule(rule, words, start)


def _judge_task_operands(rule: ProgramRule, words: list[str], places: list[int]) -> Effect:
    """The effect of the task that the first operand names, or for yarn, pnpm and bun maybe of a program."""
    verdict = judge_tasks([words[at] for at in places], rule.scripts, words)
    if verdict != NO_EFFECT or rule.scripts != "npm":
        return verdict if verdict != NO_EFFECT or rule.purpose is None else Effect(rule.purpose)
    known = load_tables()
    inner = known.rules.get(known.find_key(find_program(words[places[0]])))
    return follow_rule(inner, words, places[0] + 1) if inner is not None and inner is not rule else NO_EFFECT


def _apply_rule(rule: ProgramRule, words: list[str], start: int) -> Effect:
    """The effect that a rule without further subcommands says, and the flags that change it."""
    args = words[start:]
    if rule.none and has_flag(args, rule.none):
        return NO_EFFECT
    purpose = "build" if rule.build and has_flag(args, rule.build) else rule.purpose
    mutates = rule.mutates or bool(rule.writes and has_flag(args, rule.writes))
    if rule.dry and has_flag(args, rule.dry):
        mutates = False
    if not mutates or not rule.paths:
        return Effect(purpose, mutates)
    found = list_operands(args, rule.values)
    paths = _pick_paths(rule.paths, found, args)
    touched = found if words[0] == "mv" else paths
    return Effect(purpose, mutates=True, paths=tuple(paths), touched=tuple(touched))


def _pick_paths(which: str, found: list[str], args: list[str]) -> list[str]:
    """The operands that name written files."""
    if which == "last":
        target = find_flag_value(args, {"-t", "--target-directory"})
        return [target] if target else found[-1:]
    start, end = {"all": (0, None), "rest": (1, None), "rest2": (2, None), "first": (0, 1), "second": (1, 2)}[which]
    return found[start:end]
