"""What `assay store` says of a store."""

from rich.table import Table
from rich.text import Text

from assay.reports.format import format_line, format_number
from assay.types import Document, StoreFigures

LABELS = {
    "files": "transcripts read",
    "streams": "conversations",
    "turns": "turns",
    "segments": "segments judged",
    "answers": "answers of models",
    "corrections": "corrections of yours",
    "verdicts": "verdicts of yours",
    "forgotten": "conversations whose words were deleted",
}


class StoreInfo(Document, frozen=True, kw_only=True, tag="store"):
    """`assay store info --json`."""

    where: str
    bytes: int
    holds: StoreFigures


class StoreCheckup(Document, frozen=True, kw_only=True, tag="store_check"):
    """`assay store check --json`."""

    where: str
    problems: list[str]


class StoreAction(Document, frozen=True, kw_only=True, tag="store_action"):
    """`assay store move`, `backup`, `restore` and `prune` with `--json`: the store it was done to, and how much."""

    where: str
    bytes: int
    rows: int = 0
    forgotten: int = 0


def render_store(found: StoreInfo) -> Table:
    """A store in a few lines."""
    table = Table.grid(padding=(0, 2))
    table.add_row("where", Text(format_line(found.where, 200)))
    table.add_row("room", f"{format_number(found.bytes)}B")
    table.add_row("schema", found.holds.schema)
    if found.holds.first_at:
        first, last = (format_line(at[:10], 10) for at in (found.holds.first_at, found.holds.last_at))
        table.add_row("from", Text(f"{first} to {last}"))
    for name, label in LABELS.items():
        table.add_row(label, f"{getattr(found.holds, name):,}")
    return table
