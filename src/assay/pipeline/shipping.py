"""Sending what this machine has read to a server, exactly once.

The server is asked what it has of this machine: names and digests. What differs is sent, in portions that are stored
whole or not at all, and what is not here any more is withdrawn. So the same command again goes on where one was
killed, sends nothing twice, and mends whatever the other side lost.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from assay.config import Config
from assay.errors import BadInput
from assay.git.runner import READ, GitRunner
from assay.http import AccessDenied, Http, PathNotFound, RequestRefused, decode_answer
from assay.pipeline import privacy
from assay.pipeline.kept_report import AGES, LINE, SESSION, build_choice, open_kept
from assay.pipeline.lookup import read_turns
from assay.pipeline.pool import Progress
from assay.pipeline.scoring_run import ScoringRun, Selection, name_session
from assay.pipeline.sent import ENCODE, digest_sent, strip_words
from assay.pipeline.shipped import is_selected
from assay.scores.prism import refresh_crushed
from assay.sessions.links import build_ledger
from assay.sessions.redaction import Redactor
from assay.stores import Store, StreamName
from assay.types import Call, Document, Session, Turn
from assay.types.shipping import SentSession, Shipment, ShipmentReceipt, ShippedLine, ShippedPage

AT_ONCE, MOST_BYTES = 200, 1 << 20
"""Sessions and bytes of one portion, about."""
MOST_WITHDRAWN = 2_000
PORTION = 200
KEY = "ASSAY_KEY"
TOO_LARGE, UNUSABLE = 413, 400
NO_SERVER = "there is no Assay server that takes sessions at this address, or one of an older version; check --to"


class ShipReport(Document, frozen=True, kw_only=True, tag="ship"):
    """`assay ship --json`: what was sent, or would be."""

    to: str | None
    machine: str
    person: str
    words: bool
    """Whether words went along."""
    is_dry: bool
    sessions: int
    """Sessions that are here, of those that were asked for."""
    new: int
    changed: int
    withdrawn: int
    opted_out: int
    """Sessions that stay here: their tenant opted out."""
    words_dropped: int
    """Sessions of which the server took everything but the words."""
    refused: dict[str, int]
    """Sessions that the server did not take, and why."""
    bytes: int
    """Of what was sent, before it was packed."""
    documents: list[SentSession]
    """What would be sent, where nothing is."""


class Parcel(Struct, frozen=True, kw_only=True):
    """A session that is to be sent."""

    sent: SentSession
    document: bytes
    is_new: bool


class Sender(Struct, frozen=True, kw_only=True):
    """From where sessions go, and how."""

    machine: str
    person: str
    words: bool


# --- what this machine tells --------------------------------------------------------------------


def list_told(run: ScoringRun, zone: tzinfo) -> Iterator[SentSession]:
    """All sessions that were read here and are selected, as a report tells them."""
    run.judge_streams()
    teller = open_kept(run, zone, may_begin=True)
    if teller is None:
        yield from tell_anew(run)
        return
    teller.update()
    told, choice = run.store.told, build_choice(run.store, run.selection)
    after: tuple[str, ...] = ()
    while rows := told.list_newest(choice, after, PORTION):
        after = rows[-1][0]
        sessions = [one for _, body in rows if (one := SESSION(body)).machine is None]
        beside = told.load_beside([(one.agent, one.id) for one in sessions])
        for one in sessions:
            ages, lines = beside[one.agent, one.id]
            yield SentSession(session=one, ledger=[LINE(line) for line in lines], ages=AGES(ages) if ages else [])


def tell_anew(run: ScoringRun) -> Iterator[SentSession]:
    """The same where what is kept was told by other settings."""
    linked = run.link_all()
    sessions, outcome = run.follow_sessions(linked, linked)
    told = refresh_crushed(run.name_projects(sessions, linked))
    for one, session in zip(linked, told, strict=True):
        if is_selected(session, run.selection):
            lines = privacy.redact_entries(build_ledger([one]), [session], run.terms.privacy)
            found = outcome.found.get(name_session(one))
            yield SentSession(session=session, ledger=lines, ages=list(found.ages) if found else [])


def is_opted_out(session: Session, rules: privacy.PrivacyRules) -> bool:
    """Whether nothing of a session leaves this machine."""
    tenant = privacy.find_named_tenant(rules.tenants, session.tenant)
    return tenant is not None and tenant.opt_out


def find_person(config: Config) -> str:
    """Who ships: by the name that is set, else as git calls them."""
    if config.ship.person:
        return config.ship.person
    try:
        return GitRunner(Path.home(), READ).ask("config", "--get", "user.name")[:80]
    except (BadInput, OSError, RuntimeError):
        return ""


def name_machine(config: Config, store: Store) -> str:
    """What this machine is called: as is set, else a name that says nothing and belongs to this store alone."""
    return config.ship.machine or sha256(b"machine" + store.keys.load_secret()).hexdigest()[:12]


# --- the server ---------------------------------------------------------------------------------


class ShipClient:
    """The server, as far as shipping needs it."""

    def __init__(self, http: Http, machine: str) -> None:
        self.http = http
        self.path = f"/api/v1/machines/{quote(machine, safe='')}/sessions"

    def fetch_known(self) -> tuple[bool, dict[StreamName, ShippedLine]]:
        """Whether words are taken, and what is there of this machine."""
        known: dict[StreamName, ShippedLine] = {}
        after: str | None = ""
        words = False
        while after is not None:
            page = self.ask("GET", {"after": after} if after else {})
            words, after = page.words, page.next
            known |= {(one.agent, one.id): one for one in page.sessions}
        return words, known

    def ask(self, method: str, params: dict[str, str]) -> ShippedPage:
        try:
            return decode_answer(self.http.send(method, self.path, params=params), ShippedPage)
        except PathNotFound as error:
            raise BadInput(f"{error}; {NO_SERVER}") from None
        except AccessDenied as error:
            raise BadInput(explain_denial(error)) from None

    def send(self, shipment: Shipment) -> ShipmentReceipt:
        """Hand in one portion: when this returns, the server has it on its disk."""
        packed = gzip.compress(msgspec.json.encode(shipment), 6, mtime=0)
        try:
            return decode_answer(self.http.post(self.path, packed), ShipmentReceipt)
        except AccessDenied as error:
            raise BadInput(explain_denial(error)) from None


def open_client(config: Config, machine: str, key: str, clean: Redactor) -> ShipClient:
    """The way to the server that the settings name."""
    http = Http(config.ship.to, key, clean=clean.text)
    http.headers = {"Content-Encoding": "gzip"}
    return ShipClient(http, machine)


def explain_denial(error: AccessDenied) -> str:
    """What to do about a key that opens nothing."""
    if error.status == 401:
        return f"{error.said}; give the key of this machine in {KEY}, or its file as ship.key_file in your assay.toml"
    return f"the server refuses this: {error.said}"


# --- sending ------------------------------------------------------------------------------------


class Shipping:
    """One shipping: what goes is found out, and sent portion by portion."""

    def __init__(self, store: Store, config: Config, sender: Sender, client: ShipClient | None) -> None:
        self.store = store
        self.config = config
        self.sender = sender
        self.client = client
        self.counts = Counter[str]()
        self.refused = Counter[str]()
        self.names: set[StreamName] = set()
        self.known: dict[StreamName, ShippedLine] = {}
        self.words = False

    def begin(self) -> None:
        """Ask the server what it has, and whether it takes words."""
        takes_words = True
        if self.client:
            takes_words, self.known = self.client.fetch_known()
        self.words = self.sender.words and takes_words

    def list_parcels(self, told: Iterable[SentSession], rules: privacy.PrivacyRules) -> Iterator[Parcel]:
        """What the server does not have, or has otherwise."""
        for one in told:
            if is_opted_out(one.session, rules):
                self.counts["opted_out"] += 1
                continue
            name = (one.session.agent, one.session.id)
            self.names.add(name)
            line = self.known.get(name)
            sent = self.add_words(one, may_speak=self.words and not (line and line.is_forgotten))
            document = ENCODE(sent)
            if line is None or line.digest != digest_sent(document):
                self.counts["new" if line is None else "changed"] += 1
                self.counts["bytes"] += len(document)
                yield Parcel(sent=sent, document=document, is_new=line is None)

    def add_words(self, one: SentSession, *, may_speak: bool) -> SentSession:
        """A session with its turns, or without any word."""
        if not may_speak:
            return strip_words(one)
        turns = read_turns(self.store, self.config, one.session)
        return replace(one, turns=[strip_hashes(turn) for turn in turns])

    def list_withdrawn(self, selection: Selection) -> list[StreamName]:
        """What the server has and this machine has no longer, within the time that was asked for."""
        return [
            name
            for name, line in sorted(self.known.items())
            if name not in self.names and line.ended_at >= selection.since
        ]

    def send_all(self, parcels: Iterable[Parcel], selection: Selection, progress: Progress) -> None:
        """Send parcels as they come, and at last what is withdrawn."""
        waiting: list[Parcel] = []
        for one in parcels:
            waiting.append(one)
            if len(waiting) >= AT_ONCE or sum(len(parcel.document) for parcel in waiting) >= MOST_BYTES:
                self.send_some(waiting)
                waiting = []
            progress(len(self.names), max(len(self.names), len(self.known)))
        if waiting or not self.known:
            self.send_some(waiting)
        gone = self.list_withdrawn(selection)
        for start in range(0, len(gone), MOST_WITHDRAWN):
            self.hand_in([], gone[start : start + MOST_WITHDRAWN])

    def send_some(self, parcels: Sequence[Parcel]) -> None:
        """Send a portion; where one of it can't be taken, the others go without it."""
        try:
            self.hand_in([one.document for one in parcels], [])
        except RequestRefused as error:
            if error.status not in (TOO_LARGE, UNUSABLE) or not parcels:
                raise
            half = len(parcels) // 2
            if half:
                self.send_some(parcels[:half])
                self.send_some(parcels[half:])
            elif parcels[0].sent.turns is not None and error.status == TOO_LARGE:
                silent = replace(parcels[0].sent, turns=None)
                self.send_some([Parcel(sent=silent, document=ENCODE(silent), is_new=parcels[0].is_new)])
            else:
                self.refused[error.said] += 1

    def hand_in(self, documents: Sequence[bytes], withdrawn: Sequence[StreamName]) -> None:
        assert self.client
        receipt = self.client.send(
            Shipment(person=self.sender.person, sessions=[Raw(one) for one in documents], withdrawn=[*withdrawn])
        )
        self.counts["withdrawn"] += receipt.withdrawn
        self.counts["words_dropped"] += receipt.words_dropped
        self.refused.update(receipt.refused)


def strip_hashes(turn: Turn) -> Turn:
    """A turn without the hashes of its lines: nobody else follows them."""
    return replace(turn, calls=tuple(strip_call(call) for call in turn.calls))


def strip_call(call: Call) -> Call:
    return replace(
        call,
        edits=tuple(replace(edit, new=b"", old=b"") for edit in call.edits),
        runs=tuple(replace(run, new=b"") for run in call.runs),
    )


def ship_sessions(shipping: Shipping, run: ScoringRun, zone: tzinfo, progress: Progress, *, is_dry: bool) -> ShipReport:
    """Send what the server lacks of the sessions that a run selects, or only find out what that is."""
    shipping.begin()
    parcels = shipping.list_parcels(list_told(run, zone), run.terms.privacy)
    documents: list[SentSession] = []
    if is_dry:
        documents = [one.sent for one in parcels]
        shipping.counts["withdrawn"] = len(shipping.list_withdrawn(run.selection))
    else:
        shipping.send_all(parcels, run.selection, progress)
    counts, sender, client = shipping.counts, shipping.sender, shipping.client
    return ShipReport(
        to=client.http.base if client else None,
        machine=sender.machine,
        person=sender.person,
        words=shipping.words,
        is_dry=is_dry,
        sessions=len(shipping.names),
        new=counts["new"],
        changed=counts["changed"],
        withdrawn=counts["withdrawn"],
        opted_out=counts["opted_out"],
        words_dropped=counts["words_dropped"],
        refused=dict(shipping.refused),
        bytes=counts["bytes"],
        documents=documents,
    )
