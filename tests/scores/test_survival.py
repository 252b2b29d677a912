"""The survival curve: known values, censoring, and what is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scores.survival import DAYS, Age, measure_survival
from tests.make_sessions import QUICK

AGES = st.lists(
    st.tuples(st.floats(0, 40) | st.sampled_from([1.0, 7.0, 14.0]), st.booleans(), st.integers(1, 50)), max_size=12
)


def alive(*ages: Age) -> list[float | None]:
    found = measure_survival(ages)
    assert found is not None
    return [one.alive for one in found.points]


def test_without_lines_there_is_no_curve():
    assert measure_survival([]) is None
    assert measure_survival([(3.0, True, 0)]) is None


@pytest.mark.parametrize(
    ("ages", "curve"),
    [
        ([(40, False, 8)], [1, 1, 1, 1, 1]),
        ([(2, True, 2), (40, False, 8)], [1, 0.8, 0.8, 0.8, 0.8]),
        ([(14, False, 10)], [1, 1, 1, 1, None]),
        ([(5, True, 5), (14, True, 5)], [1, 1, 0.5, 0, 0]),
        # Half is followed for 5 days only; of the other half one in two goes on day 6.
        ([(5, False, 10), (6, True, 5), (40, False, 5)], [1, 1, 0.5, 0.5, 0.5]),
        ([(2, True, 4), (2, False, 4)], [1, None, None, None, None]),
        ([(2, True, 4), (3, False, 4)], [1, 0.5, None, None, None]),
    ],
    ids=["all stay", "some go", "followed for 14 days", "all go", "censored", "as old as removed", "just so long"],
)
def test_the_curve_has_known_values(ages: list[Age], curve: list[float | None]):
    assert alive(*ages) == pytest.approx(curve)


def test_the_textbook_example_comes_out():
    """Freireich's 6-MP arm: remission in weeks, here as days; the published curve at 7 and 10."""
    gone = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    left = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    found = alive(*((age, True, 1) for age in gone), *((age, False, 1) for age in left))
    assert found == pytest.approx([1, 1, 0.8067, 0.6902, 0.4482], abs=1e-4)


@QUICK
@given(AGES.flatmap(lambda ages: st.tuples(st.just(ages), st.permutations(ages))))
def test_the_order_of_lines_does_not_matter_and_the_curve_only_falls(both: tuple[list[Age], list[Age]]):
    one, other = map(measure_survival, both)
    assert one == other
    shares = [point.alive for point in one.points if point.alive is not None] if one else []
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share <= 1 for share in shares)
    assert one is None or [point.days for point in one.points] == list(DAYS)
