"""A score on its way to Langfuse: its identity, its payload, what is wrong with it, and how it is read back.

Langfuse keeps a row for each (day of the timestamp, name, id). So the id is a hash of what the score is about, and
the timestamp is given once and for all: best the beginning of the session, which no later turn moves.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from math import isclose, isfinite
from typing import Any

import msgspec
from msgspec import Struct

from assay.http import PathNotFound, decode_answer
from assay.langfuse.client import GENERAL, LEGACY, Client
from assay.langfuse.configs import DataType, RemoteConfig, describe_values, list_labels
from assay.types import CleanText, Value

MARK = "assay"
"""Key in the metadata of every score of ours; its value tells what was last written."""
OURS = "assay-"
"""What the id of every score of ours begins with."""
DEFAULT = "default"
"""The environment of what names none."""
LONGEST_NAME, LONGEST_COMMENT, LARGEST = 35, 100_000, 900_000
WITH_ZONE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)")
SCORES_V3, SCORES_V2 = "/api/public/v3/scores", "/api/public/v2/scores"
IDS_AT_ONCE = 50
"""Ids of 38 characters: their list stays well below what proxies allow in a URL."""


class ScoreWrite(Value, frozen=True):
    """A score to be written."""

    session: str
    name: str
    data_type: DataType
    value: float | str | bool
    """A number, a category's label, or a truth value."""
    timestamp: str
    """With its time zone; the same each time the score is written."""
    trace: str = ""
    """Written on this trace of the session instead of on the session."""
    of: str = ""
    """What else tells it from another score of that name, such as the profile."""
    comment: CleanText = CleanText("")
    metadata: dict[str, Any] = {}
    """Its texts are clean too."""
    config_id: str = ""
    environment: str = ""
    """That of the session."""


def build_id(score: ScoreWrite) -> str:
    """The id: the same on every day, in every process; no comma, by which Langfuse would split it.

    A row stays in the environment in which it was first written, so each environment has rows of its own.
    """
    where = [score.environment] if score.environment not in ("", DEFAULT) else []
    identity = msgspec.json.encode([score.session, score.trace, score.name, score.of, *where])
    return f"{OURS}{blake2b(identity, digest_size=16).hexdigest()}"


def hash_score(score: ScoreWrite) -> str:
    """Changes with everything that is written but the timestamp."""
    told = [score.name, score.data_type, to_plain_value(score), score.comment, score.metadata, score.config_id]
    return f"d-{blake2b(msgspec.json.encode(told, order='deterministic'), digest_size=12).hexdigest()}"


def to_plain_value(score: ScoreWrite) -> float | str:
    """The value as Langfuse takes it: a truth value is 1 or 0."""
    return int(score.value) if isinstance(score.value, bool) else score.value


def build_body(score: ScoreWrite) -> dict[str, Any]:
    """The whole payload, each time: what is left out would stay as it was."""
    target = {"traceId": score.trace} if score.trace else {"sessionId": score.session}
    found: dict[str, Any] = {
        "id": build_id(score),
        **target,
        "name": score.name,
        "value": to_plain_value(score),
        "dataType": score.data_type,
        "comment": score.comment,
        "metadata": score.metadata | {MARK: hash_score(score)},
    }
    more = {"configId": score.config_id, "environment": score.environment}
    return found | {key: value for key, value in more.items() if value}


def parse_time(timestamp: str) -> datetime | None:
    """The timestamp as a time, if it is one with a zone."""
    try:
        return datetime.fromisoformat(timestamp) if WITH_ZONE.fullmatch(timestamp) else None
    except ValueError:
        return None


def format_time(timestamp: str) -> str:
    """The timestamp as Langfuse writes it."""
    at = parse_time(timestamp)
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else timestamp


def find_fault(score: ScoreWrite, configs: Mapping[str, RemoteConfig]) -> str:
    """Why this score can't be written; empty where it can.

    A server accepts a score against its config and drops it without a word, so all that it checks is checked here.
    """
    if not score.session or not score.name:
        return "it has no session or no name"
    if len(score.name) > LONGEST_NAME or "," in score.name:
        return f"its name has more than {LONGEST_NAME} characters or a comma"
    if parse_time(score.timestamp) is None:
        return f"its timestamp {score.timestamp!r} is no time with a zone"
    if wrong := find_value_fault(score):
        return wrong
    if len(score.comment) > LONGEST_COMMENT or len(msgspec.json.encode(build_body(score))) > LARGEST:
        return "its comment or metadata are too large"
    return (
        find_config_fault(score, configs[score.config_id])
        if score.config_id in configs
        else explain_unknown_config(score)
    )


def explain_unknown_config(score: ScoreWrite) -> str:
    return f"there is no score config {score.config_id}; run setup again" if score.config_id else ""


def find_value_fault(score: ScoreWrite) -> str:
    """Whether the value is of its type."""
    value = score.value
    if score.data_type == "BOOLEAN":
        return (
            "" if value in (0, 1) and not isinstance(value, str) else f"its value {value!r} is neither true nor false"
        )
    if score.data_type == "CATEGORICAL":
        return "" if isinstance(value, str) and value else f"its value {value!r} is no category"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return "" if is_number else f"its value {value!r} is no finite number"


def find_config_fault(score: ScoreWrite, config: RemoteConfig) -> str:
    """What the config has against it."""
    if config.is_archived:
        return f"its score config {config.id} is archived; restore it in Langfuse or run setup again"
    if config.name != score.name:
        return f"its score config {config.id} is called {config.name!r}"
    if config.data_type != score.data_type:
        return f"its score config {config.id} is {config.data_type}"
    allowed = describe_values(config.data_type, config.min_value, config.max_value, list_labels(config))
    outside = f"its value {score.value!r} is not in {allowed} of its score config"
    if score.data_type == "CATEGORICAL":
        return "" if score.value in list_labels(config) else outside
    if score.data_type == "NUMERIC" and not isinstance(score.value, str):
        low = config.min_value is not None and score.value < config.min_value
        high = config.max_value is not None and score.value > config.max_value
        return outside if low or high else ""
    return ""


class StoredScore(Value, frozen=True):
    """A score as Langfuse has it."""

    id: str
    name: str
    value: float | str | bool | None
    timestamp: str
    written: str
    """What our mark in its metadata says."""


def is_stored_as(score: ScoreWrite, row: StoredScore | None) -> bool:
    """Whether a row is just what was written."""
    if row is None or row.name != score.name or row.written != hash_score(score):
        return False
    given, kept = to_plain_value(score), row.value
    if isinstance(given, str) or isinstance(kept, str) or kept is None:
        return given == kept
    return isclose(given, float(kept), rel_tol=1e-9, abs_tol=1e-12)


class ScoreAnswer(Struct, frozen=True, rename="camel"):
    id: str
    name: str
    timestamp: str = ""
    value: float | str | bool | None = None
    string_value: str | None = None
    data_type: str = ""
    metadata: Any = None


class ScorePageMeta(Struct, frozen=True):
    cursor: str | None = None


class ScorePage(Struct, frozen=True):
    data: list[ScoreAnswer]
    meta: ScorePageMeta = ScorePageMeta()


def fetch_scores(client: Client, ids: Iterable[str]) -> Iterator[StoredScore]:
    """The rows with these ids; from 3.179 on by the one endpoint, before by the one that v4 has given up."""
    left = iter(ids)
    while some := tuple(islice(left, IDS_AT_ONCE)):
        named = ",".join(some)
        try:
            answer = client.http.get(SCORES_V3, {"id": named, "limit": 100, "fields": "details"}, GENERAL)
        except PathNotFound:
            answer = client.http.get(SCORES_V2, {"scoreIds": named, "limit": 100, "page": 1}, LEGACY)
        for one in decode_answer(answer, ScorePage).data:
            yield parse_score(one)


def fetch_own_ids(client: Client, place: Mapping[str, str]) -> list[str]:
    """Ids of our scores on a session or trace; a server that can't list them by place has none to tell."""
    found: dict[str, None] = {}
    asked: dict[str, str | int] = {**place, "limit": 100, "fields": "details"}
    try:
        while True:
            page = decode_answer(client.http.get(SCORES_V3, asked, GENERAL), ScorePage)
            found |= dict.fromkeys(one.id for one in page.data if one.id.startswith(OURS) and parse_score(one).written)
            if not page.meta.cursor or page.meta.cursor == asked.get("cursor"):
                return list(found)
            asked["cursor"] = page.meta.cursor
    except PathNotFound:
        return list(found)


def parse_score(one: ScoreAnswer) -> StoredScore:
    """A score of either endpoint; the older gives a category's label beside its number."""
    value = one.string_value if one.data_type == "CATEGORICAL" and one.string_value is not None else one.value
    metadata = one.metadata if isinstance(one.metadata, dict) else {}
    written = metadata.get(MARK)
    return StoredScore(
        id=one.id,
        name=one.name,
        value=value,
        timestamp=one.timestamp,
        written=written if isinstance(written, str) else "",
    )
