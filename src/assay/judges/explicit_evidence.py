"""Whether what a model calls explicit is: our own facts must show the ground it names.

- `person`: the quote stands in a prompt behind the last change of code, not in the request that opened the session and
  not in a complaint; or in what was said next, if that accepts; or, where a plan was the goal, one was accepted.
- `check`: a test, linter, type check or build passed behind the last change, and no other check failed there.
- `rerun`: a command that had failed ran again behind the last change, and went well.
- `reply`: the quote stands in a reply, and no code was changed.

None of them counts with a complaint after it, or for an intent whose criterion does not name it. A commit, push or pull
request shows nothing, nor does what the agent says of its own work.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from assay.facts.failures import READERS
from assay.judges.citations import is_in
from assay.judges.criteria import GROUNDS, Basis
from assay.judges.timeline import BEGINS_PLANNING, DOCUMENT, CheckRun, Timeline, read_timeline
from assay.sessions import speech
from assay.sessions.calls import has_failed, is_mutating, list_made_edits
from assay.types import Call, Citation, Intent, Prompt, Turn

OWN_QUOTE = 160
LOOKED_AT, EARLY = 600, 4
"""Characters of a next prompt, and words from its start, in which it speaks of what was before."""


PREPARING = frozenset(
    "git gh hub rm mkdir rmdir touch chmod chown ln curl wget tar unzip gunzip ssh scp rsync docker "
    "new-item remove-item ni md ri del erase rd".split()
)
"""Programs that name files without writing into them."""
PIPED = re.compile(r"\s(?:\d?>(?:&\s*)?\s*\S+|\|\s.*)\Z", re.DOTALL)
MOVED = re.compile(r"\Acd\s+\S+\s*(?:&&|;)\s*")
ADDRESS = re.compile(r"https?://[^\s'\"?#]+")
ANSWERED = re.compile(r"\bHTTP/[\d.]+ ([1-5]\d\d)\b|^[^\d\n]{0,30}\b([1-5]\d\d)\s*$", re.MULTILINE)
FETCHERS = frozenset({"curl", "wget", "http", "httpie", "xh"})


class Rerun(Struct, frozen=True):
    """A command that had failed and went well behind the last change."""

    failed: int
    turn: int
    call: Call


class SessionRecord(Struct, frozen=True):
    """What we know of a session ourselves."""

    turns: Sequence[Turn]
    after: Prompt | None
    timeline: Timeline
    changed: int
    """Number of the last turn that changed files, documents apart; 0 where none did."""
    changed_at: int
    """Place of that change among all calls, from 1; 0 where there is none."""
    reruns: tuple[Rerun, ...] = ()


def build_record(turns: Sequence[Turn], after: Prompt | None) -> SessionRecord:
    """What we know of these turns."""
    calls = [(n, call) for n, turn in enumerate(turns, 1) for call in turn.calls]
    changes = [(n, place) for place, (n, call) in enumerate(calls, 1) if is_code_change(call)]
    changed, changed_at = changes[-1] if changes else (0, 0)
    return SessionRecord(turns, after, read_timeline(turns), changed, changed_at, tuple(list_reruns(calls, changed_at)))


def is_code_change(call: Call) -> bool:
    """Whether it changed what stands in a file that is no document: `git add`, `mkdir` or a download do not."""
    paths = [*(edit.path for edit in list_made_edits(call)), *list_written_paths(call)]
    return any(not DOCUMENT.search(path) for path in paths)


def list_written_paths(call: Call) -> list[str]:
    """The files that a command wrote into, where it names them."""
    runs = [run for run in call.runs if run.program.lower() not in PREPARING and run.purpose != "format"]
    return [path for run in runs for path in run.paths] if is_mutating(call) else []


def list_reruns(calls: Sequence[tuple[int, Call]], changed_at: int) -> Iterator[Rerun]:
    """Commands that failed before the last change and went well behind it."""
    failed: dict[str, int] = {}
    for place, (number, call) in enumerate(calls, 1):
        if call.kind != "shell" or call.status not in ("ok", "error") or is_looking(call):
            continue
        name = name_command(call)
        if place < changed_at and is_wrong(call):
            failed[name] = number
        elif place >= changed_at and name in failed:
            if is_wrong(call):
                del failed[name]
            else:
                yield Rerun(failed[name], number, call)


def is_looking(call: Call) -> bool:
    """Whether it only looks: that a file is there by now shows nothing."""
    return bool(call.runs) and all(run.program in READERS and run.program not in FETCHERS for run in call.runs)


def name_command(call: Call) -> str:
    """A command without what is done with its output; a request by its address."""
    words = " ".join(MOVED.sub("", call.command.strip()).split())
    address = ADDRESS.search(words) if any(run.program in FETCHERS for run in call.runs) else None
    return address[0] if address else PIPED.sub("", PIPED.sub("", words))


def is_wrong(call: Call) -> bool:
    """Whether a command failed, or a request was answered with an error."""
    if any(run.program in FETCHERS for run in call.runs) and (codes := ANSWERED.findall(call.output)):
        return str(max(codes[-1])) >= "400"
    return has_failed(call)


def confirm_ground(record: SessionRecord, intent: Intent, basis: Basis, cited: Sequence[Citation]) -> list[Citation]:
    """The words that show the ground, the model's or our own; none where our facts don't."""
    if basis == "none" or basis not in GROUNDS[intent]:
        return []
    found = [
        *{
            "person": find_person_ground,
            "check": find_check_ground,
            "rerun": find_rerun_ground,
            "reply": find_reply_ground,
        }[basis](record, cited)
    ]
    if basis == "person" and intent == "plan":
        found += [*find_plan_ground(record), *find_go_ahead(record, cited)]
    complaints = [reading.number for reading in record.timeline.readings if reading.is_complaint]
    return [one for one in found if not any(number > one.turn for number in complaints)]


def find_person_ground(record: SessionRecord, cited: Sequence[Citation]) -> Iterator[Citation]:
    """What the person said behind the last change."""
    asked = [n for n, turn in enumerate(record.turns, 1) if turn.prompt]
    opening = asked[0] if asked else 0
    for one in cited:
        if record.after and one.turn >= len(record.turns) and is_in(one.quote, record.after.text):
            if is_satisfied(record, len(record.turns) + 1):  # it mostly says nothing of this goal
                yield one
        elif max(opening, record.changed) < one.turn <= len(record.turns):
            reading = record.timeline.readings[one.turn - 1]
            prompt = reading.turn.prompt
            if prompt and prompt.kind != "shell" and not reading.is_complaint and is_in(one.quote, prompt.text):
                yield one


def find_plan_ground(record: SessionRecord) -> Iterator[Citation]:
    """Plans that were accepted."""
    for number, turn in enumerate(record.turns, 1):
        yield from (
            cited for call in turn.calls if is_accepted_plan(call) for cited in quote_first_line(number, call.target)
        )


def find_go_ahead(record: SessionRecord, cited: Sequence[Citation]) -> Iterator[Citation]:
    """What was said next, where it begins by telling to go ahead: a plan is accepted by that."""
    if record.after and is_opened_by(record.after, "agrees"):
        yield from (one for one in cited if one.turn >= len(record.turns) and is_in(one.quote, record.after.text))


def is_accepted_plan(call: Call) -> bool:
    return call.kind == "plan" and call.status == "ok" and call.name != BEGINS_PLANNING


def is_plainly_shown(record: SessionRecord, intent: Intent, basis: Basis, shown: Sequence[Citation]) -> bool:
    """Whether the ground holds without a model's reading: facts, or words that our own phrases know as content."""
    if basis != "person":
        return basis in ("check", "rerun")
    return any(is_satisfied(record, one.turn) for one in shown) or (intent == "plan" and any(find_plan_ground(record)))


def is_satisfied(record: SessionRecord, number: int) -> bool:
    """Whether the person accepts in this turn what was done before it."""
    if number > len(record.turns):
        return record.after is not None and is_opened_by(record.after, "accepts")
    reading = record.timeline.readings[number - 1]
    return reading.is_acceptance or reading.is_chore


def has_next_complaint(record: SessionRecord) -> bool:
    """Whether what the person said next complains of what was done, or lets go of it."""
    said = speech.parse_own_words(record.after) if record.after else None
    return said is not None and bool(said.first("complains", "frustrated", "drops")) and not said.first("accepts")


def is_opened_by(after: Prompt, meaning: str) -> bool:
    """Whether what was said next begins with words of this meaning."""
    heard = speech.parse_utterance(after.text[:LOOKED_AT]).heard.get(meaning, ())
    return any(one.word <= EARLY for one in heard)


def find_check_ground(record: SessionRecord, cited: Sequence[Citation]) -> Iterator[Citation]:
    """The last run of each check behind the last change, if it passed and no other failed."""
    passed = list_passing_checks(record)
    for check in passed:
        texts = (check.call.command, check.call.output)
        yield from (one for one in cited if one.turn == check.turn and any(is_in(one.quote, text) for text in texts))
    for check in passed[-1:]:
        yield from quote_first_line(check.turn, check.call.command)


def list_passing_checks(record: SessionRecord) -> list[CheckRun]:
    """Checks that show the present state to be sound."""
    timeline = record.timeline
    latest: dict[str, CheckRun] = {}
    for place, check in zip(timeline.checked_at, timeline.checks, strict=True):
        if check.passed is not None and place >= record.changed_at:  # one call may write and check
            latest[check.purpose] = check
    is_broken = any(not check.passed and purpose != "lint" for purpose, check in latest.items())
    has_worked = any(reading.is_mutating for reading in timeline.readings)
    return [check for check in latest.values() if check.passed] if has_worked and not is_broken else []


def find_rerun_ground(record: SessionRecord, cited: Sequence[Citation]) -> Iterator[Citation]:
    """Commands that had failed and went well behind the last change."""
    for rerun in record.reruns:
        texts = (rerun.call.command, rerun.call.output)
        yield from (one for one in cited if one.turn == rerun.turn and any(is_in(one.quote, text) for text in texts))
    for rerun in record.reruns[-1:]:
        yield from quote_first_line(rerun.turn, rerun.call.command)


def find_reply_ground(record: SessionRecord, cited: Sequence[Citation]) -> Iterator[Citation]:
    """What the agent said, where words were all that was asked for."""
    if record.changed:
        return
    for one in cited:
        if one.turn <= len(record.turns):
            replies = record.turns[one.turn - 1].replies
            if any(is_in(one.quote, reply.text) for reply in replies):
                yield one


def quote_first_line(turn: int, text: str) -> Iterator[Citation]:
    """A citation of ours: the first line that says something."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if line:
        yield Citation(turn=turn, quote=line[:OWN_QUOTE])
