"""Conversations that telemetry told of become files and streams, like any transcript.

A conversation is read whole whenever something new came in: what comes late may belong anywhere in it. It is kept as
the file `otel:/AGENT/CONVERSATION`, in a stream of its own beside a transcript of the same conversation.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.listing import TELEMETRY_ROOT
from assay.pipeline.pool import Pool
from assay.pipeline.read_file import FileContent, build_version
from assay.pipeline.scan_worker import ReadTask, encode_content
from assay.plugins import list_names
from assay.sessions.turns import TurnBuilder
from assay.sources import find_source
from assay.stores import Store
from assay.types import About, FileState, LiveConversation, ReadPosition, TelemetryRecord
from assay.types.value import merge_signs, sign_attribute, sign_key

AGENT = "otel"
"""The agent of streams that telemetry told of; the service that sent it stands behind the `@` of their ids."""
FOLDERS = ("cwd", "process.working_directory")
PERSON = ("user.id", "user.email", "user.account_uuid", "organization.id")
MOST_ATTRIBUTES, LONGEST_VALUE = 40, 200
AT_ONCE = 200
ENCODE = msgspec.json.Encoder().encode

KEPT_WORDS = frozenset(
    """session.id conversation.id gen_ai.conversation.id event.name event.sequence event.kind event.timestamp
    message.uuid prompt.id prompt_length response_length request_id model tool_name tool_use_id call_id decision source
    decision_source decision_type success error_type status_code http.response.status_code attempt total_attempts
    trigger query_source agent_id agent.name agent_name is_async is_built_in type start_type command_name
    command_source app.version originator stop_reason query_source_safe user.id user.email user.account_uuid
    organization.id gen_ai.operation.name gen_ai.tool.name gen_ai.tool.call.id gen_ai.request.model
    gen_ai.response.model gen_ai.provider.name gen_ai.agent.name error.type session_id prompt_id agent_type reason
    hook_event_name permission_mode event.id""".split()
)
"""Attributes whose text stays when words are deleted: ids, names of tools and models, and how things went."""


class ConversationTask(Struct, frozen=True, kw_only=True):
    """A conversation to read."""

    conversation: LiveConversation
    records: tuple[TelemetryRecord, ...]
    with_facts: bool


def read_conversations(
    store: Store, pool: Pool, with_facts: bool, chosen: Sequence[LiveConversation] | None = None
) -> dict[str, bool]:
    """Bring every conversation of which something new came in, or the chosen ones, into its file.

    Gives the paths, and which are new.
    """
    version, read = build_telemetry_version(), dict[str, bool]()
    unread = iter(store.telemetry.list_unread(version) if chosen is None else chosen)
    while some := {to_path(one.agent, one.id): one for one in islice(unread, AT_ONCE)}:
        known = store.transcripts.find_files(list(some))
        tasks = (build_task(store, one, with_facts) for one in some.values())
        for found in pool.each(tasks, read_conversation):
            if store.transcripts.save_file(found, known.get(found.path)):
                store.telemetry.mark_read(some[found.path], version)
                read[found.path] = found.path not in known
    return read


def build_task(store: Store, one: LiveConversation, with_facts: bool) -> ConversationTask:
    records = tuple(store.telemetry.load_records(one.agent, one.id))
    return ConversationTask(conversation=one, records=records, with_facts=with_facts)


def build_telemetry_version() -> str:
    """Changes when telemetry of any agent would be read in another way."""
    return " ".join(build_version(name) for name in list_telemetry_sources())


def list_telemetry_sources() -> list[str]:
    """Names of the sources that read telemetry."""
    return [name for name in list_names("sources") if hasattr(find_source(name), "read_telemetry")]


def find_telemetry_source(agent: str) -> str:
    """The source that reads what an agent sends: its own, else that of all others."""
    return next((name for name in list_telemetry_sources() if agent == find_source(name).AGENT), AGENT)


def read_conversation(task: ConversationTask) -> FileState:
    """Read a conversation, in a worker; one that lost all its records is no stream any more."""
    one, records = task.conversation, task.records
    name = find_telemetry_source(one.agent)
    size = sum(len(ENCODE(record)) for record in records)
    last = max((record.order for record in records), default=0)
    state = FileState(
        path=to_path(one.agent, one.id),
        source=name,
        version=build_version(name),
        place=ReadPosition(size=size, mtime_ns=last, offset=one.revision),
        lines_read=len(records),
        bytes_read=size,
    )
    if not records:
        return encode_content(FileContent(state=state), ReadTask(path=state.path))
    builder = TurnBuilder()
    folder = next((found for record in records if (found := find_folder(record))), "")
    builder.take(About(at=records[0].at, stream=name_stream(one.agent, one.id), cwd=folder, signs=list_signs(records)))
    unknown: dict[str, int] = find_source(name).read_telemetry(records, builder.take)  # type: ignore[attr-defined]
    content = FileContent(state=replace(state, part=builder.part(AGENT), unknown=unknown), turns=builder.turns())
    return encode_content(content, ReadTask(path=state.path, with_facts=task.with_facts))


def name_stream(agent: str, conversation: str) -> str:
    """The name of a conversation's stream: the vendor's own id, and the service that told of it."""
    return f"{conversation}@{agent}"


def to_path(agent: str, conversation: str) -> str:
    """The path under which a conversation is kept."""
    return f"{TELEMETRY_ROOT}/{quote(agent, safe='')}/{quote(conversation, safe='')}"


def parse_path(path: str) -> tuple[str, str] | None:
    """Agent and conversation of such a path; `None` for that of a file."""
    if not path.startswith(f"{TELEMETRY_ROOT}/"):
        return None
    _, agent, conversation = path.split("/")
    return unquote(agent), unquote(conversation)


def find_folder(record: TelemetryRecord) -> str:
    """The folder that a record says it was sent from."""
    for given in (record.attributes, record.resource):
        for name in FOLDERS:
            value = given.get(name)
            if isinstance(value, str) and value.startswith("/"):
                return value
    return ""


def list_signs(records: Sequence[TelemetryRecord]) -> tuple[str, ...]:
    """By what the tenant of a conversation is known: keys, attributes of its resource, and who the person is."""
    found: tuple[str, ...] = ()
    seen: set[bytes] = set()
    for record in records:
        about = record.resource | {name: record.attributes[name] for name in PERSON if name in record.attributes}
        told = ENCODE([record.key, about])
        if told not in seen:
            seen.add(told)
            found = merge_signs(found, (*([sign_key(record.key)] if record.key else []), *sign_attributes(about)))
    return found


def sign_attributes(given: dict[str, Any]) -> Iterator[str]:
    """Signs of the short texts among some attributes."""
    known = {key: value for key, value in given.items() if isinstance(value, str) and 0 < len(value) <= LONGEST_VALUE}
    return (sign_attribute(key, known[key]) for key in sorted(known)[:MOST_ATTRIBUTES])


# --- words that are to be deleted ---------------------------------------------------------------


def silence_record(record: TelemetryRecord) -> TelemetryRecord:
    """A record without words: numbers, ids, and names of tools and models stay."""
    return replace(
        record,
        attributes=silence_attributes(record.attributes),
        body=None,
        said="",
        events=tuple(
            replace(event, attributes=silence_attributes(event.attributes))
            for event in record.events
            if event.name != "tool.output"
        ),
    )


def silence_attributes(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in given.items()
        if key in KEPT_WORDS
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and value.lstrip("-").isdecimal())
    }


def forget_records(store: Store, path: str) -> None:
    """Delete the words of the conversation that is kept at a path; nothing where it is that of a file."""
    if name := parse_path(path):
        store.telemetry.replace_records(map(silence_record, store.telemetry.load_records(*name)))
