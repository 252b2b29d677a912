"""How well sessions were run: the distribution, every dimension with what it takes, and the worst first."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from assay.reports.format import format_count, format_line, format_name
from assay.reports.quality_means import MIXED, describe_pull, format_ends
from assay.scores.quality_means import find_share, sort_qualities
from assay.types.quality import DimensionMean, Profile, Qualities, Quality
from assay.web.charts import BarChart, CountBar
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, h
from assay.web.links import to_page, to_session
from assay.web.marks import AGAIN_S, render_card, render_doubt, render_empty, render_figure, render_share_bar
from assay.web.tables import Choice, Column, render_chart, render_filters, render_table

BINS, WORST = 10, 50


class QualityShown(Struct, frozen=True, kw_only=True):
    """What is known of how sessions were run, as far as they were looked at."""

    found: Qualities
    profile: Profile
    titles: Mapping[str, str]
    wanted: int
    """The newest sessions of the window, as many as are ever looked at."""
    profiles: Sequence[str] = ()

    @property
    def looked(self) -> int:
        return len(self.found.qualities)


def render_quality(shown: QualityShown, given: Mapping[str, str], context: PageContext) -> Page:
    """The whole page."""
    asked = render_filters("/quality", list_choices(shown), given)
    if not shown.looked:
        body: list[Node] = [asked, render_progress(shown) if shown.wanted else explain_nothing(given)]
    else:
        body = [
            asked,
            render_progress(shown),
            h.div(".columns")[render_whole(shown, given, context), render_spread(shown, given, context)],
            render_dimensions(shown, given, context),
            render_worst(shown, given, context),
        ]
    lead = f"profile {shown.profile.name}: {shown.profile.about}"
    return Page(name="quality", title="Quality", lead=lead, body=body)


def list_choices(shown: QualityShown) -> list[Choice]:
    dimensions = [(one.name, format_name(one.name)) for one in shown.profile.dimensions]
    return [
        Choice(name="since", words="Since", hint="30d, 2026-11-01"),
        Choice(name="until", words="Until", hint="2026-11-08"),
        Choice(name="project", words="Project", hint="a word in its path"),
        Choice(name="profile", words="Profile", options=[(one, one) for one in shown.profiles], hint="enhanced"),
        Choice(name="sort", words="Worst by", options=dimensions, hint="overall quality"),
    ]


def explain_nothing(given: Mapping[str, str]) -> Element:
    if any(given.get(name) for name in ("since", "until", "project")):
        return render_empty("No session in this window", "Choose another window, or clear the fields above.")
    return render_empty("No sessions yet", "`assay score` reads what agents left on this machine.")


def render_progress(shown: QualityShown) -> Element | None:
    """That not all were looked at yet, where that is so."""
    if shown.looked >= shown.wanted:
        return None
    left = f"{shown.looked:,} of the newest {shown.wanted:,} sessions were looked at so far"
    told = f"{left}; the others are being looked at, reload the page for more."
    return render_doubt(h.span(data_again=AGAIN_S)[told])


# --- all of them --------------------------------------------------------------------------------


def render_whole(shown: QualityShown, given: Mapping[str, str], context: PageContext) -> Element:
    """The mean, and what it rests on."""
    found = shown.found.summary
    none = found.sessions - found.scored
    notes = (
        [f"{format_count(none, 'session')} without one: trivial, withheld, or too little was scored"] if none else []
    )
    judges = f"judged by {', '.join(found.judges)}" if found.judges else "nobody judged any"
    figure = render_figure(
        "mean quality", "–" if found.mean is None else f"{found.mean:.2f}",
        [f"95 % {format_ends(found)} of ", context.link(keep(given), format_count(found.scored, "session"))],
    )  # fmt: skip
    return render_card(
        "All of them",
        h.div(".figures")[figure],
        h.ul(".lines")[[h.li[one] for one in [judges, *notes]]],
        render_doubt(f"{MIXED[:1].upper()}{MIXED[1:]}.") if len(found.judges) > 1 else None,
        lead="0 is the worst, 1 the best; a weighted mean of the dimensions below",
    )


def keep(given: Mapping[str, str], **more: str) -> str:
    """The same page, narrowed otherwise."""
    return to_page("quality", **{name: value for name, value in {**given, **more}.items() if value})


def render_spread(shown: QualityShown, given: Mapping[str, str], context: PageContext) -> Element:
    """How many sessions have which quality; each bar leads to its sessions."""
    counts = Counter(place_bin(one) for one in shown.found.qualities if one.overall_quality is not None)
    bars = [
        CountBar(
            label=f"{n / BINS:.1f}–{(n + 1) / BINS:.1f}", count=counts[n], is_good=n >= 7,
            address=f"{keep(given, band=str(n))}#worst",
        )
        for n in range(min(counts, default=0), BINS)
    ]  # fmt: skip
    return render_card("Distribution", render_chart(BarChart(title="Quality", along="quality", bars=bars), context))


def place_bin(one: Quality) -> int:
    return min(BINS - 1, int(BINS * (one.overall_quality or 0)))


def render_dimensions(shown: QualityShown, given: Mapping[str, str], context: PageContext) -> Element:
    """The mean of each dimension, the weightiest loss first."""
    ordered = sorted(shown.found.summary.dimensions, key=lambda one: (-(one.pull or 0), one.name))
    columns = [
        Column(words="dimension", kind="main"), Column(words="0 – 1", kind="drawn"),
        Column(words="mean", kind="number"), Column(words="95 %", kind="number minor"),
        Column(words="sessions", kind="number"), Column(words="", kind="note"),
    ]  # fmt: skip
    rows = [list_dimension(one, shown, given, context) for one in ordered]
    table = render_table(columns, rows, "Dimensions", context, "bars")
    return render_card("Dimensions", table, lead="what takes most from the mean stands first")


def list_dimension(
    one: DimensionMean, shown: QualityShown, given: Mapping[str, str], context: PageContext
) -> list[Node]:
    scale = shown.profile.scale(one.name)
    worst = f"{keep(given, sort=one.name, band='')}#worst"
    return [
        format_name(one.name),
        None if one.mean is None else render_share_bar(one.mean, "good" if one.mean >= 0.7 else "plain"),
        "–" if one.mean is None else f"{one.mean:.2f}",
        format_ends(one).strip("()") or "–",
        context.link(worst, f"{one.scored:,}") if one.scored else "0",
        [
            scale.asks if scale else None,
            " ",
            h.b[f"{pull[:1].upper()}{pull[1:]}."] if (pull := describe_pull(one)) else None,
        ],
    ]


# --- the worst ----------------------------------------------------------------------------------


def render_worst(shown: QualityShown, given: Mapping[str, str], context: PageContext) -> Element:
    """Sessions, the worst first by what was asked for."""
    by = given.get("sort") or "quality"
    band = given.get("band", "")
    some = [
        one
        for one in shown.found.qualities
        if not band or (one.overall_quality is not None and str(place_bin(one)) == band)
    ]
    ordered = sort_qualities(some, by, shown.profile)
    rows = [list_session(one, by, shown, context) for one in ordered[:WORST]]
    columns = [
        Column(words="session", kind="main"), Column(words="quality", kind="number"),
        Column(words="lowest" if by == "quality" else format_name(by)), Column(words="why", kind="note"),
    ]  # fmt: skip
    more = f", the first {WORST} of {len(ordered):,}" if len(ordered) > WORST else ""
    name = "overall quality" if by == "quality" else format_name(by)
    within = f" between {int(band) / BINS:.1f} and {(int(band) + 1) / BINS:.1f}" if band else ""
    table = (
        render_table(columns, rows, "Worst first", context, "list") if rows else h.p["No session has a score there."]
    )
    return render_card("Worst first", table, id="worst", lead=f"by {name}{within}{more}")


def list_session(one: Quality, by: str, shown: QualityShown, context: PageContext) -> list[Node]:
    name = find_lowest(one, shown.profile) if by == "quality" else by
    found = one.dimensions.get(name)
    score = "" if found is None else found.label or (found.ungraded and "not scored") or "not scored"
    why = "" if found is None else found.rationale or found.ungraded
    return [
        context.link(to_session(one.session), shown.titles.get(one.session) or one.session),
        "–" if one.overall_quality is None else f"{one.overall_quality:.2f}",
        [format_name(name) if by == "quality" else None, h.span(".sub")[score]],
        format_line(why, 240),
    ]


def find_lowest(one: Quality, profile: Profile) -> str:
    """The dimension with the lowest share; empty where none has a score."""
    known = [(share, name) for name in one.dimensions if (share := find_share(one, name, profile)) is not None]
    return min(known)[1] if known else ""
