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
        *render_section("Looked in", [render_place(one) for one in health["places"]]),
        *render_section("Store", [Text(f"{sanitize_text(health['store'])}  {format_number(health['store_bytes'])}B")]),
        *render_section("Read", render_counts(health)),
        *render_section("Client versions", render_versions(health["versions"])),
        *render_section("Skipped", render_skips(health)),
        *render_section("Record types not understood", render_unknown(health["unknown_records"])),
        *render_section("Clean-up by Claude Code", [line for one in health["cleanup"] for line in render_cleanup(one)]),
    )


def render_section(title: str, lines: list[Text]) -> list[Text]:
    """A title and its lines; nothing where there are none."""
    if not lines:
        return []
    return [Text(title, "bold"), *(Text("  ").append_text(line) for line in lines), Text("")]


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
