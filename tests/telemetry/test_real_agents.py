"""The real agents and the real exporter send to a real server while they work; it tells what transcripts tell."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.config import Config
from assay.pipeline.inputs import TELEMETRY_ROOT, find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.sources_compared import compare_sources
from assay.stores import Store, open_store
from assay.types import StreamSummary
from tests.evals.run.agents import FOLDERS
from tests.evals.run.services import Weaver
from tests.llm.real import fetched, run
from tests.server.serving import RunningServer, run_server
from tests.telemetry.test_captures import CODEX_ONLY, NOT_BOTH, ONLY_TELEMETRY, load_facts

pytestmark = [pytest.mark.outside, pytest.mark.last]

EXPORTER = "opentelemetry-exporter-otlp-proto-http==1.45.1"
SAID = ("Please weave the hat.", "/compact", "Please weave the scarf.", "/clear", "Please weave the sock.")
ALLOWED = (True, False, True)
"""Which of the tools that are asked for are let through."""


@pytest.fixture
def weaver() -> Iterator[Weaver]:
    with Weaver() as service:
        yield service


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with run_server(f"sqlite:///{tmp_path / 'told.db'}") as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    return tmp_path / "home"


def build_env(home: Path, agent: str) -> dict[str, str]:
    scratch = {name: str(home) for name in ("HOME", "TMPDIR", "CLAUDE_CODE_TMPDIR", "XDG_RUNTIME_DIR")}
    return scratch | {"PATH": f"{FOLDERS[agent]()}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "xterm"}


def talk_to_claude(command: list[str], env: dict[str, str], work: Path) -> None:
    """Say one thing after the other, and answer when a tool asks to be let through."""
    answers, left = iter(ALLOWED), list(SAID)
    with subprocess.Popen(
        command, cwd=work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None

        def say(message: dict[str, Any]) -> None:
            assert agent.stdin is not None
            agent.stdin.write(json.dumps(message) + "\n")
            agent.stdin.flush()

        say({"type": "user", "message": {"role": "user", "content": left.pop(0)}})
        for line in agent.stdout:
            told = json.loads(line)
            if told["type"] == "control_request":
                answer = {"behavior": "deny", "message": "The user doesn't want to proceed with this tool use."}
                if next(answers):
                    answer = {"behavior": "allow", "updatedInput": told["request"]["input"]}
                reply = {"subtype": "success", "request_id": told["request_id"], "response": answer}
                say({"type": "control_response", "response": reply})
            elif told["type"] == "result":
                if not left:
                    break
                say({"type": "user", "message": {"role": "user", "content": left.pop(0)}})
        agent.stdin.close()
        assert agent.wait(60) == 0


def read_stream(store: Store, path: str) -> list[StreamSummary]:
    scan(store, find_files([Path(path)]), 1, ignore_progress)
    return store.transcripts.list_streams([path])


@pytest.mark.parametrize("protocol", ["http/json", "http/protobuf"])
def test_claude_code_is_told_live_as_its_transcript_tells_it(
    protocol: str, weaver: Weaver, server: RunningServer, home: Path, tmp_path: Path
):
    sent = {f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("LOGS", "METRICS", "TRACES")}
    sent |= {f"OTEL_LOG_{what}": "1" for what in ("USER_PROMPTS", "TOOL_DETAILS", "TOOL_CONTENT")}
    sent |= {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_ENDPOINT": server.address}
    sent |= {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1"}
    asked = {"ANTHROPIC_BASE_URL": weaver.url, "ANTHROPIC_API_KEY": "sk-ant-none", "CLAUDE_CODE_MAX_RETRIES": "1"}
    asked |= {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    streaming = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    command = ["claude", "-p", *streaming, "--permission-prompt-tool", "stdio"]
    talk_to_claude(command, build_env(home, "claude-code") | asked | sent, tmp_path / "work")
    with closing(open_store(server.settings.store)) as store:
        told = read_stream(store, TELEMETRY_ROOT)
        with open_run(store, Config(), [TELEMETRY_ROOT], jobs=1) as running:
            signals = [one.boundary.signal for one in score_run(running, remembers=False).report.sessions]
        written = read_stream(store, str(home))
        agreed = [one.differs for one in compare_sources(store, None).conversations]
        scored = {one.agent for one in store.transcripts.list_streams(None)}
    assert [one.id for one in told] == [f"{one.id}@claude-code" for one in written]
    assert [one.turns for one in told] == [2, 1]
    assert signals[-1] == "clear"
    for ours, theirs in zip(told, written, strict=True):
        leave_out = NOT_BOTH | (ONLY_TELEMETRY if msgspec.json.decode(theirs.facts)["compactions"] else frozenset())
        assert load_facts(ours, leave_out) == load_facts(theirs, leave_out)
    first = load_facts(told[0], frozenset())
    assert (first["rejections"], first["compactions"], first["mutating_calls"]) == (1, 1, 1)
    assert agreed == [["tokens", "cost_usd"], []]
    assert scored == {"claude-code"}


def test_codex_is_told_live_as_its_rollout_tells_it(weaver: Weaver, server: RunningServer, home: Path, tmp_path: Path):
    provider = f'name="weaver"\nbase_url="{weaver.url}/v1"\nwire_api="responses"\nenv_key="WEAVER_KEY"\n'
    exporter = f'{{ otlp-http = {{ endpoint = "{server.address}/v1/logs", protocol = "json" }} }}'
    settings = 'model = "gpt-5.2"\nmodel_provider = "weaver"\n\n[model_providers.weaver]\n' + provider
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(f"{settings}\n[otel]\nlog_user_prompt = true\nexporter = {exporter}\n")
    command = ["codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access", "Please weave the hat."]
    env = build_env(home, "codex") | {"WEAVER_KEY": "none"}
    done = subprocess.run(
        command, cwd=tmp_path / "work", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-500:]
    with closing(open_store(server.settings.store)) as store:
        (ours,), (theirs,) = read_stream(store, TELEMETRY_ROOT), read_stream(store, str(home))
    leave_out = NOT_BOTH | CODEX_ONLY
    assert ours.id == f"{theirs.id}@codex"
    assert load_facts(ours, leave_out) == load_facts(theirs, leave_out)


SEND = """
import sys
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider(resource=Resource.create({"service.name": "loom-agent"}))
exporter = OTLPSpanExporter(sys.argv[1] + "/v1/traces", compression=__import__(
    "opentelemetry.exporter.otlp.proto.http", fromlist=["Compression"]).Compression.Gzip)
provider.add_span_processor(BatchSpanProcessor(exporter))
tracer = provider.get_tracer("loom")
said = '[{"role":"user","parts":[{"type":"text","content":"Mend the loom"}]}]'
answered = '[{"role":"assistant","parts":[{"type":"text","content":"It is mended."}]}]'
about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "g-7"}
with tracer.start_as_current_span("invoke_agent", attributes=about):
    asked = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said, "gen_ai.output.messages": answered}
    with tracer.start_as_current_span("chat", attributes=asked | {"gen_ai.usage.input_tokens": 12}):
        pass
    run = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "k1"}
    with tracer.start_as_current_span("execute_tool", attributes=run):
        pass
provider.shutdown()
"""


def test_the_exporter_of_the_sdk_is_understood(server: RunningServer, tmp_path: Path):
    def fetch(folder: Path) -> None:
        run(sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), EXPORTER)

    folder = fetched(f"otlp-exporter-1.45.1-py{sys.version_info.minor}", fetch)
    command = [sys.executable, "-c", SEND, server.address]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    with closing(open_store(server.settings.store)) as store:
        (stream,) = read_stream(store, TELEMETRY_ROOT)
    facts = load_facts(stream, frozenset())
    assert (stream.id, stream.title, stream.turns) == ("g-7@loom-agent", "Mend the loom", 1)
    assert (facts["tool_calls"], facts["tokens"]["input"], facts["replies"]) == (1, 12, 1)
