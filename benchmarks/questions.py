"""Questions as files, answered by whoever reads them: `python -m benchmarks.questions write FILES… -o DIR`.

Every question whose turn it is becomes a text in DIR, as a model would see it; an answer is a JSON object beside it,
`NAME.answer.json`. Topics come first: run `write DIR` again, and the sessions they cut are there. `answer DIR` sends
the answers through the real path and prints what `assay score --json` would; what can't be used is told. A name
holds a hash of all words: write and answer with the same code.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from assay.config import Config, Model
from assay.errors import ModelUnavailable
from assay.judges.model import check_reply
from assay.llm import Answer, Answers, Question, QuestionResult, hold_dialogue
from assay.llm.wire import render_task
from assay.pipeline.inputs import find_files
from assay.pipeline.judge_stream import cut_stream, judge_joined_sessions
from assay.pipeline.models import ModelAccess, ModelClient
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.scoring_run import ScoringRun
from assay.reports.json import encode_json
from assay.stores import open_store
from assay.types import Usage

LIST = "files.txt"
JUDGE, MODEL = "anthropic", "careful-reader"


class Unanswered(Exception):
    """Something must be answered first."""


class FolderModel:
    """A model whose answers are files."""

    backend, model, where = JUDGE, MODEL, "a folder"
    caches_from: int | None = None
    room = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.missing: dict[str, Question] = {}

    def name(self, question: Question) -> str:
        return f"{question.job}-{question.about[:12]}-{question.key[:10]}"

    def text(self, question: Question) -> str | None:
        """The answer, if there is one; what can't be used is told."""
        file = self.folder / f"{self.name(question)}.answer.json"
        if not file.is_file():
            self.missing[question.key] = question
            return None
        text = file.read_text("utf-8")
        if wrong := check_reply(question, text):
            print(f"{file}: {wrong}", file=sys.stderr)
        return text

    async def ask(self, question: Question) -> Answer:
        text = self.text(question)
        if text is None:
            raise ModelUnavailable(f"no answer to {self.name(question)}")
        return Answer(text=text, usage=Usage(input=1, output=1), model=MODEL)

    async def close(self) -> None: ...

    def answer(self, questions: Sequence[Question]) -> Answers:
        """All answers, or none: what hangs on one that is missing is not put yet."""
        found = {one.key: (one, self.text(one)) for one in questions}
        if any(text is None for _, text in found.values()):
            raise Unanswered
        return {
            key: QuestionResult(key=key, job=one.job, version=one.version, text=text or "")
            for key, (one, text) in found.items()
        }

    def write(self) -> int:
        """Write what is missing, in the order in which a model sees it."""
        for one in self.missing.values():
            told = f"{one.system}\n\n{one.material}\n\n{render_task(one, schema=True)}\n"
            (self.folder / f"{self.name(one)}.txt").write_text(told, "utf-8", errors="surrogatepass")
            schema = msgspec.json.format(one.schema, indent=1)
            (self.folder / f"{one.job}.schema.json").write_bytes(schema)
        return len(self.missing)


@contextmanager
def running(folder: Path) -> Iterator[tuple[ScoringRun, FolderModel]]:
    """A scoring of the files that are remembered, in a store of its own."""
    files = [Path(line) for line in (folder / LIST).read_text("utf-8").splitlines()]
    config = Config(judge=JUDGE, timezone="UTC", model=Model(name=MODEL, at_once=1, tries=1))
    with tempfile.TemporaryDirectory() as scratch, closing(open_store(f"sqlite:///{scratch}/s.db")) as store:
        changes = scan(store, find_files(files), 1, lambda *_: None)
        model = FolderModel(folder)
        client = ModelClient(store, config, model)
        with closing(client), open_run(store, config, changes.roots, models=ModelAccess(client=client), jobs=1) as run:
            yield run, model


def write(folder: Path) -> None:
    """Put the questions whose turn it is: topics, then sessions, then those of several streams."""
    with running(folder) as (run, model):
        tasks = (task for batch in run.split_batches(run.find_waiting(set())) for task in batch)
        for dialogue in map(cut_stream, tasks):
            with suppress(Unanswered):
                hold_dialogue(dialogue, model.answer)
        if not model.missing:
            run.judge_streams()
            several = [one for one in run.link_all() if len(one.segments) > 1]
            for joined in map(judge_joined_sessions, run.build_join_tasks(run.list_parts(several))):
                with suppress(Unanswered):
                    hold_dialogue(joined, model.answer)
        count = model.write()
    print(f"{count} questions to be answered in {folder}" if count else f"all is answered: answer {folder}")


def answer(folder: Path) -> None:
    """Print what the answers come to."""
    with running(folder) as (run, model):
        report = score_run(run, remembers=False).report
    sys.stdout.buffer.write(encode_json(report) + b"\n")
    if model.missing:
        sys.exit(f"{len(model.missing)} questions have no answer; the offline judge did for them")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=__doc__)
    parser.add_argument("what", choices=("write", "answer"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args()
    folder = given.out or (given.files.pop(0) if given.files else parser.error("name a folder"))
    os.makedirs(folder, exist_ok=True)
    if given.files:
        (folder / LIST).write_text("".join(f"{one.resolve()}\n" for one in given.files), "utf-8")
    if not (folder / LIST).is_file():
        parser.error("name transcripts, and a folder with -o")
    {"write": write, "answer": answer}[given.what](folder)


if __name__ == "__main__":
    main()
