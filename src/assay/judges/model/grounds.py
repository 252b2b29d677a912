"""Whether what a model calls explicit is: our own facts must show the ground it names.

- `person`: the quote stands in a prompt behind the last change of code, not in the request that opened the session and
  not in a complaint; or in what was said next, if that accepts; or, where a plan was the goal, one was accepted.
- `check`: a test, linter, type check or build passed behind the last change, and no other check failed there.
- `landing`: a commit, push or pull request behind the last change.
- `reply`: the quote stands in a reply, and no code was changed.

None of them counts with a complaint after it, or for an intent whose criterion does not name it.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from assay.judges.criteria import GROUNDS
from assay.judges.model.citing import is_in
from assay.judges.model.replies import Basis
from assay.judges.offline.evidence import BEGINS_PLANNING
from assay.judges.offline.story import DOCUMENT, Check, Story, tell
from assay.sessions import speech
from assay.sessions.calls import is_mutating, made_edits
from assay.types import Call, Citation, Intent, Prompt, Turn

OWN_QUOTE = 160
LOOKED_AT, EARLY = 600, 4
"""Characters of a next prompt, and words from its start, in which it speaks of what was before."""


class Record(Struct, frozen=True):
    """What we know of a session ourselves."""

    turns: Sequence[Turn]
    after: Prompt | None
    story: Story
    changed: int
    """Number of the last turn that changed files, documents apart; 0 where none did."""


def recorded(turns: Sequence[Turn], after: Prompt | None) -> Record:
    """What we know of these turns."""
    changed = [n for n, turn in enumerate(turns, 1) if any(changes(call) for call in turn.calls)]
    return Record(turns, after, tell(turns), changed[-1] if changed else 0)


def changes(call: Call) -> bool:
    """Whether it changed a file that is no document."""
    paths = [edit.path for edit in made_edits(call)]
    if is_mutating(call):
        paths += [path for run in call.runs for path in run.paths]
    return any(not DOCUMENT.search(path) for path in paths)


def confirmed(record: Record, intent: Intent, basis: Basis, cited: Sequence[Citation]) -> list[Citation]:
    """The words that show the ground, the model's or our own; none where our facts don't."""
    if basis == "none" or basis not in GROUNDS[intent]:
        return []
    found = [*{"person": by_person, "check": by_check, "landing": by_landing, "reply": by_reply}[basis](record, cited)]
    if basis == "person" and intent == "plan":
        found += by_plan(record)
    complaints = [scene.number for scene in record.story.scenes if scene.is_complaint]
    return [one for one in found if not any(number > one.turn for number in complaints)]


def by_person(record: Record, cited: Sequence[Citation]) -> Iterator[Citation]:
    """What the person said behind the last change."""
    asked = [n for n, turn in enumerate(record.turns, 1) if turn.prompt]
    opening = asked[0] if asked else 0
    for one in cited:
        if record.after and one.turn >= len(record.turns) and is_in(one.quote, record.after.text):
            if is_content(
                record, len(record.turns) + 1
            ):  # it opens another goal: most such prompts say nothing of this
                yield one
        elif max(opening, record.changed) < one.turn <= len(record.turns):
            scene = record.story.scenes[one.turn - 1]
            prompt = scene.turn.prompt
            if prompt and prompt.kind != "shell" and not scene.is_complaint and is_in(one.quote, prompt.text):
                yield one


def by_plan(record: Record) -> Iterator[Citation]:
    """Plans that were accepted."""
    for number, turn in enumerate(record.turns, 1):
        yield from (cited for call in turn.calls if is_accepted_plan(call) for cited in own(number, call.target))


def complains_next(record: Record) -> bool:
    """Whether what the person said next complains of what was done, or lets go of it."""
    said = speech.read(record.after.text) if record.after else None
    return said is not None and bool(said.first("complains", "frustrated", "drops")) and not said.first("accepts")


def is_accepted_plan(call: Call) -> bool:
    return call.kind == "plan" and call.status == "ok" and call.name != BEGINS_PLANNING


def is_plain(record: Record, intent: Intent, basis: Basis, shown: Sequence[Citation]) -> bool:
    """Whether the ground holds without a model's reading: facts, or words that our own phrases know as content."""
    if basis != "person":
        return basis in ("check", "landing")
    return any(is_content(record, one.turn) for one in shown) or (intent == "plan" and any(by_plan(record)))


def is_content(record: Record, number: int) -> bool:
    """Whether the person accepts in this turn what was done before it."""
    if number > len(record.turns):
        return record.after is not None and praises(record.after)
    scene = record.story.scenes[number - 1]
    return scene.is_acceptance or scene.is_chore


def praises(after: Prompt) -> bool:
    """Whether what was said next begins with being content."""
    heard = speech.read(after.text[:LOOKED_AT]).heard.get("accepts", ())
    return any(one.word <= EARLY for one in heard)


def by_check(record: Record, cited: Sequence[Citation]) -> Iterator[Citation]:
    """The last run of each check behind the last change, if it passed and no other failed."""
    passed = passing(record)
    for check in passed:
        texts = (check.call.command, check.call.output)
        yield from (one for one in cited if one.turn == check.turn and any(is_in(one.quote, text) for text in texts))
    for check in passed[-1:]:
        yield from own(check.turn, check.call.command)


def passing(record: Record) -> list[Check]:
    """Checks that show the present state to be sound."""
    story = record.story
    latest: dict[str, Check] = {}
    for place, check in zip(story.checked_at, story.checks, strict=True):
        if check.passed is not None and place > story.last_edit and check.turn >= record.changed:
            latest[check.purpose] = check
    is_broken = any(not check.passed and purpose != "lint" for purpose, check in latest.items())
    has_worked = any(scene.is_mutating for scene in story.scenes)
    return [check for check in latest.values() if check.passed] if has_worked and not is_broken else []


def by_landing(record: Record, cited: Sequence[Citation]) -> Iterator[Citation]:
    """Commits, pushes and pull requests behind the last change."""
    story = record.story
    landed = [
        (number, call)
        for place, (number, _, call) in zip(story.landed_at, story.landed, strict=True)
        if place > story.last_edit and number >= record.changed
    ]
    for number, call in landed:
        texts = (call.command, call.output)
        yield from (one for one in cited if one.turn == number and any(is_in(one.quote, text) for text in texts))
    for number, call in landed[-1:]:
        yield from own(number, call.command)


def by_reply(record: Record, cited: Sequence[Citation]) -> Iterator[Citation]:
    """What the agent said, where words were all that was asked for."""
    if record.changed:
        return
    for one in cited:
        if one.turn <= len(record.turns):
            replies = record.turns[one.turn - 1].replies
            if any(is_in(one.quote, reply.text) for reply in replies):
                yield one


def own(turn: int, text: str) -> Iterator[Citation]:
    """A citation of ours: the first line that says something."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if line:
        yield Citation(turn=turn, quote=line[:OWN_QUOTE])
