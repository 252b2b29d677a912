"""The stand-in is like the real server: same shapes, same surprises as were recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.langfuse import contract
from tests.langfuse.make_observations import hook_turn
from tests.langfuse.standin import KEYS, Standin, Time

SAMPLES = Path(__file__).parent / "samples"
RECORDED = [
    ("health", "/api/public/health"),
    ("projects", "/api/public/projects"),
    ("score-configs", "/api/public/score-configs"),
    ("v2-observations-session", "/api/public/v2/observations"),
    ("v3-scores-session", "/api/public/v3/scores"),
]
PUBLIC = "/api/public"


def recorded(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_text())


def ask(standin: Standin, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    import base64

    headers = {"authorization": "Basic " + base64.b64encode(":".join(KEYS).encode()).decode()}
    content = b"" if body is None else json.dumps(body).encode()
    status, _, found = standin.answer(method, f"https://x{PUBLIC}/{path}", headers, content)
    return status, found


@pytest.mark.parametrize(("name", "path"), RECORDED)
def test_what_a_real_server_said_keeps_to_the_specification(name, path):
    assert contract.answer_faults("GET", path, 200, recorded(name)) == []


def test_the_specification_is_really_looked_at():
    broken = recorded("v3-scores-session")
    del broken["data"][0]["timestamp"]
    assert contract.answer_faults("GET", "/api/public/v3/scores", 200, broken)
    assert contract.request_faults("GET", "/api/public/v3/scores", {"page": "1"}, None)
    assert contract.request_faults("POST", "/api/public/score-configs", {}, {"name": "x"})
    assert contract.request_faults("GET", "/api/public/nowhere", {}, None)


def test_its_observations_have_the_fields_of_the_real_ones():
    standin = Standin(time=Time())
    standin.observations = hook_turn(1, "Why?", reply="So.")
    groups = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context"
    ours = ask(standin, "GET", f"v2/observations?sessionId=s1&fields={groups}")[1]["data"][0]
    real = recorded("v2-observations-session")["data"][0]
    assert set(ours) <= set(real)
    assert all(
        isinstance(ours[name], type(real[name])) for name in ours if real[name] is not None and ours[name] is not None
    )


def test_its_scores_have_the_fields_of_the_real_ones():
    standin = Standin(time=Time())
    ask(standin, "POST", "scores", {"name": "n", "value": 1, "sessionId": "s1", "id": "i", "metadata": {}})
    ours = ask(standin, "GET", "v3/scores?id=i&fields=details,subject")[1]["data"][0]
    assert set(recorded("v3-scores-session")["data"][0]) - set(ours) == {"authorUserId", "queueId"}
    assert set(recorded("score-configs")["data"][0]) == set(
        standin.create_config({"name": "x", "dataType": "BOOLEAN"})[2]
    )


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


@pytest.mark.parametrize(("version", "method", "path", "body", "status"), MEASURED)
def test_it_answers_as_was_measured(version, method, path, body, status):
    assert ask(Standin(version, Time()), method, path, body)[0] == status


def rows(standin: Standin) -> list[tuple[str, str, float]]:
    return sorted((day, name, row["body"]["value"]) for (day, name, _), row in standin.scores.items())


def test_the_same_id_again_is_one_row_with_the_first_timestamp_until_the_events_are_gone():
    standin = Standin(time=(time := Time()))
    ask(standin, "POST", "scores", ONE)
    time.sleep(86_400)
    ask(standin, "POST", "scores", ONE | {"value": 0.5})
    assert rows(standin) == [("2026-11-15", "n", 0.5)]
    standin.forget_events()
    ask(standin, "POST", "scores", ONE | {"value": 0.25})
    assert rows(standin) == [("2026-11-15", "n", 0.5), ("2026-11-16", "n", 0.25)]
    assert [one["value"] for one in ask(standin, "GET", "v3/scores?id=i")[1]["data"]] == [0.25]


def test_the_same_id_under_another_name_is_a_second_row():
    standin = Standin(time=Time())
    ask(standin, "POST", "scores", ONE)
    ask(standin, "POST", "scores", ONE | {"name": "m"})
    assert [name for _, name, _ in rows(standin)] == ["m", "n"]


def test_the_time_in_a_body_counts_from_4_59_on_and_that_of_an_envelope_before():
    told = ONE | {"timestamp": "2026-11-01T00:00:00Z"}
    old, new = Standin("4.16.0", Time()), Standin("4.59.0", Time())
    ask(old, "POST", "scores", told)
    ask(new, "POST", "scores", [told])
    assert (rows(old)[0][0], rows(new)[0][0]) == ("2026-11-15", "2026-11-01")
    event = {"id": "e", "type": "score-create", "timestamp": "2026-11-02T00:00:00Z", "body": ONE | {"id": "j"}}
    assert ask(old, "POST", "ingestion", {"batch": [event]})[1]["successes"] == [{"id": "e", "status": 201}]
    assert rows(old)[0][0] == "2026-11-02"


VIOLATING = [{"value": 2.0}, {"configId": "unknown"}, {"dataType": "BOOLEAN", "value": 1}]


@pytest.mark.parametrize("change", VIOLATING)
def test_a_score_against_its_config_is_accepted_and_lost(change):
    standin = Standin(time=Time())
    ask(standin, "POST", "score-configs", {"name": "n", "dataType": "NUMERIC", "minValue": 0, "maxValue": 1})
    assert ask(standin, "POST", "scores", ONE | {"configId": "cfg-0"} | change)[0] == 200
    assert rows(standin) == []
    assert ask(standin, "POST", "scores", ONE | {"configId": "cfg-0"})[0] == 200
    assert len(rows(standin)) == 1


def test_only_scores_go_through_ingestion_on_v4():
    event = {"id": "e", "type": "trace-create", "timestamp": "2026-11-02T00:00:00Z", "body": {"id": "t"}}
    status, found = ask(Standin(time=Time()), "POST", "ingestion", {"batch": [event]})
    assert (status, found["successes"], found["errors"][0]["status"]) == (207, [], 400)
