"""Events that hooks kept, sent to a server as OTLP logs: each until it was taken, and only then forgotten.

What leaves goes by the settings of the installation: without `--words` ids, names of tools and how things went; with
them what was said and done too, redacted. The server knows a record that comes twice by what it says.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

import msgspec
from msgspec import Struct

from assay.agents.claude_code import find_command
from assay.errors import BadInput
from assay.files import find_state_folder, write_atomically
from assay.http import Http, RemoteError, RetryPolicy, parse_address
from assay.pipeline.spool import (
    LONGEST_ID,
    SERVER,
    SpooledEvent,
    drop_events,
    find_spool,
    flatten_payload,
    read_spool,
    reopen_spool,
)
from assay.pipeline.telemetry import silence_attributes
from assay.sessions.redaction import RedactionOptions, Redactor
from assay.types.telemetry import HOOK

KEY, DELIVER, HEADERS = "key", "deliver", "headers"
AT_ONCE = 200
POLICY = RetryPolicy(timeout_s=10.0, tries=2, patience_s=15.0)
ANSWER_SCRIPT = """#!/bin/sh
# The header with which Claude Code sends its telemetry: the key stands in a file that only its owner reads.
read -r key <{key} && printf '{{"Authorization": "Bearer %s"}}\\n' "$key"
"""
DELIVER_SCRIPT = """#!/bin/sh
# Sends what hooks kept; the agent does not wait for it.
exec {command} </dev/null >/dev/null 2>&1
"""


class ServerAddress(Struct, frozen=True, kw_only=True):
    """Where events go, and whether their words do."""

    url: str
    words: bool = False


class DeliveredEvents(Struct, frozen=True, kw_only=True):
    """How many events were taken, how many still wait, and why."""

    sent: int = 0
    left: int = 0
    unreadable: int = 0
    why: str = ""


def check_address(url: str) -> str:
    """The address of a server in plain form; refused where it is none."""
    return parse_address(url)


def save_server(server: ServerAddress, key: str, env: Mapping[str, str]) -> None:
    """Note where events go, and keep the key in a file for its owner alone."""
    folder = find_state_folder(env)
    deliver = DELIVER_SCRIPT.format(command=find_command("plugin", "deliver"))
    helper = ANSWER_SCRIPT.format(key=shlex.quote(str(folder / KEY)))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if key:
            write_atomically(folder / KEY, f"{key}\n".encode())
            write_atomically(folder / HEADERS, helper.encode(), 0o700)
        write_atomically(folder / DELIVER, deliver.encode(), 0o700)
        write_atomically(folder / SERVER, msgspec.json.encode(server))
    except OSError as error:
        raise BadInput(f"{folder}: can't be written: {error.strerror}; nothing was changed") from None


def load_server(env: Mapping[str, str]) -> ServerAddress | None:
    """Where events go; `None` where they stay on this machine."""
    path = find_state_folder(env) / SERVER
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServerAddress)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        raise BadInput(f"{path}: can't be read: {error}; `assay plugin install --server URL` writes it anew") from None


def drop_server(env: Mapping[str, str]) -> None:
    """Forget the server and its key."""
    for name in (SERVER, KEY, HEADERS, DELIVER):
        with suppress(OSError):
            (find_state_folder(env) / name).unlink()


def read_key(env: Mapping[str, str]) -> str:
    with suppress(OSError, UnicodeError):
        return (find_state_folder(env) / KEY).read_text("utf-8").strip()
    return ""


def deliver_events(env: Mapping[str, str], options: RedactionOptions) -> DeliveredEvents:
    """Send what waits; what the server does not take stays for the next time."""
    server = load_server(env)
    if server is None:
        return DeliveredEvents(why="no server is set; `assay plugin install --server URL` sets one")
    events = list(read_spool(find_spool(env)))
    usable = [one for one in events if 0 < len(one.conversation) <= LONGEST_ID]
    drop_events(one.path for one in events if one not in usable)
    redact = Redactor(options).text
    sent, why = 0, ""
    with closing(Http(server.url, read_key(env), policy=POLICY, clean=redact)) as http:
        for start in range(0, len(usable), AT_ONCE):
            some = usable[start : start + AT_ONCE]
            try:
                http.post("/v1/logs", build_body(some, server, redact))
            except RemoteError as error:
                why = str(error)
                break
            drop_events(one.path for one in some)
            sent += len(some)
    if sent == len(usable):
        reopen_spool(find_spool(env))
    return DeliveredEvents(sent=sent, left=len(usable) - sent, unreadable=len(events) - len(usable), why=why)


def build_body(events: Sequence[SpooledEvent], server: ServerAddress, redact: Callable[[str], str]) -> dict[str, Any]:
    """Events as a request of OTLP logs."""
    found = []
    for agent in sorted({one.agent for one in events}):
        records = [build_log(one, server, redact) for one in events if one.agent == agent]
        scoped = [{"scope": {"name": "assay"}, "logRecords": records}]
        found.append({"resource": {"attributes": [to_pair("service.name", agent)]}, "scopeLogs": scoped})
    return {"resourceLogs": found}


def build_log(event: SpooledEvent, server: ServerAddress, redact: Callable[[str], str]) -> dict[str, Any]:
    told = flatten_payload(event.payload)
    told.pop("transcript_path", None)
    said = {name: redact(value) if isinstance(value, str) else value for name, value in told.items()}
    if not server.words:
        said = silence_attributes(said)
    said |= {"session.id": event.conversation, "event.name": f"{HOOK}{event.name}"[:100], "event.id": event.path.name}
    return {"timeUnixNano": str(event.order), "attributes": [to_pair(name, said[name]) for name in sorted(said)]}


def to_pair(name: str, value: Any) -> dict[str, Any]:
    """An attribute as OTLP has it in JSON."""
    if isinstance(value, bool):
        return {"key": name, "value": {"boolValue": value}}
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return {"key": name, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": name, "value": {"doubleValue": value}}
    return {"key": name, "value": {"stringValue": str(value)}}
