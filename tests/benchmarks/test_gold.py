"""The measures on cases small enough to count by hand, and the command as it is run."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import build_prompt, build_result, build_shell_call, encode_lines, format_time
from benchmarks import agreement
from benchmarks.agreement import Case, Counts
from benchmarks.findings import findings
from benchmarks.labelled import Transcript, match, transcript, when

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"

HOUR = 3600


def label(second: float, **more: Any) -> dict[str, Any]:
    """A goal as readers label it."""
    return {"at": format_time(second), "intent": "feature", "goal_complete": True, "failure": None, **more}


def labelled(seconds: list[float], *goals: dict[str, Any], maybe: tuple[float, ...] = ()) -> dict[str, Any]:
    """A stream as readers label it."""
    prompts, unsure = [format_time(second) for second in seconds], [format_time(second) for second in maybe]
    return {
        "file": "a.jsonl", "agent": "codex", "prompts_at": prompts, "goals": list(goals), "maybe_starts_at": unsure
    }  # fmt: skip


def session(*seconds: float, **more: Any) -> dict[str, Any]:
    """A session as `assay score --json` prints it, as far as it is looked at."""
    kinds, fired = more.pop("kinds", ()), more.pop("fired", ())
    facts = {"turns": len(seconds), "failure_signals": [{"kind": kind} for kind in fired]}
    judged = {"intent": "feature", "goal_complete": True, "confidence": 0.9, "reasons": [{"kind": k} for k in kinds]}
    return {"prompts_at": [format_time(second) for second in seconds], "facts": facts, **judged, **more}


def compared(gold: list[dict[str, Any]], sessions: list[dict[str, Any]], text: Transcript | None = None):
    return findings(match(gold, sessions, {"a.jsonl": text} if text else {}), {"backend": "offline"})


# --- measures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1"),
    [
        (Counts(tp=3, fp=1, fn=2), 0.75, 0.6, 6 / 9),
        (Counts(tp=0, fp=0, fn=2), None, 0.0, 0.0),
        (Counts(tp=0, fp=4, fn=0), 0.0, None, 0.0),
        (Counts(), None, None, None),
    ],
)
def test_a_ratio_over_nothing_is_none(counts: Counts, precision: Any, recall: Any, f1: Any):
    assert (counts.precision, counts.recall, counts.f1) == (precision, recall, f1)


@pytest.mark.parametrize(("gaps", "size"), [("........", 4), ("...1....", 2), (".", 1), ("", 1), ("1.1.1.1.", 1)])
def test_the_window_is_half_the_mean_labelled_goal(gaps: str, size: int):
    assert agreement.window([gap == "1" for gap in gaps]) == size


@pytest.mark.parametrize(
    ("reference", "guess", "pk", "windowdiff"),
    [
        ("...1....", "...1....", 0, 0),
        ("...1....", "........", 2 / 7, 2 / 7),
        ("...1....", "..11....", 1 / 7, 2 / 7),  # of the windows of 2, one has two boundaries for one
        ("........", "1111....", 4 / 5, 4 / 5),
        ("", "", None, None),
    ],
)
def test_pk_asks_whether_and_windowdiff_how_many(reference: str, guess: str, pk: Any, windowdiff: Any):
    pair = [gap == "1" for gap in reference], [gap == "1" for gap in guess]
    assert agreement.pk_and_windowdiff([pair]) == (pk, windowdiff)


def test_windows_of_all_streams_are_pooled():
    found, missed = ([True, False], [True, False]), ([True, False], [False, False])
    assert agreement.pk_and_windowdiff([found, missed]) == (1 / 4, 1 / 4)


def test_kappa_is_agreement_beyond_chance():
    pairs = [("bug_fix", "bug_fix")] * 2 + [("feature", "feature"), ("feature", "bug_fix")]
    assert agreement.kappa(pairs) == pytest.approx((0.75 - 0.5) / 0.5)
    assert agreement.kappa([("plan", "plan")]) is None
    assert agreement.macro_f1(pairs) == pytest.approx((4 / 5 + 2 / 3) / 2)


def test_a_class_that_has_no_label_is_not_in_macro_f1():
    assert agreement.macro_f1([("plan", "plan"), ("plan", "none")]) == pytest.approx(2 / 3)


def test_verdicts_of_four_cases():
    labels, answers = (True, True, True, False), (True, True, False, False)
    cases = list(map(Case, labels, answers, (0.9, 0.6, 0.4, 0.4)))
    found = agreement.verdicts(cases)
    assert (found.n, found.true, found.false, found.accuracy) == (4, 3, 1, 0.75)
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 1) / 2)
    assert found.auc == pytest.approx(2.5 / 3)
    assert found.brier == pytest.approx((0.01 + 0.16 + 0.36 + 0.16) / 4)
    assert (found.recall_false, found.precision_false, found.f1_false) == (1, 0.5, pytest.approx(2 / 3))


def test_one_class_alone_has_no_balanced_accuracy_and_no_auc():
    found = agreement.verdicts([Case(label=True, said=True, rank=1.0)])
    assert (found.accuracy, found.balanced_accuracy, found.auc, found.recall_false) == (1, None, None, None)


def test_every_probability_lies_in_one_band():
    bands = agreement.reliability([Case(label=p > 0.5, said=True, rank=p) for p in (0.0, 0.19, 0.2, 0.59, 0.8, 1.0)])
    assert [band.n for band in bands] == [2, 1, 1, 0, 2]
    assert (bands[-1].mean_p, bands[-1].share_true) == (pytest.approx(0.9), 1)
    assert (bands[3].mean_p, bands[3].share_true) == (None, None)


def test_the_interval_is_the_same_every_time_and_holds_the_figure():
    counts = [Counts(1, 0, 0), Counts(0, 1, 0), Counts(1, 0, 1), Counts(1, 1, 0), Counts(0, 0, 1)] * 4
    low, high = agreement.interval(counts, lambda drawn: drawn.f1) or (1, 0)
    assert (low, high) == agreement.interval(counts, lambda drawn: drawn.f1)
    assert 0.3 < low < (agreement.total(counts).f1 or 0) < high < 0.9
    assert agreement.interval([], lambda drawn: drawn.f1) is None


# --- boundaries ---------------------------------------------------------------------------------


def test_a_boundary_that_one_reader_saw_counts_neither_way():
    gold = [labelled([0, 10, 20, 30], label(0), label(10), maybe=(20,))]
    found = compared(gold, [session(0), session(10), session(20), session(30)]).boundaries
    ours = found.methods[0]
    assert (found.gaps, found.boundaries, found.maybe) == (3, 1, 1)
    assert (ours.tp, ours.fp, ours.fn) == (1, 1, 0)
    at_maybe_only = compared(gold, [session(0), session(10), session(20, 30)]).boundaries.methods[0]
    assert (at_maybe_only.fp, at_maybe_only.pk) == (0, 0)


def test_where_a_stream_begins_is_no_boundary_found():
    found = compared([labelled([0, 10], label(0))], [session(0, 10)]).boundaries.methods[0]
    assert (found.tp, found.fp, found.fn, found.f1) == (0, 0, 0, None)


def test_the_baselines_split_never_always_after_a_pause_or_after_a_commit():
    gold = [labelled([0, 10, 20 + HOUR, 30 + HOUR], label(0), label(20 + HOUR))]
    text = Transcript(commits=(when(format_time(12)), when(format_time(31 + HOUR))), cjk=frozenset())
    rows = {row.method: (row.tp, row.fp, row.fn) for row in compared(gold, [session(0)], text).boundaries.methods}
    assert rows == {
        "assay": (0, 0, 1), "never split": (0, 0, 1), "always split": (1, 2, 0),
        "pause > 60 min": (1, 0, 0), "commit before": (1, 0, 0),
    }  # fmt: skip


def test_without_transcripts_the_commit_baseline_is_left_out_and_told():
    found = compared([labelled([0], label(0))], [session(0)]).boundaries
    assert "commit before" not in [row.method for row in found.methods]
    assert "1 of 1" in found.left_out["commit before"]


def test_a_transcript_gives_commits_that_went_through_and_prompts_in_cjk(tmp_path: Path):
    records = [
        build_prompt(0, "weave"), build_shell_call(1, "git commit -am knot"), build_result(2, 1, "[main abc1234] knot"),
        build_prompt(10, "青いスカーフを編んで"), build_shell_call(11, "git commit -am rip"),
        build_shell_call(12, "ls"), build_result(13, 12, "loom"),
    ]  # fmt: skip
    file = tmp_path / "a.jsonl"
    file.write_bytes(encode_lines(records))
    assert transcript(file) == Transcript((when(format_time(1)),), frozenset({when(format_time(10))}))


# --- intents and outcomes -----------------------------------------------------------------------


def test_a_list_accepts_any_of_its_members():
    gold = [
        labelled([0, 10, 20], label(0, intent=["review", "bug_fix"]), label(10, intent=["plan", "question"]), label(20))
    ]
    sessions = [session(0, intent="bug_fix"), session(10, intent=None), session(20)]
    found = compared(gold, sessions).intents
    assert found.methods[0].accuracy == pytest.approx(2 / 3)
    assert found.confusion["plan"] == {"bug_fix": 0, "feature": 0, "none": 1}
    assert found.recall == {"plan": (1, 0), "bug_fix": (1, 1), "feature": (1, 1)}


def test_a_goal_belongs_to_the_session_that_holds_its_first_prompt():
    gold = [labelled([0, 10, 20], label(0), label(10), label(20))]
    found = compared(gold, [session(0, 10)])
    assert (found.boundaries.prompts_found, found.intents.methods[0].n, found.intents.without_session) == (2, 2, 1)
    assert (found.goals.labelled, found.goals.graded, found.goals.without_session) == (3, 2, 1)


def test_the_majority_baseline_names_what_is_right_most_often():
    gold = [labelled([0, 10, 20], label(0), label(10, intent=["plan", "feature"]), label(20, intent="plan"))]
    usual = compared(gold, [session(0, 10, 20)]).intents.methods[1]
    assert (usual.method, usual.n, usual.accuracy) == ("always feature", 3, pytest.approx(2 / 3))


def test_an_ungraded_session_is_counted_and_not_scored():
    gold = [labelled([0, 10, 20], label(0), label(10), label(20, goal_complete=None))]
    found = compared(gold, [session(0), session(10, goal_complete=None, confidence=None), session(20)]).goals
    assert (found.labelled, found.graded, found.ungraded) == (2, 1, 1)
    assert {row.n for row in found.methods.values()} == {1}


@pytest.mark.parametrize(
    ("kinds", "ended", "believed"),
    [
        (["says_done"], True, True),
        (["says_done", "green_check"], True, True),
        (["green_check"], True, False),
        (["says_done", "interrupted"], False, False),
        (["api_error"], False, False),
        ([], True, False),
    ],
)
def test_the_baselines_read_the_reasons(kinds: list[str], ended: bool, believed: bool):
    found = compared([labelled([0], label(0))], [session(0, kinds=kinds)])
    rows = found.goals.methods
    assert (rows["ended properly"].accuracy, rows["believe the agent"].accuracy) == (ended, believed)
    assert found.ended_properly.labelled == ended


def test_shorter_is_better_takes_the_median_and_is_no_probability():
    gold = [labelled([0, 10, 20, 30, 40, 50], label(0), label(10), label(30, goal_complete=False))]
    row = compared(gold, [session(0), session(10, 20), session(30, 40, 50)]).goals.methods["shorter is better"]
    assert (row.accuracy, row.auc, row.brier) == (1, 1, None)


# --- failure signals and slices -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "fired", "expected"),
    [
        ("abandoned", ["scope_abandoned"], {"scope_abandoned": (1, 1, 1)}),
        ("abandoned", ["frustration"], {"scope_abandoned": (1, 0, 0), "frustration": (0, 1, 0)}),
        (["unresolved_error", "abandoned"], ["scope_abandoned"], {"scope_abandoned": (1, 1, 1)}),
        (["unresolved_error", "abandoned"], [], {"unresolved_error": (1, 0, 0)}),
        (["unresolved_error", None], [], {}),
        (None, ["iteration_loop"], {"iteration_loop": (0, 1, 0)}),
    ],
)
def test_a_signal_is_held_against_its_own_label(failure: Any, fired: list[str], expected: dict[str, Any]):
    found = compared([labelled([0], label(0, failure=failure))], [session(0, fired=fired)]).signals
    rows = {row.kind: (row.labelled, row.fired, row.hits) for row in found[:-1]}
    assert {kind: row for kind, row in rows.items() if any(row)} == expected


def test_any_signal_is_held_against_goals_that_are_not_complete():
    gold = [labelled([0, 10, 20], label(0, goal_complete=False), label(10), label(20, goal_complete=None))]
    sessions = [
        session(0, fired=["frustration"]),
        session(10, fired=["frustration"]),
        session(20, fired=["frustration"]),
    ]
    row = compared(gold, sessions).signals[-1]
    assert (row.n, row.labelled, row.fired, row.precision, row.recall) == (2, 1, 2, 0.5, 1)


def test_slices_are_by_agent_and_by_script_of_the_first_prompt():
    gold = [labelled([0, 10], label(0), label(10, intent="plan"))]
    text = Transcript(commits=(), cjk=frozenset({when(format_time(10))}))
    rows = {
        (row.by, row.name): (row.intent_n, row.intent_accuracy) for row in compared(gold, [session(0, 10)], text).slices
    }
    assert rows == {("agent", "codex"): (2, 0.5), ("script", "CJK"): (1, 0), ("script", "other"): (1, 1)}


# --- the command --------------------------------------------------------------------------------


def run(*args: object) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "benchmarks.gold", *map(str, args)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold, score = tmp_path / "gold.jsonl", tmp_path / "score.json"
    gold.write_text(json.dumps(labelled([0, 10], label(0), label(10, goal_complete=False))) + "\n")
    score.write_text(
        json.dumps({"judge": {"backend": "offline"}, "sessions": [session(0), session(10, goal_complete=False)]})
    )
    return gold, score


def test_the_command_prints_every_table_and_the_same_as_json(files: tuple[Path, Path], tmp_path: Path):
    gold, score = files
    told = run(gold, "--score", score, "--corpus", tmp_path / "none")
    assert told.returncode == 0, told.stderr
    for title in (
        "Boundaries",
        "Intent",
        "Goal complete",
        "Reliability",
        "end properly only",
        "Failure signals",
        "By agent",
    ):
        assert title in told.stdout
    found = json.loads(run(gold, "--score", score, "--corpus", tmp_path / "none", "--json").stdout)
    assert found["goals"]["methods"]["assay"]["balanced_accuracy"] == 1
    assert found["boundaries"]["methods"][0]["tp"] == 1


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        (["{no}"], "name a file of labelled streams"),
        (["{gold}", "--corpus", "{no}"], "give their folder with --corpus"),
        (["{gold}", "--score", "{no}"], "assay score"),
        (["{gold}", "--score", "{gold}"], "give what `assay score --json` prints"),
        (["{corpus}", "--score", "{score}"], "line 1 is not JSON"),
    ],
)
def test_what_is_not_there_is_told_with_what_to_do(
    files: tuple[Path, Path], tmp_path: Path, args: list[str], advice: str
):
    (tmp_path / "corpus.txt").write_text("weave\n")
    there = {"gold": files[0], "score": files[1], "no": tmp_path / "no", "corpus": tmp_path / "corpus.txt"}
    done = run(*(arg.format(**there) for arg in args))
    assert (done.returncode, done.stdout) == (2, "")
    assert advice in done.stderr


@pytest.mark.skipif(not (SHARED / "gold").is_dir(), reason=f"there are no labels at {SHARED / 'gold'}")
def test_the_figures_are_those_of_the_reference_evaluation(tmp_path: Path):
    """On made-up sessions that split too often, lose prompts, abstain and err."""
    gold = SHARED / "gold" / "dev.jsonl"
    sessions = []
    for number, line in enumerate(map(json.loads, gold.read_text().splitlines())):
        asked = line["prompts_at"][number % 5 == 4 :]
        for part in (asked[:4], asked[4:]) if number % 3 else (asked,):
            verdict = None if number % 11 == 3 else number % 7 != 2
            made = session(
                intent=("bug_fix", "feature", None)[number % 3], goal_complete=verdict, confidence=number % 9 / 9
            )
            sessions.append(made | {"prompts_at": part})
    score = tmp_path / "score.json"
    score.write_text(json.dumps({"sessions": sessions}))
    reference = subprocess.run(
        [sys.executable, SHARED / "gold" / "evaluate.py", gold, score], capture_output=True, text=True, check=True
    ).stdout
    found = json.loads(run(gold, "--score", score, "--corpus", tmp_path / "none", "--json").stdout)
    split, name = found["boundaries"]["methods"][0], found["intents"]["methods"][0]
    goal = found["goals"]["methods"]["assay"]
    ours = [
        found["boundaries"]["prompts_found"] / found["boundaries"]["prompts"], split["f1"], name["accuracy"],
        name["kappa"], goal["balanced_accuracy"], goal["accuracy"], goal["auc"],
    ]  # fmt: skip
    assert [f"{figure:.3f}" for figure in ours] == re.findall(r"\b\d\.\d{3}", reference)
    assert f"tp {split['tp']} fp {split['fp']} fn {split['fn']}" in reference
    assert f"n {goal['n']} (true {goal['true']} false {goal['false']}" in reference
