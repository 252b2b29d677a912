"""Scores into Langfuse, each exactly once, and proof that they are there.

Two rounds: all that is not yet there goes out in portions and is read back until it is seen or the time is up;
what is still missing goes out once more, one by one, so that what the server says belongs to one score.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.http import (
    MOST_SAID,
    AccessDenied,
    GarbledAnswer,
    PathNotFound,
    RemoteError,
    RequestRefused,
    ServiceBusy,
    ServiceUnreachable,
    decode_answer,
)
from assay.langfuse.client import GENERAL, INGESTION, Client
from assay.langfuse.configs import list_configs
from assay.langfuse.scores import (
    ScoreWrite,
    build_body,
    build_id,
    fetch_scores,
    find_fault,
    format_time,
    hash_score,
    is_stored_as,
)
from assay.types import Value

SCORES, ENVELOPES = "/api/public/scores", "/api/public/ingestion"
MOST_AT_ONCE, MOST_BYTES = 15, 900_000
FIRST_LOOK_S, LONGEST_PAUSE_S = 0.5, 10.0
NOT_SEEN = "the server took it, but it could not be read back within {:g} s: dropped, or very late; run it again"

Done = Callable[[str, str], None]
"""Called with the id and the digest of a score that is there."""


class NotStored(Value, frozen=True):
    """A score that is not in Langfuse, as far as we can see."""

    id: str
    session: str
    name: str
    why: str
    is_final: bool = False
    """It will not be stored however often it is sent."""


class WriteReport(Value, frozen=True):
    """What became of the scores, by their ids."""

    stored: tuple[str, ...] = ()
    """Sent and read back."""
    unchanged: tuple[str, ...] = ()
    """Were there already; not sent."""
    not_stored: tuple[NotStored, ...] = ()
    would_write: tuple[str, ...] = ()
    """Would be sent, were this no dry run."""


class WritePlan(Struct, frozen=True, kw_only=True):
    """How scores are written."""

    already: Mapping[str, str] = {}
    """Digests of scores that are known to be there, by id."""
    done: Done = lambda _id, _digest: None
    deadline_s: float = 45.0
    """For reading back, in each of the two rounds; 15 to 30 s are usual on Langfuse Cloud."""
    dry_run: bool = False


class FaultAnswer(Struct, frozen=True):
    id: str = ""
    status: int = 400
    message: str = ""
    error: Any = None


class WriteAnswer(Struct, frozen=True):
    """What the server answers, whichever way scores are handed in."""

    errors: list[FaultAnswer] = []
    rejected: int = 0


def write_scores(client: Client, scores: Sequence[ScoreWrite], plan: WritePlan | None = None) -> WriteReport:
    """Write scores that are not there yet; whatever goes wrong with some is told in the report."""
    return ScoreWriter(client, plan or WritePlan()).run(scores)


class ScoreWriter:
    """Writes scores; made for one call of `write_scores`."""

    def __init__(self, client: Client, plan: WritePlan) -> None:
        self.client = client
        self.plan = plan
        self.faults: dict[str, tuple[str, bool]] = {}
        """Why a score was not stored, and whether that is final; by its id."""
        self.stored: list[str] = []

    def run(self, scores: Sequence[ScoreWrite]) -> WriteReport:
        wanted = {build_id(one): one for one in scores}
        unchanged = [key for key, one in wanted.items() if self.plan.already.get(key) == hash_score(one)]
        open_ = {key: one for key, one in wanted.items() if key not in unchanged}
        self.validate(open_)
        sendable = {key: one for key, one in open_.items() if key not in self.faults}
        pinned = self.compare(sendable, unchanged) if sendable else {}
        if self.plan.dry_run:
            return self.report(wanted, unchanged, tuple(pinned))
        missing = self.round(pinned, MOST_AT_ONCE)
        again = {key: one for key, one in missing.items() if key not in self.faults or not self.faults[key][1]}
        self.round(again, 1)
        return self.report(wanted, unchanged, ())

    def validate(self, scores: Mapping[str, ScoreWrite]) -> None:
        """Find faults before the server swallows them."""
        has_configs = any(one.config_id for one in scores.values())
        configs = {one.id: one for one in list_configs(self.client)} if has_configs else {}
        for key, one in scores.items():
            if why := find_fault(one, configs):
                self.faults[key] = (why, True)

    def compare(self, scores: Mapping[str, ScoreWrite], unchanged: list[str]) -> dict[str, ScoreWrite]:
        """What is not there yet; a row that is there keeps its timestamp, else there would be two."""
        kept = {row.id: row for row in fetch_scores(self.client, scores)}
        changed: dict[str, ScoreWrite] = {}
        for key, one in scores.items():
            if is_stored_as(one, kept.get(key)):
                unchanged.append(key)
                self.plan.done(key, hash_score(one))
            else:
                changed[key] = replace(one, timestamp=kept[key].timestamp) if key in kept else one
        return changed

    def round(self, scores: Mapping[str, ScoreWrite], at_once: int) -> dict[str, ScoreWrite]:
        """Send, read back; gives what is still missing."""
        sent: dict[str, ScoreWrite] = {}
        for portion in split_scores(scores, at_once):
            try:
                self.send(portion)
            except AccessDenied:
                raise
            except (ServiceBusy, ServiceUnreachable, GarbledAnswer) as error:
                self.faults.update((key, (str(error), False)) for key in portion)
            except RequestRefused as error:
                self.faults.update((key, (str(error), len(portion) == 1)) for key in portion)
            else:
                sent |= {key: one for key, one in portion.items() if key not in self.faults}
        seen = self.look(sent)
        return {key: one for key, one in scores.items() if key not in seen}

    def send(self, portion: Mapping[str, ScoreWrite]) -> None:
        """Hand a portion in, in the way this server understands."""
        for key in portion:
            self.faults.pop(key, None)
        try:
            self.hand_in(portion)
        except RequestRefused as error:
            if not wants_other_way(error, self.client.takes_lists):
                raise
            self.client.takes_lists = not self.client.takes_lists
            self.hand_in(portion)

    def hand_in(self, portion: Mapping[str, ScoreWrite]) -> None:
        """One request; what it says of single scores becomes their faults."""
        http = self.client.http
        if self.client.takes_lists:
            stamped = [build_body(one) | {"timestamp": format_time(one.timestamp)} for one in portion.values()]
            taken = decode_answer(http.post(SCORES, stamped, bucket=GENERAL), WriteAnswer)
            if taken.rejected and len(portion) == 1:
                said = "; ".join(one.message for one in taken.errors) or "rejected"
                self.faults.update((key, (http.redact_keys(said)[:MOST_SAID], True)) for key in portion)
            return
        events = {str(uuid4()): key for key in portion}
        batch = [build_envelope(event, portion[key]) for event, key in events.items()]
        taken = decode_answer(http.post(ENVELOPES, {"batch": batch}, bucket=INGESTION), WriteAnswer)
        for one in taken.errors:
            if key := events.get(one.id):
                said = http.redact_keys(f"{one.message} {one.error or ''}".strip())
                self.faults[key] = (said[:MOST_SAID], one.status < 500)

    def look(self, sent: Mapping[str, ScoreWrite]) -> set[str]:
        """Read back until all is seen or the time is up."""
        clock = self.client.http.clock
        ends, pause_s = clock.now() + self.plan.deadline_s, FIRST_LOOK_S
        left = dict(sent)
        while left:
            clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            try:
                found = {row.id: row for row in fetch_scores(self.client, left)}
            except AccessDenied:
                raise
            except RemoteError as error:
                self.faults.update((key, (f"sent, but not read back: {error}", False)) for key in left)
                break
            for key in [key for key, one in left.items() if is_stored_as(one, found.get(key))]:
                self.plan.done(key, hash_score(left.pop(key)))
                self.stored.append(key)
                self.faults.pop(key, None)
            if clock.now() >= ends:
                break
        for key in left:
            self.faults.setdefault(key, (NOT_SEEN.format(self.plan.deadline_s), False))
        return sent.keys() - left.keys()

    def report(
        self, wanted: Mapping[str, ScoreWrite], unchanged: Iterable[str], would_write: tuple[str, ...]
    ) -> WriteReport:
        """What became of all."""
        lost = [
            NotStored(id=key, session=one.session, name=one.name, why=self.faults[key][0], is_final=self.faults[key][1])
            for key, one in wanted.items()
            if key in self.faults
        ]
        return WriteReport(
            stored=tuple(self.stored), unchanged=tuple(unchanged), not_stored=tuple(lost), would_write=would_write
        )


def split_scores(scores: Mapping[str, ScoreWrite], at_once: int) -> Iterator[dict[str, ScoreWrite]]:
    """Scores in portions that a server takes at once."""
    portion: dict[str, ScoreWrite] = {}
    size = 0
    for key, one in scores.items():
        bytes_ = len(msgspec.json.encode(build_body(one)))
        if portion and (len(portion) >= at_once or size + bytes_ > MOST_BYTES):
            yield portion
            portion, size = {}, 0
        portion[key] = one
        size += bytes_
    if portion:
        yield portion


def build_envelope(event: str, score: ScoreWrite) -> dict[str, Any]:
    """A score for the ingestion endpoint, where the envelope's time is the score's."""
    return {"id": event, "type": "score-create", "timestamp": format_time(score.timestamp), "body": build_body(score)}


def wants_other_way(error: RequestRefused, was_list: bool) -> bool:
    """Whether the server says that it wants scores handed in the other way."""
    if was_list:
        return error.status == 400 and "received array" in error.said
    return isinstance(error, PathNotFound) or error.status == 410
