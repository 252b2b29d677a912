"""`assay judges`: how good each judge is, measured on other people's sessions and by one's own audit."""

from collections.abc import Sequence

from msgspec import Struct

from assay.cli.answer import build_selection
from assay.cli.options import AsJson, Jobs, Paths, Project, Since, StorePath, Until, options, read_overrides
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import ProgressBar, open_transcripts
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.pipeline.judgement import find_judge
from assay.pipeline.score import open_run, score_run
from assay.reports.judges import render_cards
from assay.scores.card import JudgeCard, build_card
from assay.types import Document, Session

EXAMPLE = "Example: `assay judges`; after `assay audit 40` it says how well the judge does on your own sessions."
OFFLINE = "offline"


class JudgesRequest(Struct, frozen=True, kw_only=True):
    """What `assay judges` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


class JudgesView(Document, frozen=True, kw_only=True, tag="judges"):
    """`assay judges --json`."""

    judges: list[JudgeCard]


@options(JudgesRequest)
def command(request: JudgesRequest) -> None:
    """Show how good each judge is: measured on other people's labelled sessions, and by your own audit."""
    cards = list_cards(read_sessions(request))
    if request.as_json:
        print_json(JudgesView(judges=cards))
        return
    let_pipe_close()
    Console(highlight=False).print(render_cards(cards))


def read_sessions(request: JudgesRequest) -> Sequence[Session]:
    """The sessions whose audits count: those at the paths, or all that the store has, which may be none."""
    config = load_last_config(**read_overrides(request))
    selection = build_selection(request, config)
    with (
        open_transcripts(request.paths, config, request.jobs, may_be_empty=True) as transcripts,
        ProgressBar("judging") as bar,
    ):
        roots = transcripts.changes.roots if request.paths else None
        with open_run(transcripts.store, config, roots, selection=selection, jobs=request.jobs) as run:
            return score_run(run, (), bar.show, remembers=False).report.sessions


def list_cards(sessions: Sequence[Session]) -> list[JudgeCard]:
    """A card for the offline judge, and for whoever else judged."""
    versions = {OFFLINE: find_judge(OFFLINE).versions()}
    for one in sessions:
        if one.judge_versions:
            versions.setdefault(one.judge, one.judge_versions)
    return [build_card(judge, known, sessions) for judge, known in versions.items()]
