"""Sessions out of Langfuse into files, one for each, written whole or not at all; and small looks at a session."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec.structs import replace

from assay.errors import BadInput
from assay.files import write_atomically
from assay.http import AccessDenied, RemoteError
from assay.langfuse.client import Client
from assay.langfuse.observations import SessionPick, fetch_observations, fetch_picked, merge_records, sort_records
from assay.langfuse.scores import parse_time
from assay.sources.langfuse.records import END, SESSION, Record, name_stream
from assay.types import Document, Value

UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
LONGEST_NAME = 80
DECODE = msgspec.json.Decoder(Record)


class PulledSession(Value, frozen=True):
    """A session that was written into a file."""

    session: str
    path: str
    traces: int
    observations: int
    repeated: int = 0
    """Rows that came more than once."""
    began_at: str = ""
    ended_at: str = ""
    """When the last of it ended; Langfuse does not say whether more will come."""
    is_changed: bool = True
    """The file is not as it was."""
    has_text: bool = True
    """Anybody's words are in it; without them there is nothing to judge."""
    environment: str = "default"
    """Where it began."""
    stream: str = ""
    """What its stream is called here: the session at its server and project."""


class PullReport(Document, frozen=True, kw_only=True, tag="langfuse_pull"):
    """What became of the sessions that should be pulled."""

    pulled: tuple[PulledSession, ...] = ()
    empty: tuple[str, ...] = ()
    """Sessions of which Langfuse has nothing (yet)."""
    failed: tuple[tuple[str, str], ...] = ()
    """Sessions that could not be read, and why."""


def pull_sessions(
    client: Client,
    folder: Path,
    sessions: Sequence[str] = (),
    *,
    pick: SessionPick | None = None,
    told: Callable[[str], None] = lambda _session: None,
) -> PullReport:
    """Write sessions, those given and those that are picked, below `folder`/<host>/<project>.

    `told` is called with each session that is done.
    """
    if pick and pick.since and parse_time(pick.since) is None:
        raise BadInput(f"{pick.since!r} is no time with a zone; give one such as 2026-11-01T00:00:00Z")
    wanted = list(dict.fromkeys([*sessions, *(fetch_picked(client, pick) if pick else ())]))
    pulled, empty, failed = [], [], []
    for session in wanted:
        try:
            found = pull_session(client, folder, session)
        except AccessDenied:
            raise
        except RemoteError as error:
            failed.append((session, str(error)))
        else:
            if found:
                pulled.append(found)
            else:
                empty.append(session)
        told(session)
    return PullReport(pulled=tuple(pulled), empty=tuple(empty), failed=tuple(failed))


def pull_session(client: Client, folder: Path, session: str) -> PulledSession | None:
    """Read a session and bring its file up to date: what the server has since deleted stays in it."""
    project = client.load_project().id
    path = name_file(folder, client.host, project, session)
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise BadInput(f"{path}: is a link, a pipe or a folder where a pulled session belongs; move it away")
    rows = fetch_observations(client, session)
    fresh = merge_records(rows)
    if not fresh:
        return None
    kept = load_records(path)
    known = merge_records(kept) | fresh
    ordered = list(sort_records(known.values()))
    lines = [msgspec.json.encode(one) for one in ordered]
    digest = blake2b(b"\n".join(lines), digest_size=16).hexdigest()
    began = min(one.at for one in ordered)
    head = Record(
        type=SESSION,
        session=session,
        host=client.host,
        project=project,
        digest=digest,
        at=began,
        version=find_version(ordered),
        key=client.key,
    )
    is_changed = write_changed(path, b"\n".join([encode_head(head), *lines]) + b"\n")
    return PulledSession(
        session=session,
        path=str(path),
        traces=len({one.trace for one in known.values()}),
        observations=len(known),
        repeated=len(rows) - len(fresh),
        began_at=began,
        ended_at=max(one.ended_at or one.at for one in ordered),
        is_changed=is_changed,
        has_text=any(has_text(one) for one in known.values()),
        environment=next((one.environment for one in ordered if one.environment), "default"),
        stream=name_stream(session, client.host, project),
    )


def encode_head(head: Record) -> bytes:
    """The first line, with the two fields first by which its file is known."""
    rest = msgspec.to_builtins(head)
    return msgspec.json.encode({"langfuse": head.langfuse, "type": head.type} | rest)


def find_version(records: Iterable[Record]) -> str:
    return next((one.version for one in records if one.version), "")


def has_text(one: Record) -> bool:
    """Whether somebody's words came along."""
    told = one.metadata.get("attributes.user_prompt") or get_attributes(one.metadata).get("user_prompt")
    return one.input is not None or one.output is not None or told not in (None, "", "<REDACTED>")


def get_attributes(metadata: Mapping[str, object]) -> Mapping[str, object]:
    found = metadata.get("attributes")
    return found if isinstance(found, dict) else {}


def name_file(folder: Path, host: str, project: str, session: str) -> Path:
    """Where a session is kept: names that a file can't have are spelled otherwise, and told apart."""
    return folder / sanitize_name(host) / sanitize_name(project) / f"{sanitize_name(session)}.jsonl"


def sanitize_name(name: str) -> str:
    """A name that any file system takes."""
    plain = UNSAFE.sub("_", name)[:LONGEST_NAME].strip(".") or "_"
    if plain == name and plain == plain.lower():
        return plain
    return f"{plain}-{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


def load_records(path: Path) -> list[Record]:
    """The observations in a file that was pulled earlier; one that can't be read is made anew."""
    try:
        lines = path.read_bytes().splitlines()
        found = [DECODE.decode(line) for line in lines[1:]]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return []
    ends = {(one.trace, one.parent): one.output for one in found if one.type == END}
    rows = [one for one in found if one.type != END]
    return [replace(one, output=ends[one.trace, one.id]) if (one.trace, one.id) in ends else one for one in rows]


def write_changed(path: Path, content: bytes) -> bool:
    """Put the content in place in one step, readable by its owner alone; whether anything changed."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return False
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, content)
    except OSError as error:
        raise BadInput(f"{path}: can't be written: {error.strerror}; give another folder") from None
    return True


def find_trace(path: Path, moment: str) -> str:
    """The trace of a pulled session in which something began at this moment, else the next one; empty without any."""
    rows = [(one.at, one.trace) for one in load_records(path) if one.trace]
    exact = (trace for at, trace in rows if at == moment)
    later = (trace for at, trace in rows if at >= moment)
    return next(exact, "") or next(later, "") or (rows[0][1] if rows else "")
