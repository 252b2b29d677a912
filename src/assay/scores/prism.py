"""The PRISM Score: the share of the sessions that count which crushed their goal."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct
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


JUDGE = msgspec.json.Decoder(tuple[str, dict[str, str]]).decode
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


class Counts(Struct, array_like=True):
    """Sessions that one judge judged, counted."""

    counted: int = 0
    crushed: int = 0
    rework_open: int = 0
    rework_unknown: int = 0


JudgeCounts = dict[str, Counts]
"""By who judged (`name_judge`); empty for sessions none of which counts."""


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
    counts: JudgeCounts = {}
    for one in sessions:
        count_session(counts, one)
    return score_counts(counts.values())


def count_session(counts: JudgeCounts, session: Session, judge: str = "") -> None:
    """Count a session, if it counts, with those of the same judge."""
    if session.crushed is None:
        return
    found = counts.setdefault(judge or name_judge(session), Counts())
    found.counted += 1
    if session.crushed:
        found.crushed += 1
        state = find_rework_state(session)
        found.rework_open += state == "open"
        found.rework_unknown += state == "unknown"


def score_counts(counts: Iterable[Counts]) -> Score:
    """The score of sessions that were counted, by judge."""
    some = list(counts)
    crushed, counted = sum(one.crushed for one in some), sum(one.counted for one in some)
    has_value = len(some) == 1 and counted > 0
    low, high = measure_interval(crushed, counted) if has_value else (None, None)
    return Score(
        value=100 * crushed / counted if has_value else None,
        low=low,
        high=high,
        crushed=crushed,
        counted=counted,
        rework_open=sum(one.rework_open for one in some),
        rework_unknown=sum(one.rework_unknown for one in some),
        is_mixed=len(some) > 1,
    )


def merge_counts(parts: Iterable[JudgeCounts]) -> JudgeCounts:
    """What was counted in parts, together."""
    found: JudgeCounts = {}
    for part in parts:
        for judge, one in part.items():
            total = found.setdefault(judge, Counts())
            total.counted += one.counted
            total.crushed += one.crushed
            total.rework_open += one.rework_open
            total.rework_unknown += one.rework_unknown
    return found


def score_with_small(score: Score, small: int, crushed: int) -> SmallSessions | None:
    """The score with the small sessions of which a judge says how they ended; `None` where there are none."""
    if not small:
        return None
    value = None if score.is_mixed else 100 * (score.crushed + crushed) / (score.counted + small)
    return SmallSessions(sessions=small, crushed=crushed, value=value)


def name_judge(session: Session) -> str:
    """Who judged a session, in which version, in one text."""
    return msgspec.json.encode([session.judge, session.judge_versions], order="sorted").decode()


def split_judge(name: str) -> tuple[str, dict[str, str]]:
    """A judge and its versions."""
    return JUDGE(name)


def has_other_judge(session: Session, other: Session) -> bool:
    return session.judge != other.judge or session.judge_versions != other.judge_versions


def has_goal(session: Session) -> bool:
    """A judge committed to an intent, whatever became of judging the outcome."""
    return session.judge_status in ("ok", "unclear") or (
        session.judge_status == "ungraded" and session.intent is not None
    )


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
