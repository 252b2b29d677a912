"""The report that stands: while nothing changed that it depends on, it is what the next one would say.

Under its key stand the files as their folders list them, who reads them, what the store holds, the settings and
versions (the view), the repositories, and the time between which nothing turns by itself. One report is kept, on all
sessions, without its rows.
"""

from datetime import tzinfo

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import astuple, replace

from assay.listing import sign_folders as sign_listed
from assay.pipeline.inputs import FoundFiles
from assay.pipeline.judgement import hash_values
from assay.pipeline.kept_report import VIEW, hold_rows, pick_roots
from assay.pipeline.neighbourhoods import forget_folders, sign_folder
from assay.pipeline.read_file import build_version
from assay.pipeline.scan import Changes
from assay.pipeline.scoring_run import ALL, ScoringRun
from assay.pipeline.telling import describe_view
from assay.plugins import list_names
from assay.scores.report import Report
from assay.stores import Store, ToldChoice

REPORT = msgspec.json.Decoder(Report).decode
SERVED = "as it is kept"
"""In place of a listing: of a report on what is kept alone, as servers make it that read no files."""


class StandingReport(Struct, frozen=True, kw_only=True):
    """A report, and all that it depends on."""

    listing: str
    state: str
    view: str
    folders: tuple[str, ...]
    signs: str
    told_at: float
    valid_until: float
    ledger: int
    report: Raw


STANDING = msgspec.json.Decoder(StandingReport).decode


def sign_listing(found: FoundFiles) -> str:
    """A hash of files as their folders list them, and of the versions of all who read them."""
    readers = sorted((name, build_version(name)) for name in list_names("sources"))
    names = ascii(([*map(astuple, found.opened)], found.roots, found.closed))  # a name may be no UTF-8
    return hash_values(sign_listed(found.folders), names, readers)


def load_standing(store: Store, listing: str) -> StandingReport | None:
    """The report that was kept of just these files, if the store is what it was."""
    kept = store.told.load_standing()
    found = STANDING(kept) if kept else None
    is_same = found and found.listing == listing and found.state == store.read_state()
    return found if is_same and not store.told.has_changes() else None


def skip_scan(found: FoundFiles, listing: str) -> Changes:
    """What a scan of files says that were all read before."""
    return Changes(
        roots=found.roots,
        files=found.count_files(),
        new=0,
        changed=0,
        gone=0,
        bytes_read=0,
        unreadable=tuple(sorted(found.closed)),
        listing=listing,
    )


def find_standing(run: ScoringRun, zone: tzinfo, listing: str) -> Report | None:
    """The report of a run where it still stands."""
    if not listing or run.selection != ALL or run.client is not None or run.asks_again:
        return None
    with run.store.holding():
        return check_standing(run, zone, listing)


def check_standing(run: ScoringRun, zone: tzinfo, listing: str) -> Report | None:
    """The report that was kept, if everything is as it was."""
    found, view = load_standing(run.store, listing), run.store.told.load_view()
    if found is None or not view or not found.told_at <= run.as_of.timestamp() <= found.valid_until:
        return None
    if run.has_ended_since(found.told_at):
        return None
    forget_folders()
    known = VIEW(view)
    is_same = describe_view(run, pick_roots(run, known), zone).key == known.key == found.view
    if not is_same or sign_folders(found.folders) != found.signs or run.find_waiting(set()):
        return None
    if run.store.told.list_ids(ToldChoice(only_lost=True)):  # another report told of these meanwhile
        return None
    return hold_rows(run.store, REPORT(found.report), found.ledger)


def find_served(run: ScoringRun) -> Report | None:
    """The report on what is kept, if one was kept of the store as it is; under which settings, the caller knows."""
    if run.selection != ALL or run.client is not None:
        return None
    kept = run.store.told.load_standing()
    found = STANDING(kept) if kept else None
    if found is None or found.listing != SERVED or found.state != run.store.read_state():
        return None
    if run.store.told.list_ids(ToldChoice(only_lost=True)):
        return None
    return hold_rows(run.store, REPORT(found.report), found.ledger)


def save_standing(run: ScoringRun, report: Report, listing: str, state: str) -> None:
    """Keep a report on all sessions, if the store is in the state that it was made of.

    One that says what was lost since the last one says it once.
    """
    if not listing or run.selection != ALL or run.client is not None or report.lost:
        return
    view = run.store.told.load_view()
    known = run.store.told.list_neighbourhoods()
    if not view or not known or run.store.read_state() != state:
        return
    run.store.sessions.note_cut(run.terms.cutting_version)
    folders = tuple(sorted({folder for one in known for folder, _, _ in one.folders}))
    standing = StandingReport(
        listing=listing,
        state=state,
        view=VIEW(view).key,
        folders=folders,
        signs=sign_folders(folders),
        told_at=max(one.told_at for one in known),
        valid_until=min(one.valid_until for one in known),
        ledger=len(report.ledger),
        report=Raw(msgspec.json.encode(replace(report, sessions=(), ledger=()))),
    )
    run.store.told.save_standing(msgspec.json.encode(standing))


def sign_folders(folders: tuple[str, ...]) -> str:
    return hash_values([sign_folder(folder) for folder in folders])
