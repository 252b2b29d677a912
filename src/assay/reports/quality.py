"""Quality for a person, a machine and a document: each dimension with its bar, its reason and its evidence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.format import UNKNOWN, format_count, format_line, format_name
from assay.reports.markdown import escape_markdown, render_table
from assay.types.quality import Dimension, Profile, Quality

BAR, SHORT_BAR, WIDE = 20, 10, 100
FULL, EMPTY = "█", "░"
LOW, HIGH = 0.4, 0.7
TOP = 3
MOST_QUOTE, MOST_WORDS = 110, 600


# --- what every view says ---------------------------------------------------------------------


def to_share(profile: Profile, name: str, found: Dimension) -> float | None:
    """A score as a part of 1."""
    scale = profile.scale(name)
    if found.score is None or scale is None:
        return None
    return found.score / TOP if scale.kind == "categorical" else found.score


def format_dimension(profile: Profile, name: str, found: Dimension) -> str:
    """A score as it is shown: a category by its value of 3, a number with two digits."""
    scale = profile.scale(name)
    if found.score is None or scale is None:
        return UNKNOWN
    return f"{found.score:.0f} of {TOP}" if scale.kind == "categorical" else f"{found.score:.2f}"


def explain_dimension(found: Dimension) -> str:
    """The reason for a score, or for there being none: then what the judge said of it stands behind."""
    if found.score is None:
        told = f"ungraded: {found.ungraded or 'no reason given'}"
        return f"{told}. {found.rationale}" if found.rationale else told
    return found.rationale or "no reason given"


def describe_overall(one: Quality, profile: Profile) -> str:
    """The overall quality in a line, and what it was computed from."""
    if one.overall_quality is None:
        if reason := find_common_reason(one):
            return f"no overall quality: {reason}"
        return f"no overall quality: not enough was scored ({len(one.missing)} of {len(one.dimensions)} missing)"
    weight = sum(scale.weight for scale in profile.dimensions if scale.name in one.computed_from)
    left = f"; not scored: {', '.join(map(format_name, one.missing))}" if one.missing else ""
    return f"{one.overall_quality:.2f} from {weight:.0%} of the weight{left}"


def find_common_reason(one: Quality) -> str:
    """Why nothing at all was scored, where that is one reason."""
    reasons = {found.ungraded if found.score is None else "" for found in one.dimensions.values()}
    return format_line(reasons.pop(), MOST_WORDS) if len(reasons) == 1 else ""


def describe_judge(one: Quality) -> str:
    """Who judged, in how many pieces, by what; and why that is not who was asked for."""
    versions = ", ".join(f"{format_name(job)} {text[:8]}" for job, text in sorted(one.judge_versions.items()))
    parts = f"{one.chunks} chunks" if one.chunks != 1 else "one piece"
    by = f"judged by {format_line(one.judge, 30)} in {parts}" if one.judge_versions else "not judged"
    if one.fallback:
        by += f", for {format_line(one.fallback, MOST_WORDS)}"
    return (
        f"{by}; profile {format_line(one.profile, 40)} {one.profile_version[:8]}{f'; {versions}' if versions else ''}"
    )


def find_weakest(one: Quality, profile: Profile) -> tuple[str, Dimension] | None:
    """The dimension with the least of what it could have; of equal ones, the weightiest."""
    scored = [
        (part, -scale.weight, n, scale.name)
        for n, scale in enumerate(profile.dimensions)
        if (part := to_share(profile, scale.name, one.dimensions[scale.name])) is not None
    ]
    name = min(scored)[-1] if scored else ""
    return (name, one.dimensions[name]) if name else None


# --- terminal ---------------------------------------------------------------------------------


def render_quality(found: Sequence[Quality], profile: Profile, titles: dict[str, str] | None = None) -> Group:
    """Every session with its dimensions."""
    named = titles or {}
    return Group(*(part for one in found for part in render_session(one, profile, named.get(one.session, ""))))


def render_list(found: Sequence[Quality], profile: Profile, titles: dict[str, str], width: int) -> Group:
    """A line for each of many sessions: its quality, and where it is weakest."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    whole = max((len(one.session) for one in found), default=0)
    for name in ("session", "quality", "", "weakest"):
        table.add_column(name, no_wrap=True, min_width=whole if name == "session" else None)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    for one in found:
        table.add_row(
            Text(format_line(one.session, 40), "cyan"),
            render_bar(one.overall_quality, BAR if width >= WIDE else SHORT_BAR),
            Text(UNKNOWN if one.overall_quality is None else f"{one.overall_quality:.2f}"),
            render_weak_spot(one, profile),
            Text(format_line(titles.get(one.session, ""), 200) or "(nobody said anything)"),
        )
    return Group(table, Text(), *(Text(line, "dim") for line in summarize_quality(found)))


def render_weak_spot(one: Quality, profile: Profile) -> Text:
    """The weakest dimension with its score; why there is none."""
    if one.overall_quality is None:
        reason = find_common_reason(one).partition(":")[0]
        return Text(format_line(reason or "too little scored", 30), "dim")
    name, dimension = find_weakest(one, profile) or ("", None)
    return Text(f"{format_name(name)} {format_dimension(profile, name, dimension)}" if dimension else "")


def summarize_quality(found: Sequence[Quality]) -> Iterator[str]:
    """All of them in a few lines: how many, the median, who judged, and why not somebody else."""
    scored = [one.overall_quality for one in found if one.overall_quality is not None]
    middle = f", median {median(scored):.2f}" if scored else ""
    all_of_them = format_count(len(found), "session")
    yield f"{all_of_them}, {len(scored)} scored{middle}; `assay quality ID` or --details says why"
    judges = Counter(one.judge for one in found if one.judge_versions)
    by = " and ".join(
        f"{format_line(name, 30)} ({n})" if len(judges) > 1 else format_line(name, 30) for name, n in judges.items()
    )
    profile = next((f"profile {format_line(one.profile, 40)} {one.profile_version[:8]}" for one in found), "")
    yield f"judged by {by or 'nobody'}; {profile}"
    for why, n in Counter(one.fallback for one in found if one.fallback).items():
        yield f"{format_count(n, 'session')} judged offline, for {format_line(why or '', MOST_WORDS)}"


def render_session(one: Quality, profile: Profile, title: str) -> list[RenderableType]:
    """One session: the overall quality, then a bar, the reason and the evidence of each dimension."""
    head = Text.assemble((format_line(one.session, 40), "cyan"), "  ", (format_line(title, 100), "bold"))
    whole = Text.assemble(
        ("overall quality ", "bold"), render_bar(one.overall_quality), f" {describe_overall(one, profile)}"
    )
    table = Table.grid(padding=(0, 2, 0, 0))
    for style in ("bold", "", "", "dim"):
        table.add_column(style=style, no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    for name, dimension in one.dimensions.items():
        scale = profile.scale(name)
        table.add_row(
            format_name(name),
            render_bar(to_share(profile, name, dimension)),
            format_dimension(profile, name, dimension),
            format_line(dimension.label or "", 20),
            f"× {scale.weight:.2f}" if scale else "",
        )
    if one.overall_quality is None and find_common_reason(one):
        return [head, whole, Text(describe_judge(one), "dim"), Text()]
    reasons = [Padding(part, (0, 0, 0, 2)) for each in one.dimensions.items() for part in render_reason(*each)]
    return [head, whole, table, *reasons, Text(describe_judge(one), "dim"), Text()]


def render_bar(value: float | None, length: int = BAR) -> Text:
    """A bar; nothing is drawn where there is no score."""
    if value is None:
        return Text(" " * length)
    full = round(value * length)
    style = "red" if value < LOW else "yellow" if value < HIGH else "green"
    return Text.assemble((FULL * full, style), (EMPTY * (length - full), "dim"))


def render_reason(name: str, found: Dimension) -> list[RenderableType]:
    """Why, and the words that show it."""
    why = Text.assemble((f"{format_name(name)}: ", "bold"), format_line(explain_dimension(found), MOST_WORDS))
    quotes = Table.grid(padding=(0, 0, 0, 2))
    quotes.add_column(style="dim", no_wrap=True)
    quotes.add_column(style="dim", overflow="fold")
    for citation in found.evidence:
        quotes.add_row(f"turn {citation.turn}", Text(f"“{format_line(citation.quote, MOST_QUOTE)}”"))
    return [why, Padding(quotes, (0, 0, 0, 2))] if found.evidence else [why]


# --- Markdown ---------------------------------------------------------------------------------


def render_document(found: Sequence[Quality], profile: Profile, titles: dict[str, str] | None = None) -> bytes:
    """The same as a document; what transcripts say is escaped."""
    parts = [f"# Quality by the profile {escape_markdown(profile.name)}", escape_markdown(profile.about)]
    for one in found:
        title = (titles or {}).get(one.session, "")
        parts += [
            f"## {escape_markdown(' '.join(filter(None, (one.session, title))))}",
            f"**{escape_markdown(describe_overall(one, profile))}**",
        ]
        parts += ["\n".join(render_table(["dimension", "score", "", "why"], build_rows(one, profile)))]
        parts += ["\n".join(list_quotes(one))] if any(each.evidence for each in one.dimensions.values()) else []
        parts += [escape_markdown(describe_judge(one))]
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def build_rows(one: Quality, profile: Profile) -> list[list[str]]:
    return [
        [
            escape_markdown(format_name(name)),
            format_dimension(profile, name, found),
            escape_markdown(found.label or ""),
            escape_markdown(explain_dimension(found)),
        ]
        for name, found in one.dimensions.items()
    ]


def list_quotes(one: Quality) -> list[str]:
    """The evidence of each dimension."""
    lines = []
    for name, found in one.dimensions.items():
        for citation in found.evidence:
            quote = escape_markdown(format_line(citation.quote, MOST_QUOTE))
            lines.append(f"- {escape_markdown(format_name(name))}, turn {citation.turn}: “{quote}”")
    return lines
