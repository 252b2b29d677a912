"""A conversation as traces: a root span for each turn, with a generation for each answer and a tool span for each call.

Ids are hashes of what they stand for, so the same transcript makes the same spans wherever and whenever it is sent.
`sources.langfuse.uploaded` reads them back.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from assay.sources.langfuse.records import UPLOAD_DIGEST, UPLOAD_SIZE, UPLOAD_SOURCE
from assay.types import Call, Prompt, Reply, Spend, Stream, Turn

OBSERVATION, METADATA = "langfuse.observation.", "langfuse.observation.metadata."
INPUTS = {"shell": "command", "edit": "file_path", "read": "file_path", "search": "pattern", "web": "url"}
BAD = frozenset({"error", "rejected", "denied", "interrupted"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Span = dict[str, Any]


class TraceUpload(Struct, frozen=True, kw_only=True):
    """A turn as a trace."""

    id: str
    digest: str
    """Changes with anything that is sent."""
    spans: list[Span]


def build_traces(stream: Stream, environment: str = "") -> list[TraceUpload]:
    """The traces of a conversation, whose words are redacted already; a turn without any time has none."""
    seen: dict[str, int] = {}
    found = []
    for n, turn in enumerate(stream.turns, 1):
        name = str(turn.prompt.key) if turn.prompt else f"#{n}"
        seen[name] = seen.get(name, 0) + 1
        trace = hash_id(16, stream.agent, stream.id, name, seen[name])
        if to_nanoseconds(find_beginning(turn)):
            found.append(build_trace(TurnPlace(stream=stream, turn=turn, n=n, trace=trace, environment=environment)))
    return found


class TurnPlace(Struct, frozen=True, kw_only=True):
    """A turn, and what all spans of it say."""

    stream: Stream
    turn: Turn
    n: int
    trace: str
    environment: str

    @property
    def name(self) -> str:
        """What its trace is called."""
        return f"{self.stream.agent} - Turn {self.n}"

    def build_span(self, kind: str, name: str, at: str, ended_at: str, told: Mapping[str, Any]) -> Span:
        """A span of this trace; `told` are its own attributes, `id` and `parent` among them."""
        begins = to_nanoseconds(at) or to_nanoseconds(find_beginning(self.turn))
        ends = max(to_nanoseconds(ended_at), begins)
        about = self.stream.about
        common: dict[str, Any] = {
            f"{OBSERVATION}type": kind,
            "session.id": self.stream.id,
            "langfuse.trace.name": self.name,
            "langfuse.trace.tags": [self.stream.agent, UPLOAD_SOURCE],
            "langfuse.environment": self.environment,
            "langfuse.version": about.versions[-1] if about.versions else "",
            f"{METADATA}source": UPLOAD_SOURCE,
        }
        given = {key: value for key, value in (common | dict(told)).items() if key not in ("id", "parent")}
        return {
            "traceId": self.trace,
            "spanId": told["id"],
            **({"parentSpanId": told["parent"]} if told.get("parent") else {}),
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(begins),
            "endTimeUnixNano": str(ends),
            "attributes": [to_attribute(key, value) for key, value in given.items() if value not in ("", None, [], {})],
            "status": {},
        }


def build_trace(place: TurnPlace) -> TraceUpload:
    """The spans of a turn, the root first; the root tells how many there are, and a digest of them all."""
    root = hash_id(8, place.trace, "root")
    inner = [*list_generations(place, root), *list_tools(place, root)]
    head = build_root(place, root, {})
    digest = hash_id(12, msgspec.json.encode([head, *inner]).decode())
    told = {f"{METADATA}{UPLOAD_DIGEST}": digest, f"{METADATA}{UPLOAD_SIZE}": 1 + len(inner)}
    return TraceUpload(id=place.trace, digest=digest, spans=[build_root(place, root, told), *inner])


def build_root(place: TurnPlace, id: str, more: Mapping[str, Any]) -> Span:
    turn, about = place.turn, place.stream.about
    prompt, last = turn.prompt, turn.replies[-1].text if turn.replies else ""
    told = {
        "id": id,
        f"{OBSERVATION}input": encode_message("user", prompt.text) if prompt else "",
        f"{OBSERVATION}output": encode_message("assistant", last) if last else "",
        f"{METADATA}agent": place.stream.agent,
        f"{METADATA}turn_number": place.n,
        f"{METADATA}cwd": about.cwd,
        f"{METADATA}branch": about.branch,
        f"{METADATA}prompt": encode_prompt(prompt),
        f"{METADATA}marks": encode_json([[one.kind, one.at, one.detail] for one in turn.marks]),
    }
    return place.build_span("span", place.name, find_beginning(turn), turn.ended_at, told | dict(more))


def encode_prompt(prompt: Prompt | None) -> str:
    return encode_json({"kind": prompt.kind, "key": prompt.key, "images": prompt.images}) if prompt else ""


def list_generations(place: TurnPlace, root: str) -> Iterator[Span]:
    """What the agent said and what was spent; words and tokens of one moment are one answer."""
    left = {id(one): one for one in place.turn.spends}
    pairs: list[tuple[Reply | None, Spend | None]] = []
    for reply in place.turn.replies:
        spent = next((one for one in left.values() if one.at == reply.at and not one.by), None)
        pairs.append((reply, left.pop(id(spent)) if spent else None))
    pairs += [(None, one) for one in left.values()]
    for k, (said, spent) in enumerate(pairs, 1):
        at = said.at if said else spent.at if spent else ""
        yield place.build_span("generation", f"Answer {k}", at, at, describe_answer(place, root, k, (said, spent)))


def describe_answer(place: TurnPlace, root: str, k: int, pair: tuple[Reply | None, Spend | None]) -> dict[str, Any]:
    said, spent = pair
    told: dict[str, Any] = {"id": hash_id(8, place.trace, "answer", k), "parent": root}
    if said:
        told[f"{OBSERVATION}output"] = encode_message("assistant", said.text)
    if spent:
        used = spent.usage
        counts = {
            "input": used.input,
            "output": used.output,
            "cache_read_input_tokens": used.cache_read,
            "input_cache_creation_1h": used.cache_write_1h,
            "cache_creation_input_tokens": used.cache_write - used.cache_write_1h,
        }
        told[f"{OBSERVATION}model.name"] = spent.model
        told[f"{OBSERVATION}usage_details"] = encode_json({key: n for key, n in counts.items() if n})
        told[f"{METADATA}key"] = str(spent.key)
        told[f"{METADATA}by"] = spent.by
    return told


def list_tools(place: TurnPlace, root: str) -> Iterator[Span]:
    """A span for each call, with what became of it."""
    for k, call in enumerate(place.turn.calls, 1):
        is_bad = call.status in BAD
        words = f"exit code {call.exit_code}" if call.exit_code else call.status
        told = {
            "id": hash_id(8, place.trace, "call", call.id, k),
            "parent": root,
            f"{OBSERVATION}input": encode_json(describe_input(call)),
            f"{OBSERVATION}output": call.output if call.status != "open" else "",
            f"{OBSERVATION}level": "ERROR" if is_bad else "",
            f"{OBSERVATION}status_message": words if is_bad else "",
            f"{METADATA}tool_name": call.name,
            f"{METADATA}tool_id": call.id,
            f"{METADATA}call": encode_json(describe_call(call)),
        }
        yield place.build_span("tool", f"Tool: {call.name}", call.at, call.ended_at, told)


def describe_input(call: Call) -> dict[str, Any]:
    """What a call was given, as far as it is kept."""
    found: dict[str, Any] = {INPUTS.get(call.kind, "target"): call.command or call.target}
    if call.edits:
        found |= {"file_path": call.edits[0].path, "diff": "\n".join(one.text for one in call.edits if one.text)}
    return {key: value for key, value in found.items() if value}


def describe_call(call: Call) -> dict[str, Any]:
    """What else is known of a call, so that it can be read back as it was."""
    edits = [[one.path, one.added, one.removed, one.how, one.text] for one in call.edits]
    return {
        "kind": call.kind,
        "target": call.target,
        "is_partial": call.is_partial,
        "dialect": call.dialect,
        "status": call.status,
        "exit_code": call.exit_code,
        "by": call.by,
        "agent": call.agent,
        "of": str(call.of),
        "edits": edits,
        "commits": call.commits,
    }


# --- the form that OTLP has ---------------------------------------------------------------------


def find_beginning(turn: Turn) -> str:
    """When a turn began, by whatever in it has a time."""
    return next((at for at in (turn.at, turn.prompt.at if turn.prompt else "", turn.ended_at) if at), "")


def to_nanoseconds(at: str) -> int:
    """A time as OTLP counts it; 0 for what is none."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError:
        return 0
    since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def to_attribute(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [{"stringValue": one} for one in value]}}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": value}}
    return {"key": key, "value": {"stringValue": value}}


def encode_message(role: str, text: str) -> str:
    return encode_json({"role": role, "content": text})


def encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode() if value else ""


def hash_id(size: int, *parts: object) -> str:
    words = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return blake2b(words, digest_size=size).hexdigest()
