"""How far a session gets on the way from all sessions to those that crushed, and why it goes no further."""

from msgspec import Struct

from assay.scores.prism import explain_exclusion, has_goal, has_substance
from assay.scores.reasons import find_obstacle
from assay.types import Session


class StepsTaken(Struct, frozen=True):
    """The steps of the waterfall that a session is left after, and the one that it is lost at."""

    reached: tuple[str, ...]
    lost: str = ""
    """Empty for a session that crushed, or that no step can name."""
    why: str = ""


def follow_steps(one: Session) -> StepsTaken:
    """The steps of a session; its `crushed` must be fresh."""
    reason = explain_exclusion(one)
    if not has_substance(one):
        why = reason or "trivial"
        return StepsTaken((), "substance", "no_substance" if why == "no_goal" else why)
    if not has_goal(one):
        return StepsTaken(("substance",), "goal", reason or "no_goal")
    if one.judge_status != "ok":
        return StepsTaken(("substance", "goal"), "judged", "no telling" if one.marked else reason or "ungraded")
    done = ("complete",) if one.goal_complete is True else ()
    landed = ("crushed",) if one.crushed is True else ()
    kind = find_obstacle(one)
    lost = ("crushed" if kind == "reworked" else "complete") if kind else ""
    return StepsTaken(("substance", "goal", "judged", *done, *landed), lost, kind or "")
