"""The report of `assay doctor`."""

from typing import Any

from rich.console import Group
from rich.text import Text

from assay.reports.format import format_line, format_number, sanitize_text

MOST = 10
GOOD, BAD, NOTE = "green", "red", "yellow"


def render_health(health: dict[str, Any]) -> Group:
    """Sections, worst news in colour."""
    return Group(
        *render_section("Looked in", [render_place(one) for one in health["places"] if is_place(one)]),
        *render_section("Store", [Text(f"{sanitize_text(health['store'])}  {format_number(health['store_bytes'])}B")]),
        *render_section("Read", render_counts(health)),
        *render_section("Client versions", render_versions(health["versions"])),
        *render_section("Skipped", render_skips(health)),
        *render_section("Record types not understood", render_unknown(health["unknown_records"])),
        *render_section("Told by several sources", render_sources(health)),
        *render_section("Clean-up by Claude Code", [line for one in health["cleanup"] for line in render_cleanup(one)]),
    )


def render_section(title: str, lines: list[Text]) -> list[Text]:
    """A title and its lines; nothing where there are none."""
    if not lines:
        return []
    return [Text(title, "bold"), *(Text("  ").append_text(line) for line in lines), Text("")]


def is_place(one: dict[str, Any]) -> bool:
    """Whether a person can look there: what the store would hold of other machines is no folder."""
    return one["is_there"] or not one["path"].endswith(":")


def render_place(one: dict[str, Any]) -> Text:
    if not one["is_there"]:
        return Text(f"{sanitize_text(one['path'])}  (not there)", "dim")
    return Text(f"{sanitize_text(one['path'])}  {one['agent']}, {one['files']} files")


def render_counts(health: dict[str, Any]) -> list[Text]:
    lines = [
        Text(f"{health['files']} files, {health['streams']} streams", GOOD),
        Text(f"{health['lines_read']:,} lines read, {health['lines_skipped']:,} skipped"),
    ]
    if health["not_transcripts"]:
        lines.append(Text(f"{health['not_transcripts']} files are no transcripts", NOTE))
    if health["gone"]:
        lines.append(Text(f"{health['gone']} files were deleted since; what was read of them is kept", NOTE))
    return lines


def render_versions(found: dict[str, dict[str, int]]) -> list[Text]:
    return [
        Text(f"{agent}: " + ", ".join(f"{format_line(v, 20)} ({n})" for v, n in by.items()))
        for agent, by in found.items()
    ]


def render_skips(health: dict[str, Any]) -> list[Text]:
    lines = [Text(f"{format_line(path, 200)}: {format_line(why, 120)}", BAD) for path, why in health["unreadable"]]
    lines += [
        Text(f"{format_line(path, 200)}{f':{line}' if line else ''}  {format_line(why, 120)}", NOTE)
        for path, line, why in health["skips"][:MOST]
    ]
    if len(health["skips"]) > MOST:
        lines.append(Text(f"and {len(health['skips']) - MOST} more; --json lists them all", NOTE))
    return lines


def render_unknown(found: dict[str, int]) -> list[Text]:
    return [Text(f"{format_line(name, 60)}: {n}") for name, n in list(found.items())[:MOST]]


def render_sources(health: dict[str, Any]) -> list[Text]:
    """How complete each source is, and where they disagree."""
    lines = [
        Text(
            f"{one['source']}: {one['conversations']} conversations, {one['scored']} scored from it"
            + (f", {one['wordless']} without words" if one["wordless"] else "")
        )
        for one in health["sources"]
    ]
    differing = [one for one in health["conversations"] if one["differs"]]
    if health["conversations"]:
        same = len(health["conversations"]) - len(differing)
        lines.append(
            Text(f"{same} of {len(health['conversations'])} compared agree in turns, calls, tokens and cost", GOOD)
        )
    for one in differing[:MOST]:
        lines.append(Text(f"{format_line(one['id'], 60)}, scored from {one['scored']}:", NOTE))
        lines += [Text(f"  {name}: {render_figures(one['sources'], name)}", NOTE) for name in one["differs"]]
    if len(differing) > MOST:
        lines.append(Text(f"and {len(differing) - MOST} more; --json lists them all", NOTE))
    return lines


def render_figures(sources: list[dict[str, Any]], name: str) -> str:
    """What each source says of one thing."""
    return ", ".join(f"{one['source']} {render_figure(one[name])}" for one in sources if one[name] is not None)


def render_figure(value: Any) -> str:
    if isinstance(value, dict):
        return "+".join(f"{n:,}" for n in value.values())
    return f"${value:.4f}" if isinstance(value, float) else str(value)


def render_cleanup(one: dict[str, Any]) -> list[Text]:
    """When transcripts are deleted, which go next, and the setting that keeps them."""
    source = "its default" if one["is_default"] else f"set in {sanitize_text(one['settings'])}"
    lines = [Text(f"deletes transcripts {one['days']} days after their last change ({source})")]
    if one["soon"]:
        lines.append(Text(f"{len(one['soon'])} will be deleted within 7 days or are overdue:", BAD))
        lines += [Text(f"  {format_line(path, 300)}", NOTE) for path in one["soon"][:MOST]]
        if len(one["soon"]) > MOST:
            lines.append(Text(f"  and {len(one['soon']) - MOST} more", NOTE))
    lines.append(Text(f'to keep them, put "cleanupPeriodDays": 3650 into {sanitize_text(one["settings"])}'))
    return lines
