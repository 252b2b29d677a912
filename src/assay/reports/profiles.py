"""Profiles for a person: which there are, and what one asks for."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.format import format_line
from assay.scores.profiles import hash_profile
from assay.types.quality import Profile, Scale
from assay.types.value import Row

MISSING = {
    "reweigh": "the others' weights are taken as the whole, if they are {:.0%} of it or more",
    "none": "there is no overall quality",
}


class ListedProfile(Row, frozen=True):
    """A profile as listed; a file that can't be used has no version, and its fault stands for what it is about."""

    name: str
    path: str | None
    about: str
    version: str | None


def render_profiles(found: Sequence[ListedProfile]) -> Table:
    """A row each: name, where it stands, what it is about."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for style in ("bold", "dim", ""):
        table.add_column(style=style)
    for one in found:
        about = Text(format_line(one.about, 300), "" if one.version else "red")
        table.add_row(format_line(one.name, 40), format_line(one.path or "shipped", 80), about)
    return table


def render_profile(profile: Profile) -> Group:
    """All that a profile says."""
    head: list[RenderableType] = [
        Text.assemble((format_line(profile.name, 40), "bold"), f"  {format_line(profile.about, 200)}"),
        Text(f"version {hash_profile(profile)}", "dim"),
        Text(f"where a dimension is not scored, {MISSING[profile.missing].format(profile.least)}", "dim"),
        Text(f"of several chunks, numbers are averaged by tokens; categories: {profile.categorical}", "dim"),
    ]
    return Group(*head, *(Padding(render_dimension(one), (1, 0, 0, 0)) for one in profile.dimensions))


def render_dimension(scale: Scale) -> Group:
    """One dimension: its question, what to look for, its steps, its signals."""
    lines = [
        Text.assemble((format_line(scale.name, 40), "bold cyan"), f"  {scale.kind}, weight {scale.weight:g}"),
        Text(format_line(scale.asks, 300)),
        *(Text(f"  · {format_line(one, 200)}", "dim") for one in scale.look_for),
    ]
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for band in scale.bands:
        table.add_row(f"{band.low:g}–{band.high:g}", format_line(band.label, 30), format_line(band.means, 200))
    for category in scale.categories:
        table.add_row(str(category.value), format_line(category.label, 30), format_line(category.means, 200))
    signals = ", ".join(scale.signals) or "none; the offline judge leaves it ungraded"
    return Group(*lines, table, Text(f"  signals: {signals}", "dim"))
