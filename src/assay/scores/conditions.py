"""Which sessions a number counts, by the conditions that the link behind it names."""

from collections.abc import Mapping
from datetime import tzinfo

from assay.scores.breakdown import WAYS, name_slice
from assay.scores.reasons import find_obstacle
from assay.scores.steps import follow_steps
from assay.types import Session

CRUSHED = {"yes": True, "no": False, "none": None}


def fits_conditions(one: Session, given: Mapping[str, str], zone: tzinfo) -> bool:
    """Whether a session is meant; its `crushed` must be fresh. What is no condition here leaves nothing out."""
    get = given.get
    if (said := get("crushed")) in CRUSHED and one.crushed is not CRUSHED[said]:
        return False
    if (obstacle := get("obstacle")) and find_obstacle(one) != obstacle:
        return False
    if get("marked") and one.marked is None:
        return False
    if (status := get("status")) and one.judge_status != status:
        return False
    if (judge := get("judge")) and one.judge != judge:
        return False
    return fits_steps(one, given) and all(name_slice(one, by, zone) == name for by in WAYS if (name := get(f"by_{by}")))


def fits_steps(one: Session, given: Mapping[str, str]) -> bool:
    """Whether a session is left after the step that is asked for, or lost at it."""
    left, lost, why, but = (given.get(name, "") for name in ("left", "lost", "why", "but"))
    if not left and not lost:
        return True
    steps = follow_steps(one)
    if left and left not in steps.reached:
        return False
    is_other = not but or steps.why not in but.split(",")
    return (not lost or steps.lost == lost) and (not why or steps.why == why) and is_other
