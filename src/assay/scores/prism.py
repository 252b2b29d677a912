"""The PRISM Score: the share of the sessions that count which crushed their goal."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from assay.scores.correction import Corrected
from assay.scores.interval import measure_interval
from assay.scores.prediction import Predicted
from assay.types import JudgeStatus, Row, Session, VerdictKind

LADDER = (
    (97.0, "A+"), (93.0, "A"), (90.0, "A-"),
    (87.0, "B+"), (83.0, "B"), (80.0, "B-"),
    (77.0, "C+"), (73.0, "C"), (70.0, "C-"),
    (60.0, "D"), (0.0, "F"),
)  # fmt: skip
"""From which value on prompts have which letter."""
LETTERS = ((90.0, "A"), (80.0, "B"), (70.0, "C"), (60.0, "D"), (0.0, "F"))
"""From which value on a score has which letter."""


SAID: dict[VerdictKind, bool] = {"landed": True, "not": False}
"""What a person's verdict says of a session that counts; with any other it does not."""


class Score(Row, frozen=True):
    """The number, in percent and unrounded; `None` where nothing counts."""

    value: float | None
    low: float | None
    high: float | None
    """Ends of the Wilson 95 % interval: of chance alone, as if the judge never erred."""
    crushed: int
    counted: int
    rework_open: int
    """Crushed sessions so young that rework may still take them away."""
    rework_unknown: int
    """Crushed sessions of which nobody can tell whether they were reworked."""
    corrected: Corrected | None = None
    """By the person's own audit, of all sessions of a report; never of a slice or a window."""
    predicted: Predicted | None = None
    """By how far off this judge was on other people's repositories; never of a slice or a window."""
    is_mixed: bool = False
    """Several judges judged, so there is no common value: what one calls crushed another may not."""


class SmallSessions(Row, frozen=True):
    """What the small sessions, which don't count, would make of the score."""

    sessions: int
    """Those of which a judge says how they ended."""
    crushed: int
    value: float | None
    """The score if they counted too."""


class Waterfall(Row, frozen=True):
    """How many are left after each condition; `streams` is what the sessions were cut from."""

    streams: int
    sessions: int
    substance: int
    goal: int
    judged: int
    complete: int
    crushed: int


def is_crushed(status: JudgeStatus, substance: bool, goal_complete: bool | None, rework: str) -> bool | None:
    """Whether a session crushed its goal; `None` for one that does not count."""
    if status != "ok" or not substance:
        return None
    return goal_complete is True and rework != "yes"


def has_crushed(session: Session) -> bool | None:
    """Whether a session crushed its goal by what is known of it now: rework may turn after it was judged.

    A person's word wins, over rework too.
    """
    if session.marked:
        return SAID.get(session.marked.verdict)
    return is_crushed(session.judge_status, has_substance(session), session.goal_complete, find_rework_state(session))


def refresh_crushed(sessions: Iterable[Session]) -> list[Session]:
    """The sessions, `crushed` of each as it is known now: worked out once, for all that is made of them."""
    return [replace(session, crushed=has_crushed(session)) for session in sessions]


def has_substance(session: Session) -> bool:
    """Whether there is enough of a session to judge; what a person judged has enough."""
    return session.facts["substance"] is True or (session.marked is not None and session.marked.verdict in SAID)


def find_rework_state(session: Session) -> str:
    """What is known of a session's rework; where a person had the word it decides nothing."""
    if session.marked:
        return "not_judged"
    found = session.facts.get("rework")
    return str(found["state"]) if found else "unknown"


def select_counted(sessions: Iterable[Session]) -> list[Session]:
    """The sessions that count, by their `crushed`, which must be fresh (`refresh_crushed`)."""
    return [session for session in sessions if session.crushed is not None]


def score_sessions(sessions: Iterable[Session]) -> Score:
    """The score of sessions whose `crushed` is fresh."""
    found = select_counted(sessions)
    crushed = [session for session in found if session.crushed]
    states = Counter(map(find_rework_state, crushed))
    is_mixed = any(has_other_judge(session, found[0]) for session in found)
    has_value = bool(found) and not is_mixed
    low, high = measure_interval(len(crushed), len(found)) if has_value else (None, None)
    return Score(
        value=100 * len(crushed) / len(found) if has_value else None,
        low=low,
        high=high,
        crushed=len(crushed),
        counted=len(found),
        rework_open=states["open"],
        rework_unknown=states["unknown"],
        is_mixed=is_mixed,
    )


def tally_small(sessions: Sequence[Session]) -> SmallSessions | None:
    """Small sessions of which a judge says how they ended, and the score with them; `None` where there are none."""
    small = [one for one in sessions if one.judge_status == "trivial" and one.goal_complete is not None]
    if not small:
        return None
    crushed = sum(one.goal_complete is True and find_rework_state(one) != "yes" for one in small)
    found = score_sessions(sessions)
    total = found.counted + len(small)
    return SmallSessions(
        sessions=len(small),
        crushed=crushed,
        value=None if found.is_mixed else 100 * (found.crushed + crushed) / total,
    )


def has_other_judge(session: Session, other: Session) -> bool:
    return session.judge != other.judge or session.judge_versions != other.judge_versions


def identify_judge(session: Session) -> tuple[str, str]:
    """Who judged a session, in which version."""
    return session.judge, " ".join(f"{job}={one}" for job, one in sorted(session.judge_versions.items()))


def build_waterfall(sessions: Sequence[Session], streams: int) -> Waterfall:
    """Where sessions drop out, one condition after the other."""
    solid = [one for one in sessions if has_substance(one)]
    aimed = [one for one in solid if has_goal(one)]
    judged = [one for one in aimed if one.judge_status == "ok"]
    return Waterfall(
        streams=streams,
        sessions=len(sessions),
        substance=len(solid),
        goal=len(aimed),
        judged=len(judged),
        complete=sum(one.goal_complete is True for one in judged),
        crushed=sum(session.crushed is True for session in judged),
    )


def has_goal(session: Session) -> bool:
    """A judge committed to an intent, whatever became of judging the outcome."""
    return session.judge_status in ("ok", "unclear") or (
        session.judge_status == "ungraded" and session.intent is not None
    )


def count_exclusions(sessions: Iterable[Session]) -> dict[str, int]:
    """Why sessions don't count, and how many for each reason, most first."""
    reasons = Counter(reason for one in sessions if (reason := explain_exclusion(one)))
    return dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])))


def explain_exclusion(session: Session) -> str | None:
    """Why a session does not count; `None` for one that does."""
    if session.judge_status in ("excluded", "in_progress", "no_goal"):
        return session.judge_status
    if not has_substance(session):
        return "trivial"
    if session.judge_status == "ungraded":
        return f"ungraded: {session.ungraded_reason or 'no reason given'}"
    return None if session.judge_status == "ok" else session.judge_status


def find_letter(value: float) -> str:
    """The letter of a number."""
    return next(name for least, name in LETTERS if value >= least)


def grade_interval(low: float, high: float) -> str | None:
    """The letter of a score that lies in an interval; `None` where the interval holds several."""
    return find_letter(low) if find_letter(low) == find_letter(high) else None
