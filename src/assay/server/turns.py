"""Turns of sessions that somebody is reading: kept for a while, so that leafing through a long one costs little."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from assay.config import Config
from assay.pipeline.lookup import read_turns
from assay.stores import Store
from assay.types import Session, Turn

KEPT_S = 60.0
"""How long words are in memory: what is withheld or deleted meanwhile changes the store's state, and is read anew."""
MOST_TURNS, MOST_SESSIONS = 20_000, 8


class TurnsReader:
    """Reads the turns of sessions as they may be seen."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.lock = Lock()
        self.kept: OrderedDict[tuple[str, str, str], tuple[float, Sequence[Turn]]] = OrderedDict()

    def has(self, tenant: str, store: Store, session: Session) -> bool:
        """Whether the turns of a session were read a moment ago."""
        with self.lock:
            until, _ = self.kept.get((tenant, session.id, store.read_state()), (0.0, ()))
        return time.monotonic() < until

    def read(self, tenant: str, store: Store, session: Session) -> Sequence[Turn]:
        """All turns of a session; those that were read a moment ago from the same store are not read again."""
        name = tenant, session.id, store.read_state()
        with self.lock:
            until, turns = self.kept.get(name, (0.0, ()))
        if time.monotonic() < until:
            return turns
        turns = read_turns(store, self.config, session)
        with self.lock:
            self.kept[name] = time.monotonic() + KEPT_S, turns
            self.drop_old()
        return turns

    def drop_old(self) -> None:
        """Keep few sessions, none for long."""
        now = time.monotonic()
        for name in [name for name, (until, _) in self.kept.items() if until < now]:
            del self.kept[name]
        while len(self.kept) > 1 and (
            len(self.kept) > MOST_SESSIONS or sum(len(turns) for _, turns in self.kept.values()) > MOST_TURNS
        ):
            self.kept.popitem(last=False)
