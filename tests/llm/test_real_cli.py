"""The real Claude Code against a stand-in for its service."""

import asyncio
import json
import os
import time
from pathlib import Path

import psutil
import pytest

from assay.config import Model as Settings
from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm import Answer, PaidRefusal
from assay.llm.claude_cli import ClaudeCli, connect
from assay.pipeline.cost import CostLimit, find_price
from assay.testing.models import BrokenReply, EarlyStop, ErrorStatus, ModelServer, RawBody, SlowReply, reply_in_turn
from assay.types import CleanText
from tests.llm.questions import FITS, KEY, MATERIAL, SCHEMA, ask_many, question
from tests.llm.real import claude_code

pytestmark = pytest.mark.outside


@pytest.fixture(scope="module")
def program() -> Path:
    return claude_code()


@pytest.fixture
def env(program: Path, tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": f"{program}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), "ANTHROPIC_API_KEY": KEY}


def told(reply, env, asked=None, **settings):
    """What came of one call, and all that was asked of the service."""
    with ModelServer(reply) as service:
        model = connect(Settings(url=service.url, **{"timeout_s": 60, **settings}), env)
        try:
            came = asyncio.run(model.ask(asked or question()))
        except ModelError as error:
            came = error
        return came, service.calls


def test_an_answer_by_schema_comes_with_its_cost(env, tmp_path):
    answer, (call,) = told(lambda *_: FITS, env)
    assert json.loads(answer.text) == FITS
    assert answer.cost_usd > 0
    assert answer.usage.input > 50
    assert answer.model == "claude-haiku-4-5"
    assert call.job == "session"
    assert call.body["max_tokens"] == 200
    assert not list(Path(env["HOME"]).rglob("*.jsonl"))


@pytest.mark.parametrize("reply", [{"nonsense": 1}, "Splendid work!"], ids=str)
def test_what_the_program_asks_again_by_itself_is_within_what_is_set_aside(env, reply):
    came, calls = told(lambda *_: reply, env)
    paid = came.answer if isinstance(came, PaidRefusal) else came
    assert len(calls) == ClaudeCli.requests == 2
    price = find_price(paid.model, Settings())
    limit = CostLimit(1.0, price, 1.0, connect(Settings(), env))
    assert 0 < paid.cost_usd <= limit.dearest(question(), price)


def test_the_program_gets_one_tool_for_its_answer_and_nothing_of_the_persons(env):
    home = Path(env["HOME"])
    (home / ".claude").mkdir()
    (home / ".claude" / "CLAUDE.md").write_text("Always mention the heron.")
    ran = home / "hook-ran"
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"touch {ran}"}]}]}
    server = {"command": "touch", "args": [str(ran)]}
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"loom": server}}))
    _, (call,) = told(lambda *_: FITS, env)
    assert [tool["name"] for tool in call.body["tools"] if not tool.get("defer_loading")] == ["StructuredOutput"]
    assert call.body["tools"][-1]["input_schema"] == SCHEMA
    assert "heron" not in json.dumps(call.body)
    assert not ran.exists()


OUTCOMES = {
    "no structured output": (lambda *_: "I'd rather not.", Answer, "I'd rather not."),
    "fenced": (lambda *_: f"```json\n{json.dumps(FITS)}\n```", Answer, "pass"),
    "nothing": (lambda *_: "", Answer, ""),
    "off its schema for ever": (lambda *_: {"verdict": "maybe"}, PaidRefusal, "schema"),
    "off its schema once": (reply_in_turn({"verdict": "maybe"}, FITS), Answer, "pass"),
    "401": (lambda *_: ErrorStatus(401), ModelUnavailable, "log in"),
    "400": (lambda *_: ErrorStatus(400), ModelRefused, "400"),
    "429": (lambda *_: ErrorStatus(429, headers={"retry-after": "1"}), ModelBusy, "too much"),
    "529": (lambda *_: ErrorStatus(529), ModelBusy, "too much"),
    "500": (lambda *_: ErrorStatus(500), ModelBusy, "500"),
    "refusal": (lambda *_: EarlyStop("refusal"), PaidRefusal, "declined"),
    "cut off": (lambda *_: EarlyStop("max_tokens", "{"), PaidRefusal, "cut off"),
    "dropped once": (reply_in_turn(BrokenReply(), FITS), Answer, "pass"),
    "dropped for ever": (lambda *_: BrokenReply(), ModelBusy, "claude"),
    "malformed": (lambda *_: RawBody(b"{not JSON"), ModelBusy, "claude"),
}


@pytest.mark.parametrize(("reply", "kind", "why"), OUTCOMES.values(), ids=OUTCOMES)
def test_every_outcome_is_told_apart(env, reply, kind, why):
    came, _ = told(reply, env)
    assert type(came) is kind, came
    assert why in (came.text if isinstance(came, Answer) else str(came))


def children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if "claude" in " ".join(one.cmdline())]


def test_a_service_that_says_nothing_is_left_after_the_timeout_and_nothing_runs_on(env):
    began = time.monotonic()
    came, _ = told(lambda *_: SlowReply(60, FITS), env, timeout_s=6)
    assert type(came) is ModelBusy
    assert "within 6 s" in str(came)
    assert time.monotonic() - began < 20
    assert not children()


def test_stopped_in_the_middle_nothing_runs_on_and_no_words_were_to_be_seen(env):
    seen = []

    async def run(url):
        model = connect(Settings(url=url, timeout_s=60), env)
        work = asyncio.create_task(model.ask(question()))
        while not service.calls:
            await asyncio.sleep(0.05)
        seen.extend(word for one in children() for word in one.cmdline())
        began = time.monotonic()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        return time.monotonic() - began

    with ModelServer(lambda *_: SlowReply(60, FITS)) as service:
        assert asyncio.run(run(service.url)) < 10
        assert not children()
    assert "--json-schema" in seen
    assert MATERIAL not in " ".join(seen)
    assert MATERIAL in service.calls[0].text


def test_a_flag_it_does_not_know_is_said_so(env):
    class Wrong(ClaudeCli):
        def build_arguments(self, question):
            return [*super().build_arguments(question), "--no-such-flag"]

    program = connect(Settings(), env).where
    with pytest.raises(ModelUnavailable, match="unknown option"):
        asyncio.run(Wrong(program, Settings(timeout_s=60), env).ask(question()))


def test_a_program_that_is_not_there_is_said_so():
    with pytest.raises(ModelUnavailable, match="PATH"):
        connect(Settings(), {"PATH": "/nowhere"})


def test_a_reply_that_does_not_fit_is_told_so_once(env):
    def reply(job, text):
        return FITS if "could not be used" in text else "no JSON"

    with ModelServer(reply) as service:
        model = connect(Settings(url=service.url, timeout_s=60), env)
        (asked,) = ask_many(model, [question(material=CleanText("[1] mend it"))])
    assert [call.outcome for call in asked.calls] == ["invalid", "ok"]
    assert json.loads(asked.text) == FITS
