"""The figures of `benchmarks.gold` as the table that `assay judges` tells them from."""

from datetime import UTC, datetime

from benchmarks.findings import Findings
from benchmarks.left_out import LeftOut, Method

REFITTED = "assay, fitted on the others"
BASELINES = ("believe the agent", "ended properly", "always complete")


def print_card(found: Findings) -> None:
    """`scores/card.toml`, with each repository left out of every fit."""
    left = found.left_out
    if left is None:
        raise SystemExit("benchmarks.gold: a card needs the offline judge and the labels of three repositories or more")
    rows = {row.method: row for row in left.methods}
    print("# What was measured of each judge; written by `python -m benchmarks.gold --card`, told by `assay judges`.")
    print("[offline]")
    print(f'measured_at = "{datetime.now(UTC):%Y-%m-%d}"')
    print(f"streams = {found.boundaries.streams}")
    print(f"repositories = {left.repositories}")
    print(f"goals = {rows[REFITTED].n}")
    print(f"failures = {rows[REFITTED].false}")
    print_figures(left, rows)
    print("\n[offline.versions]")
    for job, version in sorted(found.judge.get("versions", {}).items()):
        print(f'{job} = "{version}"')
    for band in left.reliability:
        if band.n:
            print("\n[[offline.reliability]]")
            print(f"low = {band.low}\nhigh = {band.high}\nn = {band.n}")
            print(f"mean = {band.mean_p:.3f}\nshare = {band.share_true:.3f}")


def print_figures(left: LeftOut, rows: dict[str, Method]) -> None:
    judge = rows[REFITTED]
    beside = {name: rows[name].balanced_accuracy for name in BASELINES}
    f1, f1_ends = left.boundary_f1["assay"]
    print_figure(
        "landed or not", "right, if both were equally common", judge.balanced_accuracy, judge.balanced_interval, beside
    )
    ranks = {name: rows[name].auc for name in BASELINES[:1]}
    print_figure("ranking", "how often a landed goal has the higher chance", judge.auc, judge.auc_interval, ranks)
    print_figure("surest two thirds", "right, of those it is surest of", judge.surest, None, {})
    print_figure("Brier score", "of its chances, 0 is best", judge.brier, None, {"the base rate": left.base_brier})
    print_figure("boundaries", "F1 of where goals begin inside a stream", f1, f1_ends, {"never split": 0.0})
    print_figure("read, plan, change", "right", left.coarse_intent, left.coarse_interval, {})


def print_figure(
    name: str, says: str, value: float | None, ends: tuple[float, float] | None, beside: dict[str, float | None]
) -> None:
    """One figure; nothing where it could not be had."""
    if value is None:
        return
    print(f'\n[[offline.figures]]\nname = "{name}"\nsays = "{says}"\nvalue = {value:.3f}')
    if ends:
        print(f"low = {ends[0]:.3f}\nhigh = {ends[1]:.3f}")
    known = {name: value for name, value in beside.items() if value is not None}
    if known:
        inside = ", ".join(f'"{name}" = {value:.3f}' for name, value in known.items())
        print(f"baselines = {{ {inside} }}")
