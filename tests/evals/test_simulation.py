"""The error rates that the documentation claims, on a small scale: seeded, and wide enough for luck alone."""

import numpy as np
import pytest

from assay.evals.deciding.compare import compare
from benchmarks import gate, gate_twin
from benchmarks.gate_world import central, draw, lifted


def dice(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def at_most(share: float, runs: int) -> float:
    """Percent that a true share stays below in all but a thousand cases."""
    return 100 * (share + 3.1 * (share * (1 - share) / runs) ** 0.5)


@pytest.mark.parametrize(("tasks", "repeats"), [(5, 3), (10, 3), (20, 5)])
def test_equal_arms_are_called_better_or_worse_once_in_a_hundred_and_never_by_the_seeds_rate(tasks, repeats):
    cell = gate.measure(dice(), gate.Maker(tasks), repeats, 1_500)
    assert cell.share("promoted") <= at_most(0.01, 1_500)
    assert cell.share("regressed") <= at_most(0.01, 1_500)
    assert cell.share("regressed") > 0
    assert cell.share("seed_regressed") > 79


@pytest.mark.parametrize(
    ("tasks", "repeats", "gain", "least"), [(20, 5, 0.20, 88), (40, 5, 0.15, 90), (10, 3, 0.10, 4)]
)
def test_a_gain_is_found_as_often_as_the_planner_says(tasks, repeats, gain, least):
    cell = gate.measure(dice(), gate.Maker(tasks, gain), repeats, 300)
    assert least <= cell.share("promoted") <= 100 * gate_power(tasks, repeats, gain) + 8


def gate_power(tasks: int, repeats: int, gain: float) -> float:
    from assay.evals.deciding.planner import plan_suite

    power = plan_suite(tasks, repeats, 100 * gain).power
    assert power is not None
    return power


def test_the_guard_finds_a_broken_task_and_seldom_a_whole_one():
    broken = gate.measure(dice(), gate.Maker(20, 0.15, "broken"), 5, 250, is_guarded=False)
    assert broken.share("caught") >= 76
    whole = gate.measure(dice(), gate.Maker(20), 5, 250, is_guarded=False)
    assert whole.share("vetoed") <= 5


@pytest.mark.parametrize("kind", ["fail", "pass"])
def test_cost_noise_alone_promotes_nothing_where_every_trial_ends_alike(kind):
    cell = gate.measure(dice(), gate.Maker(10, kind=kind), 3, 1_500)
    assert cell.share("promoted") <= at_most(0.001, 1_500)
    assert cell.promoted == 0 or kind == "pass"


def test_breaking_a_tenth_of_the_tasks_is_not_promoted():
    assert gate.measure(dice(), gate.Maker(20, kind="skewed"), 5, 400).share("promoted") <= at_most(0.01, 400)


def test_looking_early_costs_no_more_error_and_saves_trials():
    superior, stopped = gate.looks(draw(dice(), central(dice(), 20, 3_000), 10))
    assert 100 * superior.mean() <= at_most(0.01, 3_000)
    assert stopped.mean() < 5


@pytest.mark.parametrize("gain", [0.0, 0.3])
@pytest.mark.parametrize("is_judged", [True, False])
def test_the_benchmark_decides_as_the_product_does(gain, is_judged):
    world = central(dice(3), 6, 12, is_judged=is_judged)
    drawn = draw(dice(4), lifted(world, gain) if gain else world, 3)
    better, worse = gate.chances(gate.scores(drawn), 20_261)
    superior, lost = gate.tested(drawn, 20_261)
    for suite in range(12):
        found = compare(*drawn.trials(suite))
        assert found.statistics.p_better == pytest.approx(better[suite], abs=1e-9)
        assert found.statistics.p_worse == pytest.approx(worse[suite], abs=1e-9)
        assert (found.verdict in ("improved", "mixed") or bool(found.suspects)) == superior[suite]
        assert (found.verdict == "regressed") == lost[suite]
    assert superior.any() or not gain


def test_the_benchmark_looks_as_the_product_does():
    from assay.types.evals import Design

    drawn = draw(dice(5), lifted(central(dice(6), 8, 6), 0.3), 10)
    superior, stopped = gate.looks(drawn)
    plan = Design(tasks=tuple(f"task {n:02}" for n in range(8)), repeats=10, is_sequential=True)
    for suite in range(6):
        found = compare(*drawn.trials(suite), design=plan)
        assert (found.verdict in ("improved", "mixed") or bool(found.suspects)) == superior[suite]
        assert found.statistics.look == stopped[suite] // 2


def test_the_seed_rule_of_the_benchmark_is_the_products():
    drawn = draw(dice(8), lifted(central(dice(9), 3, 40), 0.1), 1)
    improved, regressed = gate.seed_rule(drawn)
    verdicts = [compare(*drawn.trials(suite)).verdict for suite in range(40)]
    assert [one == "improved" for one in verdicts] == list(improved)
    assert [one == "regressed" for one in verdicts] == list(regressed)
    assert improved.any()


@pytest.mark.long
@pytest.mark.parametrize("lie", [1.0, 0.15])
def test_an_equal_candidate_that_loses_what_it_would_fail_is_promoted_no_more_often_than_luck(lie):
    suites = 250
    assert 100 * gate_twin.promoted(dice(), 8, 5, lie, suites) / suites <= at_most(0.01, suites)
