"""Scores stand in Langfuse exactly once, or the report says which do not and why."""

import multiprocessing
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.http import AccessDenied
from assay.langfuse import (
    ScoreWrite,
    WantedConfig,
    WritePlan,
    build_id,
    connect,
    ensure_configs,
    hash_score,
    write_scores,
)
from assay.types import CleanText
from tests.langfuse.conftest import client_of, environment
from tests.langfuse.contract import CheckedServer

BEGAN = "2026-11-10T09:00:00Z"
VERSIONS = ["3.150.0", "4.16.0", "4.59.0"]
CONFIGS = (
    WantedConfig(name="tool_efficiency", data_type="NUMERIC", min_value=0, max_value=1),
    WantedConfig(name="goal_achievement", data_type="CATEGORICAL", categories=("missed", "part", "most", "full")),
    WantedConfig(name="crushed", data_type="BOOLEAN"),
)
Make = Callable[..., CheckedServer]


def scores(ids: dict[str, str] | None = None, **values: Any) -> list[ScoreWrite]:
    """The three scores of a session, with other values where given."""
    known = {"tool_efficiency": 0.75, "goal_achievement": "most", "crushed": True} | values
    kinds = {one.name: one.data_type for one in CONFIGS}
    return [
        ScoreWrite(
            session="s1",
            name=name,
            data_type=kinds[name],
            value=value,
            timestamp=BEGAN,
            comment=CleanText(f"why {name}"),
            metadata={"judge_version": "j1"},
            config_id=(ids or {}).get(name, ""),
        )
        for name, value in known.items()
    ]


def rows(standin: CheckedServer) -> dict[str, Any]:
    """What the server keeps, by name; two rows of one name are an error."""
    names = [name for _, name, _ in standin.scores]
    assert len(names) == len(set(names)), standin.scores
    return {row["name"]: row["body"]["value"] for row in standin.scores.values()}


@pytest.mark.parametrize("version", VERSIONS)
def test_scores_are_written_and_read_back(make: Make, version):
    standin = make(version)
    client = client_of(standin)
    ids = ensure_configs(client, CONFIGS).ids
    report = write_scores(client, scores(ids))
    assert len(report.stored) == 3
    assert not report.not_stored
    assert rows(standin) == {"tool_efficiency": 0.75, "goal_achievement": "most", "crushed": 1}
    kept = next(iter(standin.scores.values()))
    assert kept["timestamp"].startswith("2026-11-10T09:00:00")
    assert kept["body"]["comment"] == "why tool_efficiency"
    assert kept["body"]["metadata"]["judge_version"] == "j1"


@pytest.mark.parametrize("version", VERSIONS)
def test_one_request_takes_all_scores_of_a_session(make: Make, version):
    standin = make(version)
    write_scores(client_of(standin), scores())
    path = "scores" if version == "4.59.0" else "ingestion"
    assert len(standin.list_queries(path)) == 1
    assert not standin.list_queries("ingestion" if path == "scores" else "scores")


@pytest.mark.parametrize("version", VERSIONS)
def test_written_twice_nothing_is_sent_again(make: Make, version):
    standin = make(version)
    first = write_scores(client_of(standin), scores())
    sent = len(standin.list_queries("scores") + standin.list_queries("ingestion"))
    again = write_scores(client_of(standin), scores())
    assert set(again.unchanged) == set(first.stored)
    assert not again.stored
    assert len(standin.list_queries("scores") + standin.list_queries("ingestion")) == sent


CHANGES = [{"comment": CleanText("other words")}, {"metadata": {"judge_version": "j2"}}, {"value": 0.76}]


@pytest.mark.parametrize("change", CHANGES)
def test_a_score_that_changed_in_anything_is_written_again(make: Make, change):
    standin = make()
    one = scores()[0]
    write_scores(client_of(standin), [one])
    other = replace(one, **change)
    assert write_scores(client_of(standin), [other]).stored == (build_id(one),)
    kept = next(iter(standin.scores.values()))["body"]
    assert all(kept[name] == value or value.items() <= kept[name].items() for name, value in change.items())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("days", [1, 40])
def test_written_on_two_days_there_is_one_row_with_the_new_value(make: Make, version, days):
    standin = make(version)
    write_scores(client_of(standin), scores())
    assert standin.time is not None
    standin.time.sleep(days * 86_400)
    if days > 30:
        standin.forget_events()
    report = write_scores(client_of(standin), scores(tool_efficiency=0.5))
    assert report.stored == (build_id(scores()[0]),)
    assert rows(standin)["tool_efficiency"] == 0.5
    assert len(standin.scores) == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_a_row_that_stands_on_another_day_keeps_its_day(make: Make, version):
    standin = make(version)
    write_scores(client_of(standin), scores())
    standin.forget_events()
    moved = [
        ScoreWrite(session="s1", name="crushed", data_type="BOOLEAN", value=False, timestamp="2026-12-24T00:00:00Z")
    ]
    assert write_scores(client_of(standin), moved).stored
    assert rows(standin)["crushed"] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_after_a_crash_in_the_middle_the_rest_is_written(make: Make, version):
    standin = make(version)
    write_scores(client_of(standin), scores()[:1])
    standin.late_s = 3
    report = write_scores(client_of(standin), scores())
    assert len(report.unchanged) == 1
    assert len(report.stored) == 2
    assert len(rows(standin)) == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_killed_before_anything_was_read_back_and_run_again_before_it_is_seen(make: Make, version):
    standin = make(version)
    standin.late_s = 20
    ask = standin.answer

    def killed(method: str, url: str, headers: dict[str, str], content: bytes) -> Any:
        found = ask(method, url, headers, content)
        if method == "POST":
            raise KeyboardInterrupt
        return found

    standin.answer = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        write_scores(client_of(standin), scores())
    standin.answer = ask  # type: ignore[method-assign]
    report = write_scores(client_of(standin), scores())
    assert len(report.stored) == 3, "they were not seen, so they were sent again"
    assert len(rows(standin)) == 3


def test_what_is_known_to_be_there_is_not_even_asked_about(make: Make):
    standin = make()
    known = {build_id(one): hash_score(one) for one in scores()}
    report = write_scores(client_of(standin), scores(), WritePlan(already=known))
    assert set(report.unchanged) == set(known)
    assert [path for _, path, _, _ in standin.log] == ["/api/public/health"]


def test_each_score_that_is_there_is_told_at_once(make: Make):
    told: dict[str, str] = {}
    write_scores(client_of(make()), scores(), WritePlan(done=told.__setitem__))
    assert told == {build_id(one): hash_score(one) for one in scores()}


def write_from_elsewhere(host: str, value: float) -> None:
    write_scores(connect(environment(host)), scores(tool_efficiency=value), WritePlan(deadline_s=10))


@pytest.mark.parametrize("version", ["4.16.0", "4.59.0"])
def test_two_processes_at_once_make_one_row_for_each_dimension(version):
    standin = CheckedServer(version)
    server = standin.serve()
    host = f"http://127.0.0.1:{server.server_port}"
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=write_from_elsewhere, args=(host, 0.25)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    server.shutdown()
    server.server_close()
    assert [process.exitcode for process in both] == [0, 0]
    assert rows(standin) == {"tool_efficiency": 0.25, "goal_achievement": "most", "crushed": 1}
    assert standin.violations == []


WRONG = {
    "above its range": ({"tool_efficiency": 1.2}, "not in NUMERIC (0 to 1)"),
    "no category of its config": ({"goal_achievement": "superb"}, "not in CATEGORICAL (missed, part, most, full)"),
    "not a number": ({"tool_efficiency": float("nan")}, "no finite number"),
    "a text for a truth value": ({"crushed": "yes"}, "neither true nor false"),
    "a number for a category": ({"goal_achievement": 2.0}, "no category"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_server_would_swallow_is_not_sent(make: Make, case):
    values, why = WRONG[case]
    standin = make()
    client = client_of(standin)
    report = write_scores(client, scores(ensure_configs(client, CONFIGS).ids, **values))
    assert len(report.stored) == 2
    assert why in report.not_stored[0].why
    assert report.not_stored[0].is_final
    assert len(standin.scores) == 2


def test_a_config_that_was_archived_or_is_unknown_is_named(make: Make):
    standin = make()
    client = client_of(standin)
    ids = ensure_configs(client, CONFIGS).ids
    standin.configs[0]["isArchived"] = True
    report = write_scores(client, scores(ids | {"crushed": "cfg-77"}))
    assert [one.name for one in report.not_stored] == ["tool_efficiency", "crushed"]
    assert "is archived" in report.not_stored[0].why
    assert "no score config cfg-77" in report.not_stored[1].why


@pytest.mark.parametrize("version", VERSIONS)
def test_a_score_that_the_server_dropped_is_reported_as_not_stored(make: Make, version):
    standin = make(version)
    standin.dropped.add("tool_efficiency")
    report = write_scores(client_of(standin), scores())
    assert [one.name for one in report.not_stored] == ["tool_efficiency"]
    assert "could not be read back" in report.not_stored[0].why
    assert len(report.stored) == 2
    sent = standin.list_queries("scores") + standin.list_queries("ingestion")
    assert len(sent) == 2, "it is tried once more, alone"


@pytest.mark.parametrize("late_s", [0.0, 7.0, 30.0])
def test_scores_that_show_up_late_are_waited_for(make: Make, late_s):
    standin = make()
    standin.late_s = late_s
    assert len(write_scores(client_of(standin), scores()).stored) == 3
    assert len(standin.list_queries("ingestion")) == 1


def test_a_new_value_is_waited_for_although_the_old_one_is_seen(make: Make):
    standin = make()
    write_scores(client_of(standin), scores())
    standin.late_s = 5
    assert standin.time is not None
    before = standin.time.at
    assert write_scores(client_of(standin), scores(tool_efficiency=0.1)).stored
    assert (standin.time.at - before).total_seconds() >= 5


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partial_error_is_tried_again_alone(make: Make, version):
    standin = make(version)
    standin.event_faults["crushed"] = (500, "the queue is full")
    report = write_scores(client_of(standin), scores())
    assert len(report.stored) == 3
    assert not report.not_stored
    posted = [body for method, _, _, body in standin.log if method == "POST"]
    assert [len(body if isinstance(body, list) else body["batch"]) for body in posted] == [3, 1]


def test_a_refusal_of_one_score_in_an_envelope_is_final_and_told(make: Make):
    standin = make()
    standin.event_faults["crushed"] = (400, "Invalid request data")
    report = write_scores(client_of(standin), scores())
    assert [(one.name, one.is_final) for one in report.not_stored] == [("crushed", True)]
    assert "Invalid request data" in report.not_stored[0].why
    assert len(report.stored) == 2


def test_a_server_that_takes_no_lists_although_it_seemed_so_gets_envelopes(make: Make):
    standin = make("4.16.0")
    client = client_of(standin)
    client.takes_lists = True
    assert len(write_scores(client, scores()).stored) == 3
    assert not client.takes_lists


def test_an_outage_leaves_a_list_of_what_to_send_again(make: Make):
    standin = make()
    client = client_of(standin)
    kept = write_scores(client, scores()[:1])
    outage = [httpx.ConnectError("refused") for _ in range(60)]
    ask = standin.answer

    def answer(method: str, url: str, headers: dict[str, str], content: bytes) -> Any:
        if method == "POST":
            raise outage.pop()
        return ask(method, url, headers, content)

    standin.answer = answer  # type: ignore[method-assign]
    report = write_scores(client, scores())
    assert report.unchanged == kept.stored
    assert len(report.not_stored) == 2
    assert not any(one.is_final for one in report.not_stored)
    assert all("connect error" in one.why for one in report.not_stored)


def test_wrong_keys_stop_everything(make: Make):
    standin = make()
    env = environment() | {"LANGFUSE_SECRET_KEY": "sk-lf-wrong"}
    assert standin.time is not None
    client = connect(env, clock=standin.time.clock(), transport=standin.build_transport())
    with pytest.raises(AccessDenied, match="check the keys") as caught:
        write_scores(client, scores())
    assert "sk-lf-wrong" not in str(caught.value)


def test_a_dry_run_sends_nothing(make: Make):
    standin = make()
    write_scores(client_of(standin), scores()[:1])
    report = write_scores(client_of(standin), scores(), WritePlan(dry_run=True))
    assert len(report.would_write) == 2
    assert len(standin.scores) == 1


def test_a_score_on_a_trace_is_another_row_than_that_of_the_session(make: Make):
    standin = make()
    one = scores()[0]
    on_trace = ScoreWrite(
        session="s1", trace="t1", name=one.name, data_type="NUMERIC", value=0.75, timestamp=BEGAN, metadata={}
    )
    assert len(write_scores(client_of(standin), [one, on_trace]).stored) == 2
    targets = [(row["body"].get("sessionId"), row["body"].get("traceId")) for row in standin.scores.values()]
    assert targets == [("s1", None), (None, "t1")]


@given(st.text(max_size=40), st.text(max_size=40), st.text(min_size=1, max_size=35), st.text(max_size=10))
def test_an_id_holds_no_comma_and_depends_on_its_parts_alone(session, trace, name, of):
    one = ScoreWrite(session=session, trace=trace, name=name, of=of, data_type="NUMERIC", value=1, timestamp=BEGAN)
    later = ScoreWrite(session=session, trace=trace, name=name, of=of, data_type="NUMERIC", value=0, timestamp="x")
    assert build_id(one) == build_id(later)
    assert "," not in build_id(one)
    other = ScoreWrite(
        session=session, trace=trace, name=name, of=of + "x", data_type="NUMERIC", value=1, timestamp="x"
    )
    assert build_id(one) != build_id(other)


def test_many_scores_go_in_portions(make: Make):
    standin = make()
    many = [
        ScoreWrite(session=f"s{n}", name="tool_efficiency", data_type="NUMERIC", value=0.5, timestamp=BEGAN)
        for n in range(120)
    ]
    assert len(write_scores(client_of(standin), many).stored) == 120
    assert max(len(body["batch"]) for _, path, _, body in standin.log if path.endswith("ingestion")) <= 15
