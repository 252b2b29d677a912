"""Quality for a person, a machine and a document: each dimension with its bar, its reason and its evidence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.markdown import escaped, rows
from assay.reports.safe import encoded, many, one_line
from assay.reports.terminal import telling_length
from assay.reports.words import UNKNOWN, plainly
from assay.types.quality import Dimension, Profile, Quality

BAR, SHORT_BAR, WIDE = 20, 10, 100
FULL, EMPTY = "█", "░"
LOW, HIGH = 0.4, 0.7
TOP = 3
MOST_QUOTE, MOST_WORDS = 110, 600


def machine(found: Sequence[Quality]) -> bytes:
    """`assay quality --json`: a list, a session each; what was not scored is `null`."""
    return encoded(found)


# --- what every view says ---------------------------------------------------------------------


def share(profile: Profile, name: str, found: Dimension) -> float | None:
    """A score as a part of 1."""
    scale = profile.scale(name)
    if found.score is None or scale is None:
        return None
    return found.score / TOP if scale.kind == "categorical" else found.score


def told(profile: Profile, name: str, found: Dimension) -> str:
    """A score as it is shown: a category by its value of 3, a number with two digits."""
    scale = profile.scale(name)
    if found.score is None or scale is None:
        return UNKNOWN
    return f"{found.score:.0f} of {TOP}" if scale.kind == "categorical" else f"{found.score:.2f}"


def why(found: Dimension) -> str:
    """The reason for a score, or for there being none: then what the judge said of it stands behind."""
    if found.score is None:
        told = f"ungraded: {found.ungraded or 'no reason given'}"
        return f"{told}. {found.rationale}" if found.rationale else told
    return found.rationale or "no reason given"


def overall(one: Quality, profile: Profile) -> str:
    """The overall quality in a line, and what it was computed from."""
    if one.overall_quality is None:
        if reason := common_reason(one):
            return f"no overall quality: {reason}"
        return f"no overall quality: not enough was scored ({len(one.missing)} of {len(one.dimensions)} missing)"
    weight = sum(scale.weight for scale in profile.dimensions if scale.name in one.computed_from)
    left = f"; not scored: {', '.join(map(plainly, one.missing))}" if one.missing else ""
    return f"{one.overall_quality:.2f} from {weight:.0%} of the weight{left}"


def common_reason(one: Quality) -> str:
    """Why nothing at all was scored, where that is one reason."""
    reasons = {found.ungraded if found.score is None else "" for found in one.dimensions.values()}
    return one_line(reasons.pop(), MOST_WORDS) if len(reasons) == 1 else ""


def judged_by(one: Quality) -> str:
    """Who judged, in how many pieces, by what; and why that is not who was asked for."""
    versions = ", ".join(f"{plainly(job)} {text[:8]}" for job, text in sorted(one.judge_versions.items()))
    parts = f"{one.chunks} chunks" if one.chunks != 1 else "one piece"
    by = f"judged by {one_line(one.judge, 30)} in {parts}" if one.judge_versions else "not judged"
    if one.fallback:
        by += f", for {one_line(one.fallback, MOST_WORDS)}"
    return f"{by}; profile {one_line(one.profile, 40)} {one.profile_version[:8]}{f'; {versions}' if versions else ''}"


def weakest(one: Quality, profile: Profile) -> tuple[str, Dimension] | None:
    """The dimension with the least of what it could have; of equal ones, the weightiest."""
    scored = [
        (part, -scale.weight, n, scale.name)
        for n, scale in enumerate(profile.dimensions)
        if (part := share(profile, scale.name, one.dimensions[scale.name])) is not None
    ]
    name = min(scored)[-1] if scored else ""
    return (name, one.dimensions[name]) if name else None


# --- terminal ---------------------------------------------------------------------------------


def report(found: Sequence[Quality], profile: Profile, titles: dict[str, str] | None = None) -> Group:
    """Every session with its dimensions."""
    named = titles or {}
    return Group(*(part for one in found for part in session(one, profile, named.get(one.session, ""))))


def listing(found: Sequence[Quality], profile: Profile, titles: dict[str, str], width: int) -> Group:
    """A line for each of many sessions: its quality, and where it is weakest."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name in ("session", "quality", "", "weakest"):
        table.add_column(name, no_wrap=True)
    table.add_column("what it was about", overflow="ellipsis", no_wrap=True, ratio=1)
    length = telling_length([one.session for one in found])
    for one in found:
        table.add_row(
            Text(one_line(one.session[:length], 40), "cyan"),
            bar(one.overall_quality, BAR if width >= WIDE else SHORT_BAR),
            Text(UNKNOWN if one.overall_quality is None else f"{one.overall_quality:.2f}"),
            weak_spot(one, profile),
            Text(one_line(titles.get(one.session, ""), 200) or "(nobody said anything)"),
        )
    return Group(table, Text(), *(Text(line, "dim") for line in summed_up(found)))


def weak_spot(one: Quality, profile: Profile) -> Text:
    """The weakest dimension with its score; why there is none."""
    if one.overall_quality is None:
        reason = common_reason(one).partition(":")[0]
        return Text(one_line(reason or "too little scored", 30), "dim")
    name, dimension = weakest(one, profile) or ("", None)
    return Text(f"{plainly(name)} {told(profile, name, dimension)}" if dimension else "")


def summed_up(found: Sequence[Quality]) -> Iterator[str]:
    """All of them in a few lines: how many, the median, who judged, and why not somebody else."""
    scored = [one.overall_quality for one in found if one.overall_quality is not None]
    middle = f", median {median(scored):.2f}" if scored else ""
    yield f"{many(len(found), 'session')}, {len(scored)} scored{middle}; `assay quality ID` or --details says why"
    judges = Counter(one.judge for one in found if one.judge_versions)
    by = " and ".join(
        f"{one_line(name, 30)} ({n})" if len(judges) > 1 else one_line(name, 30) for name, n in judges.items()
    )
    profile = next((f"profile {one_line(one.profile, 40)} {one.profile_version[:8]}" for one in found), "")
    yield f"judged by {by or 'nobody'}; {profile}"
    for why, n in Counter(one.fallback for one in found if one.fallback).items():
        yield f"{many(n, 'session')} judged offline, for {one_line(why or '', MOST_WORDS)}"


def session(one: Quality, profile: Profile, title: str) -> list[RenderableType]:
    """One session: the overall quality, then a bar, the reason and the evidence of each dimension."""
    head = Text.assemble((one_line(one.session, 40), "cyan"), "  ", (one_line(title, 100), "bold"))
    whole = Text.assemble(("overall quality ", "bold"), bar(one.overall_quality), f" {overall(one, profile)}")
    table = Table.grid(padding=(0, 2, 0, 0))
    for style in ("bold", "", "", "dim"):
        table.add_column(style=style, no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    for name, dimension in one.dimensions.items():
        scale = profile.scale(name)
        table.add_row(
            plainly(name),
            bar(share(profile, name, dimension)),
            told(profile, name, dimension),
            one_line(dimension.label or "", 20),
            f"× {scale.weight:.2f}" if scale else "",
        )
    if one.overall_quality is None and common_reason(one):
        return [head, whole, Text(judged_by(one), "dim"), Text()]
    reasons = [Padding(reason(name, dimension), (0, 0, 0, 2)) for name, dimension in one.dimensions.items()]
    return [head, whole, table, *reasons, Text(judged_by(one), "dim"), Text()]


def bar(value: float | None, length: int = BAR) -> Text:
    """A bar; nothing is drawn where there is no score."""
    if value is None:
        return Text(" " * length)
    full = round(value * length)
    style = "red" if value < LOW else "yellow" if value < HIGH else "green"
    return Text.assemble((FULL * full, style), (EMPTY * (length - full), "dim"))


def reason(name: str, found: Dimension) -> Text:
    """Why, and the words that show it."""
    text = Text.assemble((f"{plainly(name)}: ", "bold"), one_line(why(found), MOST_WORDS))
    for citation in found.evidence:
        text.append(f"\n  turn {citation.turn}  “{one_line(citation.quote, MOST_QUOTE)}”", "dim")
    return text


# --- Markdown ---------------------------------------------------------------------------------


def markdown(found: Sequence[Quality], profile: Profile, titles: dict[str, str] | None = None) -> bytes:
    """The same as a document; what transcripts say is escaped."""
    parts = [f"# Quality by the profile {escaped(profile.name)}", escaped(profile.about)]
    for one in found:
        title = (titles or {}).get(one.session, "")
        parts += [
            f"## {escaped(' '.join(filter(None, (one.session, title))))}",
            f"**{escaped(overall(one, profile))}**",
        ]
        parts += ["\n".join(rows(["dimension", "score", "", "why"], body(one, profile)))]
        parts += ["\n".join(quotes(one))] if any(each.evidence for each in one.dimensions.values()) else []
        parts += [escaped(judged_by(one))]
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def body(one: Quality, profile: Profile) -> list[list[str]]:
    return [
        [escaped(plainly(name)), told(profile, name, found), escaped(found.label or ""), escaped(why(found))]
        for name, found in one.dimensions.items()
    ]


def quotes(one: Quality) -> list[str]:
    """The evidence of each dimension."""
    return [
        f"- {escaped(plainly(name))}, turn {citation.turn}: “{escaped(one_line(citation.quote, MOST_QUOTE))}”"
        for name, found in one.dimensions.items()
        for citation in found.evidence
    ]
