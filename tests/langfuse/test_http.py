"""The patient client: what is tried again, how long it waits, and what it never says."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from assay.errors import BadInput
from assay.http import (
    AccessDenied,
    GarbledAnswer,
    Http,
    PathNotFound,
    RequestRefused,
    RetryPolicy,
    ServiceBusy,
    ServiceUnreachable,
    decode_answer,
    parse_address,
)
from assay.testing.langfuse import FakeClock

SECRET = "sk-lf-very-secret"


class Script:
    """Answers one after the other; the last one again and again."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def http(script: Script, time: FakeClock, **more) -> Http:
    keys = "pk", SECRET
    return Http("https://loom.example/", keys, clock=time.clock(), transport=httpx.MockTransport(script), **more)


def fine() -> httpx.Response:
    return httpx.Response(200, json={"version": "4"})


TROUBLE = {
    "429": httpx.Response(429),
    "500": httpx.Response(500),
    "503": httpx.Response(503),
    "524": httpx.Response(524),
    "refused": httpx.ConnectError("no route"),
    "reset": httpx.ReadError("reset by peer"),
    "silent": httpx.ReadTimeout("too slow"),
}


@pytest.mark.parametrize("case", TROUBLE)
def test_trouble_that_passes_is_waited_out(case):
    time, script = FakeClock(), Script(TROUBLE[case], TROUBLE[case], fine())
    assert http(script, time).get("/x").status == 200
    assert time.slept == [0.5, 1.0]


@pytest.mark.parametrize("case", TROUBLE)
def test_trouble_that_stays_is_told_with_the_place_and_without_the_key(case):
    time, script = FakeClock(), Script(TROUBLE[case])
    with pytest.raises((ServiceBusy, ServiceUnreachable), match=r"GET loom\.example/x: ") as caught:
        http(script, time, policy=RetryPolicy(tries=3)).get("/x")
    assert len(script.requests) == 3
    assert SECRET not in str(caught.value)


def test_what_must_not_be_sent_twice_is_only_repeated_if_it_never_arrived():
    for trouble, times in [("refused", 2), ("429", 2), ("503", 2), ("silent", 1), ("reset", 1), ("500", 1)]:
        script = Script(TROUBLE[trouble], fine())
        with suppress(ServiceBusy, ServiceUnreachable):
            http(script, FakeClock()).post("/x", {}, is_repeatable=False)
        assert len(script.requests) == times, trouble


AFTER = [("7", 7.0), ("0", 0.0), ("nonsense", 0.5), ("", 0.5), ("-3", 0.0)]


@pytest.mark.parametrize(("header", "waited"), AFTER)
def test_retry_after_is_obeyed(header, waited):
    time, script = FakeClock(), Script(httpx.Response(429, headers={"Retry-After": header}), fine())
    http(script, time).get("/x")
    assert time.slept == [waited]


def test_retry_after_may_be_a_date():
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    time, script = FakeClock(), Script(httpx.Response(503, headers={"Retry-After": at}), fine())
    http(script, time).get("/x")
    assert 20 < time.slept[0] <= 30


def test_a_service_that_asks_for_too_much_patience_is_given_up_at_once():
    time, script = FakeClock(), Script(httpx.Response(429, headers={"Retry-After": "3600"}))
    with pytest.raises(ServiceBusy, match="asks to wait 3600 s") as caught:
        http(script, time).get("/x")
    assert caught.value.wait_s == 3600
    assert time.slept == []


FINAL = [
    (400, RequestRefused),
    (401, AccessDenied),
    (403, AccessDenied),
    (404, PathNotFound),
    (413, RequestRefused),
    (301, RequestRefused),
]


@pytest.mark.parametrize(("status", "kind"), FINAL)
def test_a_refusal_is_not_tried_again(status, kind):
    said = {"message": f"no, {SECRET}", "error": [{"path": ["name"]}]}
    headers = {"location": "https://elsewhere.example"} if status == 301 else {}
    script = Script(httpx.Response(status, json=said, headers=headers))
    with pytest.raises(kind, match=f"answered {status} no, ") as caught:
        http(script, FakeClock()).get("/x")
    assert len(script.requests) == 1
    assert SECRET not in str(caught.value)
    assert '"path":["name"]' in str(caught.value)


def test_requests_keep_to_the_pace():
    time, script = FakeClock(), Script(fine())
    client = http(script, time, per_minute={"general": 30})
    began = time.at
    for _ in range(91):
        client.get("/x", bucket="general")
    assert (time.at - began).total_seconds() == 180
    client.get("/x", bucket="ingestion")
    assert (time.at - began).total_seconds() == 180


def test_an_answer_that_is_no_json_is_garbled():
    client = http(Script(httpx.Response(200, html="<html>login</html>")), FakeClock())
    with pytest.raises(GarbledAnswer, match=r"GET loom\.example/x: an answer of another form"):
        decode_answer(client.get("/x"), dict)


ADDRESSES = [
    ("https://loom.example/", "https://loom.example"),
    ("https://ada:pw@loom.example:3000/base/?q=1", "https://loom.example:3000/base"),
    ("http://[::1]:3000", "http://[::1]:3000"),
]


@pytest.mark.parametrize(("given", "expected"), ADDRESSES)
def test_an_address_is_brought_in_form(given, expected):
    assert parse_address(given) == expected


@pytest.mark.parametrize("given", ["loom.example", "", "ftp://loom.example", "https://", "https://x:y:z", "//ada:pw@h"])
def test_what_is_no_address_is_the_persons_to_mend(given):
    with pytest.raises(BadInput) as caught:
        parse_address(given)
    assert "pw" not in str(caught.value)
