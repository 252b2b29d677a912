"""Pages of what was told: every row once, the newest first, whatever comes in meanwhile; the same in every store."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.stores import Store
from assay.stores.contract.told import Neighbourhood, ToldChoice, ToldNeighbourhood
from tests.stores.test_contract_told import line, row

ALL = ToldChoice()


def tell(store: Store, *rows: tuple[str, str, bool | None]) -> None:
    """Have sessions told: each by its id, its time and whether it crushed."""
    made = [row(name, at, crushed=crushed) for name, at, crushed in rows]
    ledger = [(one.name, [(line(one.id, one.began_at), f"line of {one.id}".encode())]) for one in made]
    about = Neighbourhood(name="n", nodes=("n",))
    store.told.save_told(
        ToldNeighbourhood(about=about, tally=b"", places=(), rows=made, ledger=ledger, deeds=()), ["n"], 0
    )


def read_all(store: Store, choice: ToldChoice, limit: int, *, lines: bool = False) -> list[bytes]:
    """All rows, page by page."""
    found: list[bytes] = []
    after: tuple[str, ...] = ()
    while page := (store.told.list_newest_lines if lines else store.told.list_newest)(choice, after, limit):
        found += [body for _, body in page]
        after = page[-1][0]
    return found


@pytest.mark.parametrize("lines", [False, True])
def test_pages_hold_every_row_once_the_newest_first(store: Store, lines: bool):
    times = ["2026-01-02", "2026-01-01", "2026-01-02", "2025-12-31", "2026-01-02"]
    rows = [(f"{n:x}a", at, None) for n, at in enumerate(times)]
    tell(store, *rows)
    word = b"line of " if lines else b"body of "
    wanted = [word + name.encode() for name, _, _ in sorted(rows, key=lambda one: (one[1], one[0]), reverse=True)]
    for limit in (1, 2, 5, 9):
        assert read_all(store, ALL, limit, lines=lines) == wanted


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["", "2026", "2026-01"])), max_size=12), st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_comes_in_moves_nothing_to_another_page(store: Store, rows: list[tuple[str, str]], data: st.DataObject):
    told = {name: (name, at, None) for name, at in rows}
    tell(store, *told.values())
    first = store.told.list_newest(ALL, (), 3)
    late = data.draw(st.lists(st.sampled_from("ghij"), max_size=3, unique=True))
    tell(store, *told.values(), *((name, "2027", None) for name in late))
    rest = read_all_after(store, first[-1][0]) if len(first) == 3 else []
    seen = [body for _, body in first] + rest
    assert len(seen) == len(set(seen))
    assert set(seen) >= {f"body of {name}".encode() for name in told} or len(first) < 3


def read_all_after(store: Store, after: tuple[str, ...]) -> list[bytes]:
    found: list[bytes] = []
    while page := store.told.list_newest(ALL, after, 2):
        found += [body for _, body in page]
        after = page[-1][0]
    return found


def test_only_those_that_crushed_or_did_not_are_given(store: Store):
    tell(store, ("a", "2026", True), ("b", "2026", False), ("c", "2026", None))
    found = {wanted: read_all(store, ToldChoice(crushed=wanted), 2) for wanted in (True, False, None)}
    assert found == {True: [b"body of a"], False: [b"body of b"], None: [b"body of c", b"body of b", b"body of a"]}
