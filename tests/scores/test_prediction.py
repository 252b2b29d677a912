"""Without an audit, where the truth lies is told by how far off the judge was elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scores.prediction import Spread, find_spread, predict_share
from tests.make_sessions import QUICK

EXACT = Spread(start=0.0, slope=1.0, between=0.5, repositories=14, goals=226)
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=80)


def test_the_offline_judge_was_measured_and_others_say_that_they_were_not():
    found = find_spread("offline")
    assert found
    assert found.between > 0
    assert (found.repositories >= 10, found.goals >= 100) == (True, True)
    assert find_spread("anthropic") is None


def test_nothing_is_predicted_of_nothing():
    assert predict_share([], EXACT) is None


@QUICK
@given(CHANCES, st.floats(-3, 3), st.floats(0.1, 3), st.floats(0, 3))
def test_it_stays_inside_0_and_100(chances: list[float], start: float, slope: float, between: float):
    found = predict_share(chances, Spread(start=start, slope=slope, between=between, repositories=1, goals=1))
    assert found
    assert 0 <= found.low <= found.value <= found.high <= 100


def test_many_sessions_leave_what_differs_between_repositories():
    """Half of the log-odds ± 1.96 deviations, whatever more of one's own sessions are looked at."""
    found = predict_share([0.5] * 100_000, EXACT)
    assert found
    assert (found.low, found.high) == pytest.approx((27.3, 72.7), abs=0.1)


@pytest.mark.parametrize("n", [1, 2, 6, 19])
def test_of_few_sessions_all_may_have_landed(n: int):
    """Their share is a whole number of them: between 5.7 and 6 of 6 there is only 6."""
    found = predict_share([0.9] * n, EXACT)
    assert found
    assert found.high == 100
    assert found.low * n / 100 == pytest.approx(round(found.low * n / 100))


def test_few_sessions_are_less_sure_than_many():
    widths = []
    for n in (1, 10, 100, 1000):
        found = predict_share([0.7] * n, EXACT)
        assert found
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


@QUICK
@given(CHANCES)
def test_higher_chances_are_never_predicted_lower(chances: list[float]):
    found, more = predict_share(chances, EXACT), predict_share([(1 + one) / 2 for one in chances], EXACT)
    assert found
    assert more
    assert found.value <= more.value + 1e-9
