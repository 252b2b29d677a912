"""What is said of a whole report, the same in every format."""

from collections import Counter
from collections.abc import Iterable, Sequence

from assay.reports import later
from assay.reports.safe import many, one_line
from assay.reports.terminal import short
from assay.reports.words import HELD_BACK, NOT_COUNTED, UNKNOWN, dollars, listed, percent, places, plainly, span
from assay.scores.breakdown import Slice, Window
from assay.scores.measures import Measures
from assay.scores.prism import Score, explain_exclusion, grade_score, has_goal, has_substance
from assay.scores.reasons import find_obstacle
from assay.scores.report import JudgeShare, Report
from assay.types import Session

MOST_REASONS = 3


def number(found: Report) -> str:
    """The score with its letter; with a decimal where the whole number would have another letter."""
    value = found.score.value
    if value is None:
        return UNKNOWN
    rounded = (percent(value), f"{value:.1f}", f"{int(value * 10) / 10:.1f}")
    shown = next((text for text in rounded if grade_score(float(text)) == found.grade), rounded[-1])
    return f"{shown} ({found.grade})"


def tally(score: Score) -> str:
    return f"{score.crushed} of {many(score.counted, 'counted session')} crushed"


def interval(score: Score) -> str:
    """The ends of the interval."""
    return UNKNOWN if score.low is None or score.high is None else f"{percent(score.low)}–{percent(score.high)}"


def rate(score: Score) -> str:
    return UNKNOWN if score.value is None else f"{percent(score.value)} ({score.crushed}/{score.counted})"


def nothing(found: Report) -> str:
    """Why there is no score."""
    if not found.sessions:
        return "there are no sessions"
    if found.score.is_mixed:
        return f"several judges, which make no common score: {'; '.join(map(share, found.by_judge))}"
    reasons = [f"{n} {NOT_COUNTED.get(why, one_line(why, 80))}" for why, n in found.exclusions.items()]
    return f"of {many(len(found.sessions), 'session')} {listed(reasons, 4)}"


def share(one: JudgeShare) -> str:
    """The score of one judge's sessions."""
    return f"{one_line(one.judge, 40)} {rate(one.score)}"


def judged_by(found: Report) -> str:
    """Who judged, where words went, and what that took."""
    judge = found.judge
    state = "calibrated" if judge.calibrated else "uncalibrated"
    said = f"judged by the {one_line(judge.backend, 40)} judge, {state}"
    if judge.fallback and all(one.judge == "offline" for one in found.by_judge):
        return f"{said}, instead of a model: {one_line(judge.fallback, 160)}"
    if judge.model is None or judge.spending is None:
        return said
    spent = judge.spending
    cost = "price not known" if spent.cost_usd is None else dollars(spent.cost_usd)
    kept = f", {many(spent.cached, 'answer')} from before" if spent.cached else ""
    asked = f"{many(spent.calls, 'call')}, {cost}{kept}" if spent.calls or spent.cached else "nothing new was asked"
    return f"{said}: {one_line(judge.model, 60)} at {one_line(judge.where or '', 80)} · {asked}"


# --- where sessions drop out --------------------------------------------------------------------


def steps(found: Report) -> list[tuple[str, int, str]]:
    """The waterfall: a step, how many are left after it, and why the others are not."""
    left = found.waterfall
    lost = losses(found.sessions)
    return [
        ("sessions", left.sessions, f"in {many(left.streams, 'stream')}"),
        ("of substance", left.substance, lost_at(left.sessions - left.substance, lost["substance"])),
        ("with a goal", left.goal, lost_at(left.substance - left.goal, lost["goal"])),
        ("judged", left.judged, lost_at(left.goal - left.judged, lost["judged"])),
        ("completed", left.complete, lost_at(left.judged - left.complete, lost["complete"])),
        ("crushed", left.crushed, lost_at(left.complete - left.crushed, lost["crushed"])),
    ]


def losses(sessions: Iterable[Session]) -> dict[str, Counter[str]]:
    """Why sessions are not left after each step."""
    lost: dict[str, Counter[str]] = {step: Counter() for step in ("substance", "goal", "judged", "complete", "crushed")}
    for one in sessions:
        if not has_substance(one):
            lost["substance"]["trivial: under 3 turns, no change"] += 1
        elif not has_goal(one):
            why = explain_exclusion(one) or "no_goal"
            lost["goal"][NOT_COUNTED.get(why, one_line(why, 60))] += 1
        elif one.judge_status != "ok":
            lost["judged"][one_line(explain_exclusion(one) or "ungraded", 60)] += 1
        elif (kind := find_obstacle(one)) is not None:
            lost["crushed" if kind == "reworked" else "complete"][HELD_BACK.get(kind, plainly(kind))] += 1
    return lost


def lost_at(n: int, reasons: Counter[str]) -> str:
    """How many a step took away, and for which reasons."""
    if not n:
        return ""
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(ordered) == 1:
        return f"−{n} {ordered[0][0]}"
    parts = [f"{count} {why}" for why, count in ordered[:MOST_REASONS]]
    rest = sum(count for _, count in ordered[MOST_REASONS:])
    return f"−{n}: {', '.join([*parts, f'{rest} more'] if rest else parts)}"


# --- beside it --------------------------------------------------------------------------------


def measures(found: Measures) -> list[str]:
    """What is known."""
    parts = []
    if found.crushed_per_week is not None:
        parts.append(f"{found.crushed_per_week:.1f} crushed a week")
    if found.median_time_to_crush_s is not None:
        parts.append(f"{span(found.median_time_to_crush_s)} of work to crush (median)")
    if found.average_prompt_grade:
        weakest = f", weakest in {plainly(found.weakest_pillar)}" if found.weakest_pillar else ""
        parts.append(f"prompts graded {found.average_prompt_grade}{weakest}")
    if found.crush_weight is not None:
        parts.append(f"{percent(100 * found.crush_weight)} % of tokens went into crushed sessions")
    if found.tokens_per_turn is not None:
        parts.append(f"{short(round(found.tokens_per_turn))} tokens a turn")
    if found.usd_per_crushed is not None:
        priced = f" ({found.unpriced_sessions} unpriced)" if found.unpriced_sessions else ""
        parts.append(f"USD {found.usd_per_crushed:.2f} a crushed session{priced}")
    elif found.unpriced_sessions:
        parts.append(f"{many(found.unpriced_sessions, 'session')} unpriced")
    return parts


def windows(found: Iterable[Window]) -> list[tuple[str, str, str]]:
    """The last days against those before: what they were, how they compare, in which colour."""
    return [
        (
            f"{one.days} days to {one.ended}: {rate(one.score)}, the {one.days} before: {rate(one.before)} · ",
            *compared(one),
        )
        for one in found
        if one.before.counted and one.score.counted
    ]


def compared(one: Window) -> tuple[str, str]:
    """An arrow only where the numbers support one."""
    if not one.is_one_judge:
        return "not comparable: judged in different ways", "dim"
    if one.direction is None:
        return "no difference shown", "dim"
    sign, style = {"up": ("↑ better", "green"), "down": ("↓ worse", "red")}[one.direction]
    chance = f"p = {one.p_value:.3f}" if one.p_value is not None and one.p_value >= 0.001 else "p < 0.001"
    return f"{sign} ({chance})", style


def slice_names(found: Sequence[Slice], by: str) -> dict[str, str]:
    """What the slices are called."""
    if by == "project":
        return places(one.name for one in found)
    return {one.name: plainly(one.name) if by == "intent" else one.name for one in found}


# --- what to know -----------------------------------------------------------------------------


def notes(found: Report) -> list[str]:
    """What a reader should know before trusting the number."""
    said = []
    skipped = [many(found.skipped.lines, "line") if found.skipped.lines else ""]
    skipped.append(many(found.skipped.files, "file") if found.skipped.files else "")
    if any(skipped):
        said.append(
            f"{' and '.join(filter(None, skipped))} could not be read: `assay doctor` with the same paths says which"
        )
    ungraded = sum(n for why, n in found.exclusions.items() if why.startswith("ungraded"))
    if ungraded:
        verb = "is" if ungraded == 1 else "are"
        said.append(f"{many(ungraded, 'session')} {verb} ungraded and left out: thin evidence is reported, not guessed")
    return [*stood_in(found), *said, *later.notes(found.score, found.sessions)]


def stood_in(found: Report) -> list[str]:
    """Sessions that another judge judged than the one that was asked for, and why."""
    reasons = Counter(one.fallback for one in found.sessions if one.fallback and one.judge_status != "opted_out")
    return [
        f"{many(n, 'session')} judged by the offline judge instead: {one_line(str(why), 160)}"
        for why, n in reasons.most_common()
    ]
