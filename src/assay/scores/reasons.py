"""Why counted sessions did not crush, in words, and what would have made them."""

from collections.abc import Callable, Mapping
from typing import Any

from assay.scores.prism import has_crushed
from assay.types import FailureKind, Intent, Row, Session

FAILURES: tuple[FailureKind, ...] = ("unresolved_error", "iteration_loop", "frustration", "scope_abandoned")
"""Of several signals the first named here is shown: what broke says more than what was said of it."""

VERIFIED: tuple[Intent, ...] = ("bug_fix", "feature", "refactor")
PROVING = ("test", "lint", "types", "build")

REASONS = {
    "reworked": "its code was later replaced",
    "unresolved_error": "an error at the end that nothing resolved",
    "iteration_loop": "the same fix was tried again and again",
    "frustration": "the person was left frustrated",
    "scope_abandoned": "the goal was dropped or put off",
    "check_failed": "the last check failed",
    "failed_last": "the last command or check failed",
    "stopped": "stopped in the middle",
    "service": "the model's service failed at the end",
    "unanswered": "the last request was never answered",
    "waiting": "the agent waited for an answer that never came",
    "refused": "what the agent proposed was turned down",
    "complaint": "the last thing said was that something is wrong",
    "unchanged": "a change was asked for and never made",
    "idle": "the last request changed nothing",
    "admitted": "the agent's last words tell of a failure",
    "partial": "only a part of it was done",
    "reverted": "what was done was taken back",
    "unverified": "nothing shows that the change works",
    "inconclusive": "it ended without a conclusion",
    "unconfirmed": "nobody confirmed it",
    "incomplete": "the judge saw the goal missed",
    "person": "you said that it did not land",
}

REMEDIES = {
    "reworked": "See what replaced it and why; settle such decisions before the work, or have a test hold them.",
    "unresolved_error": "Stay until what failed has been run again and passes, or say that the error is expected.",
    "iteration_loop": "After the second failed attempt have the root cause stated, then fix that.",
    "frustration": "Say what you see and what you expected instead, and end when it is right.",
    "scope_abandoned": "Narrow the goal to what you will finish and see that done; leave the rest to a new session.",
    "check_failed": "Run the failing check again after the last edit, and end when it passes.",
    "failed_last": "Stay until what failed last has been run again and passes, or say that it is expected.",
    "stopped": "Let the agent finish and look at the result before you leave, `/clear` or change the topic.",
    "service": "Resume the conversation when the service is back, and let the last request be answered.",
    "unanswered": "Resume the conversation and let the last request be answered before you leave.",
    "waiting": "Answer what the agent asked, or tell it to decide, and let it finish.",
    "refused": "Say what should be different about the proposal, and go on until you accept one.",
    "complaint": "Go on until what you reported is gone, and say so when it is.",
    "unchanged": "Name the change and the file, and see it applied before you end.",
    "idle": "Let the last request be carried out, or say that the work was fine without it.",
    "partial": "Go on until the list is worked off, or agree on the smaller goal and say that it is reached.",
    "reverted": "Say what the next attempt must do differently, and see that one through.",
    "person": "Say in the session what is missing while it goes on, and stay until it is there.",
    "admitted": "Go on from what the agent could not do, or agree on a smaller goal and see that reached.",
}
"""For the other reasons it is the intent's habit that helps."""

HABITS: dict[Intent, str] = {
    "question": "Acknowledge the answer (“got it”, “thanks”) once you need not ask again",
    "investigation": "State the conclusion in the conversation: “the root cause is …”, “the hypothesis holds”",
    "review": "Give a verdict: approve, reject, or list the changes you want",
    "plan": "Say “let's build it”, or begin to build it in the same session",
    "small_change": "See the change applied, and say so",
    "bug_fix": "Run the failing test or the steps that showed the bug, and confirm that it is gone",
    "feature": "Land it with tests that pass, or say “tests later”, and accept it",
    "refactor": "Run tests, linter and type checker after the last edit, and mention that they pass",
}
NO_HABIT = "Say at the end whether the goal was reached"

TELLING: dict[str, str] = {kind: kind for kind in REASONS} | {
    # How it ended (`sessions.endings`, `judges.offline.outcome`).
    "interrupted": "stopped",
    "mid_work": "stopped",
    "announces_more": "stopped",
    "broken_after_showing": "stopped",
    "api_error": "service",
    "rejected": "refused",
    "pending": "waiting",
    "ends_on_error": "failed_last",
    # What was said.
    "complains": "complaint",
    "frustrated": "frustration",
    "drops": "scope_abandoned",
    "asks_back": "waiting",
    "admits_failure": "admitted",
    # What was done, or not.
    "nothing_changed": "unchanged",
    "last_turn_idle": "idle",
    "never_shown": "unverified",
}
"""Kinds of a judge's evidence that name a reason of ours; others leave it to the facts."""


class Obstacle(Row, frozen=True):
    """A reason for not crushing, the sessions it held back, and what to do about it."""

    reason: str
    sessions: list[str]
    advice: str


def list_obstacles(
    counts: Mapping[str, Mapping[str, int]], list_ids: Callable[[str], list[str]], most: int = 3
) -> list[Obstacle]:
    """The commonest reasons for not crushing, of sessions counted by kind and advice; each stands under one."""
    commonest = sorted(counts.items(), key=lambda pair: (-sum(pair[1].values()), pair[0]))[:most]
    return [
        Obstacle(
            reason=REASONS[kind],
            sessions=list_ids(kind),
            advice=min(advice.items(), key=lambda pair: (-pair[1], pair[0]))[0],
        )
        for kind, advice in commonest
    ]


def advise_session(session: Session) -> str | None:
    """What would have made this session crush; `None` for one that did, or does not count."""
    kind = find_obstacle(session)
    if kind is None or kind in REMEDIES:
        return REMEDIES[kind] if kind else None
    return f"{pick_habit(session)}."


def find_obstacle(session: Session) -> str | None:
    """The kind of reason that held a session back most; `None` for one that crushed or does not count."""
    if has_crushed(session) is not False:
        return None
    if session.goal_complete:
        return "reworked"
    if session.marked and session.marked.judged is not False:
        return "person"
    signals = {signal["kind"] for signal in session.facts.get("failure_signals", ())}
    if failed := next((kind for kind in FAILURES if kind in signals), None):
        return failed
    return find_judge_reason(session) or find_fact_reason(session)


def find_judge_reason(session: Session) -> str | None:
    """What the judge's heaviest evidence against it says, as far as we know the word."""
    against = sorted((one for one in session.reasons if one.weight < 0), key=lambda one: (one.weight, one.kind))
    return next((TELLING[one.kind] for one in against if one.kind in TELLING), None)


def find_fact_reason(session: Session) -> str:
    """What the facts say, where no judge gave a reason that we know."""
    checks: dict[str, Any] = session.facts.get("checks", {})
    runs = [checks[purpose] for purpose in PROVING if purpose in checks]
    if any(run["last"] == "failed" for run in runs):
        return "check_failed"
    if session.intent in VERIFIED and not any(run["last"] == "passed" and not run["is_stale"] for run in runs):
        return "unverified"
    return "incomplete" if session.evidence == "failure" else "unconfirmed"


def pick_habit(session: Session) -> str:
    """The easiest sign of completion for what the session was after."""
    return HABITS[session.intent] if session.intent else NO_HABIT
