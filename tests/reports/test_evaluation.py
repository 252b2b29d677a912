"""Reports of evaluations: one account on a terminal, in JUnit, as a comment and as a page; nothing hostile gets out."""

import io
import re
import xml.etree.ElementTree as ET
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console

from assay.reports import evaluation
from assay.reports.evaluation import explain_difference
from assay.reports.evaluation_files import MARKER, encode_evaluation, render_junit, render_markdown
from assay.types.evals import (
    ArmLine,
    CheckResult,
    Cost,
    Design,
    Evaluation,
    Evidence,
    Regression,
    RunLine,
    Statistics,
    TaskResult,
    Thresholds,
    TrialLine,
)
from assay.web.pages.evaluation import MOST_DETAILED, render_evaluation_file
from tests.tables import each_row

EVIDENCE = Evidence(thresholds=Thresholds(), design=Design(tasks=(), repeats=1), trials=6, trials_sha256="")
COST = Cost(tokens=10, tool_calls=1, steps=1, wall_s=0.5, usd=None)


def cell(task: str, arm: str, hit: bool | None, **more: Any) -> TrialLine:
    checks = () if hit is None else (CheckResult(name="is blue", kind="command", passed=hit, detail="exit 1"),)
    fields = {"state": "done", "repeat": 1, "stage": "main", "judge01": None, "cost": COST, "attempts": 1}
    return TrialLine(**{"task": task, "arm": arm, "checks": checks, "folder": f"trials/{task}/{arm}", **fields, **more})


def line(task: str, before: int, after: int) -> TaskResult:
    return TaskResult(
        task=task, baseline=float(before), candidate=float(after), delta=float(after - before),
        baseline_passes=before, candidate_passes=after, baseline_trials=1, candidate_trials=1,
    )  # fmt: skip


def arm(name: str) -> ArmLine:
    return ArmLine(config=name, sha256="ab" * 32, agent="command", version="", model="", commit="", files={})


def found(names: tuple[str, str, str] = ("even", "gains", "loses"), **more: Any) -> Evaluation:
    """An evaluation in which nothing changed on one task, one gained, and one lost."""
    even, gains, loses = names
    hits = {even: (True, True), gains: (False, True), loses: (True, False)}
    cells = [cell(task, side, hit) for task, two in hits.items() for side, hit in zip(("baseline", "candidate"), two, strict=True)]  # fmt: skip  # noqa: E501
    run = RunLine(
        folder="/runs/one", planned=6, done=6, usd=0.0, unpriced=6, stopped="", sandbox="trials ran in bubblewrap",
        judge="nobody", plan=("finds +44 points",), notes=(), arms={"baseline": arm("old"), "candidate": arm("new")},
        trials=tuple(cells),
    )  # fmt: skip
    made = Evaluation(
        verdict="regressed", promote=False, exit_code=1, net_gain=0.0, rule="seed", label="single-run",
        reasons=("there is at least one hard regression",), objections=("1 hard regressions",),
        tasks=(line(even, 1, 1), line(gains, 0, 1), line(loses, 1, 0)),
        regressions=(Regression(task=loses, kind="objective_drop", detail="1 → 0"),), suspects=(), wanted=(),
        statistics=Statistics(tasks=3, repeats=1, informative=2), evidence=EVIDENCE, run=run,
    )  # fmt: skip
    return replace(made, **more)


def on_terminal(one: Evaluation) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    console.print(evaluation.render_evaluation(one))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def on_page(one: Evaluation) -> str:
    return render_evaluation_file(one, Path("/runs")).decode()


READERS = {
    "terminal": on_terminal,
    "markdown": lambda one: render_markdown(one).decode(),
    "page": on_page,
    "junit": lambda one: render_junit(one).decode(),
}


@pytest.mark.parametrize("reader", READERS)
def test_tasks_on_which_the_sides_differ_come_first_and_losses_before_gains(reader: str):
    told = READERS[reader](found())
    places = [re.search(rf"(^|[>\s\"]){name}\b", told[told.find("Hard regressions") + 80 :]) for name in ("loses", "gains", "even")]  # fmt: skip  # noqa: E501
    starts = [place.start() for place in places if place]
    assert len(starts) == 3
    assert starts == sorted(starts)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_is_told_verdict_reason_and_label(reader: str):
    told = READERS[reader](found())
    assert not [word for word in ("regressed", "single", "at least one hard regression") if word not in told]
    assert "bubblewrap" in told or reader == "junit"


@pytest.mark.parametrize("reader", READERS)
def test_a_run_that_the_budget_stopped_says_so(reader: str):
    stopped = found(run=replace(found().run, stopped="budget"))
    assert "stopped by the budget" in READERS[reader](stopped)
    assert "stopped by" not in READERS[reader](found())


def test_what_a_difference_is_made_of_is_told():
    one = TaskResult(
        task="hem", baseline=0.5, candidate=0.83, delta=0.33, baseline_base=0.5, candidate_base=0.8,
        baseline_objective=0.5, candidate_objective=1.0, is_judged=True,
    )  # fmt: skip
    assert explain_difference(one) == "hem: +0.330 = checks 0.50 → 1.00, with the judge 0.50 → 0.80, cost +0.030"
    assert explain_difference(msgspec.structs.replace(one, delta=0.0)) == ""
    assert explain_difference(msgspec.structs.replace(one, baseline_base=None)) == ""
    shown = " ".join(on_terminal(found(tasks=(one,))).split())
    assert "0.6 · checks passed + 0.4 · judge" in shown
    assert "hem: +0.330 =" in shown
    assert "0.6 · checks passed" in render_markdown(found(tasks=(one,))).decode()


def test_a_comment_can_be_found_again():
    assert render_markdown(found()).decode().splitlines()[0] == MARKER


def test_machines_read_what_the_design_names():
    told = msgspec.json.decode(encode_evaluation(found()))
    assert told["schema_version"] == 1
    assert {"verdict", "promote", "net_gain", "tasks", "regressions", "statistics"} <= set(told)
    assert {"task", "baseline", "candidate", "delta"} <= set(told["tasks"][0])
    assert told["regressions"] == [{"task": "loses", "kind": "objective_drop", "detail": "1 → 0"}]
    assert msgspec.json.decode(encode_evaluation(found()), type=Evaluation) == found()


def test_junit_fails_for_the_verdict_and_for_each_regression():
    suite = ET.fromstring(render_junit(found()))[0]
    failed = [case.attrib["name"] for case in suite if case.find("failure") is not None]
    assert failed == ["may the candidate go in?", "loses"]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("4", "2")
    fine = found(verdict="improved", promote=True, exit_code=0, regressions=())
    assert ET.fromstring(render_junit(fine))[0].attrib["failures"] == "0"


def test_junit_skips_a_task_that_does_not_count():
    left = replace(line("even", 0, 0), left_out="judged on one side only")
    suite = ET.fromstring(render_junit(found(tasks=(left,), regressions=())))[0]
    assert suite.attrib["skipped"] == "1"


def test_a_cell_leads_to_its_trial_and_that_to_its_transcript():
    cells = found().run.trials
    told = replace(cells[0], transcripts=("trials/even/baseline/transcript/01.jsonl",))
    html = on_page(found(run=replace(found().run, trials=(told, *cells[1:]))))
    assert 'href="one/trials/even/baseline/transcript/01.jsonl"' in html
    places = re.findall(r'href="#(trial-\d+)"', html)
    assert len(places) == len(cells)
    assert not [place for place in places if f'id="{place}"' not in html]


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


OURS = set("html head meta title link style script body header nav ul li a main section article h1 h2 h3 p div span b code table caption thead tbody tr th td details summary dl dt dd svg rect line button dialog kbd form".split())  # fmt: skip  # noqa: E501
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "javascript:alert(1)",
    "]]></failure><x>",
    "\x1b[2J\u202e\x00\ufffe",
    "| a | b |\n# c",
    "[x](https://evil.example)",
    "--><b>",
]


def with_words(words: str) -> Evaluation:
    """An evaluation in which every text that others write is this one."""
    made = found()
    bad = replace(
        made.run.trials[0], checks=(CheckResult(name=words, kind=words, passed=False, detail=words),), why=words,
        rationale=words, judge01=0.5, folder=words, transcripts=(words,), files=(words,),
    )  # fmt: skip
    run = replace(
        made.run, trials=(bad, *made.run.trials), notes=(words,), plan=(words,), sandbox=words, judge=words,
        arms={name: replace(side, config=words, version=words) for name, side in made.run.arms.items()},
    )  # fmt: skip
    lost = Regression(task=words, kind="objective_drop", detail=words)
    tasks = (replace(made.tasks[0], task=words, left_out=words), *made.tasks[1:])
    return replace(made, reasons=(words,), tasks=tasks, regressions=(lost,), run=run)


def is_harmless(words: str) -> None:
    one = with_words(words)
    tags = Tags()
    tags.feed(on_page(one))
    assert tags.tags <= OURS
    assert not [name for name in tags.names if name.startswith("on")]
    own = "data:image/svg+xml;base64,"
    assert not [
        link for link in tags.links if re.match(r"\s*[a-z]+:|//", link, re.IGNORECASE) and not link.startswith(own)
    ]
    ET.fromstring(render_junit(one))
    comment = render_markdown(one).decode()
    assert comment.count("<!--") == 1
    assert not re.search(r"<(?!!-- assay)", comment)
    assert not re.search("[\x00-\x08\x0b-\x1f\x9b\u202e]", on_terminal(one) + comment)


@each_row("words", HOSTILE)
def test_hostile_words_do_nothing_anywhere(words: str):
    is_harmless(words)


@given(st.text(max_size=60))
def test_no_words_do_anything(words: str):
    is_harmless(words)


def test_a_page_needs_no_network():
    html = on_page(found())
    tags = Tags()
    tags.feed(html)
    assert not [link for link in tags.links if not link.startswith(("#", "data:image/svg+xml;base64,", "one/"))]
    assert "default-src 'none'" in unescape(html)
    assert "unsafe" not in html


def test_a_value_beyond_0_and_1_is_explained_with_a_word():
    tasks = (replace(line("even", 1, 1), baseline=1.02, candidate=-0.03, delta=-1.05),)
    html = on_page(found(tasks=tasks))
    assert "all passed, at less cost" in html
    assert "none passed, at more cost" in html
    assert "no mistake" in html
    assert "no mistake" not in on_page(found())


def test_of_very_many_trials_some_are_told_one_by_one_and_none_leads_nowhere():
    cells = tuple(cell("even", "baseline", hit=True, repeat=n) for n in range(1, 500))
    html = on_page(found(run=replace(found().run, trials=cells)))
    places = re.findall(r'href="#(trial-\d+)"', html)
    assert len(places) == MOST_DETAILED
    assert not [place for place in places if f'id="{place}"' not in html]
    assert "99 more trials" in html
