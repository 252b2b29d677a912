"""The PRISM Score: the share of the sessions that count which crushed their goal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import NormalDist

from assay.types import JudgeStatus, Row, Session

Z = NormalDist().inv_cdf(0.975)

LADDER = (
    (97.0, "A+"), (93.0, "A"), (90.0, "A-"),
    (87.0, "B+"), (83.0, "B"), (80.0, "B-"),
    (77.0, "C+"), (73.0, "C"), (70.0, "C-"),
    (60.0, "D"), (0.0, "F"),
)  # fmt: skip
"""From which value on a score has which letter."""


class Score(Row, frozen=True):
    """The number, in percent and unrounded; `None` where nothing counts."""

    value: float | None
    low: float | None
    high: float | None
    """Ends of the Wilson 95 % interval."""
    crushed: int
    counted: int
    rework_open: int
    """Crushed sessions so young that rework may still take them away."""
    rework_unknown: int
    """Crushed sessions of which nobody can tell whether they were reworked."""
    corrected: None = None
    """For the judge's measured error: nothing, until it is measured."""
    is_mixed: bool = False
    """Several judges judged, so there is no common value: what one calls crushed another may not."""


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
    """The same by what is known of the session now: rework may turn after it was judged."""
    return is_crushed(session.judge_status, has_substance(session), session.goal_complete, rework(session))


def has_substance(session: Session) -> bool:
    return session.facts["substance"] is True


def rework(session: Session) -> str:
    """The state of its rework."""
    found = session.facts.get("rework")
    return str(found["state"]) if found else "unknown"


def counted(sessions: Iterable[Session]) -> list[Session]:
    """The sessions the score is made of."""
    return [one for one in sessions if has_crushed(one) is not None]


def score(sessions: Iterable[Session]) -> Score:
    """The score of these sessions."""
    found = counted(sessions)
    crushed = [one for one in found if has_crushed(one)]
    states = Counter(map(rework, crushed))
    is_mixed = len(set(map(judged_by, found))) > 1
    has_value = bool(found) and not is_mixed
    low, high = wilson(len(crushed), len(found)) if has_value else (None, None)
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


def judged_by(session: Session) -> tuple[str, str]:
    """Who judged a session, in which version."""
    return session.judge, " ".join(f"{job}={one}" for job, one in sorted(session.judge_versions.items()))


def wilson(crushed: int, counted: int) -> tuple[float, float]:
    """The Wilson 95 % interval of a share, in percent; all is possible where nothing counts."""
    if not counted:
        return 0.0, 100.0
    share, spread = crushed / counted, Z * Z / counted
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / counted + spread / counted / 4) / (1 + spread)
    # The ends are exact by definition; floats would miss them by a hair.
    low = 0.0 if crushed == 0 else 100 * (middle - half)
    high = 100.0 if crushed == counted else 100 * (middle + half)
    return low, high


def waterfall(sessions: Sequence[Session], streams: int) -> Waterfall:
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
        crushed=sum(has_crushed(one) is True for one in judged),
    )


def has_goal(session: Session) -> bool:
    """A judge committed to an intent, whatever became of judging the outcome."""
    return session.judge_status == "ok" or (session.judge_status == "ungraded" and session.intent is not None)


def exclusions(sessions: Iterable[Session]) -> dict[str, int]:
    """Why sessions don't count, and how many for each reason, most first."""
    reasons = Counter(reason for one in sessions if (reason := exclusion(one)))
    return dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])))


def exclusion(session: Session) -> str | None:
    """Why a session does not count; `None` for one that does."""
    if not has_substance(session):
        return "trivial"
    if session.judge_status == "ungraded":
        return f"ungraded: {session.ungraded_reason or 'no reason given'}"
    return None if session.judge_status == "ok" else session.judge_status


def letter(value: float | None) -> str | None:
    """The letter of a score, by `LADDER`."""
    return None if value is None else next(name for least, name in LADDER if value >= least)
