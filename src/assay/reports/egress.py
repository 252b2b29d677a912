"""What would leave this machine, for people."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.llm.egress import Egress, EgressQuestion, Estimate
from assay.reports.format import (
    UNKNOWN,
    format_count,
    format_dollars,
    format_end,
    format_line,
    format_list,
    sanitize_text,
    shorten_paths,
)

TITLE = "bold"
MOST_ROWS = 40


class ModelUse(Struct, frozen=True, kw_only=True):
    """What was asked of one model, added up."""

    model: str
    calls: int
    answered: int
    input: int
    output: int
    usd: float | None
    """`None`: the price of a call is not known."""
    last_at: str


def render_egress(found: Egress, width: int, *, words: bool = False) -> Group:
    """Where words would go, which, and what was taken out of them."""
    if found.to is None:
        told = f"Nothing leaves this machine: the {format_line(found.judge, 40)} judge asks no model."
        return Group(Text(told), Text("`assay egress --judge anthropic` shows what that one would be sent.", "dim"))
    head = Text.assemble(
        ("Would be sent to ", TITLE), (format_line(found.to, 120), "bold cyan"), f" for {format_model(found)}"
    )
    parts: list[RenderableType] = [head, Text(describe_estimate(found.estimate) if found.estimate else ""), Text("")]
    new = [one for one in found.requests if not one.is_answered]
    if words:
        parts += [line for one in new for line in render_request(one)]
    elif new:
        parts += [render_requests(new, width), Text("")]
        parts.append(Text("--words prints every word, --json gives it to machines; nothing was sent.", "dim"))
    return Group(*parts)


def format_model(found: Egress) -> str:
    return format_line(found.model or UNKNOWN, 60)


def describe_estimate(found: Estimate) -> str:
    """What all of it comes to."""
    cost = "price not known" if found.cost_usd is None else f"about {format_dollars(found.cost_usd)}"
    kept = f"; {found.cached:,} more were answered before and are not asked again" if found.cached else ""
    tokens = f"about {found.input:,} tokens in, {found.output:,} out"
    return f"{format_count(found.questions, 'question')}, {tokens}, {cost}{kept}"


def render_requests(requests: Sequence[EgressQuestion], width: int) -> Table:
    """A row per session or stream: how much of it each judge would be shown."""
    by_subject: dict[str, list[EgressQuestion]] = defaultdict(list)
    for one in requests:
        by_subject[one.about].append(one)
    named = shorten_paths(one.project for one in requests)
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for head in ("of", "project", "asked", "tokens", "redacted"):
        shown.add_column(head, justify="right" if head == "tokens" else "left", no_wrap=head != "redacted")
    for about, some in list(by_subject.items())[:MOST_ROWS]:
        counts = Counter({kind: 0 for one in some for kind in one.redacted})
        for one in some:
            counts |= Counter(one.redacted)
        jobs = ", ".join(dict.fromkeys(one.job for one in some))
        shown.add_row(
            Text(format_line(about[:12], 12), "cyan"),
            Text(format_end(named[some[0].project], max(12, width // 5))),
            Text(jobs),
            Text(f"{sum(one.tokens for one in some):,}"),
            Text(
                format_list([f"{n} {kind}" for kind, n in counts.most_common()], 3) if counts else "nothing found",
                "dim",
            ),
        )
    if len(by_subject) > MOST_ROWS:
        shown.caption = f"and {len(by_subject) - MOST_ROWS} more; --json has them all"
    return shown


def render_request(one: EgressQuestion) -> list[RenderableType]:
    """One question, word for word."""
    return [
        Text(f"── {one.job} of {format_line(one.about, 60)} → {format_line(one.to, 120)}", TITLE),
        Text(sanitize_text(one.system), "dim"),
        Text(sanitize_text(one.material)),
        Text(sanitize_text(one.task), "dim"),
        Text(""),
    ]
