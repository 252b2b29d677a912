"""What is said of a session in few words, and of a whole report, the same in every format."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assay.reports.format import (
    UNKNOWN,
    format_count,
    format_dollars,
    format_duration,
    format_line,
    format_list,
    format_name,
    format_number,
    format_percent,
    shorten_paths,
)
from assay.reports.rework import list_rework_notes
from assay.scores.audit import LEAST, AuditTally
from assay.scores.breakdown import Slice, Trend, Window, name_intent
from assay.scores.card import find_figure, load_measurement
from assay.scores.correction import Corrected
from assay.scores.measures import Measures
from assay.scores.prediction import Predicted
from assay.scores.prism import Score, SmallSessions, explain_exclusion, find_letter
from assay.scores.reasons import find_obstacle
from assay.scores.report import JudgeShare, Report
from assay.types import Session

MOST_REASONS = 3
HELD_BACK = {
    "reworked": "later replaced",
    "unresolved_error": "error unresolved",
    "iteration_loop": "went in circles",
    "frustration": "frustration",
    "scope_abandoned": "given up",
    "check_failed": "check failed",
    "failed_last": "failed last",
    "stopped": "stopped midway",
    "service": "service failed",
    "unanswered": "not answered",
    "waiting": "left waiting",
    "refused": "turned down",
    "complaint": "still wrong",
    "unchanged": "nothing changed",
    "idle": "last asked, not done",
    "admitted": "tells of a failure",
    "partial": "partly done",
    "reverted": "taken back",
    "unverified": "unverified",
    "inconclusive": "no conclusion",
    "unconfirmed": "unconfirmed",
    "incomplete": "goal missed",
    "person": "you said so",
}
EXPLICIT = "explicit"
SHOWN = {
    "accepted": "the person said so",
    "accepted_next": "the person said so",
    "check_passed": "a check passed",
    "ran_again": "run again, now right",
    "concluded": "a conclusion",
    "plan_accepted": "the plan was taken",
    "building_began": "building began",
}
"""What shows that a goal was reached, in few words."""
NOT_COUNTED = {
    "trivial": "trivial",
    "no_goal": "no goal",
    "no_substance": "neither substance nor goal",
    "opted_out": "opted out",
    "unclear": "unclear",
    "in_progress": "still going on",
    "excluded": "excluded by you",
    "no telling": "unclear to you",
}
TRIVIAL = "trivial: under 3 turns, no change, no answer"
SAID = {
    "landed": "you: landed",
    "not": "you: did not land",
    "exclude": "you: does not count",
    "unclear": "you: no telling",
}
"""A person's word, as it is told to them."""

LANDED, BELIEVE = "landed or not", "believe the agent"
"""A figure of the judge card, and the rule beside it."""
PUBLISHED = 'by the published formula (floors = "published"), which was never measured against labels'
AUDIT, FEW_TO_AUDIT = 40, 5
MANY_COMMITS = 0.1
"""From so many for each session on, where commits end one decides how many there are."""
MODEL_USD = 0.018
"""What a model's answers on one session take, its share of topics included, at Haiku 4.5's list price: the mean of our
own estimates over 268 sessions (docs/concepts/judges.md)."""


def explain_outcome(session: Session) -> str:
    """Why it crushed, did not, or does not count."""
    if session.marked:
        return SAID.get(session.marked.verdict, session.marked.verdict)
    if left_out := explain_exclusion(session):
        return NOT_COUNTED.get(left_out, left_out)
    if kind := find_obstacle(session):
        return HELD_BACK.get(kind, format_name(kind))
    if session.evidence == "explicit" or session.confidence is None:
        return EXPLICIT
    return f"likely, {format_percent(100 * session.confidence)} %"


def name_proof(session: Session) -> str:
    """What shows that a session's goal was reached; empty where nothing does, or the judge does not say what."""
    is_shown = session.evidence == "explicit" and not session.marked and session.goal_complete
    return next((SHOWN[one.kind] for one in session.reasons if one.kind in SHOWN and one.quote), "") if is_shown else ""


def find_doubt(session: Session) -> float | None:
    """The chance that a session ended otherwise than it is counted; `None` where a person or some evidence says so."""
    if session.crushed is None or session.marked or session.confidence is None:
        return None
    if session.goal_complete is not False:
        return None if session.evidence == "explicit" or not session.crushed else 1 - session.confidence
    return session.confidence


def format_score(found: Report) -> str:
    """The score, corrected where it can be, with its letter if it has one."""
    value = found.score.corrected.value if found.score.corrected else found.score.value
    if value is None:
        return UNKNOWN
    return f"{format_with_letter(value)} ({found.grade})" if found.grade else format_percent(value)


def format_with_letter(value: float) -> str:
    """A share in percent; with a decimal where the whole number would have another letter."""
    rounded = (format_percent(value), f"{value:.1f}", f"{int(value * 10) / 10:.1f}")
    return next((text for text in rounded if find_letter(float(text)) == find_letter(value)), rounded[-1])


def format_intent(session: Session) -> str:
    """What a session was after, as far as that is told apart."""
    return format_name(name_intent(session) or "") or UNKNOWN


def format_tally(score: Score) -> str:
    return f"{score.crushed} of {format_count(score.counted, 'counted session')} crushed"


def format_interval(score: Score | Corrected | Predicted, grade: str | None = None) -> str:
    """The ends of the interval; each has the letter that the score has, if it has one."""
    if score.low is None or score.high is None:
        return UNKNOWN
    show = format_with_letter if grade else format_percent
    return f"{show(score.low)}–{show(score.high)}"


def describe_ground(found: Report) -> str:
    """What the number rests on, beside it: the audit that corrects it, or the count."""
    score = found.score
    if not score.corrected:
        return format_tally(score)
    raw = UNKNOWN if score.value is None else format_percent(score.value)
    ends = format_interval(score.corrected, found.grade)
    return (
        f"corrected by your audit of {score.corrected.audited}, 95 % interval {ends} · raw {raw}, {format_tally(score)}"
    )


def describe_truth(found: Report) -> list[str]:
    """Where the truth may lie, how far an audit is, and why there is no letter; each without its full stop."""
    score, audit, said = found.score, found.audit, describe_what_if(found)
    if known := None if score.corrected else score.predicted:
        ends = format_interval(known, found.grade).replace("–", " and ")
        grounds = f"on {known.repositories} repositories of other people ({known.goals} goals)"
        likeliest = format_percent(known.value)
        said.append(
            f"the true share lies between {ends} (95 %), likeliest {likeliest}: so far off was this judge {grounds}"
        )
    elif not score.corrected and score.value is not None:
        said.append(f"95 % interval {format_interval(score)}, of chance alone: it knows nothing of the judge's errors")
    if audit and audit.why_not:
        said.append(f"your audit does not correct it yet: {audit.why_not}; {describe_more(audit)}")
    elif audit and audit.missing:
        said.append(describe_missing(audit))
    said += describe_marks(audit) if audit and score.corrected else []
    if found.no_grade and score.counted:
        said.append(f"no letter: {found.no_grade}")
    if better := describe_better(found):
        said.append(better)
    return said


def describe_what_if(found: Report) -> list[str]:
    """By which options a report is another than the settings would give, and what those give."""
    if found.what_if is None:
        return []
    known, flags = found.what_if.score, format_line(" ".join(found.what_if.flags), 120)
    plain = f": by your settings alone {format_rate(known)}" if known and known.value is not None else ""
    return [f"this is with {flags}{plain}; other commands go by your settings unless given the same"]


def describe_missing(audit: AuditTally) -> str:
    """How many sessions an audit should have asked about by now, and how to."""
    verb = "belongs" if audit.missing == 1 else "belong"
    left = f"{format_count(audit.missing, 'session')} that {verb} to the draw"
    return f"your audit has not asked about {left}; {describe_more(audit)}"


def describe_marks(audit: AuditTally) -> list[str]:
    """How many sessions were marked after an audit asked about them, and what that changes."""
    n = audit.marked_since
    verb = "was" if n == 1 else "were"
    said = f"{format_count(n, 'session')} {verb} marked otherwise after your answer, which still corrects the score"
    return [said] if n else []


def describe_more(audit: AuditTally) -> str:
    """The command that takes an audit further."""
    wanted = count_wanted(audit)
    return f"`assay audit {wanted}` goes on with it" if wanted > audit.answered else "nothing is left to ask about"


def count_wanted(audit: AuditTally) -> int:
    """How many answers in all would correct the score: those of no use are given again by others."""
    lacking = max(0, LEAST - audit.landed - audit.not_landed)
    return min(audit.sessions, audit.answered + max(lacking, audit.missing))


def format_rate(score: Score) -> str:
    return UNKNOWN if score.value is None else f"{format_percent(score.value)} ({score.crushed}/{score.counted})"


def explain_no_score(found: Report) -> str:
    """Why there is no score."""
    if not found.waterfall.sessions:
        return "there are no sessions"
    if found.score.is_mixed:
        return f"several judges, which make no common score: {'; '.join(map(format_judge_share, found.by_judge))}"
    reasons = [f"{n} {NOT_COUNTED.get(why, format_line(why, 80))}" for why, n in found.exclusions.items()]
    return f"of {format_count(found.waterfall.sessions, 'session')} {format_list(reasons, 4)}"


def format_judge_share(one: JudgeShare) -> str:
    """The score of one judge's sessions."""
    return f"{format_line(one.judge, 40)} {format_rate(one.score)}"


def describe_judge(found: Report) -> str:
    """Who judged, where words went, and what that took."""
    judge = found.judge
    said = f"judged by the {format_line(judge.backend, 40)} judge, {describe_quality(found)}"
    if judge.fallback and all(one.judge == "offline" for one in found.by_judge):
        return f"{said}, instead of a model: {format_line(judge.fallback, 160)}"
    if judge.model is None or judge.spending is None:
        return said
    spent = judge.spending
    cost = "price not known" if spent.cost_usd is None else format_dollars(spent.cost_usd)
    kept = f", {format_count(spent.cached, 'answer')} from before" if spent.cached else ""
    asked = (
        f"{format_count(spent.calls, 'call')}, {cost}{kept}" if spent.calls or spent.cached else "nothing new was asked"
    )
    return f"{said}: {format_line(judge.model, 60)} at {format_line(judge.where or '', 80)} · {asked}"


def describe_quality(found: Report) -> str:
    """How good the judge is, in half a line: by the person's own audit where that says enough, else as measured."""
    if found.judge.floors == "published":
        return PUBLISHED
    judge = found.judge.backend
    own = found.agreement
    if own and own.decided >= LEAST:
        return f"which agrees with you on {own.agreed} of {own.decided} audited sessions (`assay judges`)"
    measured = load_measurement(judge)
    figure = find_figure(measured, LANDED) if measured else None
    if measured is None or figure is None:
        return "never measured against labels"
    beside = figure.baselines.get(BELIEVE)
    against = "" if beside is None else f", where believing the agent is right in {format_percent(100 * beside)}"
    left_out = f"each of {measured.repositories} repositories left out of its fit"
    return f"right in {format_percent(100 * figure.value)} of 100 with {left_out}{against} (`assay judges`)"


def describe_better(found: Report) -> str | None:
    """What would be better here than this judge's word, with its price."""
    count = found.score.counted
    if found.score.corrected or not count or found.judge.backend != "offline" or found.judge.fallback:
        return None
    wanted = count_wanted(found.audit) if found.audit else min(AUDIT, count)
    audit = f"`assay audit {wanted}`, your own word on a random sample"
    if wanted < FEW_TO_AUDIT:
        audit = "your own word, `assay session mark ID landed` or `not`"
    if not any(one.name == "claude-code" for one in found.slices["agent"]):
        return f"better: {audit}"
    asked = f"`--judge claude-cli`, the service that saw these words already, {format_dollars(count * MODEL_USD)} or so"
    return f"better: {audit}; or {asked}"


# --- where sessions drop out --------------------------------------------------------------------


def list_steps(found: Report) -> list[tuple[str, int, str]]:
    """The waterfall: a step, how many are left after it, and why the others are not."""
    left = found.waterfall
    lost = {step: name_losses(found, step) for step in found.losses}
    return [
        ("sessions", left.sessions, f"in {format_count(left.streams, 'stream')}"),
        ("of substance", left.substance, format_loss(left.sessions - left.substance, lost["substance"], found.small)),
        ("with a goal", left.goal, format_loss(left.substance - left.goal, lost["goal"])),
        ("judged", left.judged, format_loss(left.goal - left.judged, lost["judged"])),
        ("completed", left.complete, format_loss(left.judged - left.complete, lost["complete"])),
        ("crushed", left.crushed, format_loss(left.complete - left.crushed, lost["crushed"])),
    ]


def name_losses(found: Report, step: str) -> dict[str, int]:
    """Why sessions are not left after a step, for people."""
    said: Counter[str] = Counter()
    for why, n in found.losses[step].items():
        said[TRIVIAL if (step, why) == ("substance", "trivial") else name_reason(step, why)] += n
    return said


def name_reason(step: str, why: str) -> str:
    """Why sessions are not left after a step, in few words."""
    if step in ("complete", "crushed"):
        return HELD_BACK.get(why, format_name(why))
    return NOT_COUNTED.get(why, format_line(why, 60))


def format_loss(n: int, reasons: Mapping[str, int], small: SmallSessions | None = None) -> str:
    """How many a step took away, for which reasons, and the score with the small ones."""
    if not n:
        return ""
    if small and small.value is not None:
        with_them = f"with the {format_count(small.sessions, 'small session')}: {format_percent(small.value)} %"
        return f"{format_loss(n, reasons)}; {with_them}"
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(ordered) == 1:
        return f"−{n} {ordered[0][0]}"
    parts = [f"{count} {why}" for why, count in ordered[:MOST_REASONS]]
    rest = sum(count for _, count in ordered[MOST_REASONS:])
    return f"−{n}: {', '.join([*parts, f'{rest} more'] if rest else parts)}"


# --- beside it --------------------------------------------------------------------------------


def describe_measures(found: Measures) -> list[str]:
    """What is known."""
    parts = []
    if found.crushed_per_week is not None:
        parts.append(f"{found.crushed_per_week:.1f} crushed a week")
    if found.median_time_to_crush_s is not None:
        parts.append(f"{format_duration(found.median_time_to_crush_s)} of work to crush (median)")
    if found.average_prompt_grade:
        weakest = f", weakest in {format_name(found.weakest_pillar)}" if found.weakest_pillar else ""
        parts.append(f"prompts worded {found.average_prompt_grade}{weakest}")
    if found.crush_weight is not None:
        parts.append(f"{format_percent(100 * found.crush_weight)} % of tokens went into crushed sessions")
    if found.tokens_per_turn is not None:
        parts.append(f"{format_number(round(found.tokens_per_turn))} tokens a turn")
    if found.usd_per_crushed is not None:
        priced = f" ({found.unpriced_sessions} unpriced)" if found.unpriced_sessions else ""
        parts.append(f"USD {found.usd_per_crushed:.2f} a crushed session{priced}")
    elif found.unpriced_sessions:
        parts.append(f"{format_count(found.unpriced_sessions, 'session')} unpriced")
    return parts


def describe_windows(found: Iterable[Window]) -> list[tuple[str, str, str]]:
    """The last days against those before: what they were, how they compare, in which colour."""
    return [
        (
            f"{describe_days(one)}: {format_rate(one.score)}, the {one.days} before: {format_rate(one.before)} · ",
            *describe_change(one),
        )
        for one in found
        if one.before.counted and one.score.counted
    ]


def describe_days(one: Window) -> str:
    return f"{one.days} days to {one.ended}"


def describe_change(one: Window) -> tuple[str, str]:
    """An arrow only where the numbers support one."""
    if not one.is_one_judge:
        return "not comparable: judged in different ways", "dim"
    if one.direction is None:
        return "no difference shown", "dim"
    sign, style = {"up": ("↑ better", "green"), "down": ("↓ worse", "red")}[one.direction]
    return f"{sign} ({format_chance(one.p_value or 0.0)})", style


def name_slices(found: Sequence[Slice], by: str) -> dict[str, str]:
    """What the slices are called."""
    if by == "project":
        return shorten_paths(one.name for one in found)
    if by == "model":
        return name_models(one.name for one in found)
    return {one.name: format_name(one.name) if by == "intent" else one.name for one in found}


EDITION = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d)$")
MAKER = "claude-"


def name_models(rows: Iterable[str]) -> dict[str, str]:
    """What models are called: without the day of their edition where no other would be called so, several in short."""
    known = {row: row.split(", ") for row in rows}
    plain = Counter(EDITION.sub("", one) for one in {one for some in known.values() for one in some})
    short = {one: bare if plain[bare := EDITION.sub("", one)] == 1 else one for some in known.values() for one in some}
    return {
        row: short[row] if len(some) == 1 else " + ".join(short[one].removeprefix(MAKER) for one in some)
        for row, some in known.items()
    }


def describe_slice(one: Slice) -> tuple[str, str]:
    """How a slice differs from all others, and in which colour; nothing where no difference is shown."""
    if one.direction is None or one.p_corrected is None:
        return "", ""
    sign, style = {"up": ("↑", "green"), "down": ("↓", "red")}[one.direction]
    return f"{sign} {format_chance(one.p_corrected)}", style


def describe_tests(found: Sequence[Slice]) -> str:
    """What was tested, in half a line."""
    tests = sum(one.p_value is not None for one in found)
    shown = sum(one.direction is not None for one in found)
    if not tests:
        return "too few sessions to test a slice against the rest"
    if sum(one.score.counted > 0 for one in found) == 2:
        return "the two against each other: " + ("they differ (↑ above, ↓ below)" if shown else "no difference shown")
    told = "no difference shown" if not shown else f"{shown} shown to differ (↑ above, ↓ below)"
    return f"each against the rest, corrected for {format_count(tests, 'test')}: {told}"


def describe_trend(found: Trend, period: str) -> str:
    """Whether the score moves from period to period."""
    if found.p_value is None:
        return f"trend: {format_count(found.periods, period)} with counted sessions, too few to tell"
    if found.direction is None:
        return f"trend: none shown over {format_count(found.periods, period)} ({format_chance(found.p_value)})"
    sign = {"up": "↑ rising", "down": "↓ falling"}[found.direction]
    return f"trend: {sign} over {format_count(found.periods, period)} ({format_chance(found.p_value)})"


def format_chance(p_value: float) -> str:
    """A p value."""
    return f"p = {p_value:.3f}" if p_value >= 0.001 else "p < 0.001"


# --- what to know -----------------------------------------------------------------------------


def list_notes(found: Report) -> list[str]:
    """What a reader should know before trusting the number."""
    said = []
    skipped = [format_count(found.skipped.lines, "line") if found.skipped.lines else ""]
    skipped.append(format_count(found.skipped.files, "file") if found.skipped.files else "")
    if any(skipped):
        said.append(
            f"{' and '.join(filter(None, skipped))} could not be read: `assay doctor` with the same paths says which"
        )
    ungraded = sum(n for why, n in found.exclusions.items() if why.startswith("ungraded"))
    if ungraded:
        verb = "is" if ungraded == 1 else "are"
        said.append(
            f"{format_count(ungraded, 'session')} {verb} ungraded and left out: thin evidence is reported, not guessed"
        )
    said += describe_commits(found)
    return [*describe_fallbacks(found), *said, *list_rework_notes(found.score, found.rework_unknown)]


def describe_commits(found: Report) -> list[str]:
    """That another word on commits would give another number, where many of them ended no session."""
    n = found.went_on
    if n < LEAST or n < MANY_COMMITS * found.waterfall.sessions:
        return []
    ended = f"{format_count(n, 'commit')} ended no session, for the work went on after them"
    return [f"{ended}: `--commit hard` ends one at each, and can move the score"]


def describe_fallbacks(found: Report) -> list[str]:
    """Sessions that another judge judged than the one that was asked for, and why."""
    return [
        f"{format_count(one.sessions, 'session')}{' judged by the offline judge instead' if one.judge else ''}: "
        f"{format_line(one.why, 160)}"
        for one in sorted(found.fallbacks, key=lambda one: (-one.sessions, one.judge, one.why))
    ]
