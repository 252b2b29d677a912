"""A report on a lake: DuckDB filters and adds up, and what a report says of the sums is what it says of a store's."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import tzinfo
from pathlib import Path

import msgspec
from msgspec.structs import replace

from assay.config.zones import find_zone
from assay.errors import BadInput
from assay.lake.partitions import MANIFEST
from assay.lake.query import LakeChoice, LakeReader
from assay.lake.sums import LakeSums, count_streams, list_folders
from assay.pipeline.export import LakeHeader
from assay.pipeline.kept_report import LINE, SESSION, KeptRows
from assay.pipeline.models import ONLY_KEPT
from assay.pipeline.rework import list_lost
from assay.pipeline.scoring_run import Selection, is_in_project
from assay.scores.card import load_measurement
from assay.scores.prism import split_judge
from assay.scores.report import JudgeInfo, Report, ToldSessions, build_report
from assay.scores.survival import FollowedLines, measure_survival
from assay.scores.tally import ALL as EVERY


@contextmanager
def open_lake_reports(folder: Path) -> Iterator["LakeReports"]:
    """A lake, to be asked for reports."""
    with closing(LakeReader(folder)) as lake:
        if not lake.count_rows("sessions"):
            raise BadInput(f"{folder}: this lake holds no sessions; `assay export -o {folder}` fills it")
        yield LakeReports(lake)


class LakeReports:
    """Reports on what a lake holds."""

    def __init__(self, lake: LakeReader) -> None:
        self.lake = lake
        self.header = read_header(lake)
        self.zone: tzinfo | None = find_zone(lake.manifest.zone)
        """In which days begin; `None` where the exporting machine's zone had no name."""

    def report(self, selection: Selection) -> Report:
        """The report on the sessions that are selected."""
        lake, choice = self.lake, build_choice(self.lake, selection, "sessions")
        sums = LakeSums(lake, choice)
        tally = sums.tally()
        answered = [SESSION(body) for body in lake.list_bodies(replace(choice, flag="is_answered"))]
        if answered:
            tally.drawn = sums.list_drawn()
        lost = [SESSION(body) for body in lake.list_bodies(replace(choice, flag="is_lost"))]
        lines = lake.count_lines(choice)
        told = ToldSessions(
            sessions=KeptRows(lambda first, most: lake.list_bodies(choice, first, most), SESSION, tally.sessions),
            ledger=KeptRows(lambda first, most: lake.list_ledger(choice, first, most), LINE, lines),
            tally=tally,
            answered=answered,
            list_obstructed=sums.list_obstructed,
        )
        return build_report(
            told,
            streams=count_streams(lake, build_choice(lake, selection, "streams")),
            judge=pick_judge(self.header.judge, tally.slices[EVERY].get(EVERY, {})),
            skipped=self.header.skipped,
            seed=self.header.seed,
            followed=FollowedLines(survival=measure_survival(sums.list_ages()), lost=list_lost(lost)),
        )


def read_header(lake: LakeReader) -> LakeHeader:
    """What a lake says of all its sessions."""
    try:
        return msgspec.json.decode(lake.manifest.report, type=LakeHeader)
    except msgspec.DecodeError as error:
        raise BadInput(f"{lake.folder / MANIFEST}: is damaged ({error}); `assay export` writes it anew") from None


def build_choice(lake: LakeReader, selection: Selection, table: str) -> LakeChoice:
    """The rows of a table that a selection means; a project is looked for among all folders there are."""
    if not selection.project:
        return LakeChoice(since=selection.since, until=selection.until)
    folders = tuple(one for one in list_folders(lake, table) if is_in_project(one, selection.project))
    return LakeChoice(since=selection.since, until=selection.until, folders=folders)


def pick_judge(asked: JudgeInfo, judges: Iterable[str]) -> JudgeInfo:
    """Who judged what counts, given who was asked."""
    names = dict(map(split_judge, sorted(judges)))
    fallback = None if asked.fallback == ONLY_KEPT and asked.backend in names else asked.fallback
    if len(names) != 1 or asked.backend in names:
        return replace(asked, fallback=fallback)
    ((backend, versions),) = names.items()
    calibrated = asked.floors == "measured" and load_measurement(backend) is not None
    return replace(asked, backend=backend, versions=versions, calibrated=calibrated, fallback=fallback)
