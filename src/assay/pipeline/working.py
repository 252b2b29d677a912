"""What a worker does with one store: it reads what came in, judges what is due, and tells what changed.

What there is to do stands in the store itself: conversations that are not read, streams that are not cut, sessions
that are not told. A worker that is killed takes none of it away. It notes what it begins with, so that the next one
takes that up alone, and leaves it after a few times: what breaks a worker breaks nothing else.
"""

import os
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from msgspec import Struct
from msgspec.structs import replace

from assay.clock import parse_time
from assay.config import Config, pick_zone
from assay.pipeline.judge_stream import foresee_segments
from assay.pipeline.kept_report import open_kept
from assay.pipeline.live import list_seen, note_seals
from assay.pipeline.models import ASK_WITH_OTHERS, ModelAccess, check_available, open_kept_answers, open_models
from assay.pipeline.pool import Pool
from assay.pipeline.scan import settle_streams
from assay.pipeline.scoring_run import ScoringRun, name_stream
from assay.pipeline.telemetry import AGENT, build_telemetry_version, read_conversations
from assay.pipeline.telemetry import name_stream as name_told
from assay.sessions.progress import QUIET, is_fresh
from assay.stores import Store, StreamFiles, StreamName, Wait
from assay.types import LiveConversation

BUCKETS = 16
"""Parts of a store's work that are done side by side; all that tells of one conversation is in the same one."""
MOST_TRIES = 3
LEASE_S = 15.0
"""How long others leave what a worker began with; twice as long each time it did not come to an end."""
LATER_S = 300.0
"""When what a judge could not answer is asked again, and what broke workers is tried again after it changed."""
SLACK_S = 60.0
"""What was noted further in the future than this was noted by a clock that has been set back since."""


class WorkDone(Struct, frozen=True, kw_only=True):
    """What came of a look at a store."""

    read: int = 0
    judged: int = 0
    """Sessions and segments."""


class PendingWork(Struct, frozen=True, kw_only=True):
    """What there is to do in a store."""

    buckets: frozenset[int]
    pending: int
    """Conversations and streams that are due."""
    failed: int
    """Those that were given up until they change."""
    held: int
    """Those that go on, or wait for an answer."""


def pick_bucket(name: StreamName) -> int:
    """The part of the work that a stream is in: that of all streams which tell of the same conversation."""
    return zlib.crc32(name[1].partition("@")[0].encode("utf-8", "surrogatepass")) % BUCKETS


class StoreWorker:
    """Works on one store."""

    def __init__(
        self, store: Store, config: Config, *, asks: bool = False, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self.store = store
        self.config = config
        self.asks = asks
        """A model is asked, where one is set; else what it answered before has to do."""
        self.report = report
        self.lease_s = LEASE_S
        self.clock = time.time

    # --- what there is to do ----------------------------------------------------------------------

    def find_pending(self) -> PendingWork:
        """What is due now, and what is not."""
        unread = self.list_unread()
        with self.open_run(asks=False) as run:
            uncut = run.find_waiting(set())
        states = {name_conversation(one): sign_conversation(one) for one in unread}
        states |= {name: sign_stream(one) for one in uncut if (name := name_stream(one)) not in states}
        waits = self.store.work.load_waits()
        due = {name for name, state in states.items() if self.is_due(waits.get(name), state)}
        rest = states.keys() - due
        failed = {name for name in rest if waits[name].tries >= MOST_TRIES}
        return PendingWork(
            buckets=frozenset(map(pick_bucket, due)), pending=len(due), failed=len(failed), held=len(rest - failed)
        )

    def list_unread(self) -> list[LiveConversation]:
        return self.store.telemetry.list_unread(build_telemetry_version())

    def is_due(self, wait: Wait | None, state: str) -> bool:
        """Whether something is to be done now."""
        now = self.clock()
        if wait is None or wait.noted_at > now + SLACK_S:
            return True
        if wait.tries >= MOST_TRIES:
            return wait.state != state and now >= wait.due_at
        return wait.state != state or now >= wait.due_at

    # --- doing it ---------------------------------------------------------------------------------

    def work(self, buckets: Collection[int] | None = None) -> WorkDone:
        """Read and judge what is due, of all or of some buckets; nothing while somebody else does."""
        name = "work" if buckets is None else "work-" + "-".join(map(str, sorted(buckets)))
        with self.store.work.hold(name) as is_held:
            return self.do_work(buckets) if is_held else WorkDone()

    def do_work(self, buckets: Collection[int] | None) -> WorkDone:
        takes = (lambda _: True) if buckets is None else (lambda name: pick_bucket(name) in buckets)
        read = self.read_new(takes)
        return WorkDone(read=read, judged=self.judge_due(takes))

    def read_new(self, takes: Callable[[StreamName], bool]) -> int:
        """Make turns of what came in."""
        found = {name: one for one in self.list_unread() if takes(name := name_conversation(one))}
        groups = self.split_due({name: sign_conversation(one) for name, one in found.items()})
        pool, read = Pool(1), 0
        for group in groups:
            read_conversations(self.store, pool, with_facts=True, chosen=[found[name] for name in group])
            settle_streams(self.store, pool, with_facts=True)
            self.store.work.drop_waits(group)
            read += len(group)
        if not read:  # what somebody else read may not be put together yet
            settle_streams(self.store, pool, with_facts=True)
        return read

    def judge_due(self, takes: Callable[[StreamName], bool]) -> int:
        """Cut and judge what changed and is worth it."""
        with self.open_run(asks=self.asks) as run:
            waiting = {name: one for one in run.find_waiting(set()) if takes(name := name_stream(one))}
            if waiting and run.client:
                run.terms = replace(run.terms, sealed=frozenset(one.name for one in list_seen(run) if one.seal))
                waiting = self.hold_going_on(run, waiting)
            for group in self.split_due({name: sign_stream(one) for name, one in waiting.items()}):
                run.judge_streams(chosen=frozenset(group))
                self.leave_rest(run, group)
            if waiting:
                note_seals(self.store, list_seen(run))
            return run.times_judged

    def tell(self) -> None:
        """Link, follow and tell what changed; one at a time in a store."""
        with self.store.work.hold("tell") as is_held, self.open_run(asks=self.asks and is_held) as run:
            if not is_held:
                return
            teller = open_kept(run, pick_zone(self.config), may_begin=True)
            if teller:
                teller.update()

    @contextmanager
    def open_run(self, *, asks: bool) -> Iterator[ScoringRun]:
        """A scoring of the store, with a model where one is asked."""
        with ExitStack() as stack:
            models = stack.enter_context(closing(self.open_models() if asks else self.open_kept()))
            yield stack.enter_context(ScoringRun(self.store, None, self.config, 1, models))

    def open_kept(self) -> ModelAccess:
        return open_kept_answers(self.store, self.config, os.environ)

    def open_models(self) -> ModelAccess:
        """The model, within what is left for today; what it answered before, where it can't be asked."""
        found = open_models(self.store, self.config, os.environ, ASK_WITH_OTHERS)
        if not found.unavailable:
            return found
        check_available(found.unavailable, self.config)
        self.report(f"{found.unavailable}; the offline judge judges meanwhile")
        return self.open_kept()

    # --- what is begun, and what is left for later --------------------------------------------------

    def split_due(self, states: dict[StreamName, str]) -> Iterator[list[StreamName]]:
        """What is due, noted before it is begun with: what was begun before, and did not end, each by itself."""
        waits = self.store.work.load_waits()
        due = [name for name, state in sorted(states.items()) if self.is_due(waits.get(name), state)]
        together = [name for name in due if not self.count_tries(waits.get(name))]
        alone = [name for name in due if self.count_tries(waits.get(name))]
        for group in [together, *([name] for name in alone)]:
            if group:
                self.begin(group, states, waits)
                yield group

    def count_tries(self, wait: Wait | None) -> int:
        return wait.tries if wait else 0

    def begin(self, group: Sequence[StreamName], states: dict[StreamName, str], waits: dict[StreamName, Wait]) -> None:
        """Note that somebody works on streams; whoever finds the note later knows that they did not end."""
        now, noted = self.clock(), []
        for name in group:
            tries = self.count_tries(waits.get(name)) + 1
            lease = self.lease_s * 2 ** (tries - 1)
            if tries >= MOST_TRIES:
                lease = LATER_S
                self.report(f"stream {name[1]}: worked on {tries - 1} times without an end; after this time it is left")
            noted.append(
                Wait(
                    agent=name[0],
                    stream=name[1],
                    state=states[name],
                    noted_at=now,
                    due_at=now + lease,
                    tries=tries,
                    why="begun",
                )
            )
        self.store.work.save_waits(noted)

    def hold_going_on(self, run: ScoringRun, waiting: dict[StreamName, StreamFiles]) -> dict[StreamName, StreamFiles]:
        """Streams worth asking a model about; one in which nothing is sealed yet, nor quiet, is left for later."""
        waits = self.store.work.load_waits()
        due = {name: one for name, one in waiting.items() if self.is_due(waits.get(name), sign_stream(one))}
        held: list[Wait] = []
        for task in run.build_tasks([*due.values()]):
            found = foresee_segments(task)
            name = name_stream(task.stream)
            is_sealed = len(found) != 1 or found[0].committed_at or name in run.terms.sealed
            if not is_sealed and is_fresh(found[0], run.as_of):
                held.append(self.build_wait(name, sign_stream(task.stream), found[0].ended_at, "it goes on"))
        self.store.work.save_waits(held)
        going_on = {one.name for one in held}
        return {name: one for name, one in due.items() if name not in going_on}

    def leave_rest(self, run: ScoringRun, group: Sequence[StreamName]) -> None:
        """Note which of the streams that were judged are not done, and when to look at them again."""
        rest = {name: one for one in run.find_waiting(set()) if (name := name_stream(one)) in set(group)}
        self.store.work.drop_waits(name for name in group if name not in rest)
        ends: dict[StreamName, str] = {}
        for kept in run.store.sessions.list_segments(None, [*rest]) if rest else ():
            ends[kept.segment.agent, kept.segment.stream] = kept.segment.ended_at
        why = (run.client.closed if run.client else "") or "it is not settled"
        self.store.work.save_waits(
            [self.build_wait(name, sign_stream(one), ends.get(name, ""), why) for name, one in rest.items()]
        )

    def build_wait(self, name: StreamName, state: str, ended_at: str, why: str) -> Wait:
        """A stream is looked at again once it is quiet; one that was quiet already, after a while."""
        now, ended = self.clock(), parse_time(ended_at)
        quiet = (ended + QUIET).timestamp() + 1 if ended else 0.0
        due = quiet if now < quiet <= now + QUIET.total_seconds() + SLACK_S else now + LATER_S
        return Wait(agent=name[0], stream=name[1], state=state, noted_at=now, due_at=due, why=why)


def name_conversation(one: LiveConversation) -> StreamName:
    return AGENT, name_told(one.agent, one.id)


def sign_conversation(one: LiveConversation) -> str:
    return f"r{one.revision}"


def sign_stream(one: StreamFiles) -> str:
    return f"g{one.generation}"


def list_waiting(worker: StoreWorker, run: ScoringRun) -> frozenset[StreamName]:
    """Streams of which something is not read or not judged yet."""
    unread: Iterable[StreamName] = map(name_conversation, worker.list_unread())
    return frozenset([*unread, *map(name_stream, run.find_waiting(set()))])
