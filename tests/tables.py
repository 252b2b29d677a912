"""One test for a whole table: every row is tried, and all rows that fail are told at once."""

import inspect
import traceback
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

LONGEST_NAME, LONGEST_REASON = 80, 600
CHANGED = frozenset({"tmp_path", "monkeypatch", "capsys", "capfd", "caplog", "recwarn", "request"})
"""Fixtures that one row would leave changed for the next."""
Test = Callable[..., None]


class RowsFail(AssertionError):
    """Some rows of a table do not hold."""


def each_row(names: str | tuple[str, ...], rows: Iterable[Any], ids: Any = None) -> Callable[[Test], Test]:
    """Written as `pytest.mark.parametrize` is, with one case for all rows."""
    columns = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    listed = named(columns, list(rows), ids)
    assert listed, "a table without rows says nothing"

    def decorate(test: Test) -> Test:
        known = inspect.signature(test)
        assert set(columns) <= known.parameters.keys()
        assert not CHANGED & known.parameters.keys(), "rows share their fixtures; use `pytest.mark.parametrize`"

        @wraps(test)
        def whole(**fixtures: Any) -> None:
            failed: dict[str, BaseException] = {}
            for name, values in listed.items():
                try:
                    test(**fixtures, **values)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
                    failed[name] = error
            if failed:
                told = "\n\n".join(f"[{name}] {reason(error)}" for name, error in failed.items())
                first = next(iter(failed.values()))
                raise RowsFail(f"{len(failed)} of {len(listed)} rows fail\n\n{told}") from first

        left = [one for name, one in known.parameters.items() if name not in columns]
        whole.__signature__ = known.replace(parameters=left)  # type: ignore[attr-defined]
        return whole

    return decorate


def named(columns: list[str], rows: list[Any], ids: Any) -> dict[str, dict[str, Any]]:
    """Every row by what tells it from the others."""
    found = {}
    given = list(ids) if isinstance(ids, Iterable) else []
    for number, row in enumerate(rows):
        values, name = (row.values, row.id) if isinstance(row, type(pytest.param())) else (row, None)
        if len(columns) == 1 and values is row:
            values = (row,)
        told = name or (given[number] if given else " ".join(map(ids if callable(ids) else shown, values)))
        found[f"{number}: {told[:LONGEST_NAME]}"] = dict(zip(columns, values, strict=True))
    return found


def shown(value: object) -> str:
    return (value if isinstance(value, str) else repr(value))[:LONGEST_NAME]


def reason(error: BaseException) -> str:
    """Where and why a row failed."""
    if isinstance(error, RowsFail):
        return str(error)
    lines = traceback.extract_tb(error.__traceback__)
    return f"line {lines[1].lineno if len(lines) > 1 else '?'}: {type(error).__name__}: {error}"[:LONGEST_REASON]
