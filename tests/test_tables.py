"""A table that is one test is as strict as one test for each row."""

import pytest

from tests.tables import each_row


def test_every_row_is_tried_and_all_that_fail_are_told():
    tried = []

    @each_row(("given", "wanted"), [(1, 1), (2, 3), pytest.param(4, 4), pytest.param(5, 6, id="five")])
    def check(given: int, wanted: int):
        tried.append(given)
        assert given == wanted, "they differ"

    with pytest.raises(AssertionError) as told:
        check()
    assert tried == [1, 2, 4, 5]
    assert "2 of 4 rows fail" in str(told.value)
    assert "[1: 2 3] line" in str(told.value)
    assert "[3: five] line" in str(told.value)
    assert str(told.value).count("they differ") == 2
    assert "they differ" in str(told.value.__cause__)


def test_every_failure_counts_whatever_raised_it():
    @each_row("kind", [KeyError, ValueError, None])
    def check(kind: type[Exception] | None):
        if kind is None:
            pytest.fail("said so")
        raise kind

    with pytest.raises(AssertionError, match="3 of 3 rows fail"):
        check()


def test_tables_multiply():
    tried = []

    @each_row("one", "ab", ids=["first", "second"])
    @each_row("two", [1, 2])
    def check(one: str, two: int):
        tried.append(f"{one}{two}")
        assert (one, two) != ("b", 1)

    with pytest.raises(AssertionError, match=r"(?s)1: second.*0: 1") as told:
        check()
    assert tried == ["a1", "a2", "b1", "b2"]
    assert "1 of 2 rows fail" in str(told.value)


@pytest.fixture
def loom() -> str:
    return "loom"


@each_row("letter", "lom")
def test_fixtures_reach_every_row(loom: str, letter: str):
    assert letter in loom


def test_rows_do_not_share_what_one_of_them_changes():
    with pytest.raises(AssertionError, match="rows share"):

        @each_row("name", "ab")
        def check(name: str, tmp_path: object): ...


def test_a_table_without_rows_is_refused():
    with pytest.raises(AssertionError, match="without rows"):
        each_row("name", [])
