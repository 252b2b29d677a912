"""What a server counts of itself, as Prometheus reads it; no tenant, key, path or word stands in it."""

from collections import defaultdict
from collections.abc import Callable, Iterator

BOUNDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
HELP = {
    "assay_http_requests_total": "Requests by route, method and status.",
    "assay_http_request_seconds": "How long requests took.",
    "assay_telemetry_records_total": "Records that came in, by signal and what became of them.",
    "assay_shipped_sessions_total": "Sessions that other machines shipped.",
    "assay_refusals_total": "Requests that were not served, by status.",
}
Labels = tuple[tuple[str, str], ...]


class Figures:
    """Counters and times of one server."""

    def __init__(self) -> None:
        self.counters: dict[str, dict[Labels, float]] = {name: defaultdict(float) for name in HELP}
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.gauges: dict[str, Callable[[], float]] = {}

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Count something; labels are words of ours, never of a request."""
        self.counters[name][tuple(sorted(labels.items()))] += by

    def time(self, seconds: float) -> None:
        """Note how long a request took."""
        self.seconds += seconds
        self.buckets[next((n for n, most in enumerate(BOUNDS) if seconds <= most), len(BOUNDS))] += 1

    def render(self) -> str:
        """All of it in Prometheus' text format."""
        return "\n".join([*self.list_lines(), ""])

    def list_lines(self) -> Iterator[str]:
        for name, says in HELP.items():
            if name == "assay_http_request_seconds":
                continue
            yield from (f"# HELP {name} {says}", f"# TYPE {name} counter")
            for labels, value in sorted(self.counters[name].items()):
                said = ",".join(f'{key}="{word}"' for key, word in labels)
                yield f"{name}{{{said}}} {value:g}"
        name, total = "assay_http_request_seconds", 0
        yield from (f"# HELP {name} {HELP[name]}", f"# TYPE {name} histogram")
        for n, most in enumerate([*map(str, BOUNDS), "+Inf"]):
            total += self.buckets[n]
            yield f'{name}_bucket{{le="{most}"}} {total}'
        yield from (f"{name}_sum {self.seconds:.6f}", f"{name}_count {total}")
        for name, read in sorted(self.gauges.items()):
            yield from (f"# TYPE {name} gauge", f"{name} {read():g}")
