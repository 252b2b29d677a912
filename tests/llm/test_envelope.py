"""What Claude Code printed, told apart: envelopes made by hand, and recordings of real ones where they are at hand."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm import Answer, PaidRefusal
from assay.llm.claude_cli import parse_output
from assay.types import Usage
from tests.llm.questions import FITS, MATERIAL, question
from tests.tables import each_row

RECORDED = Path(__file__).parents[3] / "shared" / "clients" / "cli_json"
WHOLE = {"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(FITS), "session_id": "s"}
FAILED = {**WHOLE, "is_error": True, "result": "API Error: as made by hand"}
SPENT = {"inputTokens": 7, "outputTokens": 5, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 2}


def told(out, err=b"", code=0):
    """The answer, or the error."""
    try:
        return parse_output(out, err, code, question(), "haiku")
    except ModelError as error:
        return error


def by_hand(**changed):
    return json.dumps(WHOLE | changed).encode()


def failed(**changed):
    return json.dumps(FAILED | changed).encode()


@pytest.mark.parametrize("out", [
    by_hand(),
    by_hand(structured_output=FITS, result="anything"),
    by_hand(result=f"```json\n{json.dumps(FITS)}\n```"),
    json.dumps([{"type": "system"}, {"type": "assistant"}, WHOLE]).encode(),
    b'{"type":"system"}\n' + by_hand(result="{}") + b"\n" + by_hand() + b"\n",
    b"a warning of some kind\n" + by_hand(),
])  # fmt: skip
def test_an_answer_is_found_in_every_form_it_is_printed_in(out):
    assert json.loads(told(out).text) == FITS


def test_a_run_that_never_gave_structured_output_hands_on_what_it_said():
    assert told(by_hand(result="I will not call the tool.")).text == "I will not call the tool."


def test_what_all_attempts_cost_is_counted():
    out = by_hand(total_cost_usd=0.25, modelUsage={"model-a": SPENT, "model-b": {**SPENT, "outputTokens": 9}})
    answer = told(out)
    assert answer.usage == Usage(input=14, output=14, cache_read=6, cache_write=4)
    assert answer.model == "model-b"
    assert answer.cost_usd == 0.25


def test_old_versions_have_usage_alone():
    answer = told(by_hand(usage={"input_tokens": 4, "output_tokens": 2, "cache_read_input_tokens": 1}))
    assert answer.usage == Usage(input=4, output=2, cache_read=1)
    assert answer.model == "haiku"


TROUBLES = [
    (failed(api_error_status=401), ModelUnavailable, "log in"),
    (failed(api_error_status=403), ModelUnavailable, "log in"),
    (failed(api_error_status=404), ModelUnavailable, "model.name"),
    (failed(api_error_status=400), ModelRefused, "400"),
    (failed(api_error_status=429), ModelBusy, "too much"),
    (failed(api_error_status=529), ModelBusy, "too much"),
    (failed(api_error_status=500), ModelBusy, "500"),
    (failed(result='API Error: 500 {"type":"error"}'), ModelBusy, "500"),
    (failed(api_error_status=400, result="Credit balance is too low"), ModelUnavailable, "Credit balance"),
    (failed(api_error_status=429, result="You've hit your session limit · resets 9pm"), ModelUnavailable, "resets"),
    (failed(result="Not logged in · Please run /login"), ModelUnavailable, "log in"),
    (failed(result="Invalid API key · Fix external API key"), ModelUnavailable, "log in"),
    (failed(api_error="connection_failed", result="(ECONNREFUSED)"), ModelUnavailable, "can't reach"),
    (failed(api_error="connection_failed", result="Connection lost (ECONNRESET)"), ModelBusy, "ECONNRESET"),
    (failed(terminal_reason="prompt_too_long", api_error_status=400), ModelRefused, "too long"),
    (failed(stop_reason="refusal"), PaidRefusal, "declined"),
    (failed(api_error="max_output_tokens"), PaidRefusal, "cut off"),
    (failed(subtype="error_max_turns"), PaidRefusal, "turns"),
    (by_hand(subtype="error_max_turns"), PaidRefusal, "turns"),
    (failed(subtype="error_max_budget_usd"), PaidRefusal, "budget"),
    (failed(subtype="error_max_structured_output_retries"), PaidRefusal, "schema"),
    (failed(result="something else"), ModelBusy, "something else"),
    (b"", ModelBusy, "no result"),
    (b"not JSON", ModelBusy, "no result"),
    (b'{"type": "result", "is_error": "yes"}', ModelBusy, "no result"),
]


@each_row(("out", "kind", "why"), TROUBLES, ids=[f"{i}" for i in range(len(TROUBLES))])
def test_every_outcome_is_told_apart(out, kind, why):
    error = told(out)
    assert type(error) is kind
    assert why in str(error)


def test_a_program_that_prints_nothing_and_fails_says_why():
    error = told(b"", b"error: unknown option '--nope'\n(Did you mean --name?)\n", 1)
    assert type(error) is ModelUnavailable
    assert "unknown option '--nope' (Did you mean --name?)" in str(error)
    assert type(told(b"", b"", -9)) is ModelBusy


def test_an_error_never_repeats_the_question():
    assert MATERIAL[:30] not in str(told(failed(api_error_status=400, result=f"bad: {MATERIAL}")))


FIELDS = st.sampled_from([*WHOLE, "usage", "modelUsage", "structured_output"])
ANYTHING = st.none() | st.integers() | st.text(max_size=5) | st.booleans()
SOMETHING = ANYTHING | st.dictionaries(st.text(max_size=3), ANYTHING, max_size=2)


@given(st.dictionaries(FIELDS, SOMETHING))
def test_whatever_is_printed_is_an_answer_or_trouble(changed):
    assert isinstance(told(json.dumps(WHOLE | changed).encode()), Answer | ModelError)


REAL = {
    "ok_hello": Answer, "text": ModelBusy, "verbose_json": Answer, "stream": Answer, "stream_partial": Answer,
    "schema_ok": Answer, "schema_none": Answer, "schema_bad": PaidRefusal, "judge_notools": Answer, "bare": Answer,
    "denied": Answer, "maxturns": PaidRefusal, "budget": PaidRefusal, "drop": Answer, "sseerr": Answer,
    "e400": ModelRefused, "e401": ModelBusy, "e401_r1": ModelUnavailable, "e403": ModelUnavailable,
    "e404": ModelUnavailable, "e429_r1": ModelBusy, "e429x2": Answer, "e500_r1": ModelBusy,
    "e500_r1_stream": ModelBusy, "e529_r1": ModelBusy, "e529x2": Answer, "ecredit": ModelUnavailable,
    "elong": ModelRefused, "connrefused": ModelUnavailable, "nokey": ModelUnavailable, "refusal": PaidRefusal,
    "maxtok": PaidRefusal, "killed_timeout": ModelBusy, "real_smollm2_b": Answer,
    "badflag": ModelUnavailable, "badresume": ModelUnavailable, "rootskip": ModelUnavailable,
    "v1.0.88/hello": Answer, "v1.0.88/e400": ModelRefused, "v1.0.88/e401": ModelUnavailable, "v1.0.88/e500": ModelBusy,
    "v1.0.88/maxturns": PaidRefusal, "v2.0.14/hello": Answer, "v2.0.14/e400": ModelRefused,
    "v2.0.14/e401": ModelUnavailable, "v2.0.14/e500": ModelBusy, "v2.0.14/maxturns": PaidRefusal,
    "v2.1.197/hello": Answer, "v2.1.197/e400": ModelRefused, "v2.1.197/e401": ModelUnavailable,
    "v2.1.197/e500": ModelBusy, "v2.1.197/maxturns": PaidRefusal,
}  # fmt: skip


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recordings are not at hand")
@pytest.mark.parametrize(("name", "kind"), REAL.items(), ids=REAL)
def test_recorded_runs_are_told_apart(name, kind):
    out, err = RECORDED / f"{name}.out", RECORDED / f"{name}.err"
    said = err.read_bytes() if err.exists() else b""
    assert type(told(out.read_bytes(), said, 1 if said else 0)) is kind
