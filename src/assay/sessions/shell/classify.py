"""From a simple command to the run it is: wrappers off, table asked, files weighed."""

import posixpath
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from msgspec import structs

from assay.sessions.shell.cmdlets import cmdlet
from assay.sessions.shell.rules import Rule, tables
from assay.sessions.shell.simple import Simple, worst
from assay.sessions.shell.special import FED_JUDGES, JUDGES
from assay.sessions.shell.tasks import script, tasks
from assay.sessions.shell.texts import WRITERS, appends, gone_to, lines_of
from assay.sessions.shell.unwrap import Dialect, Text, executed, unwrap
from assay.sessions.shell.verdict import NOTHING, Verdict
from assay.sessions.shell.words import has, is_path, is_scratch, name, operand_places, operands, value
from assay.types import Run

STATUS_PRINTER: Final = "echo $?"
"""Program of a run that prints the exit status of the nearest run with a purpose before it."""

# A wrapper in a wrapper in a wrapper: nobody writes more, hostile text does.
_MAX_LAYERS: Final = 12
_RUN_OTHERS: Final = frozenset({"find", "fd", "fdfind"})
_ASKS: Final = frozenset({"--help", "--version"})

Parse = Callable[[Text], list[Simple]]


def runs(found: list[Simple], dialect: Dialect, parse: Parse, depth: int = 0) -> Iterator[Run]:
    """Runs of these simple commands, and of the texts they hand to other shells."""
    told_last = -1
    folder = ""
    for at, simple in enumerate(found):
        is_printer = simple.prints >= 0 and simple.prints == told_last and simple.words[0] in ("echo", "printf")
        for run in _expand(simple, dialect, parse, depth):
            if run.purpose is not None:
                told_last = at
            if folder and (run.new or run.program == "rm"):
                run = structs.replace(run, folder=posixpath.join(folder, run.folder))
            yield structs.replace(run, program=STATUS_PRINTER) if is_printer else run
        folder = gone_to(simple, folder)


def _expand(simple: Simple, dialect: Dialect, parse: Parse, depth: int) -> Iterator[Run]:
    words = simple.words
    if (known := _alone(tuple(words), simple.stdin, dialect)) is not None:
        yield _told(known, simple)
        return
    inner = _bare(words, simple.stdin)
    if isinstance(inner, Text) and depth < _MAX_LAYERS:
        nested = parse(inner)
        for each in nested:
            each.told = worst(each.told, simple.told)
        if nested:
            nested[-1].writes.extend(simple.writes)
            yield from runs(nested, inner.dialect, parse, depth + 1)
            return
    words = words if isinstance(inner, Text) else inner
    program = name(words[0])
    yield _told(_judged(program, words, simple.stdin, dialect), simple)
    if program in _RUN_OTHERS:
        for command in executed(words, program):
            each = Simple(words=command, writes=[], told="output")
            yield from _expand(each, dialect, parse, depth + 1)


def _bare(words: list[str], stdin: str) -> list[str] | Text:
    """The command without its wrappers, or the text it hands to another shell."""
    for _ in range(_MAX_LAYERS):
        inner = unwrap(words, stdin)
        if inner is None:
            return words
        if isinstance(inner, Text):
            return inner
        words = inner
    return words


@lru_cache(maxsize=8192)
def _alone(words: tuple[str, ...], stdin: str, dialect: Dialect) -> Run | None:
    """The run of a command that starts no other one; `None` for one that may."""
    bare = _bare(list(words), stdin)
    if isinstance(bare, Text) or name(bare[0]) in _RUN_OTHERS:
        return None
    return _judged(name(bare[0]), bare, stdin, dialect)


def _judged(program: str, words: list[str], stdin: str, dialect: Dialect) -> Run:
    """The run as such, whatever it is redirected into and however it is heard."""
    verdict = _verdict(program, words, stdin, dialect) if len(words) > 1 or program else NOTHING
    mutates = verdict.mutates and not (verdict.touched and all(map(is_scratch, verdict.touched)))
    paths = [path for path in verdict.paths if is_path(path)] if verdict.mutates else []
    return Run(program=program, purpose=verdict.purpose, mutates=mutates, paths=tuple(dict.fromkeys(paths)))


def _told(run: Run, simple: Simple) -> Run:
    """The run with what it is redirected into, and how far the exit code speaks for it."""
    if simple.writes:
        paths = [*run.paths, *(target for target in simple.writes if is_path(target))]
        mutates = run.mutates or not all(map(is_scratch, simple.writes))
        run = structs.replace(run, mutates=mutates, paths=tuple(dict.fromkeys(paths)))
    if run.mutates and run.program in WRITERS and len(run.paths) == 1 and (new := lines_of(run.program, simple)):
        run = structs.replace(run, new=new, appends=appends(run.program, simple))
    return run if simple.told == run.told_by else structs.replace(run, told_by=simple.told)


def _verdict(program: str, words: list[str], stdin: str, dialect: Dialect) -> Verdict:
    """Ask whoever knows the program, the most particular first."""
    args = words[1:]
    if args and not _ASKS.isdisjoint(args) and "--" not in args:
        return NOTHING
    if dialect == "powershell" and (judged := cmdlet(program, args)) is not None:
        return judged
    known = tables()
    key = known.key(program)
    if (judge := JUDGES.get(key)) is not None and (judged := judge(args)) is not None:
        return judged
    if (fed := FED_JUDGES.get(key)) is not None and (judged := fed(args, stdin)) is not None:
        return judged
    rule = known.rules.get(key)
    if rule is not None:
        return ruled(rule, words, 1)
    return script(program)


def ruled(rule: Rule, words: list[str], start: int) -> Verdict:
    """Follow a rule down its subcommands and apply the last one found."""
    known = tables()
    while True:
        if rule.like:
            rule = known.rules[rule.like]
        places = list(operand_places(words, rule.values, start)) if rule.subs or rule.scripts else []
        if not places:
            return _applied(rule.subs[""], words, start) if "" in rule.subs else _applied(rule, words, start)
        sub = rule.subs.get(words[places[0]])
        if sub is None:
            break
        start = places[0] + 1
        # `yarn workspace web test`: the name of the workspace stands between.
        if sub.skip:
            start += sub.skip
        rule = sub
    if rule.scripts and (not rule.dry or not has(words[start:], rule.dry)):
        return _scripted(rule, words, places)
    return _applied(rule, words, start)


def _scripted(rule: Rule, words: list[str], places: list[int]) -> Verdict:
    """The first operand is a task, or for yarn, pnpm and bun maybe a program."""
    verdict = tasks([words[at] for at in places], rule.scripts, words)
    if verdict != NOTHING or rule.scripts != "npm":
        return verdict if verdict != NOTHING or rule.purpose is None else Verdict(rule.purpose)
    known = tables()
    inner = known.rules.get(known.key(name(words[places[0]])))
    return ruled(inner, words, places[0] + 1) if inner is not None and inner is not rule else NOTHING


def _applied(rule: Rule, words: list[str], start: int) -> Verdict:
    """A rule without further subcommands, and the flags that bend it."""
    args = words[start:]
    if rule.none and has(args, rule.none):
        return NOTHING
    purpose = "build" if rule.build and has(args, rule.build) else rule.purpose
    mutates = rule.mutates or bool(rule.writes and has(args, rule.writes))
    if rule.dry and has(args, rule.dry):
        mutates = False
    if not mutates or not rule.paths:
        return Verdict(purpose, mutates)
    found = operands(args, rule.values)
    paths = _picked(rule.paths, found, args)
    touched = found if words[0] == "mv" else paths
    return Verdict(purpose, mutates=True, paths=tuple(paths), touched=tuple(touched))


def _picked(which: str, found: list[str], args: list[str]) -> list[str]:
    """The operands that name written files."""
    if which == "last":
        target = value(args, {"-t", "--target-directory"})
        return [target] if target else found[-1:]
    start, end = {"all": (0, None), "rest": (1, None), "rest2": (2, None), "first": (0, 1), "second": (1, 2)}[which]
    return found[start:end]
