"""Quality for a person, a machine and a document: each dimension with its bar, its reason and its evidence."""

from collections.abc import Sequence

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.markdown import escaped, rows
from assay.reports.safe import one_line
from assay.reports.words import UNKNOWN, plainly
from assay.types.quality import Dimension, Profile, Quality

BAR = 20
FULL, EMPTY = "█", "░"
LOW, HIGH = 0.4, 0.7
TOP = 3
MOST_QUOTE, MOST_WORDS = 110, 600


def machine(found: Sequence[Quality]) -> bytes:
    """`assay quality --json`: a list, a session each; what was not scored is `null`."""
    return msgspec.json.encode(found)


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
    return found.rationale or (f"ungraded: {found.ungraded}" if found.ungraded else "no reason given")


def overall(one: Quality, profile: Profile) -> str:
    """The overall quality in a line, and what it was computed from."""
    if one.overall_quality is None:
        return f"no overall quality: not enough was scored ({len(one.missing)} of {len(one.dimensions)} missing)"
    weight = sum(scale.weight for scale in profile.dimensions if scale.name in one.computed_from)
    left = f"; not scored: {', '.join(map(plainly, one.missing))}" if one.missing else ""
    return f"{one.overall_quality:.2f} from {weight:.0%} of the weight{left}"


def judged_by(one: Quality) -> str:
    versions = ", ".join(f"{plainly(job)} {text[:8]}" for job, text in sorted(one.judge_versions.items()))
    parts = f"{one.chunks} chunks" if one.chunks != 1 else "one piece"
    by = f"judged by {one_line(one.judge, 30)} in {parts}"
    return f"{by}; profile {one_line(one.profile, 40)} {one.profile_version[:8]}{f'; {versions}' if versions else ''}"


# --- terminal ---------------------------------------------------------------------------------


def report(found: Sequence[Quality], profile: Profile, titles: dict[str, str] | None = None) -> Group:
    """Every session with its dimensions."""
    named = titles or {}
    return Group(*(part for one in found for part in session(one, profile, named.get(one.session, ""))))


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
    reasons = [Padding(reason(name, dimension), (0, 0, 0, 2)) for name, dimension in one.dimensions.items()]
    return [head, whole, table, *reasons, Text(judged_by(one), "dim"), Text()]


def bar(value: float | None) -> Text:
    """A bar; nothing is drawn where there is no score."""
    if value is None:
        return Text(" " * BAR)
    full = round(value * BAR)
    style = "red" if value < LOW else "yellow" if value < HIGH else "green"
    return Text.assemble((FULL * full, style), (EMPTY * (BAR - full), "dim"))


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
