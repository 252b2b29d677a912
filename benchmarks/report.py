"""Turns the samples of all rows into one table and a few ratios; knows nothing of how they were taken."""

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.measure import Sample

HEAD = ("row", "wall s", "median", "CPU s", "MB/CPU-s", "RSS MB", "read MB")


@dataclass
class Row:
    key: str
    title: str
    reads_all: bool = True
    """Whether a rate per second means anything: a rescan reads next to nothing."""
    samples: list[Sample] = field(default_factory=list)

    @property
    def works(self) -> bool:
        return bool(self.samples) and not any(sample.code for sample in self.samples)

    @property
    def wall_s(self) -> float:
        return min(sample.wall_s for sample in self.samples)

    @property
    def cpu_s(self) -> float:
        return min(sample.cpu_s for sample in self.samples)

    @property
    def read_mb(self) -> float | None:
        known = [sample.read_mb for sample in self.samples if sample.read_mb is not None]
        return max(known) if known else None

    def cells(self, mb: float) -> list[str]:
        title = f"({self.key}) {self.title}"
        if not self.works:
            why = next((sample.complaint for sample in self.samples if sample.code), "")
            return [title, "not available", "", "", "", "", "", why[:80]]
        rate = f"{mb / self.cpu_s:,.0f}" if self.reads_all else "-"
        read = f"{self.read_mb:,.1f}" if self.read_mb is not None else "?"
        middle = f"{median(sample.wall_s for sample in self.samples):.3f}"
        peak = f"{max(sample.rss_mb for sample in self.samples):.0f}"
        return [title, f"{self.wall_s:.3f}", middle, f"{self.cpu_s:.3f}", rate, peak, read]


def table(rows: list[Row], mb: float) -> str:
    """Best wall and CPU time of all repeats, the median wall time, the largest memory and bytes read."""
    lines = [list(HEAD), *(row.cells(mb) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=False))])
        + ("  " + line[-1] if len(line) > len(HEAD) else "")
        for line in lines
    )


def ratios(rows: dict[str, Row]) -> dict[str, float | None]:
    """The comparisons we watch; None where a side is not available."""

    def of(top: str, bottom: str, measure: str) -> float | None:
        if not (rows[top].works and rows[bottom].works):
            return None
        return float(getattr(rows[top], measure) / getattr(rows[bottom], measure))

    return {
        "(c)/(b) in MB per CPU-second": of("b", "c", "cpu_s"),
        "(d)/(g) wall": of("d", "g", "wall_s"),
        "(d)/(g) CPU": of("d", "g", "cpu_s"),
        "(e)/(d) wall, whole commands": of("e", "d", "wall_s"),
        "(f)/(d) wall, whole commands": of("f", "d", "wall_s"),
        "(j)/(d) wall": of("j", "d", "wall_s"),
        "(j)/(d) CPU": of("j", "d", "cpu_s"),
        "(k)/(j) wall, whole commands": of("k", "j", "wall_s"),
    }


def read_by_append(rows: dict[str, Row]) -> float | None:
    """MB read because the file grew: what (f) read beyond what (e) read."""
    before, after = rows["e"].read_mb, rows["f"].read_mb
    if not (rows["e"].works and rows["f"].works) or before is None or after is None:
        return None
    return after - before


def assay_tokens(reply: dict[str, Any]) -> Counter[str]:
    """Output tokens by agent, from `assay streams --json`."""
    tokens: Counter[str] = Counter()
    for stream in reply["streams"]:
        tokens[stream["agent"].split("-")[0].split("_")[0]] += stream["facts"]["tokens"]["output"]
    return tokens


def scan_alone(reply: dict[str, Any]) -> tuple[float | None, int | None]:
    """Seconds and bytes of the scan without start-up and printing, where assay's JSON says so."""
    scan = reply.get("scan") or {}
    return scan.get("seconds"), scan.get("bytes_read")


def agreement(agent: str, counts: dict[str, int | None]) -> str:
    """Who counted how many output tokens, and whether all that counted agree."""
    known = {who: count for who, count in counts.items() if count is not None}
    said = ", ".join(f"{who} {count:,}" for who, count in known.items())
    if len(known) < 2:
        return f"output tokens, {agent}: {said or 'not available'}"
    apart = max(known.values()) - min(known.values())
    share = apart / max(1, max(known.values()))
    return f"output tokens, {agent}: {said}: " + ("equal" if not apart else f"apart by {apart:,} ({share:.3%})")
