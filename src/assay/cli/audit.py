"""`assay audit`: a person looks at sessions drawn at random, and their word corrects the score."""

import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from rich.rule import Rule

from assay.cli.answer import build_selection, explain_empty_selection, score_transcripts
from assay.cli.options import AsJson, Jobs, Project, Since, StorePath, Until, options, read_overrides
from assay.cli.output import check_target, let_pipe_close, print_json, print_note, write_target
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline.audit import begin_draw, draw_sessions, save_answer, withdraw_answer
from assay.pipeline.lookup import read_turns
from assay.pipeline.score import Transcripts
from assay.pipeline.scoring_run import Selection
from assay.pipeline.verdict_lines import encode_verdicts, import_verdicts
from assay.reports.audit import describe_progress, render_case
from assay.reports.format import format_count, format_line
from assay.reports.json import SessionsView
from assay.reports.sessions import render_marks
from assay.scores.audit import AuditTally, is_answered
from assay.scores.correction import Corrected
from assay.scores.prediction import Predicted
from assay.scores.report import Report
from assay.sessions.endings import find_ending
from assay.stores import Store, open_existing_store, open_store, pick_store_url
from assay.types import AuditDraw, Document, Session, VerdictKind

EXAMPLE = (
    "Example: `assay audit 40`; stop when you like, the same command goes on. The judge's word is not shown before you "
    "answer; your answers win over it, and from 20 on correct the score."
)
ANSWERS: dict[str, VerdictKind] = {
    "l": "landed", "landed": "landed", "y": "landed", "yes": "landed", "n": "not", "not": "not", "no": "not",
    "u": "unclear", "unclear": "unclear",
}  # fmt: skip
BACK, QUIT = ("b", "back"), ("q", "quit")
QUESTION = "Did it land?  [l]anded  [n]ot  [u]nclear  [b]ack  [q]uit: "
NEEDS_TERMINAL = "asks a person and needs a terminal; --status, --list, --export and --import do without one"
LARGEST_FILE = 64 << 20
NEWLINE = b"\n"
CONTEXT = {"ignore_unknown_options": True}
"""A number below 0 is told as what it is, not as an option."""
NUMBER = re.compile(r"[+-]?\d[\d.,_e+-]*", re.ASCII | re.IGNORECASE)
"""What somebody means as a number."""
DIGITS = 6
"""Of the largest number of sessions that anybody looks at."""
MOST_TOLD = 10

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[N] [PATHS]...",
        help="How many sessions, with those answered before; 40 is a good number. Then paths, as for `assay score`.",
    ),
]
Status = Annotated[bool, typer.Option("--status", help="Say how far the audit is.")]
AsList = Annotated[bool, typer.Option("--list", help="List what was answered, beside what the judge says.")]
Export = Annotated[
    Path | None, typer.Option("--export", metavar="FILE", help="Write all marks and answers to a .jsonl file.")
]
Import = Annotated[
    Path | None, typer.Option("--import", metavar="FILE", help="Take in marks and answers from such a file.")
]


class AuditRequest(Struct, frozen=True, kw_only=True):
    """What `assay audit` takes."""

    words: Words = None
    since: Since = None
    until: Until = None
    project: Project = None
    status: Status = False
    as_list: AsList = False
    export: Export = None
    import_from: Import = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


class AuditView(Document, frozen=True, kw_only=True, tag="audit"):
    """`assay audit --status --json`."""

    wanted: int
    audit: AuditTally | None
    corrected: Corrected | None
    predicted: Predicted | None


@options(AuditRequest)
def command(request: AuditRequest) -> None:
    """Look at sessions drawn at random and say which landed: the score is corrected by your word."""
    wanted, paths = split_words(request.words or [])
    config = load_last_config(**read_overrides(request))
    if sum(map(bool, (request.status, request.as_list, request.export, request.import_from))) > 1:
        raise BadInput("give one of --status, --list, --export and --import")
    if request.import_from or request.export:
        check_alone(request)
    if request.import_from:
        import_file(request.import_from, config)
    elif request.export:
        export_file(request.export, config)
    else:
        check_asking(request, wanted)
        if request.status or request.as_list:
            open_existing_store(pick_store_url(config.store, os.environ)).close()
        with open_transcripts(paths, config, request.jobs) as transcripts:
            answer_audit(Audit(request, config, transcripts), wanted)


def split_words(words: Sequence[str]) -> tuple[int | None, list[Path] | None]:
    """How many are wanted, where that is said, and the paths."""
    numbers = [one for one in words if NUMBER.fullmatch(one) and (len(one) > DIGITS or not Path(one).exists())]
    if len(numbers) > 1 or any(not one.isdecimal() or len(one) > DIGITS or int(one) < 1 for one in numbers):
        raise BadInput(f"{format_line(' '.join(numbers), 60)}: give one whole number of sessions, such as 40")
    paths = [one for one in words if one not in numbers]
    if unknown := next((one for one in paths if one.startswith("-") and len(one) > 1), None):
        raise BadInput(f"{format_line(unknown, 60)}: no such option; `assay audit -h` lists them")
    return (int(numbers[0]) if numbers else None), [*map(Path, paths)] or None


def check_alone(request: AuditRequest) -> None:
    """Refuse what a file of verdicts does not go by, rather than leave it out of account."""
    given = [*(request.words or ()), request.since, request.until, request.project, request.as_json]
    if any(given):
        raise BadInput(
            "--export and --import take all verdicts: give no number, path, day, project or --json with them"
        )


def check_asking(request: AuditRequest, wanted: int | None) -> None:
    """Refuse to ask where nobody can answer, before anything is read."""
    if request.status or request.as_list:
        if wanted is not None:
            raise BadInput("--status and --list take no number; `assay audit N` alone asks")
        return
    if request.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(f"`assay audit N` {NEEDS_TERMINAL}")


class Audit:
    """One audit of the sessions that a request selects."""

    def __init__(self, request: AuditRequest, config: Config, transcripts: Transcripts) -> None:
        self.request = request
        self.config = config
        self.transcripts = transcripts
        self.store: Store = transcripts.store
        self.zone = pick_zone(config)
        self.console = Console(highlight=False)

    def build_report(self) -> Report:
        """The report on the sessions that are selected, as it stands now."""
        selection = build_selection(self.request, self.config)
        return score_transcripts(self.transcripts, self.config, selection, jobs=self.request.jobs)

    def explain_nothing(self) -> str:
        """Why no session is selected; empty where there is none at all."""
        everything = score_transcripts(self.transcripts, self.config, Selection(), jobs=self.request.jobs)
        return explain_empty_selection(self.request, everything, self.zone) if everything.sessions else ""

    def ask_about(self, answered: Sequence[Session], waiting: Sequence[Session]) -> None:
        """Ask about one session after the other, until the person has enough; back goes to those before, too."""
        drawn, n = [*answered, *waiting], len(answered)
        while n < len(drawn):
            one = drawn[n]
            self.show_session(one, f"{n + 1} of {len(drawn)}")
            said = read_answer()
            if said in QUIT:
                return
            if said in BACK and not n:
                self.console.print("This is the first one.")
            elif said in BACK:
                n -= 1
                withdraw_answer(self.store, drawn[n], format_now())
            else:
                save_answer(self.store, one, ANSWERS[said], format_now())
                n += 1

    def show_session(self, session: Session, place: str) -> None:
        turns = read_turns(self.store, self.config, session)
        self.console.print(Rule(place, align="left", style="dim"))
        self.console.print(render_case(session, turns, find_ending(turns).kind, self.zone, self.console.width))


def answer_audit(audit: Audit, wanted: int | None) -> None:
    """Do what a request asks of an audit."""
    report, kept = audit.build_report(), audit.store.corrections.load_draw()
    if not report.sessions and (note := audit.explain_nothing()):
        raise BadInput(note)
    if audit.request.status:
        print_status(audit, report, kept)
    elif audit.request.as_list:
        print_answers(audit, [one for one in report.sessions if is_answered(one)])
    else:
        wanted = wanted or (kept.wanted if kept else 0)
        if not wanted:
            raise BadInput("say how many sessions you want to look at: `assay audit 40`")
        draw = begin_draw(audit.store, wanted)
        answered, waiting = draw_sessions(report.sessions, draw)
        if not waiting and not answered:
            raise BadInput("no session that counts is selected; `assay sessions` lists them and says why")
        if not waiting:
            print_note(f"nothing is left to ask of {draw.wanted:,}, all are answered; give a larger number")
        audit.ask_about(answered, waiting)
        print_status(audit, audit.build_report(), draw)


def read_answer() -> str:
    """The person's answer, one of those that there are; an end of the input is to quit."""
    while True:
        try:
            sys.stdout.write(QUESTION)
            sys.stdout.flush()
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            sys.stdout.write("\nYour answers are kept; the same command goes on.\n")
            raise
        said = line.strip().lower()
        if not line:
            sys.stdout.write("\n")
            return QUIT[0]
        if said in ANSWERS or said in BACK or said in QUIT:
            return said
        sys.stdout.write("Type l, n, u, b or q, and Return.\n")


# --- what is told -------------------------------------------------------------------------------


def print_status(audit: Audit, report: Report, draw: AuditDraw | None) -> None:
    """Print how far an audit is."""
    wanted = draw.wanted if draw else 0
    if audit.request.as_json:
        score = report.score
        told = AuditView(wanted=wanted, audit=report.audit, corrected=score.corrected, predicted=score.predicted)
        print_json(told)
        return
    let_pipe_close()
    for line in describe_progress(report, wanted):
        audit.console.print(f"{line[:1].upper()}{line[1:]}.", markup=False)


def print_answers(audit: Audit, sessions: Sequence[Session]) -> None:
    """Print what was answered."""
    if audit.request.as_json:
        print_json(SessionsView(sessions=sessions, ledger=()))
    elif sessions:
        let_pipe_close()
        audit.console.print(render_marks(sessions, audit.zone, audit.console.width))
    else:
        print_note("nothing is audited yet; `assay audit 40` asks you about 40 sessions, drawn at random")


# --- files ----------------------------------------------------------------------------------------


def export_file(path: Path, config: Config) -> None:
    """Write all verdicts that hold to a file."""
    target = check_target(path, (".jsonl",), "--export")
    with closing(open_existing_store(pick_store_url(config.store, os.environ))) as store:
        content = encode_verdicts(store, config)
    if target:
        write_target(content, target, "--export")
        print_note(f"wrote {format_count(content.count(NEWLINE), 'verdict')} to {target}")


def import_file(path: Path, config: Config) -> None:
    """Take in the verdicts of a file, and tell what became of each line."""
    lines = read_lines(path)
    with closing(open_store(pick_store_url(config.store, os.environ))) as store:
        found = import_verdicts(store, lines, datetime.now(UTC))
    said = f"took in {format_count(found.added, 'verdict')}, {found.known:,} were here already"
    if found.as_marks:
        said += f"; {found.as_marks:,} drawn elsewhere are kept as marks, and correct nothing"
    print_note(said)
    for number, why in found.skipped[:MOST_TOLD]:
        print_note(f"line {number} was skipped: {format_line(why, 120)}")
    if len(found.skipped) > MOST_TOLD:
        print_note(f"{len(found.skipped) - MOST_TOLD:,} more lines were skipped")
    if found.skipped and not found.added + found.known:
        raise BadInput(f"--import {path}: not one line of it could be used")


def read_lines(path: Path) -> list[bytes]:
    """The lines of a file."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"--import {path}: is larger than {LARGEST_FILE >> 20} MB, which no list of verdicts is")
        if not path.is_file():
            raise BadInput(f"--import {path}: is no file")
        return path.read_bytes().removeprefix(BOM_UTF8).split(NEWLINE)
    except OSError as error:
        raise BadInput(f"--import {path}: can't be read: {error.strerror or error}") from None


def format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
