"""The gate fails closed, and an edited comparison is found out."""

import subprocess
import sys

import msgspec
import pytest
from msgspec.structs import replace

from assay.evals.deciding.compare import compare, verify_comparison
from assay.evals.deciding.gate import list_objections, pick_exit_code, should_promote
from assay.evals.deciding.seal import seal_comparison
from assay.types.evals import Comparison, Design, Regression, Suspect, Thresholds, TrialRequest
from tests.evals.make_trials import arms

QUICK = Thresholds(relabellings=999)
BETTER = arms([[0, 0, 0, 0, 1]] * 8, [[1, 1, 1, 1, 0]] * 8)
EQUAL = arms([[1, 0, 1, 0, 1]] * 8, [[0, 1, 0, 1, 1]] * 8)


@pytest.fixture(scope="module")
def improved() -> Comparison:
    return compare(*BETTER, QUICK)


@pytest.fixture(scope="module")
def inconclusive() -> Comparison:
    return compare(*EQUAL, QUICK)


def through_a_file(comparison: Comparison) -> Comparison:
    return msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison)


def test_a_comparison_survives_a_file(improved):
    read = through_a_file(improved)
    assert read == improved
    assert should_promote(read)
    assert verify_comparison(read, *BETTER) == ()


CHANGES = {
    "verdict": {"verdict": "improved"},
    "promote": {"promote": True},
    "both": {"verdict": "improved", "promote": True},
    "gain": {"net_gain": 0.9},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_edited_comparison_is_not_promoted(inconclusive, change):
    edited = replace(inconclusive, **change)
    assert not should_promote(edited)
    assert verify_comparison(edited, *EQUAL) == ("seal: the comparison was changed after it was made",)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_forged_seal_is_found_by_asking_the_trials(inconclusive, change):
    forged = seal_comparison(replace(inconclusive, **{**change, "wanted": (), "suspects": ()}))
    assert verify_comparison(forged, *EQUAL) == tuple(
        f"{name}: not what the trials say"
        for name in ("verdict", "promote", "net_gain", "evidence")
        if name in change or name == "evidence"
    )


def test_trials_edited_with_the_comparison_are_other_trials(improved):
    ours, theirs = BETTER
    assert verify_comparison(improved, ours, theirs[:-1]) == ("trials: these are not the trials that were compared",)
    edited = [replace(theirs[0], judge01=0.5), *theirs[1:]]
    assert verify_comparison(improved, ours, edited) == ("trials: these are not the trials that were compared",)


def test_limits_that_were_moved_afterwards_are_found(inconclusive):
    lax = compare(*EQUAL, replace(QUICK, alpha=0.9, min_gain=-1.0))
    assert verify_comparison(lax, *EQUAL) == ()
    assert verify_comparison(lax, *EQUAL, thresholds=QUICK)[0].startswith("thresholds")
    assert verify_comparison(lax, *EQUAL, design=Design(tasks=("x",), repeats=1))[0].startswith("design")
    design = inconclusive.evidence.design
    assert verify_comparison(inconclusive, *EQUAL, thresholds=QUICK, design=design) == ()


def test_where_a_trial_lies_is_no_part_of_what_it_says(improved):
    ours, theirs = BETTER
    assert verify_comparison(improved, [replace(one, folder="elsewhere") for one in ours], theirs) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "mixed"},
        {"verdict": "neutral"},
        {"verdict": "regressed"},
        {"verdict": "inconclusive"},
        {"verdict": "invalid"},
        {"promote": False},
        {"tasks": ()},
        {"wanted": (TrialRequest(task="a", stage="guard", repeats=16),)},
        {"regressions": (Regression(task="a", kind="objective_drop", detail=""),)},
        {"suspects": (Suspect(task="a", drop=0.4),)},
        {"suspects": (Suspect(task="a", drop=0.4, is_confirmed=True),)},
    ],
)
def test_each_single_objection_stops_a_promotion_even_under_a_good_seal(improved, change):
    assert len(list_objections(seal_comparison(replace(improved, **change)))) == 1
    assert not should_promote(seal_comparison(replace(improved, **change)))


def test_a_gap_stops_a_promotion(improved):
    gap = replace(improved, evidence=replace(improved.evidence, gaps=("a: not judged",)))
    assert list_objections(seal_comparison(gap)) == ("the evidence is not complete",)


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("improved", 0), ("regressed", 1), ("mixed", 1), ("neutral", 3), ("inconclusive", 3), ("invalid", 4)],
)
def test_every_verdict_has_its_exit_code_unless_the_budget_stopped_the_run(improved, verdict, code):
    said = seal_comparison(replace(improved, verdict=verdict))
    assert (pick_exit_code(said), pick_exit_code(said, is_over_budget=True)) == (code, 5)


def test_improved_but_not_promotable_is_invalid(improved):
    assert pick_exit_code(replace(improved, net_gain=9.0)) == 4


def test_numpy_waits_until_it_is_needed():
    code = (
        "import sys; import assay.evals.deciding.compare, assay.evals.deciding.planner; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
