"""The overview: do sessions land, how sure is that, where do the others stay behind, and what helps."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from msgspec.structs import replace

from assay.reports.format import format_count, format_duration, format_line, format_number, format_percent
from assay.reports.rework import describe_losses
from assay.reports.session import SEEN
from assay.reports.summary import (
    describe_change,
    describe_days,
    describe_judge,
    describe_slice,
    describe_tests,
    describe_trend,
    describe_truth,
    explain_no_score,
    format_rate,
    format_score,
    list_notes,
    name_reason,
    name_slices,
)
from assay.scores.breakdown import NOTHING, Slice, place_period
from assay.scores.prism import Score
from assay.scores.reasons import REASONS, Obstacle
from assay.scores.report import Report
from assay.web.charts import BarChart, ChartPoint, CountBar, IntervalChart, TrendChart
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h, say
from assay.web.links import to_page, to_session, to_sessions
from assay.web.marks import (
    ShareInterval,
    format_ends,
    render_card,
    render_chip,
    render_doubt,
    render_empty,
    render_facts,
    render_figure,
    render_interval,
    render_list,
)
from assay.web.tables import LONGEST_NAME, Choice, render_chart, render_filters

STEPS = {
    "sessions": "all sessions",
    "substance": "of substance",
    "goal": "with a goal",
    "judged": "judged",
    "complete": "goal completed",
    "crushed": "crushed",
}
"""Steps of the waterfall, in the order in which sessions are lost."""
KINDS = {reason: kind for kind, reason in REASONS.items()}
WAYS = (("project", "Projects"), ("model", "Models"), ("intent", "What they were after"), ("agent", "Agents"))
MOST_SLICES, MOST_POINTS, MOST_REASONS, MOST_EXAMPLES = 8, 26, 4, 3
WINDOW = (
    Choice(name="since", words="Since", hint="30d, 2026-11-01"),
    Choice(name="until", words="Until", hint="2026-11-08"),
    Choice(name="project", words="Project", hint="a word in its path"),
    Choice(name="by", words="Trend by", hint="fitting", options=(("day", "day"), ("week", "week"), ("month", "month"))),
)
NOTHING_YET = (
    "`assay score` reads the transcripts that your agents left on this machine; `assay demo` shows examples.",
    "Or let agents send telemetry here: set `OTEL_EXPORTER_OTLP_ENDPOINT` to the address of this server.",
)


def render_overview(
    found: Report, given: Mapping[str, str], context: PageContext, titles: Mapping[str, str] | None = None
) -> Page:
    """The whole page, of a report; `given` is the window that was asked for, `titles` are of `list_examples`."""
    asked = None if context.is_file else render_filters("/", WINDOW, given)
    if not found.waterfall.sessions:
        body: Node = [asked, render_nothing(given)]
    else:
        by = given.get("by") or pick_period(found)
        body = [
            asked,
            h.div(".columns.hero")[render_score_card(found, context), render_judge_card(found, context)],
            h.div(".columns")[render_waterfall(found, context), render_obstacles(found, titles or {}, context)],
            h.div(".columns")[render_trend(found, by, context), render_measures(found, context)],
            h.div(".masonry")[[render_slices(found, way, words, context) for way, words in WAYS]],
            render_changes(found, context),
            render_card("Before you trust it", notes)
            if (notes := render_list([f"{one[:1].upper()}{one[1:]}." for one in list_notes(found)]))
            else None,
        ]
    return Page(name="overview", title="Overview", lead=describe_window(found, given), body=body)


def render_nothing(given: Mapping[str, str]) -> Element:
    if any(given.get(name) for name in ("since", "until", "project")):
        return render_empty("No session in this window", "Choose another window, or clear the fields above.")
    return render_empty("No sessions yet", *NOTHING_YET)


def describe_window(found: Report, given: Mapping[str, str]) -> str:
    """Which sessions this is about."""
    named = [f"{name} {given[name]}" for name in ("since", "until", "project") if given.get(name)]
    days = [one.name for one in found.slices.get("day", ()) if one.name != NOTHING]
    span = f"{days[0]} to {days[-1]}" if days else ""
    return " · ".join([*([span] if span else []), format_count(found.waterfall.sessions, "session"), *named])


# --- the score ----------------------------------------------------------------------------------


def render_score_card(found: Report, context: PageContext) -> Element:
    """The number with what is known of where the truth lies."""
    score = found.score
    if score.value is None and score.corrected is None:
        return render_card("PRISM Score", render_chip("quiet", "no score"), render_doubt(explain_no_score(found)))
    drawn = score.corrected or (replace(score.predicted, value=score.value) if score.predicted else score)
    return render_card(
        "PRISM Score",
        h.div(".score")[
            h.div(".big")[
                h.span(".number")[format_score(found)],
                h.span(".ends")[f"of 100 · the truth lies in {format_ends(drawn)} (95 %)"],
            ],
            h.div[
                render_interval(drawn),
                h.div(".scale-ends", aria_hidden="true")[h.span["0"], h.span["50"], h.span["100"]],
            ],
        ],
        render_counts(score, context),
        render_readings(score),
        [render_doubt(say(f"{line[:1].upper()}{line[1:]}.")) for line in describe_truth(found)],
        lead="the share of counted sessions that crushed: their goal was reached, and not undone later",
    )


def render_counts(score: Score, context: PageContext) -> Element:
    """How many crushed, of how many; each number leads to its sessions."""
    missed = score.counted - score.crushed
    return h.p[
        context.link(to_sessions(left="crushed"), f"{score.crushed:,}"),
        " of ",
        context.link(to_sessions(left="judged"), format_count(score.counted, "counted session")),
        " crushed",
        [", ", context.link(to_sessions(crushed="no"), f"{missed:,} did not")] if missed else None,
    ]


def render_readings(score: Score) -> Element:
    """The same share, raw, predicted and corrected, on one scale."""
    rows: list[tuple[str, str, ShareInterval | None]] = [
        ("raw", "as counted, by chance alone", score),
        ("predicted", "by how far this judge was off elsewhere", score.predicted),
        ("corrected", "by your own audit", score.corrected),
    ]
    return h.div(".readings")[
        [
            h.div(".reading", title=says)[
                h.span(".name")[name],
                h.b[format_percent(one.value)],
                render_interval(one),
                h.span(".ends")[format_ends(one)],
            ]
            for name, says, one in rows
            if one and one.value is not None
        ]
    ]


def render_judge_card(found: Report, context: PageContext) -> Element:
    """Who judged, how good that judge is, and what would be better."""
    said = describe_judge(found)
    shares = [
        (one.judge, context.link(to_sessions(judge=one.judge, left="judged"), format_rate(one.score)))
        for one in found.by_judge
    ] if len(found.by_judge) > 1 else []  # fmt: skip
    audit = found.audit
    asked = f"{audit.answered} of {audit.sessions} sessions answered" if audit else ""
    return render_card(
        "Who judged",
        h.p[say(f"{said[:1].upper()}{said[1:]}.")],
        render_facts(
            [
                ("judge", found.judge.backend),
                ("model", found.judge.model),
                ("words went to", found.judge.where or "nobody: judged on this machine"),
                (
                    "your audit",
                    context.link(to_page("audit"), asked or "none yet: `assay audit 40` begins one".replace("`", "")),
                ),
                ("letter", found.grade or f"none: {found.no_grade}" if found.grade or found.no_grade else None),
                *shares,
            ]
        ),
        h.p[context.link(to_page("judges"), "The judge card")] if context.links.find(to_page("judges")) else None,
    )


# --- where sessions stay behind -----------------------------------------------------------------


def build_waterfall(found: Report) -> BarChart:
    """From all sessions to those that crushed; each number and each reason leads to what it counts."""
    bars = []
    for step, words in STEPS.items():
        lost = found.losses.get(step, {})
        notes = [
            (f"−{n:,} {name_reason(step, why)}", to_sessions(lost=step, why=why))
            for why, n in list(lost.items())[:MOST_REASONS]
        ]
        rest = sum(list(lost.values())[MOST_REASONS:])
        if rest:
            named = ",".join(list(lost)[:MOST_REASONS])
            notes.append((f"−{rest:,} more", to_sessions(lost=step, but=named)))
        address = to_sessions() if step == "sessions" else to_sessions(left=step)
        count = getattr(found.waterfall, step)
        bars.append(CountBar(label=words, count=count, notes=notes, address=address, is_good=step == "crushed"))
    return BarChart(title="From all sessions to those that crushed", along="step", bars=bars)


def render_waterfall(found: Report, context: PageContext) -> Element:
    lead = f"from {format_count(found.waterfall.streams, 'conversation')} to sessions that crushed"
    return render_card("Where sessions stay behind", render_chart(build_waterfall(found), context), lead=lead)


def list_examples(found: Report) -> list[str]:
    """Ids of the sessions that stand for reasons: the newest few of each."""
    return [name for one in found.obstacles for name in one.sessions[-MOST_EXAMPLES:]]


def render_obstacles(found: Report, titles: Mapping[str, str], context: PageContext) -> Element:
    """The commonest reasons, each with what helps and some sessions to look at."""
    if not found.obstacles:
        return render_card(
            "What keeps sessions from landing", h.p(".quiet")["Nothing: every session that counts crushed."]
        )
    return render_card(
        "What keeps sessions from landing",
        h.ol(".reasons")[[render_obstacle(one, titles, context) for one in found.obstacles]],
        lead=describe_share(found),
    )


def describe_share(found: Report) -> str:
    """How much the commonest reasons explain."""
    told = sum(len(one.sessions) for one in found.obstacles)
    missed = found.score.counted - found.score.crushed
    most = f"{told} of the {missed} that did not crush" if told < missed else f"all {missed} that did not crush"
    return f"the commonest reasons, of {most}, and what would have helped"


def render_obstacle(one: Obstacle, titles: Mapping[str, str], context: PageContext) -> Element:
    kind = KINDS.get(one.reason, "")
    some = [
        h.li[context.link(to_session(name), format_line(titles.get(name, ""), 90) or name)]
        for name in one.sessions[-MOST_EXAMPLES:]
    ]
    return h.li[
        h.span(".count")[
            context.link(to_sessions(obstacle=kind) if kind else to_sessions(crushed="no"), f"{len(one.sessions):,}")
        ],
        h.div[
            h.strong[f"{one.reason[:1].upper()}{one.reason[1:]}"],
            h.p(".advice")[f"Seen: {SEEN[kind]}."] if kind in SEEN else None,
            h.p(".advice")[say(one.advice)],
            h.ul(".examples")[some],
        ],
    ]


# --- along time, and beside it ------------------------------------------------------------------


def pick_period(found: Report) -> str:
    """Days where there are few weeks, else weeks."""
    return "week" if len(found.slices.get("week", ())) >= MOST_REASONS else "day"


def build_score_trend(found: Report, by: str) -> TrendChart:
    """The score along time, with gaps where nothing counted."""
    known = {place_period(one.name, by): one for one in found.slices.get(by, ()) if one.name != NOTHING}
    last = max(known, default=0)
    first = max(min(known, default=0), last - MOST_POINTS + 1)
    names = list_periods(known, by, first, last)
    points = [place_slice(name, known.get(at), by) for at, name in names]
    older = sum(one.score.counted for at, one in known.items() if at < first)
    cut = f"; drawn are the last {MOST_POINTS} {by}s, {older:,} counted sessions are older" if older else ""
    said = describe_trend(found.trends[by], by) + cut
    return TrendChart(title=f"Score by {by}", along=by, points=points, said=said)


def list_periods(known: Mapping[int, Slice], by: str, first: int, last: int) -> list[tuple[int, str]]:
    """The periods from a first to a last one, and their names."""
    if not known:
        return []
    if by == "month":
        return [(at, f"{(at - 1) // 12}-{(at - 1) % 12 + 1:02}") for at in range(first, last + 1)]
    some, days = next(iter(known.items())), 7 if by == "week" else 1
    begin = date.fromisoformat(some[1].name)
    return [(at, (begin + timedelta(days=days * (at - some[0]))).isoformat()) for at in range(first, last + 1)]


def place_slice(name: str, one: Slice | None, by: str) -> ChartPoint:
    """A slice as a point of a chart; one without sessions is a gap."""
    if one is None:
        return ChartPoint(label=name, value=None)
    score = one.score
    address = to_sessions(**{f"by_{by}": name, "left": "judged"})
    note = f"{score.crushed} of {score.counted}"
    return ChartPoint(label=name, value=score.value, low=score.low, high=score.high, note=note, address=address)


def render_trend(found: Report, by: str, context: PageContext) -> Element:
    """Whether it rises or falls, and the last days against those before."""
    windows = [
        (
            describe_days(one),
            [f"{format_rate(one.score)}, before: {format_rate(one.before)} · ", describe_change(one)[0]],
        )
        for one in found.windows
        if one.before.counted and one.score.counted
    ]
    return render_card(
        "Along time",
        render_chart(build_score_trend(found, by), context),
        render_facts(windows) if windows else None,
        lead="share crushed with its 95 % interval of chance; hollow where that says little",
    )


def render_measures(found: Report, context: PageContext) -> Element:
    """Pace, time, money, and how prompts are worded."""
    one, crushed = found.measures, to_sessions(left="crushed")
    figures = []
    if one.crushed_per_week is not None:
        figures.append(render_figure("crushed a week", context.link(crushed, f"{one.crushed_per_week:.1f}")))
    if one.median_time_to_crush_s is not None:
        figures.append(render_figure("work until it crushed", format_duration(one.median_time_to_crush_s), "median"))
    if one.usd_per_crushed is not None:
        priced = (
            f"{one.priced_sessions} priced, {one.unpriced_sessions} not" if one.unpriced_sessions else "list prices"
        )
        figures.append(render_figure("cost of a crushed session", f"USD {one.usd_per_crushed:.2f}", priced))
    elif one.unpriced_sessions:
        figures.append(
            render_figure("cost", "unpriced", f"{format_count(one.unpriced_sessions, 'session')}: no price known")
        )
    if one.crush_weight is not None:
        figures.append(
            render_figure("tokens in crushed sessions", f"{format_percent(100 * one.crush_weight)} %", "of all tokens")
        )
    if one.tokens_per_turn is not None:
        figures.append(render_figure("tokens a turn", format_number(round(one.tokens_per_turn))))
    if one.average_prompt_grade:
        weakest = f"weakest in {one.weakest_pillar}" if one.weakest_pillar else ""
        figures.append(render_figure("wording of prompts", one.average_prompt_grade, weakest))
    return render_card("Beside it", h.div(".figures")[figures], lead="over sessions that count")


def render_slices(found: Report, way: str, words: str, context: PageContext) -> Element | None:
    """The score of each project, model … with its interval."""
    slices = [one for one in found.slices.get(way, ()) if one.score.counted]
    if not slices:
        return None
    names = name_slices(slices, way)
    points = [
        ChartPoint(
            label=format_line(names[one.name], LONGEST_NAME),
            value=one.score.value,
            low=one.score.low,
            high=one.score.high,
            note=f"{one.score.crushed}/{one.score.counted}",
            said=describe_slice(one)[0],
            address=to_sessions(**{f"by_{way}": one.name, "left": "judged"}),
        )
        for one in slices[:MOST_SLICES]
    ]
    more = f"; the {MOST_SLICES} with the most sessions of {len(slices)}" if len(slices) > MOST_SLICES else ""
    chart = IntervalChart(title=words, along=way, points=points, said=describe_tests(slices) + more)
    return render_card(words, render_chart(chart, context))


def render_changes(found: Report, context: PageContext) -> Element | None:
    """Sessions that lost their crush since the last report."""
    if not found.lost:
        return None
    told = describe_losses(found.lost)
    lines: Sequence[Node] = [
        h.li[context.link(to_session(one.id), name), f": {what}"]
        for one, (name, what) in zip(found.lost, told, strict=True)
    ]
    return render_card("Lost their crush since the last report", h.ul(".lines")[lines])
