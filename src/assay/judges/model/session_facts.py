"""Facts of a session as a model is told them: counts and turns in our own words, one a line."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assay.judges.explicit_evidence import SessionRecord, is_code_change
from assay.judges.model.prompt_files import format_numbers
from assay.judges.timeline import DOCUMENT
from assay.sessions.calls import has_failed, is_mutating, list_made_edits
from assay.sessions.endings import EndingKind
from assay.types import Call, Failure

ENDS: dict[EndingKind, str] = {
    "answered": "the agent's words close it",
    "landed": "it ends on a commit, push or pull request",
    "unanswered": "the last prompt got neither words nor work",
    "api_error": "the model's service failed",
    "interrupted": "the person stopped the agent",
    "rejected": "the person refused a call, and nothing followed",
    "pending": "a question or plan waits for the person",
    "mid_work": "a tool call is the last that happened",
    "announces_more": "the agent announces more that never came",
    "nothing": "nobody asked for anything",
}
UNSEEN_LANDING = "a commit, push or pull request was called last, and the record does not show what became of it"
NAMES = {"commit": ("commit", "commits"), "push": ("push", "pushes"), "pr": ("pull request", "pull requests")}


def list_facts(record: SessionRecord, failures: Sequence[Failure]) -> list[str]:
    """The facts of a session, one a line."""
    told = [
        *describe_size(record),
        *describe_changes(record),
        *describe_checks(record),
        *dict.fromkeys(
            f"run again: what failed in turn {one.failed} ended well in turn {one.turn}, after the last change"
            for one in record.reruns[-3:]
        ),
        describe_landing(record),
        *describe_stops(record),
        describe_ending(record),
    ]
    signals = Counter(f"{one.kind.replace('_', ' ')} in turn {one.turn}" for one in failures)
    return [*told, "failure signals: " + (", ".join(signals) or "none")]


def describe_size(record: SessionRecord) -> Iterator[str]:
    """How much there is, and whether the conversation goes on."""
    turns = record.turns
    prompts = sum(turn.prompt is not None for turn in turns)
    calls = [call for turn in turns for call in turn.calls]
    failed = sum(has_failed(call) for call in calls)
    yield f"turns: {len(turns)}; prompts: {prompts}; tool calls: {len(calls)}, {failed} of them failed"
    yield (
        f"the conversation goes on: what the person said next, on another goal, is turn {len(turns) + 1}"
        if record.after
        else "the conversation ends here"
    )


def describe_changes(record: SessionRecord) -> Iterator[str]:
    """What was changed by edits, and by commands that write into files."""
    calls = [call for turn in record.turns for call in turn.calls]
    files = {edit.path for call in calls for edit in list_made_edits(call)}
    documents = sum(bool(DOCUMENT.search(path)) for path in files)
    by_command = sum(is_code_change(call) and not list_made_edits(call) for call in calls)
    removing = sum(is_mutating(call) and any(run.program == "rm" for run in call.runs) for call in calls)
    acting = sum(map(is_mutating, calls))
    if not files and not by_command:
        yield f"no file was edited; commands with side effects: {acting}" if acting else "nothing was changed"
    else:
        code = len(files) - documents
        yield f"files edited: {code} of code; documents: {documents}; commands that wrote code: {by_command}"
    if removing:
        yield f"commands that removed files: {removing}"
    if files or by_command:
        yield f"last change of code: turn {record.changed}" if record.changed else "no code was changed"


def describe_checks(record: SessionRecord) -> Iterator[str]:
    """The runs of each kind of check, and how the last one went."""
    timeline = record.timeline
    runs = list(zip(timeline.checked_at, timeline.checks, strict=True))
    if not runs:
        yield "checks: no test, linter, type check or build was run"
    for purpose in dict.fromkeys(check.purpose for _, check in runs):
        some = [(place, check) for place, check in runs if check.purpose == purpose]
        place, last = some[-1]
        failed = sum(check.passed is False for _, check in some)
        ended = {True: "passed", False: "failed", None: "ended in an unknown way"}[last.passed]
        when = f", {'after' if place >= record.changed_at else 'before'} the last change" if record.changed else ""
        yield f"{purpose} runs: {len(some)}, failed: {failed}; the last {ended} in turn {last.turn}{when}"


def describe_landing(record: SessionRecord) -> str:
    """What was handed in and went through, as far as is known."""
    landed = record.timeline.landed
    counts = Counter(purpose for _, purpose, _ in landed)
    told = [f"{n} {NAMES[purpose][n > 1]}" for purpose, n in counts.items()]
    return "handed in: " + (f"{', '.join(told)}, last in turn {landed[-1][0]}" if told else "nothing")


def describe_stops(record: SessionRecord) -> Iterator[str]:
    stopped = [
        number
        for number, turn in enumerate(record.turns, 1)
        if any(mark.kind == "interrupt" for mark in turn.marks) or any(map(is_stopped, turn.calls))
    ]
    if stopped:
        yield f"stopped or refused by the person: turns {format_numbers(stopped)}"


def is_stopped(call: Call) -> bool:
    return call.status in ("interrupted", "rejected")


def describe_ending(record: SessionRecord) -> str:
    """How it ends; what was handed in and what the end says never contradict each other."""
    kind = record.timeline.ending.kind
    is_unseen = kind == "landed" and not record.timeline.landed
    return f"ending: {UNSEEN_LANDING if is_unseen else ENDS[kind]}"
