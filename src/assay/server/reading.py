"""What a tenant's store says: the one place where the API asks the pipeline.

Sessions are read as they were kept, a page at a time by the database's own order; a store of which nothing is kept
under the server's settings is told anew each time, which is slow and says the same.
"""

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, pick_zone
from assay.listing import TELEMETRY_ROOT
from assay.pipeline.audit import AuditQueue, build_queue
from assay.pipeline.corrections import find_one_session, list_marked, pick_session, sort_marked
from assay.pipeline.inputs import FoundFiles
from assay.pipeline.kept_report import build_choice, count_all, is_kept, open_kept
from assay.pipeline.live import list_live
from assay.pipeline.lookup import KeptIndex, load_marked, read_turns
from assay.pipeline.places import list_places
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, read_kept_report, score_run
from assay.pipeline.scoring_run import ScoringRun, Selection
from assay.pipeline.working import PendingWork, StoreWorker, list_waiting
from assay.reports.json import SessionDetail, build_session, encode_json
from assay.scores.breakdown import name_intent
from assay.scores.reasons import find_obstacle
from assay.scores.report import Report, gather_sessions
from assay.server.documents import LivePage
from assay.server.replies import Refusal
from assay.server.settings import Limits
from assay.stores import Store, ToldChoice
from assay.types import LedgerLine, Session

T = TypeVar("T")
K = TypeVar("K")
Placed = tuple[tuple[str, ...], T]
"""A row, and its place in the list."""
SESSION = msgspec.json.Decoder(Session).decode
LINE = msgspec.json.Decoder(LedgerLine).decode
FRESH_S, STALE_S = 10.0, 60.0
"""How long what is said of an unchanged store is said again, and how long while it is being made anew.

Sessions end and windows pass without anything being saved.
"""
MOST_KEPT = 64
LIVE_S, MOST_LIVE = 3.0, 100
"""How long it is believed what goes on, and of how many conversations listeners are told."""
PATIENCE_S = 20.0
LIVE = FoundFiles(roots=(TELEMETRY_ROOT,))
"""Telemetry that came in since, to be read before anything is said."""
NOT_TOLD = "the sessions are being put together for the first time by these settings; try again"
NO_SESSION = "there is no such session"
MOST_BEGUN = 100
"""Sessions that are read because their ids begin alike."""
AT_ONCE = 500
"""Rows that are looked through for an intent, which the database does not know."""


class Known(Generic[T]):
    """What was made of a store, by the state it was in."""

    def __init__(self, state: str, value: T) -> None:
        self.state = state
        self.value = value
        self.at = time.monotonic()

    @property
    def age(self) -> float:
        return time.monotonic() - self.at


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Which sessions are wanted."""

    selection: Selection = Selection()
    crushed: bool | None = None
    intent: str = ""

    def takes(self, one: Session) -> bool:
        is_meant = self.intent in ("", name_intent(one)) or (one.intent is not None and self.intent == one.aim)
        return is_meant and (self.crushed is None or one.crushed is self.crushed)


class ReportReader:
    """Reports of tenants' stores; many who ask at once cost one reckoning."""

    def __init__(self, config: Config, limits: Limits, *, has_workers: bool = False) -> None:
        self.config = config
        self.has_workers = has_workers
        self.touched: set[str] = set()
        """Tenants of whose sessions a person said something since they were told."""
        self.places = BoundedSemaphore(limits.readers)
        self.lock = Lock()
        self.busy: dict[str, Lock] = {}
        self.kept: dict[tuple[str, Selection], Known[Report]] = {}
        self.updated: dict[tuple[str], Known[bool]] = {}
        self.pending: dict[tuple[str], Known[PendingWork]] = {}
        self.live: dict[tuple[str], Known[bytes]] = {}
        self.waiting: set[object] = set()
        self.later = ThreadPoolExecutor(1, thread_name_prefix="assay-later")

    @contextmanager
    def take_place(self) -> Iterator[None]:
        """Be one of the few who reckon at the same time."""
        if not self.places.acquire(timeout=PATIENCE_S):
            raise Refusal(503, "too many reports are being made; try again", retry_s=5)
        try:
            yield
        finally:
            self.places.release()

    def take_turn(self, tenant: str) -> Lock:
        """What those who ask about the same store wait for."""
        with self.lock:
            return self.busy.setdefault(tenant, Lock())

    def read_report(self, tenant: str, store: Store, selection: Selection) -> Report:
        """The report on a store's sessions, as it is now."""
        make = partial(self.make_report, tenant, store, selection)
        return self.read_known((tenant, selection), tenant, store, self.kept, make)

    def update(self, tenant: str, store: Store) -> bool:
        """Bring what is kept of a store's sessions up to date; `False` where nothing is kept by these settings."""
        make = partial(self.update_kept, tenant, store)
        return self.read_known((tenant,), tenant, store, self.updated, make)

    def read_known(self, name: K, tenant: str, store: Store, known: dict[K, Known[T]], make: Callable[[], T]) -> T:
        """What was made of a store that is still the same, else made anew; what grows old is made again meanwhile."""
        found = known.get(name)
        if found and found.state == store.read_state() and found.age < STALE_S:
            if found.age > FRESH_S:
                self.make_later(name, tenant, make)
            return found.value
        with self.take_turn(tenant):
            found = known.get(name)
            if found and found.state == store.read_state() and found.age < FRESH_S:
                return found.value  # somebody else made it meanwhile
            return make()

    def make_later(self, name: object, tenant: str, make: Callable[[], object]) -> None:
        """Have something made anew while nobody waits for it."""

        def work() -> None:
            try:
                with self.take_turn(tenant):
                    make()
            finally:
                self.waiting.discard(name)

        if name not in self.waiting:
            self.waiting.add(name)
            self.later.submit(work)

    def make_report(self, tenant: str, store: Store, selection: Selection) -> Report:
        with self.take_place():
            self.bring_up_to_date(tenant, store)
            state = store.read_state()  # what was read now is in the report, too
            before = self.kept.get((tenant, selection))
            with open_run(store, self.config, selection=selection, jobs=1) as run:
                if self.has_workers:  # what is asked for again, and is the same, the next server need not make
                    report = read_kept_report(run, keeps=before is not None and before.state == state)
                else:
                    report = score_run(run, remembers=False, keeps=True).report
        if report is None:
            raise Refusal(503, NOT_TOLD, retry_s=2)
        self.remember(self.kept, (tenant, selection), Known(state, report))
        return report

    def update_kept(self, tenant: str, store: Store) -> bool:
        with self.take_place():
            self.bring_up_to_date(tenant, store)
            state = store.read_state()
            with open_run(store, self.config, jobs=1) as run:
                if self.has_workers:
                    found = is_kept(run, pick_zone(self.config)) or not run.count_streams()
                else:
                    run.judge_streams()
                    found = tell_changes(run, may_begin=True)
        if self.has_workers and not found:
            raise Refusal(503, NOT_TOLD, retry_s=2)
        self.remember(self.updated, (tenant,), Known(state, found))
        return found

    def bring_up_to_date(self, tenant: str, store: Store) -> None:
        """Read what came in; where others do so, only have what a person said told, who wants to see it at once."""
        if not self.has_workers:
            scan(store, LIVE, 1, ignore_progress)
        elif tenant in self.touched:
            self.touched.discard(tenant)
            with open_run(store, self.config, jobs=1) as run:
                tell_changes(run, may_begin=False)

    def count_pending(self, tenant: str, store: Store) -> int:
        """How many conversations are not read or judged yet, though they could be."""
        if not self.has_workers:
            return 0
        make = partial(self.find_pending, tenant, store)
        return self.read_known((tenant,), tenant, store, self.pending, make).pending

    def find_pending(self, tenant: str, store: Store) -> PendingWork:
        state, found = store.read_state(), StoreWorker(store, self.config).find_pending()
        self.remember(self.pending, (tenant,), Known(state, found))
        return found

    def list_live(self, store: Store, most: int) -> LivePage:
        """Conversations of the last day, as they are now."""
        worker = StoreWorker(store, self.config)
        with self.take_place():
            found = worker.find_pending()
            with open_run(store, self.config, jobs=1) as run:
                rows = list_live(run, list_waiting(worker, run), most)
        return LivePage(
            pending=found.pending,
            failed=found.failed,
            opened_again=store.work.count_opened(),
            conversations=rows,
        )

    def encode_live(self, tenant: str, store: Store) -> bytes:
        """The latest conversations as they were a moment ago: many who listen cost one look."""
        found = self.live.get((tenant,))
        if found is None or found.age > LIVE_S:
            found = Known("", encode_json(self.list_live(store, MOST_LIVE)))
            self.remember(self.live, (tenant,), found)
        return found.value

    def remember(self, known: dict[K, Known[T]], name: K, value: Known[T]) -> None:
        with self.lock:
            known.pop(name, None)
            known[name] = value
            while len(known) > MOST_KEPT:
                del known[next(iter(known))]

    def forget(self, tenant: str) -> None:
        """Make the tenant's next reports anew: somebody just changed something."""
        with self.lock:
            self.touched.add(tenant)
            self.updated.pop((tenant,), None)
            for name in [one for one in self.kept if one[0] == tenant]:
                del self.kept[name]

    def close(self) -> None:
        """Make nothing any more that nobody waits for."""
        self.later.shutdown(cancel_futures=True)

    # --- pages ------------------------------------------------------------------------------------

    def page_sessions(
        self, tenant: str, store: Store, wanted: SessionFilter, after: Sequence[str], most: int
    ) -> list[Placed[Session]]:
        """The newest sessions behind a place; one more than asked for where there are more."""
        if self.update(tenant, store):
            return page_told(store, wanted, after, most)
        found = [one for one in self.read_report(tenant, store, wanted.selection).sessions if wanted.takes(one)]
        return page_rows(found, place_session, after, most)

    def list_obstructed(self, tenant: str, store: Store, selection: Selection, kind: str, most: int) -> list[Session]:
        """The newest sessions that one kind of reason held back."""
        if self.update(tenant, store):
            choice = replace(build_choice(store, selection), obstacle=kind)
            return [SESSION(body) for _, body in store.told.list_newest(choice, (), most)]
        found = [one for one in self.read_report(tenant, store, selection).sessions if find_obstacle(one) == kind]
        return [one for _, one in page_rows(found, place_session, (), most)[:most]]

    def page_ledger(
        self, tenant: str, store: Store, selection: Selection, after: Sequence[str], most: int
    ) -> list[Placed[LedgerLine]]:
        """The newest lines of the ledger behind a place; one more than asked for where there are more."""
        if self.update(tenant, store):
            rows = store.told.list_newest_lines(build_choice(store, selection), after, most + 1)
            return [(place, LINE(line)) for place, line in rows]
        return page_rows(self.read_report(tenant, store, selection).ledger, place_line, after, most)

    def find_told(self, tenant: str, store: Store, id: str) -> Session:
        """The session of this id, as a report tells it; of one that was joined to another, the whole."""
        if not is_id(id):
            raise Refusal(404, NO_SESSION)
        if self.update(tenant, store):
            names = tuple(name for name, part in store.told.find_begun(id) if part == id)
            told = [SESSION(body) for body in store.told.list_bodies(ToldChoice(names=names))]
        else:
            sessions = self.read_report(tenant, store, Selection()).sessions
            told = [one for one in sessions if id in (one.id, *(join.id for join in one.merged_from))]
        if not told:
            raise Refusal(404, NO_SESSION)
        return told[0]

    def find_session(self, tenant: str, store: Store, id: str) -> Session:
        """The session of this very id; nothing is judged for it where others judge."""
        told = self.find_told(tenant, store, id)
        if told.id != id:
            raise Refusal(404, NO_SESSION)
        return told

    def find_begun(self, tenant: str, store: Store, prefix: str) -> Session:
        """The one session whose id begins so; none or several are told."""
        if not self.update(tenant, store):
            return find_one_session(store, self.config, prefix)
        begun = store.told.find_begun(prefix) if is_id(prefix) else []
        names = [name for name, _ in begun if name[1].startswith(prefix)][:MOST_BEGUN]
        found = [SESSION(body) for body in store.told.list_bodies(ToldChoice(names=tuple(names)))]
        return pick_session([one for one in found if one.id == prefix] or found, prefix)

    def list_marked(self, tenant: str, store: Store) -> list[Session]:
        """Sessions of which a person said how they ended, by when they said it."""
        if not self.update(tenant, store):
            return list_marked(store, self.config)
        with self.take_place(), open_run(store, self.config, jobs=1) as run:
            return sort_marked(load_marked(KeptIndex(run)))

    def read_session(self, tenant: str, store: Store, id: str) -> SessionDetail:
        """One session with its turns, as a report tells it."""
        told = self.find_session(tenant, store, id)
        with self.take_place():
            turns = read_turns(store, self.config, told)
            return build_session(told, turns, list_places(store, self.config, told))

    def read_queue(self, tenant: str, store: Store) -> AuditQueue:
        """What an audit asks next."""
        if self.update(tenant, store):
            told = count_all(store)
        else:
            found = self.read_report(tenant, store, Selection()).sessions
            told = gather_sessions(found, (), pick_zone(self.config))
        return build_queue(told, store.corrections.load_draw())


def tell_changes(run: ScoringRun, *, may_begin: bool) -> bool:
    """Tell what changed; `False` where nothing is kept by these settings."""
    teller = open_kept(run, pick_zone(run.config), may_begin=may_begin)
    if teller:
        teller.update()
    return teller is not None


def is_id(text: str) -> bool:
    """Whether a text can be the id of a session."""
    return 4 <= len(text) <= 64 and text.isascii() and text.isalnum()


def page_told(store: Store, wanted: SessionFilter, after: Sequence[str], most: int) -> list[Placed[Session]]:
    """A page of what is kept."""
    choice = replace(build_choice(store, wanted.selection), crushed=wanted.crushed)
    found: list[Placed[Session]] = []
    portion = AT_ONCE if wanted.intent else most + 1
    while len(found) <= most:
        rows = store.told.list_newest(choice, after, portion)
        sessions = [(place, SESSION(body)) for place, body in rows]
        found += [(place, one) for place, one in sessions if wanted.takes(one)]
        if len(rows) < portion:
            break
        after = rows[-1][0]
    return found[: most + 1]


def page_rows(
    rows: Sequence[T], place: Callable[[T], tuple[str, ...]], after: Sequence[str], most: int
) -> list[Placed[T]]:
    """A page of rows that are all there; the same as the database would give."""
    placed = [(place(one), n) for n, one in enumerate(rows)]
    wanted = [one for one in placed if not after or one[0] < tuple(after)]
    return [(at, rows[n]) for at, n in heapq.nlargest(most + 1, wanted)]


def place_session(one: Session) -> tuple[str, ...]:
    """Where a session stands in a list; no two have the same place."""
    return one.started_at, one.agent, one.id


def place_line(one: LedgerLine) -> tuple[str, ...]:
    return one.at, one.session, one.effect, one.stream, one.evidence, one.agent
