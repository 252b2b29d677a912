"""A report on sessions as they were kept: totals are sums of tallies, and only rows that are shown are read."""

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from typing import Any, TypeVar, overload

import msgspec
from msgspec.structs import replace

from assay.pipeline.rework import list_lost
from assay.pipeline.scoring_run import ALL, ScoringRun, Selection, is_in_project
from assay.pipeline.telling import Teller, View, describe_view
from assay.scores.report import Report, ToldSessions, gather_sessions
from assay.scores.survival import Age, FollowedLines, measure_survival
from assay.scores.tally import Tally, add_tallies
from assay.stores import Fate, Store, ToldChoice
from assay.types import LedgerLine, Session

T = TypeVar("T")
SESSION = msgspec.json.Decoder(Session).decode
LINE = msgspec.json.Decoder(LedgerLine).decode
TALLY = msgspec.msgpack.Decoder(Tally).decode
AGES = msgspec.msgpack.Decoder(list[Age]).decode
VIEW = msgspec.json.Decoder(View).decode
Portion = Callable[[int, int | None], Iterator[bytes]]


class KeptRows(Sequence[T]):
    """Rows of a store as a sequence: each is read when somebody looks at it, and forgotten then."""

    def __init__(self, read: Portion, decode: Callable[[bytes], T], n: int) -> None:
        self.read = read
        self.decode = decode
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[T]:
        return map(self.decode, self.list_encoded())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            places = range(self.n)[at]
            first, last = sorted((places[0], places[-1])) if places else (0, -1)
            return [self.decode(row) for row in self.read(first, last - first + 1)][:: places.step]
        place = range(self.n)[at]
        return self[place : place + 1][0]

    def list_encoded(self) -> Iterator[bytes]:
        """The rows as JSON."""
        return self.read(0, None)


def open_kept(run: ScoringRun, zone: tzinfo, *, may_begin: bool) -> Teller | None:
    """Who keeps what is told in this run; nobody where it is told otherwise than what is kept."""
    if run.asks_again or (run.client is not None and run.selection != ALL):
        return None
    with run.store.holding():
        kept = run.store.told.load_view()
        known = VIEW(kept) if kept else None
        roots = pick_roots(run, known)
    view = describe_view(run, roots, zone)
    if known != view:
        if not may_begin or (known and not is_wider(run, known)):
            return None
        run.store.told.begin_view(msgspec.json.encode(view))
    return Teller(run, roots, zone)


def is_kept(run: ScoringRun, zone: tzinfo) -> bool:
    """Whether what is kept was told by the settings of this run."""
    kept = run.store.told.load_view()
    known = VIEW(kept) if kept else None
    return known is not None and known == describe_view(run, pick_roots(run, known), zone)


def pick_roots(run: ScoringRun, known: View | None) -> tuple[str, ...] | None:
    """The paths of a run; those of what is kept, where the two hold the same files."""
    roots = None if run.roots is None else tuple(sorted(run.roots))
    if known is None or roots == known.roots or (roots is not None and known.roots is not None):
        return roots
    has_outside = run.store.told.has_outside(roots or known.roots or ())
    return roots if has_outside else known.roots


def is_wider(run: ScoringRun, known: View) -> bool:
    """Whether a run is about as much as what is kept: of a few transcripts nothing is kept instead of all."""
    count = run.store.transcripts.count_streams
    return count(run.roots) >= count(known.roots)


def gather_kept(store: Store, selection: Selection, zone: tzinfo) -> tuple[ToldSessions, FollowedLines]:
    """The sessions that are selected, as they were kept, and what became of their lines."""
    choice, told = build_choice(store, selection), store.told
    if selection == ALL:
        found = count_all(store)
    else:
        sessions = [SESSION(body) for body in told.list_bodies(choice)]
        found = gather_sessions(sessions, [LINE(line) for line in told.list_ledger(choice)], zone)
    lost = [SESSION(body) for body in told.list_bodies(replace(choice, only_lost=True))]
    ages = (age for packed in told.list_ages(choice) for age in AGES(packed))
    return found, FollowedLines(survival=measure_survival(ages), lost=list_lost(lost))


def keep_sessions(store: Store, n: int) -> KeptRows[Session]:
    """All sessions, so many, where they are kept; the newest are read from the end."""

    def read(first: int, most: int | None) -> Iterator[bytes]:
        if most and first + most == n and most < first:
            return (body for _, body in reversed(store.told.list_newest(ToldChoice(), (), most)))
        return store.told.list_bodies(ToldChoice(), first, most)

    return KeptRows(read, SESSION, n)


def keep_ledger(store: Store, n: int) -> KeptRows[LedgerLine]:
    """All lines of the ledger, so many, where they are kept."""
    return KeptRows(lambda first, most: store.told.list_ledger(ToldChoice(), first, most), LINE, n)


def hold_rows(store: Store, report: Report, ledger: int) -> Report:
    """A report that was kept without its rows, with them."""
    return replace(report, sessions=keep_sessions(store, report.waterfall.sessions), ledger=keep_ledger(store, ledger))


def count_all(store: Store) -> ToldSessions:
    """All sessions, counted by the sums of what was counted in parts."""
    told = store.told
    tally = add_tallies(map(TALLY, told.load_tallies()))
    return ToldSessions(
        sessions=keep_sessions(store, tally.sessions),
        ledger=keep_ledger(store, told.count_ledger()),
        tally=tally,
        answered=[SESSION(body) for body in told.list_bodies(ToldChoice(only_answered=True))],
        list_obstructed=lambda kind: told.list_ids(ToldChoice(obstacle=kind)),
    )


def build_choice(store: Store, selection: Selection) -> ToldChoice:
    """The rows that a selection means; a project is looked for among all folders there are."""
    if not selection.project:
        return ToldChoice(since=selection.since, until=selection.until)
    known = {folder for one in store.told.list_neighbourhoods() for folder, _, _ in one.folders}
    folders = tuple(sorted(folder for folder in known if is_in_project(folder, selection.project)))
    return ToldChoice(since=selection.since, until=selection.until, folders=folders)


def remember_kept(store: Store, selection: Selection) -> None:
    """Keep which sessions this report says crushed."""
    news = dict(store.told.list_news(build_choice(store, selection)))
    fates = store.rework.load_fates(news)
    store.rework.save_fates(
        [
            replace(fates.get(name) or Fate(agent=name[0], id=name[1]), is_told=crushed)
            for name, crushed in sorted(news.items())
        ]
    )
