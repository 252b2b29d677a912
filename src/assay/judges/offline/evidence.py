"""Evidence about the outcome, piece by piece: what the person said, what was done, how the agent put it."""

import re
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from assay.facts.failures import DISMISSED
from assay.judges.offline.story import Check, Scene, Story
from assay.sessions import speech
from assay.sessions.calls import telling_line
from assay.sessions.ending import BROKEN
from assay.types import Intent, Prompt

CHANGES: frozenset[Intent] = frozenset({"small_change", "bug_fix", "feature", "refactor"})
READS: frozenset[Intent] = frozenset({"question", "investigation", "review"})
VERIFIED: frozenset[Intent] = frozenset({"bug_fix", "feature", "refactor"})
LONG_ANSWER, MANY_WORDS, MANY_COMPLAINTS = 400, 40, 3
OPENING = 160
QUOTE = 120
LINT_ALONE = 0.3
"""Linters complain of much that was there before."""
BEGINS_PLANNING = "EnterPlanMode"
"""A plan call that holds no plan yet: that it was allowed accepts none."""
QUESTION = re.compile(r"[?？]\W*\Z")
UNFINISHED = re.compile(r"^.*(?:⬜|🚧|☐|⏳|\[ \]).*$", re.MULTILINE)
"""An item of a list that is still open, as agents draw it."""


class Found(Struct, frozen=True):
    """A piece of evidence; `share` scales its weight."""

    kind: str
    turn: int
    quote: str = ""
    share: float = 1.0


def collect(story: Story, intent: Intent, after: Prompt | None) -> Iterator[Found]:
    """All evidence of a session."""
    return chain(
        how_it_ended(story, intent),
        what_was_said(story, intent),
        what_came_next(after, len(story.scenes) + 1),
        what_was_changed(story, intent),
        what_was_checked(story, intent),
        what_landed(story),
        what_was_planned(story, intent),
        how_it_was_told(story, intent),
    )


def how_it_ended(story: Story, intent: Intent) -> Iterator[Found]:
    """A broken ending, and a conclusion that was given before it."""
    end = story.ending
    if end.kind == "landed":
        yield Found("landed", end.turn, end.quote)
    if end.kind not in BROKEN:
        return
    yield Found(end.kind, end.turn, end.quote)
    before = [scene for scene in story.scenes if scene.number < end.turn and len(scene.reply.text) > LONG_ANSWER]
    if intent in READS and before:
        yield Found("concluded_before", before[-1].number, before[-1].closing)


def what_was_said(story: Story, intent: Intent) -> Iterator[Found]:
    """The person's last words, and complaints before them."""
    asked = [scene for scene in story.scenes if scene.turn.prompt and scene.turn.prompt.kind != "shell"]
    if len(asked) < 2:
        return
    last = asked[-1]
    said = last.said
    if said.first("drops") and not (last.has_edits or last.is_acceptance) and said.words <= MANY_WORDS:
        yield Found("dropped", last.number, said.quote("drops"))
    if said.first("frustrated"):
        yield Found("frustrated", last.number, said.quote("frustrated"))
    if last.is_complaint:
        yield from what_it_complains_of(story, last, sum(scene.is_complaint for scene in asked))
    elif last.is_acceptance:
        yield Found("accepted", last.number, said.quote("accepts"))
    elif last.is_chore:
        yield Found("landing_asked", last.number, said.quote("chores"))
    elif QUESTION.search(said.text[-200:]) and intent not in READS:
        yield Found("went_on_asking", last.number, said.source.strip()[-QUOTE:])


def what_it_complains_of(story: Story, last: Scene, complaints: int) -> Iterator[Found]:
    """A problem reported last, and what was done about it."""
    quote = last.said.quote("complains", "frustrated") or last.said.source.strip()[:QUOTE]
    yield Found("complained_last", last.number, quote, strength(last))
    if last.is_mutating and story.ending.kind not in BROKEN:
        yield Found("complaint_worked_on", last.number)
        if any(check.turn == last.number and check.passed for check in story.checks):
            yield Found("complaint_checked", last.number)
    if complaints >= MANY_COMPLAINTS:
        yield Found("kept_complaining", last.number)


def strength(scene: Scene) -> float:
    """One mild word among many is half a complaint."""
    heard = scene.said.count("complains") + 2 * scene.said.count("frustrated")
    return 1.0 if heard >= 2 or scene.said.words <= 25 else 0.5


def what_came_next(after: Prompt | None, turn: int) -> Iterator[Found]:
    """What the person said when turning to the next goal."""
    if after is None:
        return
    said = speech.parse_utterance(after.text[:600])
    if any(heard.word <= 4 for heard in said.heard.get("accepts", ())):
        yield Found("praised_after", turn, said.quote("accepts"))
    elif not said.first("complains", "frustrated"):
        yield Found("moved_on", turn, after.text.strip()[:QUOTE])


def what_was_changed(story: Story, intent: Intent) -> Iterator[Found]:
    """Whether what was asked for was done at all."""
    if intent not in CHANGES or not story.scenes:
        return
    last = story.scenes[-1]
    if not any(scene.is_mutating for scene in story.scenes):
        yield Found("nothing_changed_small" if intent == "small_change" else "nothing_changed", len(story.scenes))
        return
    asks = [scene for scene in story.scenes if wants_change(scene)]
    if asks and not any(scene.is_mutating for scene in story.scenes[asks[-1].number - 1 :]):
        latest = asks[-1]
        kind = (
            "change_stopped"
            if any(call.status in ("rejected", "interrupted") for call in latest.turn.calls)
            else "change_not_made"
        )
        yield Found(kind, latest.number, latest.said.source.strip()[:QUOTE])
    undone = [
        call
        for call in last.turn.calls
        for run in call.runs
        if run.purpose in ("revert", "restore", "reset") and run.outcome != "failed"
    ]
    if undone and not last.has_edits:
        yield Found("reverted", last.number, undone[-1].command[:160])


def wants_change(scene: Scene) -> bool:
    """The prompt asks to change something, by its opening words."""
    kinds = ("asks.bug_fix", "asks.feature", "asks.refactor", "asks.small_change")
    is_question = bool(QUESTION.search(scene.said.text[-200:]))
    return not is_question and any(heard.word <= 2 for kind in kinds for heard in scene.said.heard.get(kind, ()))


def what_was_checked(story: Story, intent: Intent) -> Iterator[Found]:
    """The last run of each kind of check, before or after the last edit."""
    latest: dict[str, tuple[int, Check]] = {}
    for place, check in zip(story.checked_at, story.checks, strict=True):
        if check.passed is not None:
            latest[check.purpose] = (place, check)
    failed = [check for place, check in latest.values() if not check.passed and place > story.last_edit]
    passed = [check for place, check in latest.values() if check.passed and place > story.last_edit]
    if failed and not is_dismissed(story):
        worst = min(failed, key=lambda check: ("test", "build", "types", "lint").index(check.purpose))
        share = LINT_ALONE if worst.purpose == "lint" else 1.0
        yield Found("check_failed", worst.turn, telling_line(worst.call), share)
    elif passed:
        best = min(passed, key=lambda check: check.purpose != "test")
        yield Found("check_passed", best.turn, best.call.command[:160])
    elif any(check.passed for _, check in latest.values()):
        yield Found("check_passed_before", len(story.scenes))
    elif intent in VERIFIED and not latest and story.last_edit >= 0:
        yield Found("never_verified_feature" if intent == "feature" else "never_verified", len(story.scenes))


def is_dismissed(story: Story) -> bool:
    """The agent says that what still fails is not of this work."""
    replies = story.scenes[-1].turn.replies
    return bool(replies) and bool(DISMISSED.search(replies[-1].text))


def what_landed(story: Story) -> Iterator[Found]:
    """Commits and pull requests after the last edit; they prove nothing while a complaint stands."""
    if story.scenes and story.scenes[-1].is_complaint:
        return
    after = [one for place, one in zip(story.landed_at, story.landed, strict=True) if place > story.last_edit]
    opened = [one for one in after if one[1] in ("pr", "push")]
    if opened:
        yield Found("pull_request", opened[-1][0], opened[-1][2].command[:160])
    elif after:
        yield Found("committed", after[-1][0], after[-1][2].command[:160])


def what_was_planned(story: Story, intent: Intent) -> Iterator[Found]:
    """Plans that were accepted or refused, and a go-ahead after which building began."""
    if intent != "plan":
        return
    plans = [
        (scene, call)
        for scene in story.scenes
        for call in scene.turn.calls
        if call.kind == "plan" and call.name != BEGINS_PLANNING
    ]
    if plans:
        scene, call = plans[-1]
        quote = (call.target or call.output).strip()[:QUOTE]
        if call.status == "ok":
            yield Found("plan_accepted", scene.number, quote)
        elif call.status in ("rejected", "interrupted"):
            yield Found("plan_rejected", scene.number, quote)
    agreed = [scene for scene in story.scenes[1:] if scene.has_edits and scene.said.first("agrees")]
    if agreed:
        yield Found("building_began", agreed[-1].number, agreed[-1].said.quote("agrees"))


def how_it_was_told(story: Story, intent: Intent) -> Iterator[Found]:
    """The agent's last words: done, failed, a question, an answer."""
    spoken = [scene for scene in story.scenes if scene.reply.text]
    if not spoken or story.ending.kind in ("unanswered", "api_error"):
        return
    last = spoken[-1]
    yield from what_it_claims(last, intent)
    if QUESTION.search(last.closing):
        was_done = last.is_mutating or (not wants_change(last) and any(one.is_mutating for one in story.scenes[-2:]))
        is_open = not was_done and intent not in ("question", "investigation")
        yield Found("asks_choice" if is_open else "offers", last.number, last.closing)
    elif intent in CHANGES and speech.parse_utterance(last.closing).first("agent.asks_back") and not last.is_mutating:
        yield Found("waits", last.number, last.closing)
    if left := UNFINISHED.search(last.turn.replies[-1].text):
        yield Found("partly_done", last.number, left.group().strip())
    if intent in READS:
        yield from what_it_answers(story, spoken, intent)


def what_it_claims(last: Scene, intent: Intent) -> Iterator[Found]:
    """Success or failure, in the opening words or later."""
    reply, opening = last.reply, speech.parse_utterance(last.reply.text[:OPENING])
    if opening.first("agent.failed"):
        yield Found("names_failure_first", last.number, reply.quote("agent.failed"))
    elif opening.first("agent.done"):
        yield Found("opens_done", last.number, reply.quote("agent.done"))
    elif reply.first("agent.done"):
        yield Found("said_done", last.number, reply.quote("agent.done"))
    elif intent in CHANGES:
        yield Found("no_done_words", last.number)
    if reply.count("agent.failed") >= 2 and not opening.first("agent.failed"):
        yield Found("names_failure", last.number, reply.quote("agent.failed"))


def what_it_answers(story: Story, spoken: list[Scene], intent: Intent) -> Iterator[Found]:
    """For goals that ask for words: a full answer, a conclusion, a verdict."""
    last = spoken[-1]
    longest = max(len(scene.reply.text) for scene in spoken)
    if longest >= LONG_ANSWER and story.ending.kind not in BROKEN:
        yield Found("full_answer", last.number, last.closing)
    concludes = [scene for scene in spoken if scene.reply.first("agent.concludes", "agent.findings")]
    if concludes and intent != "question":
        quote = concludes[-1].reply.quote("agent.concludes", "agent.findings")
        yield Found("concluded", concludes[-1].number, quote)
    elif intent != "question":
        yield Found("no_conclusion", last.number)
    if last.reply.first("agent.unsure"):
        yield Found("unsure", last.number, last.reply.quote("agent.unsure"))
