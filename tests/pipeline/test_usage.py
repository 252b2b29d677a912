"""Usage: each response once, on its day, at its price, in its project."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.config import Config
from assay.pipeline.score import read_transcripts
from assay.pipeline.scoring_run import Selection
from assay.pipeline.usage import find_day, list_usage, parse_moment, sum_times
from assay.scores.usage import WAYS, UsageCell, UsageReport, UsageTokens, build_usage
from assay.testing.claude_code import build_prompt, build_record, write_lines
from tests.make_sessions import QUICK

MILLION = 1_000_000
HOUR, DAY = 3600.0, 86_400.0  # the story begins at 09:00 UTC


def spend(second: float, id: str, output: int, stream: str, *, model: str = "claude-sonnet-4-5", **more: Any) -> Any:
    """A response with its tokens."""
    usage = {
        "input_tokens": 100,
        "output_tokens": output,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 10,
    }
    message = {"id": id, "model": model, "content": [{"type": "text", "text": "woven"}], "usage": usage}
    return build_record("assistant", second, stream, message=message, **more)


def count(top: Path, *, zone: str = "UTC", jobs: int = 1, **choice: str) -> UsageReport:
    config = replace(Config(), store=str(top / "s.db"), timezone=zone)
    with read_transcripts([top / "in"], config, jobs) as found:
        return build_usage(list_usage(found.store, config, found.changes.roots, Selection(**choice), jobs))


def write(top: Path, name: str, *records: Any) -> None:
    write_lines(top / "in" / f"{name}.jsonl", *records)


def test_a_response_that_was_streamed_resumed_and_forked_counts_once(tmp_path: Path) -> None:
    past = [build_prompt(0, "weave", "a"), spend(1, "m1", 20, "a"), spend(1.5, "m1", 50, "a"), spend(2, "m2", 30, "a")]
    write(tmp_path, "a", *past)
    write(tmp_path, "resumed", *(one | {"sessionId": "resumed"} for one in past), spend(9, "m3", 7, "resumed"))
    write(tmp_path, "fork", *(one | {"sessionId": "fork", "uuid": f"x{one['uuid']}"} for one in past))
    total = count(tmp_path).total
    assert (total.responses, total.tokens.output, total.tokens.input) == (3, 87, 300)
    assert (total.tokens.cache_read, total.tokens.cache_write) == (3000, 30)


def test_a_response_stands_on_its_day_where_the_person_is(tmp_path: Path) -> None:
    write(
        tmp_path, "a", build_prompt(0, "weave", "a"), spend(13 * HOUR, "m1", 20, "a"), spend(14.5 * HOUR, "m2", 30, "a")
    )
    berlin, utc = count(tmp_path, zone="Europe/Berlin").by["day"], count(tmp_path).by["day"]
    assert [one.tokens.output for one in utc] == [50]
    assert [one.tokens.output for one in berlin] == [20, 30]


def test_only_what_lies_in_the_time_that_is_asked_about_counts(tmp_path: Path) -> None:
    write(tmp_path, "a", build_prompt(0, "weave", "a"), *(spend(n * DAY, f"m{n}", 10**n, "a") for n in range(4)))
    days = [one.name for one in count(tmp_path).by["day"]]
    found = count(tmp_path, since=f"{days[1]}T00:00:00.000Z", until=f"{days[3]}T00:00:00.000Z")
    assert found.total.tokens.output == 110


def test_cost_is_by_the_list_and_what_has_no_price_is_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a",
        build_prompt(0, "weave", "a"),
        spend(1, "m1", MILLION, "a"),
        spend(2, "m2", 7, "a", model="loom-1"),
    )
    found = count(tmp_path)
    assert found.total.cost_usd == pytest.approx(15 + (100 * 3 + 1000 * 0.3 + 10 * 3.75) / MILLION)
    assert (found.total.unpriced_models, found.total.unpriced_tokens) == (["loom-1"], 1117)
    assert [(one.name, one.cost_usd is None) for one in found.by["model"]] == [
        ("claude-sonnet-4-5", False),
        ("loom-1", True),
    ]


def test_a_secret_in_the_name_of_a_model_or_a_folder_is_not_told(tmp_path: Path) -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    folder = f"/srv/{key}"
    write(tmp_path, "a", build_prompt(0, "weave", "a", cwd=folder), spend(1, "m1", 9, "a", model=key, cwd=folder))
    assert key not in str(count(tmp_path))


def test_time_is_active_time_and_no_model_has_it(tmp_path: Path) -> None:
    write(tmp_path, "a", build_prompt(0, "weave", "a"), spend(60, "m1", 1, "a"), spend(HOUR, "m2", 1, "a"))
    found = count(tmp_path)
    assert (found.total.active_s, found.by["day"][0].active_s) == (360.0, 360.0)  # five minutes of the pause
    assert [one.active_s for one in found.by["model"]] == [None]


def test_a_project_is_one_whatever_folder_of_it_was_worked_in_and_is_asked_for_by_folder(tmp_path: Path) -> None:
    for n, folder in enumerate(("/srv/loom", "/srv/loom/shed", "/srv/mill")):
        write(
            tmp_path, str(n), build_prompt(0, "weave", str(n), cwd=folder), spend(1, f"m{n}", 10**n, str(n), cwd=folder)
        )
    assert [(one.name, one.tokens.output) for one in count(tmp_path).by["project"]] == [
        ("/srv/mill", 100),
        ("/srv/loom", 11),
    ]
    assert count(tmp_path, project="/srv/loom/shed").total.tokens.output == 10


def test_the_same_is_counted_by_one_process_and_by_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(6):
        write(tmp_path, str(n), build_prompt(n, "weave", str(n)), spend(n + 1, f"m{n}", n, str(n)))
    monkeypatch.setattr("assay.pipeline.usage.ALONE_BYTES", 0)
    assert count(tmp_path, jobs=2) == count(tmp_path, jobs=1)


def test_nothing_is_no_cost_and_not_zero_dollars(tmp_path: Path) -> None:
    assert (build_usage([]).total.cost_usd, build_usage([]).total.tokens.all) == (None, 0)


CELLS = st.lists(
    st.builds(
        UsageCell,
        day=st.sampled_from(["", "2026-03-01", "2026-03-02", "2026-04-01"]),
        project=st.sampled_from(["", "/a", "/b"]),
        agent=st.sampled_from(["codex", "claude-code"]),
        model=st.sampled_from(["", "x", "y"]),
        responses=st.integers(0, 3),
        tokens=st.builds(UsageTokens, input=st.integers(0, 9), output=st.integers(0, 9)),
        cost_usd=st.none() | st.floats(0, 100),
        active_s=st.floats(0, 1000),
        streams=st.tuples(st.sampled_from("abc")),
    ),
    max_size=10,
)


@QUICK
@given(CELLS, st.data())
def test_every_table_adds_up_to_the_total_whatever_the_order(cells: list[UsageCell], data: st.DataObject) -> None:
    found = build_usage(cells)
    for way in WAYS:
        rows = found.by[way]
        assert sum(one.tokens.all for one in rows) == found.total.tokens.all
        assert sum(one.responses for one in rows) == found.total.responses
        assert sum(one.cost_usd or 0 for one in rows) == pytest.approx(found.total.cost_usd or 0)
        assert sum(one.unpriced_tokens for one in rows) == found.total.unpriced_tokens
        if way != "model":
            assert sum(one.active_s or 0 for one in rows) == pytest.approx(found.total.active_s)
    assert build_usage(data.draw(st.permutations(cells))).total == found.total


@QUICK
@given(st.lists(st.text(max_size=30) | st.datetimes().map(datetime.isoformat), max_size=6))
def test_any_time_is_a_day_or_none_and_time_never_runs_backwards(stamps: list[str]) -> None:
    zone = ZoneInfo("Pacific/Kiritimati")
    assert all(bool(find_day(one, zone)) is (parse_moment(one) is not None) for one in stamps)
    assert all(0 <= seconds <= 300 * len(stamps) for seconds in sum_times(stamps, UTC).values())
