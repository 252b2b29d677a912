"""What streams used, by day, project and model: counted from kept turns, of which nothing but numbers comes out."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from math import fsum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, pick_zone
from assay.facts.time import LONGEST_PAUSE_S, list_stamps
from assay.facts.tokens import compute_cost, find_listed_price
from assay.pipeline import privacy
from assay.pipeline.cluster import open_pool
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.pool import Progress, count_cores, ignore_progress
from assay.pipeline.projects import name_projects, tally_folders
from assay.pipeline.scan_worker import decode_pieces
from assay.pipeline.scoring_run import Selection, is_in_project
from assay.scores.usage import UsageCell, UsageTokens, sum_cells
from assay.sessions.redaction import Redactor
from assay.sessions.streams import join_files
from assay.stores import Store, StreamFiles, StreamPieces
from assay.types import Spend, Turn, Usage

ALONE_BYTES = 64 << 20
"""Transcripts of less are counted faster than processes are started."""
FIRST, LAST = datetime(1970, 1, 2, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


class UsageTask(Struct, frozen=True, kw_only=True):
    """A stream whose usage is wanted, in some time."""

    stream: StreamFiles
    kept: StreamPieces
    since: str
    until: str
    zone: tzinfo


def list_usage(
    store: Store,
    config: Config,
    roots: Sequence[str] | None,
    choice: Selection,
    jobs: int = 0,
    progress: Progress = ignore_progress,
) -> list[UsageCell]:
    """What the streams below the roots used in the time and project that are wanted."""
    listed = {(one.agent, one.id): one for one in store.transcripts.list_streams(roots, choice.since, choice.until)}
    names = name_projects(tally_folders((one.project, one.branch) for one in listed.values()))
    wanted = {name for name, one in listed.items() if not choice.project or is_in_project(one.project, choice.project)}
    files = store.transcripts.list_stream_files(wanted)
    text = Redactor(privacy.build_rules(config, pick_report_time(config)).options).text
    pool = open_pool(jobs or count_cores(), config.engine)
    total, done = sum(one.size for one in files), 0
    found: list[UsageCell] = []
    try:
        if total > ALONE_BYTES:
            pool.start(len(files))
        progress(0, total)
        for size, cells in pool.each(build_tasks(store, files, choice, pick_zone(config)), count_task):
            project = text(names[listed[cells[0].agent, cells[0].streams[0]].project]) if cells else ""
            found += [replace(one, project=project, model=text(one.model)) for one in cells]
            done += size
            progress(done, total)
    finally:
        pool.close()
    return merge_cells(found)


def build_tasks(store: Store, files: Sequence[StreamFiles], choice: Selection, zone: tzinfo) -> Iterator[UsageTask]:
    """Streams with their turns, each read when it is wanted."""
    for one in files:
        (kept,) = store.transcripts.load_pieces([one])
        yield UsageTask(stream=one, kept=kept, since=choice.since, until=choice.until, zone=zone)


def count_task(task: UsageTask) -> tuple[int, list[UsageCell]]:
    """What one stream used, in a worker: its size, and a cell for each day and model."""
    turns = join_files(decode_pieces(task.kept), task.kept.elsewhere).turns
    return task.stream.size, count_turns(turns, task)


def count_turns(turns: Sequence[Turn], task: UsageTask) -> list[UsageCell]:
    """A cell for each day and model of some turns, and one without a model for each day's time."""
    place: dict[str, Any] = {"project": "", "agent": task.stream.agent, "streams": (task.stream.id,)}
    spends = [one for turn in turns for one in turn.spends if is_wanted(one.at, task) and one.usage != Usage()]
    groups: defaultdict[tuple[str, str], list[Spend]] = defaultdict(list)
    for one in spends:
        groups[find_day(one.at, task.zone), one.model].append(one)
    cells = [UsageCell(day=day, model=model, **place, **sum_spends(some)) for (day, model), some in groups.items()]
    times = sum_times((stamp for stamp in set(list_stamps(turns)) if is_wanted(stamp, task)), task.zone)
    return cells + [UsageCell(day=day, model="", active_s=active, **place) for day, active in times.items()]


def is_wanted(at: str, task: UsageTask) -> bool:
    """Whether something lies in the time that is asked about; what tells no time does where none is."""
    moment = parse_moment(at)
    if moment is None:
        return not task.since and not task.until
    stamp = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return (not task.since or stamp >= task.since) and (not task.until or stamp < task.until)


def sum_spends(some: Sequence[Spend]) -> dict[str, Any]:
    """The fields of a cell of these."""
    prices = [(one.usage, find_listed_price(one.model, one.at[:10])) for one in some]
    costs = [compute_cost(usage, price) for usage, price in prices if price]
    return {
        "responses": len(some),
        "tokens": UsageTokens(
            input=sum(one.usage.input for one in some),
            output=sum(one.usage.output for one in some),
            cache_read=sum(one.usage.cache_read for one in some),
            cache_write=sum(one.usage.cache_write for one in some),
        ),
        "cost_usd": fsum(costs) if len(costs) == len(some) else None,
    }


def sum_times(stamps: Iterable[str], zone: tzinfo) -> dict[str, float]:
    """Active seconds by day: from one thing to the next, at most five minutes, on the day of the first."""
    moments = sorted(moment for stamp in stamps if (moment := parse_moment(stamp)))
    found: defaultdict[str, float] = defaultdict(float)
    for earlier, later in pairwise(moments):
        found[earlier.astimezone(zone).date().isoformat()] += min((later - earlier).total_seconds(), LONGEST_PAUSE_S)
    return found


def find_day(at: str, zone: tzinfo) -> str:
    """The day of a record, where the person is; nothing where it tells no time."""
    moment = parse_moment(at)
    return moment.astimezone(zone).date().isoformat() if moment else ""


def parse_moment(at: str) -> datetime | None:
    """A record's time; one without a zone is UTC, one at the ends of the calendar is none."""
    try:
        found = datetime.fromisoformat(at)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found if FIRST <= found < LAST else None
    except ValueError:
        return None


def merge_cells(cells: Iterable[UsageCell]) -> list[UsageCell]:
    """Cells of the same day, project, agent and model as one."""
    groups: defaultdict[tuple[str, str, str, str], list[UsageCell]] = defaultdict(list)
    for one in cells:
        groups[one.day, one.project, one.agent, one.model].append(one)
    return [merge_some(some) for _, some in sorted(groups.items())]


def merge_some(some: Sequence[UsageCell]) -> UsageCell:
    known = sum_cells("", some)
    return replace(
        some[0],
        responses=known.responses,
        tokens=known.tokens,
        cost_usd=None if known.unpriced_tokens else known.cost_usd,
        active_s=known.active_s or 0.0,
        streams=tuple(sorted({stream for one in some for stream in one.streams})),
    )
