"""The corrected score is right whatever the judge is worth, and its interval holds what it says."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scores.correction import correct_share, find_best_weight, find_quantile
from assay.scores.interval import measure_estimate, measure_interval
from tests.make_sessions import QUICK

SHARES = st.floats(0, 1)
CHANCES = st.lists(SHARES, max_size=60)
AUDITED = st.lists(st.tuples(SHARES, st.booleans()), min_size=1, max_size=60)


def test_without_an_audit_there_is_no_correction():
    assert correct_share([0.5, 0.7], []) is None


@QUICK
@given(CHANCES, AUDITED)
def test_it_stays_inside_0_and_100_and_inside_its_interval(chances: list[float], audited: list[tuple[float, bool]]):
    found = correct_share(chances, audited)
    assert found
    assert 0 <= found.low <= found.value + 1e-9
    assert found.value <= found.high + 1e-9
    assert found.high <= 100
    assert 0 <= found.judge_weight <= 1
    assert found.audited == len(audited)


@QUICK
@given(CHANCES, AUDITED, SHARES)
def test_a_judge_that_tells_nothing_leaves_the_audit_alone(
    chances: list[float], audited: list[tuple[float, bool]], same: float
):
    said = [(same, landed) for _, landed in audited]
    found = correct_share(chances, said)
    landed = sum(one for _, one in said)
    assert found
    assert (found.value, found.judge_weight) == (pytest.approx(100 * landed / len(said)), 0.0)
    assert (found.low, found.high) == measure_interval(landed, len(said))


@QUICK
@given(AUDITED)
def test_where_all_were_audited_there_is_nothing_to_correct(audited: list[tuple[float, bool]]):
    found = correct_share([], audited)
    landed = sum(one for _, one in audited)
    assert found
    assert (found.value, found.judge_weight) == (pytest.approx(100 * landed / len(audited)), 0.0)
    assert (found.low, found.high) == measure_interval(landed, len(audited))


@pytest.mark.parametrize("landed", [True, False])
def test_an_audit_of_one_kind_alone_is_not_taken_for_certain(landed: bool):
    found = correct_share([0.2, 0.9] * 100, [(n / 40, landed) for n in range(40)])
    assert found
    assert (found.low, found.high) == measure_interval(40 * landed, 40)


def test_a_judge_that_is_always_right_is_worth_all_sessions():
    landed = [True] * 20 + [False] * 20
    found = correct_share([1.0] * 500 + [0.0] * 500, [(float(one), one) for one in landed])
    alone = measure_interval(20, 40)
    assert found
    assert found.judge_weight > 0.9
    assert found.high - found.low < 0.4 * (alone[1] - alone[0])


def test_a_judge_that_is_always_wrong_gets_no_weight():
    assert find_best_weight([(float(not one), one) for one in [True, False] * 20], 100) == 0.0


def test_a_judge_that_is_too_sure_of_itself_is_put_right():
    audited = [(0.9, n % 2 == 0) for n in range(30)] + [(0.99, True)] * 10
    found = correct_share([0.9] * 150 + [0.99] * 50, audited)
    assert found
    assert found.value == pytest.approx(62.5, abs=2)


@pytest.mark.parametrize(("freedom", "times"), [(-1, 12.706), (1, 12.706), (7, 2.447), (38, 2.042), (199, 1.980)])
def test_the_quantile_is_never_too_narrow(freedom: int, times: float):
    assert find_quantile(freedom) == times
    assert find_quantile(201) == pytest.approx(1.96, abs=0.001)


def test_an_estimate_that_is_worth_a_count_has_its_interval():
    assert measure_estimate(5 / 7, 7) == pytest.approx(measure_interval(5, 7))


# --- coverage, simulated --------------------------------------------------------------------------

WORLDS = {"even": (0.1, 1.6, -0.6), "good": (2.0, 1.5, -0.5), "nearly all": (3.5, 1.2, 0.0), "bad": (-1.5, 1.5, 0.5)}
"""Log-odds of landing in a world of sessions: their mean and spread, and what the judge is off by."""
SESSIONS, TIMES = 300, 400


def simulate(world: tuple[float, float, float], audited: int, random: Random) -> tuple[float, float, float]:
    """One person's sessions, audited at random: the interval, and the width of the audit's own."""
    found = []
    for _ in range(SESSIONS):
        odds = random.gauss(*world[:2])
        found.append((share_of(0.7 * odds + world[2]), random.random() < share_of(odds)))
    random.shuffle(found)
    known = correct_share([chance for chance, _ in found[audited:]], found[:audited])
    assert known
    low, high = measure_interval(sum(landed for _, landed in found[:audited]), audited)
    return known.low, known.high, high - low


def share_of(odds: float) -> float:
    return 1 / (1 + 2.718281828**-odds)


def true_share(world: tuple[float, float, float]) -> float:
    random = Random(1)
    return 100 * sum(share_of(random.gauss(*world[:2])) for _ in range(100_000)) / 100_000


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("audited", [20, 40, 80])
def test_the_truth_lies_in_the_interval_as_often_as_it_says(world: str, audited: int):
    truth, random = true_share(WORLDS[world]), Random(7)
    seen = [simulate(WORLDS[world], audited, random) for _ in range(TIMES)]
    covered = sum(low <= truth <= high for low, high, _ in seen) / TIMES
    assert covered >= 0.93
    widths = sum(high - low for low, high, _ in seen), sum(alone for _, _, alone in seen)
    assert widths[0] < 1.05 * widths[1]
