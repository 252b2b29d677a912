"""What several sources tell of the same conversation, side by side: how complete each is, and where they disagree."""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.pipeline.privacy import PrivacyRules
from assay.pipeline.scan_worker import establish_stream_facts
from assay.pipeline.telemetry import AGENT as TELEMETRY
from assay.pipeline.telemetry import parse_path
from assay.sessions.redaction import Redactor
from assay.stores import Store
from assay.types import Document, StreamSummary, TelemetryRecord

PULLED = "langfuse"
MOST_COMPARED = 200
"""Conversations, the latest of them: each takes a look at all that its telemetry says."""
CLOSE = 0.005
"""Costs that differ by less than half a percent are the same: who rounds when is nobody's mistake."""
KINDS = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheCreation": "cache_write"}


class SourceTally(Struct, frozen=True, kw_only=True):
    """How much one kind of source tells of."""

    source: str
    """transcript, telemetry or langfuse."""
    conversations: int
    scored: int
    """Those that no other source tells more of."""
    wordless: int


class SourceFigures(Struct, frozen=True, kw_only=True):
    """What one source tells of a conversation; `None` for what it can't."""

    source: str
    """transcript, telemetry, metrics, client (the agent's own count of its cost) or langfuse."""
    turns: int | None = None
    tool_calls: int | None = None
    tokens: dict[str, int] | None = None
    cost_usd: float | None = None


class ComparedConversation(Struct, frozen=True, kw_only=True):
    """A conversation that more than one source tells of."""

    id: str
    scored: str
    """The source it is scored from."""
    sources: list[SourceFigures]
    differs: list[str]
    """In what they disagree: turns, tool_calls, tokens, cost_usd."""


class SourceComparison(Document, frozen=True, kw_only=True, tag="sources"):
    """All sources of a store: how much each tells of, and the latest conversations that several tell of."""

    sources: list[SourceTally]
    conversations: list[ComparedConversation]


def compare_sources(store: Store, roots: Sequence[str] | None) -> SourceComparison:
    """Compare what the sources below some roots tell of the same conversations."""
    groups = store.transcripts.list_conversations(roots)
    return SourceComparison(
        sources=tally_sources(store, roots, groups),
        conversations=[
            found for group in groups[-MOST_COMPARED:] if (found := compare_conversation(store, group)) is not None
        ],
    )


def redact_comparison(found: SourceComparison, rules: PrivacyRules) -> SourceComparison:
    """The same, with ids that may be shown: an agent can call its conversations anything."""
    redactor = Redactor(rules.options)
    return replace(found, conversations=[replace(one, id=redactor.text(one.id)) for one in found.conversations])


def tally_sources(
    store: Store, roots: Sequence[str] | None, groups: Sequence[Sequence[StreamSummary]]
) -> list[SourceTally]:
    """How many conversations each kind of source tells of; transcripts are counted where there is another one."""
    scored = {(one.agent, one.id) for one in store.transcripts.list_streams(roots)} if groups else set()
    found: dict[str, list[StreamSummary]] = {}
    for one in (stream for group in groups for stream in group):
        found.setdefault(name_source(one), []).append(one)
    return [
        SourceTally(
            source=source,
            conversations=len(streams),
            scored=sum((one.agent, one.id) in scored for one in streams),
            wordless=sum(not one.title for one in streams),
        )
        for source, streams in sorted(found.items())
    ]


def compare_conversation(store: Store, group: Sequence[StreamSummary]) -> ComparedConversation | None:
    """One conversation; `None` where only one source tells of it."""
    sources = [figure for one in group for figure in list_figures(store, one)]
    if len(sources) < 2:
        return None
    return ComparedConversation(
        id=group[0].id.partition("@")[0],
        scored=name_source(group[0]),
        sources=sources,
        differs=find_differences(sources),
    )


def name_source(stream: StreamSummary) -> str:
    return {TELEMETRY: "telemetry", PULLED: PULLED}.get(stream.agent, "transcript")


def list_figures(store: Store, stream: StreamSummary) -> list[SourceFigures]:
    """What a stream tells, and beside telemetry what its metrics and the client itself count."""
    facts = (
        stream.facts
        or establish_stream_facts(((stream.agent, stream.id), store.transcripts.load_stream(stream.agent, stream.id)))[
            1
        ]
    )
    told = msgspec.json.decode(facts)
    own = SourceFigures(
        source=name_source(stream),
        turns=stream.turns,
        tool_calls=told.get("tool_calls"),
        tokens=told.get("tokens"),
        cost_usd=told.get("cost_usd"),
    )
    name = parse_path(stream.file)
    return [own, *(count_beside(store.telemetry.load_records(*name)) if name else [])]


def count_beside(records: Sequence[TelemetryRecord]) -> list[SourceFigures]:
    """What metrics count, and what events say it cost; never added to what events and spans tell."""
    counted = [one for one in records if one.signal == "metrics" and one.is_delta]
    tokens = sum_by_kind(one for one in counted if one.name.endswith("token.usage"))
    cost = [one.value or 0.0 for one in counted if one.name.endswith("cost.usage")]
    said = [one.attributes["cost_usd"] for one in records if isinstance(one.attributes.get("cost_usd"), float | int)]
    found = []
    if tokens or cost:
        found.append(SourceFigures(source="metrics", tokens=tokens or None, cost_usd=sum(cost) if cost else None))
    if said:
        found.append(SourceFigures(source="client", cost_usd=sum(said)))
    return found


def sum_by_kind(counted: Iterable[TelemetryRecord]) -> dict[str, int]:
    """Tokens as metrics count them; nothing where they count none."""
    found = dict.fromkeys(KINDS.values(), 0)
    for one in counted:
        if kind := KINDS.get(str(one.attributes.get("type"))):
            found[kind] += int(one.value or 0)
    return found if any(found.values()) else {}


def find_differences(sources: Sequence[SourceFigures]) -> list[str]:
    """In what the sources that tell of it disagree."""
    return [
        name
        for name in ("turns", "tool_calls", "tokens", "cost_usd")
        if are_different([found for one in sources if (found := getattr(one, name)) is not None])
    ]


def are_different(values: Sequence[object]) -> bool:
    """Whether values disagree; numbers with a fraction may a little."""
    numbers = [one for one in values if isinstance(one, float)]
    if numbers and len(numbers) == len(values):
        return max(numbers) - min(numbers) > CLOSE * max(numbers)
    return any(one != values[0] for one in values)
