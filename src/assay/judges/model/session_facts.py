"""Facts of a session as a model is told them: counts and turns in our own words, one a line."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assay.judges.explicit_evidence import SessionRecord, is_code_change, list_written_paths
from assay.judges.model.prompt_files import format_numbers
from assay.judges.timeline import DOCUMENT, CheckRun
from assay.sessions.calls import has_failed, has_unknown_effects, is_mutating, is_stopped_server, list_made_edits
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
REMOVERS = frozenset({"rm", "Remove-Item", "del", "rd", "rmdir"})
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
        f"the conversation goes on: what the person said next is turn {len(turns) + 1}"
        if record.after
        else "the conversation ends here"
    )


def describe_changes(record: SessionRecord) -> Iterator[str]:
    """What was changed by edits, and by commands that write into files."""
    calls = [(n, call) for n, turn in enumerate(record.turns, 1) for call in turn.calls]
    files = {edit.path for _, call in calls for edit in list_made_edits(call)}
    documents = sum(bool(DOCUMENT.search(path)) for path in files)
    acting = [(n, call) for n, call in calls if is_mutating(call) and not list_made_edits(call)]
    code = [one for one in acting if is_code_change(one[1])]
    texts = [one for one in acting if one not in code and is_document_change(one[1])]
    removed = [one for one in acting if is_removal(one[1])]
    others = [one for one in acting if one not in code and one not in texts and one not in removed]
    unknown = [one for one in calls if has_unknown_effects(one[1])]
    if files or code or texts:
        yield (
            f"files edited: {len(files) - documents} of code; documents: {documents}; "
            f"commands that wrote code: {len(code)}; commands that wrote documents: {len(texts)}"
        )
    elif acting:
        yield "no tool edited a file"
    elif not unknown:
        yield "nothing was changed"
    else:
        yield "nothing is known to be changed"
    yield from describe_calls("commands that removed files", removed)
    yield from describe_calls(f"{'other ' if code or texts or removed else ''}commands with side effects", others)
    yield from describe_calls("calls whose effects are unknown", unknown)
    if record.changed:
        yield f"last change of code: turn {record.changed}"
    elif files or texts:
        yield "no change of code is known" if others or unknown else "no code was changed"


def describe_calls(what: str, calls: Sequence[tuple[int, Call]]) -> Iterator[str]:
    """How many calls of a sort there are, and where the last one is."""
    if calls:
        yield f"{what}: {len(calls)}, the last in turn {calls[-1][0]}"


def is_removal(call: Call) -> bool:
    return any(run.program in REMOVERS for run in call.runs)


def is_document_change(call: Call) -> bool:
    """Whether a command wrote a document."""
    return any(DOCUMENT.search(path) for path in list_written_paths(call))


def describe_checks(record: SessionRecord) -> Iterator[str]:
    """The runs of each kind of check, how the last went of which that is known, and the last one where it is not."""
    timeline = record.timeline
    runs = list(zip(timeline.checked_at, timeline.checks, strict=True))
    if not runs:
        yield "checks: no test, linter, type check or build was run"
    for purpose in dict.fromkeys(check.purpose for _, check in runs):
        some = [(place, check) for place, check in runs if check.purpose == purpose]
        failed = sum(check.passed is False for _, check in some)
        known = [one for one in some if one[1].passed is not None]
        told = [describe_check(record, *(known or some)[-1])]
        if known and known[-1] is not some[-1]:
            told.append(describe_check(record, *some[-1]))
        yield f"{purpose} runs: {len(some)}, failed: {failed}; the last " + "; a later one ".join(told)


def describe_check(record: SessionRecord, place: int, check: CheckRun) -> str:
    """How a check went, and on which side of the last change."""
    ended = {True: "passed", False: "failed", None: "ended in an unknown way"}[check.passed]
    when = f", {'after' if place >= record.changed_at else 'before'} the last change" if record.changed else ""
    return f"{ended} in turn {check.turn}{when}"


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
    return call.status in ("interrupted", "rejected") and not is_stopped_server(call)


def describe_ending(record: SessionRecord) -> str:
    """How it ends; what was handed in and what the end says never contradict each other."""
    kind = record.timeline.ending.kind
    is_unseen = kind == "landed" and not record.timeline.landed
    return f"ending: {UNSEEN_LANDING if is_unseen else ENDS[kind]}"
