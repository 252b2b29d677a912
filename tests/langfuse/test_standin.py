"""The stand-in is like the real server: same shapes, same surprises as were recorded."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.testing.langfuse import KEYS, FakeClock
from assay.testing.observations import build_hook_turn
from tests.langfuse import contract, make_answers
from tests.langfuse.contract import CheckedServer
from tests.tables import each_row

SAMPLES = Path(__file__).parents[3] / "shared" / "langfuse" / "samples"
KNOWN = [
    ("health", make_answers.HEALTH),
    ("projects", make_answers.PROJECTS),
    ("score-configs", make_answers.CONFIGS),
    ("v2-observations-session", make_answers.OBSERVATIONS),
    ("v3-scores-session", make_answers.SCORES),
]
"""Recordings by name, and the same written by hand."""
PUBLIC = "/api/public"
recorded = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"no answers of a real server lie at {SAMPLES}")


def recording(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_text())


def path_of(name: str) -> str:
    return f"{PUBLIC}/{name.removesuffix('-session').replace('v2-', 'v2/').replace('v3-', 'v3/')}"


def ask(standin: CheckedServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    headers = {"authorization": "Basic " + base64.b64encode(":".join(KEYS).encode()).decode()}
    content = b"" if body is None else json.dumps(body).encode()
    status, _, found = standin.answer(method, f"https://x{PUBLIC}/{path}", headers, content)
    return status, found


@recorded
@pytest.mark.parametrize("name", [name for name, _ in KNOWN])
def test_what_a_real_server_said_keeps_to_the_specification(name):
    assert contract.answer_faults("GET", path_of(name), 200, recording(name)) == []


@pytest.mark.parametrize(("name", "answer"), KNOWN, ids=[name for name, _ in KNOWN])
def test_what_is_written_by_hand_keeps_to_the_specification(name, answer):
    assert contract.operation("GET", path_of(name))
    assert contract.answer_faults("GET", path_of(name), 200, answer) == []


def shape(answer: Any) -> Any:
    """Names of fields, and which types stand there; all rows of a list together."""
    if isinstance(answer, dict) and not ("data" in answer and isinstance(answer["data"], list)):
        return {name: type(value).__name__ for name, value in answer.items()}
    found: dict[str, set[str]] = {}
    for row in answer["data"]:
        for name, value in row.items():
            found.setdefault(name, set()).add(type(value).__name__)
    return found


@recorded
@pytest.mark.parametrize(("name", "answer"), KNOWN, ids=[name for name, _ in KNOWN])
def test_what_is_written_by_hand_looks_like_what_was_recorded(name, answer):
    ours, real = shape(answer), shape(recording(name))
    assert ours.keys() == real.keys()
    alike = {"int": "float"}
    for field, kinds in ours.items():
        both = [
            {alike.get(kind, kind) for kind in ([some] if isinstance(some, str) else some)}
            for some in (kinds, real[field])
        ]
        assert both[0] & both[1], field


def words(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text, with the name it stands under."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from words(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from words(one, key)
    elif isinstance(value, str):
        yield key, value


def test_the_specification_holds_facts_and_no_prose():
    facts = {"$ref", "enum", "format", "required", "type"}
    assert {key for key, _ in words({name: contract.SPEC[name] for name in ("components", "paths")})} <= facts
    assert not [text for key, text in words(contract.SPEC["components"]) if key != "$ref" and " " in text]
    assert "MIT" in contract.SPEC["license"]
    assert "62751446" in contract.SPEC["from"]


def test_the_specification_is_really_looked_at():
    broken = json.loads(json.dumps(make_answers.SCORES))
    del broken["data"][0]["timestamp"]
    assert contract.answer_faults("GET", "/api/public/v3/scores", 200, broken)
    assert contract.request_faults("GET", "/api/public/v3/scores", {"page": "1"}, None)
    assert contract.request_faults("POST", "/api/public/score-configs", {}, {"name": "x"})
    assert contract.request_faults("GET", "/api/public/nowhere", {}, None)


def test_its_observations_have_the_fields_of_the_real_ones():
    standin = CheckedServer(time=FakeClock())
    standin.observations = build_hook_turn(1, "Why?", reply="So.")
    groups = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context"
    ours = ask(standin, "GET", f"v2/observations?sessionId=s1&fields={groups}")[1]["data"][0]
    real = make_answers.observation()
    assert set(ours) <= set(real)
    assert all(
        isinstance(ours[name], type(real[name])) for name in ours if real[name] is not None and ours[name] is not None
    )


def test_its_scores_have_the_fields_of_the_real_ones():
    standin = CheckedServer(time=FakeClock())
    ask(standin, "POST", "scores", {"name": "n", "value": 1, "sessionId": "s1", "id": "i", "metadata": {}})
    ours = ask(standin, "GET", "v3/scores?id=i&fields=details,subject")[1]["data"][0]
    assert set(make_answers.score()) - set(ours) == {"authorUserId", "queueId"}
    assert set(make_answers.config()) == set(standin.create_config({"name": "x", "dataType": "BOOLEAN"})[2])


ONE = {"name": "n", "value": 1.0, "sessionId": "s1", "id": "i", "dataType": "NUMERIC"}
MEASURED = [
    ("4.16.0", "POST", "scores", ONE, 200),
    ("4.16.0", "POST", "scores", [ONE], 400),
    ("4.59.0", "POST", "scores", [ONE], 202),
    ("4.59.0", "POST", "scores", [ONE, ONE | {"traceId": "t"}], 207),
    ("4.16.0", "POST", "scores", ONE | {"traceId": "t"}, 400),
    ("4.16.0", "POST", "scores", ONE | {"dataType": "CATEGORICAL"}, 400),
    ("4.16.0", "GET", "sessions", None, 404),
    ("4.16.0", "GET", "traces?sessionId=s1", None, 404),
    ("4.16.0", "GET", "v2/scores?scoreIds=i", None, 404),
    ("3.150.0", "GET", "v2/observations?sessionId=s1", None, 404),
    ("3.150.0", "GET", "sessions", None, 200),
    ("4.16.0", "GET", "v2/observations?limit=1001", None, 400),
    ("4.16.0", "GET", "v2/observations?parseIoAsJson=true", None, 400),
    ("4.16.0", "GET", "v2/observations?sessionId=unknown", None, 200),
    ("4.16.0", "GET", "v3/scores?foo=1", None, 400),
    ("4.16.0", "GET", "v3/scores?limit=101", None, 400),
    ("4.16.0", "GET", "score-configs?limit=101", None, 400),
    ("4.16.0", "POST", "score-configs", {"name": "a" * 36, "dataType": "BOOLEAN"}, 400),
    ("4.16.0", "POST", "score-configs", {"name": "a:b", "dataType": "BOOLEAN"}, 400),
]


@each_row(("version", "method", "path", "body", "status"), MEASURED)
def test_it_answers_as_was_measured(version, method, path, body, status):
    assert ask(CheckedServer(version, FakeClock()), method, path, body)[0] == status


def rows(standin: CheckedServer) -> list[tuple[str, str, float]]:
    return sorted((day, name, row["body"]["value"]) for (day, name, _), row in standin.scores.items())


def test_the_same_id_again_is_one_row_with_the_first_timestamp_until_the_events_are_gone():
    standin = CheckedServer(time=(time := FakeClock()))
    ask(standin, "POST", "scores", ONE)
    time.sleep(86_400)
    ask(standin, "POST", "scores", ONE | {"value": 0.5})
    assert rows(standin) == [("2026-11-15", "n", 0.5)]
    standin.forget_events()
    ask(standin, "POST", "scores", ONE | {"value": 0.25})
    assert rows(standin) == [("2026-11-15", "n", 0.5), ("2026-11-16", "n", 0.25)]
    assert [one["value"] for one in ask(standin, "GET", "v3/scores?id=i")[1]["data"]] == [0.25]


def test_the_same_id_under_another_name_is_a_second_row():
    standin = CheckedServer(time=FakeClock())
    ask(standin, "POST", "scores", ONE)
    ask(standin, "POST", "scores", ONE | {"name": "m"})
    assert [name for _, name, _ in rows(standin)] == ["m", "n"]


def test_the_time_in_a_body_counts_from_4_59_on_and_that_of_an_envelope_before():
    told = ONE | {"timestamp": "2026-11-01T00:00:00Z"}
    old, new = CheckedServer("4.16.0", FakeClock()), CheckedServer("4.59.0", FakeClock())
    ask(old, "POST", "scores", told)
    ask(new, "POST", "scores", [told])
    assert (rows(old)[0][0], rows(new)[0][0]) == ("2026-11-15", "2026-11-01")
    event = {"id": "e", "type": "score-create", "timestamp": "2026-11-02T00:00:00Z", "body": ONE | {"id": "j"}}
    assert ask(old, "POST", "ingestion", {"batch": [event]})[1]["successes"] == [{"id": "e", "status": 201}]
    assert rows(old)[0][0] == "2026-11-02"


VIOLATING = [{"value": 2.0}, {"configId": "unknown"}, {"dataType": "BOOLEAN", "value": 1}]


@pytest.mark.parametrize("change", VIOLATING)
def test_a_score_against_its_config_is_accepted_and_lost(change):
    standin = CheckedServer(time=FakeClock())
    ask(standin, "POST", "score-configs", {"name": "n", "dataType": "NUMERIC", "minValue": 0, "maxValue": 1})
    assert ask(standin, "POST", "scores", ONE | {"configId": "cfg-0"} | change)[0] == 200
    assert rows(standin) == []
    assert ask(standin, "POST", "scores", ONE | {"configId": "cfg-0"})[0] == 200
    assert len(rows(standin)) == 1


def test_only_scores_go_through_ingestion_on_v4():
    event = {"id": "e", "type": "trace-create", "timestamp": "2026-11-02T00:00:00Z", "body": {"id": "t"}}
    status, found = ask(CheckedServer(time=FakeClock()), "POST", "ingestion", {"batch": [event]})
    assert (status, found["successes"], found["errors"][0]["status"]) == (207, [], 400)
