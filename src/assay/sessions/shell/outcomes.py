"""How runs went: by the exit code where it speaks for them, else by what their tools printed; and commits made."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from msgspec import structs

from assay.resources import load_table
from assay.sessions.shell.runs import STATUS_PRINTER
from assay.types import Outcome, Purpose, Run

# Summaries stand at the end; a test run's whole log is not worth searching.
_HEAD_CHARS: Final = 40_000
_TAIL_CHARS: Final = 160_000
_LINE_CHARS: Final = 600
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\n]{0,300}\x07|\r(?=\n)")
_LINE_END = re.compile("\n")
_STATUS_LINE = re.compile(r"^[^\n\d]{0,40}?(?<![\d.])(\d{1,3})[\s\"'=*)\]-]*$", re.MULTILINE)
# Task runners put the task's name before its lines; levels of a log are no tasks.
_LABEL = re.compile(
    r"^\[(?!(?:info|error|warn|warning|success|debug|fatal|ok)\])[\w:./-]+\] ", re.MULTILINE | re.IGNORECASE
)
_CLIENT_NOTE = "Shell cwd was reset"
# They print something whenever they find something, so silence is an answer.
_SILENT: Final = frozenset({"tsc", "vue-tsc", "eslint", "shellcheck"})
_PASSES_ON: Final = frozenset({"cd", "head", "tail", "cat", "export", "pushd", "set"})
# They run tools of any kind, so that the marks of those are their own.
_RUNNERS: Final = frozenset({
    "npm", "yarn", "pnpm", "bun", "make", "gmake", "just", "task", "mise", "turbo", "nx", "rake", "composer",
    "hatch", "poetry", "uv", "python", "python3", "node", "mvn", "gradle",
})  # fmt: skip
# `[main abc1234] message`, `[main (root-commit) abc1234] …`, `[detached HEAD abc1234] …`; the line after it is kept,
# because an id of digits alone could as well be the number in a log line.
_REPORT = re.compile(
    r"^\[(?:detached HEAD|[^\s\[\]~^:?*\\]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\] \S[^\n]*(\n [^\n]*)?", re.MULTILINE
)
_MIXED = re.compile(r"(?=.*[0-9]).*[a-f]")
_FOLLOWS = re.compile(r"\n (?:\d+ files? changed|Author: |Date: |Committer: )")


class _OutputMark(NamedTuple):
    by: frozenset[str]
    purposes: tuple[str, ...]
    pattern: re.Pattern[str]
    is_shared: bool


class _MarkSummary(NamedTuple):
    """Marks found in an output: the last outcome, and whether they disagree."""

    outcome: Outcome | None
    is_mixed: bool


@cache
def _load_marks() -> tuple[tuple[_OutputMark, ...], frozenset[str]]:
    document = load_table("assay.sessions.shell", "marks.toml", dict[str, Any])
    marks: list[_OutputMark] = []
    for entry in document["mark"]:
        kinds = "|".join(f"(?P<{kind}>{entry[kind]})" for kind in ("failed", "passed", "weak") if kind in entry)
        pattern = re.compile(rf"^(?:{kinds})$", re.MULTILINE)
        marks.append(
            _OutputMark(frozenset(entry["by"].split()), tuple(entry["for"]), pattern, entry.get("shared", False))
        )
    return tuple(marks), frozenset(name for mark in marks for name in mark.by)


class _RunKind(NamedTuple):
    """What of a run decides which marks can mean it."""

    program: str
    purpose: Purpose | None


@lru_cache(4096)
def _select_marks(run: _RunKind, others: tuple[_RunKind, ...]) -> tuple[_OutputMark, ...]:
    """The marks that can only mean this run."""
    return tuple(mark for mark in _load_marks()[0] if _may_mean(mark, run, others))


def _may_mean(mark: _OutputMark, run: _RunKind, others: Sequence[_RunKind]) -> bool:
    """Whether a mark can only mean this run, as far as the other runs show."""
    if run.purpose not in mark.purposes or (mark.is_shared and any(other.program == run.program for other in others)):
        return False
    if run.program in mark.by:
        return True
    if run.program not in _RUNNERS and run.program in _load_marks()[1]:
        return False
    # A task runner speaks with the marks of the tools it runs, unless somebody else here is more likely to.
    first = mark.purposes[0]
    return not any(other.program in mark.by or other.purpose == first != run.purpose for other in others)


def _read_marks(run: Run, others: Sequence[Run], output: str) -> _MarkSummary:
    """What the output says of a run of this kind, among others with a purpose."""
    found: list[tuple[int, str]] = []
    marks = _select_marks(_to_kind(run), tuple(map(_to_kind, others)))
    lines = _list_line_starts(output) if marks else ()
    for mark in marks:
        match_line = mark.pattern.match  # to search would try every character
        found += [(at, match.lastgroup or "") for at in lines if (match := match_line(output, at))]
    if run.purpose in ("commit", "revert") and find_commit_ids(output):
        found.append((len(output), "passed"))
    last: Outcome | None = None
    for _, kind in sorted(found):
        if kind != "weak":
            last = "failed" if kind == "failed" else "passed"
        elif last is None:
            last = "passed"
    return _MarkSummary(last, len({kind == "failed" for _, kind in found}) > 1)


def _to_kind(run: Run) -> _RunKind:
    return _RunKind(run.program, run.purpose)


def _list_line_starts(output: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(output))]


def _find_printed_status(runs: Sequence[Run], at: int, output: str) -> Outcome | None:
    """What `echo $?` after a run printed, if it is the last thing that did."""
    for later, run in enumerate(runs[at + 1 :], at + 1):
        if run.program == STATUS_PRINTER:
            if any(each.program == STATUS_PRINTER for each in runs[later + 1 :]):
                return None
            return _parse_status(output, is_last=later == len(runs) - 1)
        if run.purpose is not None:
            return None
    return None


def _parse_status(output: str, *, is_last: bool) -> Outcome | None:
    lines = [line for line in output.rstrip().rsplit("\n", 30) if not line.startswith(_CLIENT_NOTE)]
    for line in reversed(lines[-1:] if is_last else lines):
        match = _STATUS_LINE.match(line.strip())
        if match and (is_last or re.search(r"exit|status|rc|code", line, re.IGNORECASE)):
            return "passed" if int(match[1]) == 0 else "failed"
    return None


def conclude_runs(runs: tuple[Run, ...], exit_code: int | None, failed: bool, output: str) -> tuple[Run, ...]:
    """The runs with the outcome of those that have a purpose; `None` stays where nothing tells."""
    if all(run.purpose is None for run in runs):
        return runs
    is_good = exit_code == 0 and not failed
    is_bad = failed if exit_code is None else exit_code != 0
    text = ""
    concluded: list[Run] = []
    for at, run in enumerate(runs):
        if run.purpose is None:
            concluded.append(run)
            continue
        outcome = "failed" if _is_missing(run, output) else _judge_by_exit(run, is_good, is_bad)
        if outcome is None:
            text = text or _clean_output(output)
            outcome = _judge_by_output(runs, at, text)
            if outcome is None and is_bad and run.told_by == "exit":
                outcome = "failed"
        concluded.append(structs.replace(run, outcome=outcome))
    return tuple(concluded)


def _is_missing(run: Run, output: str) -> bool:
    """Whether the shell says that there is no such program: whatever the exit code, nothing ran."""
    if "not found" not in output or not run.program:
        return False
    name = re.escape(run.program)
    return bool(re.search(rf"(?m)(?<![\w/-])(?:{name}: (?:command )?not found|command not found: {name})$", output))


def _judge_by_exit(run: Run, is_good: bool, is_bad: bool) -> Outcome | None:
    if is_good and run.told_by != "output":
        return "passed"
    return "failed" if is_bad and run.told_by == "exit" else None


def _judge_by_output(runs: tuple[Run, ...], at: int, output: str) -> Outcome | None:
    run = runs[at]
    if (printed := _find_printed_status(runs, at, output)) is not None:
        return printed
    seen = _read_marks(run, [other for other in runs if other.purpose and other is not run], output)
    # Of several runs of one kind only the last may claim the last word.
    is_last = not any(later.purpose == run.purpose for later in runs[at + 1 :])
    if seen.outcome is not None and (alternatives := _find_alternatives(runs, at)):
        return _judge_alternative(run, alternatives, seen)
    if seen.outcome is not None:
        return seen.outcome if is_last or not seen.is_mixed else None
    if not output.strip() and run.program in _SILENT:
        others = [other.program for other in runs if other is not run]
        return "passed" if all(program in _PASSES_ON for program in others) else None
    return None


def _find_alternatives(runs: tuple[Run, ...], at: int) -> list[Run]:
    """All runs of one kind of `A || B`, if the run at a place is one of several, and nothing else begins among them."""
    same = [n for n, run in enumerate(runs) if run.purpose == runs[at].purpose]
    is_one = len(same) > 1 and all(run.is_fallback for run in runs[same[0] + 1 : same[-1] + 1])
    return [runs[n] for n in same] if is_one else []


def _judge_alternative(run: Run, all_of_them: Sequence[Run], seen: _MarkSummary) -> Outcome | None:
    """How one of `A || B` went: A failed if anything did, since B ran for that; what passed is told once, of B."""
    if run is all_of_them[0]:
        return "failed" if seen.is_mixed or seen.outcome == "failed" else None
    return "passed" if run is all_of_them[-1] and seen.outcome == "passed" else None


def _clean_output(output: str) -> str:
    """The output without colours, and without the middle of a very long log."""
    if len(output) > _HEAD_CHARS + _TAIL_CHARS:
        output = output[:_HEAD_CHARS] + "\n" + output[-_TAIL_CHARS:]
    if "\x1b" in output or "\r" in output:
        output = _ESCAPES.sub("", output)
    if len(output) > _LINE_CHARS:
        # No summary is longer, and the patterns' time grows by the square of a line.
        output = "\n".join([line[:_LINE_CHARS] for line in output.split("\n")])
    return _LABEL.sub("", output) if "] " in output else output


def find_commit_ids(output: str) -> tuple[str, ...]:
    """Ids of the commits that git says it made, in order, each once."""
    if "] " not in output:
        return ()
    found = (m[1] for m in _REPORT.finditer(output) if _MIXED.match(m[1]) or _FOLLOWS.match(m[2] or ""))
    return tuple(dict.fromkeys(found))
