"""The rubric judge: a model is asked how well a result meets its task's rubric; best effort, and it knows no arm."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from assay.config import Config
from assay.errors import BadInput, JudgeError
from assay.evals.running import run_folder
from assay.evals.tasks.task import Task
from assay.judges.model import trial
from assay.llm import Question
from assay.pipeline.models import ModelClient, open_models
from assay.sessions.redaction import Redactor
from assay.sessions.rendering.frame import quote_text, render_frame
from assay.stores import open_store, pick_store_url
from assay.types.value import Row

RATIONALE, NOBODY = "judge.json", "nobody"
MOST_ASKED, MOST_DIFF, MOST_SAID = 8_000, 60_000, 6_000
"""Characters of what was asked, changed and said that a judge is shown."""


class Ruling(Row, frozen=True):
    """`judge.json` of a trial: what was said of its rubric, or why nothing was."""

    score: float | None
    rationale: str
    judge: str
    version: str
    trouble: str = ""


class RubricJudge:
    """Asks about rubrics in a thread of its own: a store and a connection belong to one, trials run in many."""

    def __init__(self, config: Config, env: Mapping[str, str]) -> None:
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="judge")
        self.client = self.pool.submit(open_model, config, env).result()
        self.name = (
            f"{self.client.model.backend} {self.client.model.model} {trial.hash_version(self.client.model.model)}"
        )

    def __call__(self, task: Task, folder: Path) -> float | None:
        return self.pool.submit(judge_trial, self.client, self.name, task, folder).result()

    def ask(self, task: Task, folder: Path) -> Ruling:
        """What is said of a recorded trial; nothing is written beside it, for its files are on record."""
        return self.pool.submit(ask_ruling, self.client, self.name, task, folder).result()

    def close(self) -> None:
        """Let go of the model and of the store."""
        self.pool.submit(self.client.close).result()
        self.pool.submit(self.client.store.close).result()
        self.pool.shutdown()


def open_model(config: Config, env: Mapping[str, str]) -> ModelClient:
    """Whom these settings ask; nobody there is an error before anything is spent."""
    store = open_store(pick_store_url(config.store, env))
    found = open_models(store, config, env)
    if found.client is None:
        store.close()
        raise BadInput(f"{found.unavailable or 'no model is set'}; --judge offline leaves rubrics unjudged")
    return found.client


def judge_trial(client: ModelClient, name: str, task: Task, folder: Path) -> float | None:
    """What a model says of a trial; `None` where it says nothing, and why lies beside it."""
    ruling = ask_ruling(client, name, task, folder)
    (folder / RATIONALE).write_bytes(msgspec.json.format(msgspec.json.encode(ruling), indent=1))
    return ruling.score


def ask_ruling(client: ModelClient, name: str, task: Task, folder: Path) -> Ruling:
    """Ask a model about a trial, or tell why it said nothing."""
    asked = build_question(client.model.model, task, folder)
    try:
        said = trial.read_mark(client.ask_questions([asked])[asked.key])
    except JudgeError as error:
        return Ruling(score=None, rationale="", judge=name, version=asked.version, trouble=str(error))
    return Ruling(score=said.score, rationale=said.rationale, judge=name, version=asked.version)


def build_question(model: str, task: Task, folder: Path) -> Question:
    """The question about one trial: what was asked, what changed, what was said; neither arm nor configuration."""
    redactor = Redactor()
    body = [
        "what the agent was asked:",
        *quote_text(redactor.text(task.prompt), MOST_ASKED),
        "what it changed, as a diff:",
        *quote_text(redactor.text(read_text(folder / run_folder.DIFF)) or "nothing", MOST_DIFF, MOST_SAID),
        "what it said at the end:",
        *quote_text(redactor.text(read_text(folder / run_folder.OUT)) or "nothing", 0, MOST_SAID),
    ]
    return trial.build_question(model, redactor.text(task.rubric), redactor.text(render_frame("one trial", body)))


def read_text(file: Path) -> str:
    return file.read_text("utf-8", "replace") if file.is_file() else ""


def load_rationale(folder: Path) -> str:
    """Why a trial was judged as it was, or not judged."""
    try:
        ruling = msgspec.json.decode((folder / RATIONALE).read_bytes(), type=Ruling)
    except (OSError, msgspec.DecodeError):
        return ""
    return ruling.rationale or ruling.trouble
