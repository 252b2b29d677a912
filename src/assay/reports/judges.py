"""The judge card on a terminal: what was measured, beside what simple rules reach, and by the person's own audit."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.format import UNKNOWN, format_count, format_line, format_name, format_percent
from assay.scores.card import Figure, JudgeCard, Measurement, OwnMeasurement, ReliabilityBand

BASE_RATE = 60
"""As the offline judge's calibration has it (`benchmarks.fit`)."""
NO_AUDIT = "Not measured on your sessions yet: `assay audit 40` asks you about 40 of them, drawn at random."


def render_cards(cards: Sequence[JudgeCard]) -> Group:
    """One card after the other."""
    return Group(*(part for card in cards for part in render_card(card)))


def render_card(card: JudgeCard) -> Iterator[RenderableType]:
    """One judge: measured elsewhere, and here."""
    versions = ", ".join(f"{job} {version[:8]}" for job, version in sorted(card.versions.items()))
    yield Text.assemble((format_line(card.judge, 40), "bold"), (f"  {versions}" if versions else "", "dim"))
    if card.measured:
        yield Padding(render_measurement(card.measured, is_same=card.is_measured_version), (0, 0, 0, 2))
    else:
        yield Text("  Never measured against labels: its number has no interval for its own errors, and no letter.")
    yield Padding(render_own(card.own) if card.own else Text(NO_AUDIT), (1, 0, 1, 2))


def render_measurement(measured: Measurement, *, is_same: bool) -> Group:
    """The figures, each beside its baselines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for figure in measured.figures:
        table.add_row(
            Text(figure.name, "bold"), Text(f"{figure.value:.2f}"), Text(format_ends(figure), "dim"), explain(figure)
        )
    told = [
        Text(
            f"On {format_count(measured.goals, 'labelled goal')} ({measured.failures} not completed) of "
            f"{measured.repositories} repositories, each left out of every fit in turn ({measured.measured_at})."
        )
    ]
    if not is_same:
        told.append(Text("Tables or phrases have changed since it was measured.", "yellow"))
    landed = format_percent(100 * (measured.goals - measured.failures) / measured.goals)
    note = (
        f"Chances are told for a base rate of {BASE_RATE} in 100 completed goals, that of strangers; among these "
        f"labels {landed} in 100 were, so more came true than was told."
    )
    return Group(*told, table, *render_reliability(measured.reliability), Text(note, "dim"))


def explain(figure: Figure) -> Text:
    """What a figure says, and what rules reach that read nothing or little."""
    beside = ", ".join(f"{name} {value:.2f}" for name, value in figure.baselines.items())
    return Text.assemble(figure.says, (f" ({beside})" if beside else "", "dim"))


def format_ends(figure: Figure) -> str:
    return "" if figure.low is None or figure.high is None else f"{figure.low:.2f}–{figure.high:.2f}"


def render_reliability(bands: Sequence[ReliabilityBand]) -> Iterator[RenderableType]:
    """How often a chance came true."""
    if not bands:
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(*(Text(word, "dim") for word in ("chance told", "goals", "on average", "came true")))
    for band in bands:
        table.add_row(f"{band.low:.1f}–{band.high:.1f}", str(band.n), f"{band.mean:.2f}", f"{band.share:.2f}")
    yield Text("")
    yield table


def render_own(own: OwnMeasurement) -> Group:
    """What the person's audit says."""
    kappa = UNKNOWN if own.kappa is None else f"{own.kappa:.2f}"
    unclear = own.audited - own.decided
    lines: list[RenderableType] = [
        Text("By your own audit", "bold"),
        Text(
            f"Of {format_count(own.audited, 'session')} that you decided, it agrees on {own.agreed} of {own.decided}"
            f"{f' and left {unclear} unclear' if unclear else ''}; kappa {kappa}, Brier {own.brier:.2f}."
        ),
    ]
    wrong = [one for one in own.intents if one.agreed < one.audited]
    if wrong:
        told = ", ".join(f"{format_name(one.intent)} {one.audited - one.agreed} of {one.audited}" for one in wrong)
        lines.append(Text(f"Wrong most: {told}."))
    return Group(*lines, *render_reliability(own.reliability))
