"""How well sessions were run, looked at a few at a time: nobody waits for thousands, and none is looked at twice.

Looking at a session takes hundredths of a second. A page looks at the newest for a moment, shows what is known by
then, has the others looked at meanwhile, and is shown anew by its script.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from hashlib import blake2b
from threading import Lock

import msgspec
from msgspec.structs import replace

from assay.config import Config
from assay.pipeline.lookup import read_turns
from assay.pipeline.models import AskOptions, open_models
from assay.pipeline.quality import Subject, judge_quality
from assay.server.reading import ReportReader
from assay.stores import Store
from assay.types import Session
from assay.types.quality import Profile, Quality

LOOKING_S, LATER_S = 0.6, 20.0
"""How long somebody waits, and how long one errand in the background goes on."""
MOST, MOST_KEPT = 2_000, 8_000
"""The newest sessions of a window that are looked at, and what is kept of all that were."""
KEPT_S = 600.0
"""Words may be withdrawn without the session changing: what is said of it is made anew after a while."""
Look = Callable[[Session], Quality]


def judge_one(store: Store, config: Config, profile: Profile, one: Session, *, is_named: bool = False) -> Quality:
    """The quality of a session by what is known: of a model, what it was asked before."""
    subject = Subject(session=one, read=partial(read_turns, store, config, one), is_named=is_named)
    with closing(open_models(store, config, os.environ, AskOptions(only_kept=True))) as desk:
        return judge_quality([subject], profile, config, desk)[0]


class QualityShelf:
    """What was found of sessions, by all that is told of them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.later = ThreadPoolExecutor(1, thread_name_prefix="assay-quality")
        self.busy: set[tuple[str, str]] = set()
        self.is_closing = False
        self.kept: OrderedDict[bytes, tuple[float, Quality]] = OrderedDict()

    def look(
        self, tenant: str, how: str, sessions: Sequence[Session], look: Look, reports: ReportReader
    ) -> list[Quality]:
        """The quality of those sessions that were looked at by now, in order; the rest is looked at later."""
        names = [name_look(tenant, how, one) for one in sessions]
        with reports.take_place():
            is_done = self.look_for(LOOKING_S, names, sessions, look)
        if not is_done:
            self.look_later((tenant, how), names, sessions, look)
        found = [self.find(name) for name in names]
        return [one for one in found if one is not None]

    def look_later(
        self, about: tuple[str, str], names: Sequence[bytes], sessions: Sequence[Session], look: Look
    ) -> None:
        """Have the others looked at while nobody waits for it, one errand of a kind at a time."""

        def work() -> None:
            try:
                self.look_for(LATER_S, names, sessions, look)
            finally:
                self.busy.discard(about)

        if about not in self.busy and not self.is_closing:
            self.busy.add(about)
            self.later.submit(work)

    def close(self) -> None:
        """Look at nothing any more."""
        self.is_closing = True
        self.later.shutdown(cancel_futures=True)

    def look_for(self, seconds: float, names: Sequence[bytes], sessions: Sequence[Session], look: Look) -> bool:
        """Look at sessions that are not known, as long as there is time; whether all are known then."""
        until = time.monotonic() + seconds
        for name, one in zip(names, sessions, strict=True):
            if self.find(name) is None:
                if time.monotonic() > until or self.is_closing:
                    return False
                self.keep(name, look(one))
        return True

    def find(self, name: bytes) -> Quality | None:
        with self.lock:
            at, found = self.kept.get(name, (0.0, None))
        return found if found is not None and time.monotonic() - at < KEPT_S else None

    def keep(self, name: bytes, found: Quality) -> None:
        """Keep what was found, without the words that it was found in."""
        silent = {key: replace(one, evidence=[]) for key, one in found.dimensions.items()}
        with self.lock:
            self.kept[name] = (time.monotonic(), replace(found, dimensions=silent))
            self.kept.move_to_end(name)
            while len(self.kept) > MOST_KEPT:
                self.kept.popitem(last=False)


def name_look(tenant: str, how: str, one: Session) -> bytes:
    """What a look at a session is kept under: it changes with whatever is told of it."""
    told = msgspec.msgpack.encode(one)
    return blake2b(f"{tenant}\0{how}\0".encode() + told, digest_size=16).digest()
