"""An agent asks about sessions over the Model Context Protocol, through the official client; nothing changes."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from assay.testing.claude_code import ClaudeTranscript

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
NAMES = ["list_sessions", "find_sessions", "show_session", "explain_score", "tell_trend", "compare_sessions", "advise"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / ".claude/projects/loom"
    folder.mkdir(parents=True)
    for n in range(60):
        told = ClaudeTranscript(f"s{n:02}").wait(minutes=60 * 24 * n)
        told.add_prompt(f"Please weave scarf {n} with {SECRET}").add_edit("scarf.py", "", f"a = {n}\n" * 12)
        told.add_shell("pytest -q", "1 passed" if n % 2 else "FAILED test_scarf", 0 if n % 2 else 1)
        told.add_reply("It is woven, and all tests pass." if n % 2 else "It still fails.")
        told.write(folder)
    return tmp_path


def ask(home: Path, use: Callable[[Client], Awaitable[Any]]) -> Any:
    """Start `assay mcp` as an agent does, and talk to it through the SDK's own client."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "ASSAY_STORE": str(home / "s.db")}
    server = StdioServerParameters(command=sys.executable, args=["-m", "assay", "mcp"], env=env)

    async def talk() -> Any:
        async with Client(stdio_client(server)) as client:
            return await use(client)

    return asyncio.run(asyncio.wait_for(talk(), 120))


async def call(client: Client, name: str, **given: Any) -> dict[str, Any]:
    done = await client.call_tool(name, given)
    assert not done.is_error, done.content
    found: dict[str, Any] = json.loads(done.content[0].text)  # type: ignore[union-attr]
    return found


def test_every_question_is_answered_in_pages_cited_and_redacted(home: Path):
    async def use(client: Client) -> dict[str, Any]:
        tools = (await client.list_tools()).tools
        assert [one.name for one in tools] == NAMES
        assert all(one.annotations and one.annotations.read_only_hint for one in tools)
        first = await call(client, "list_sessions")
        shown = await call(client, "show_session", id=first["sessions"][0]["id"], turns_from=0)
        return {
            "first": first,
            "second": await call(client, "list_sessions", page=first["next_page"]),
            "found": await call(client, "find_sessions", words='"scarf 7 with"'),
            "shown": shown,
            "score": await call(client, "explain_score", since="2026-01-01"),
            "trend": await call(client, "tell_trend", by="week"),
            "compared": await call(
                client, "compare_sessions", one="2026-03-01..2026-03-31", other="2026-04-01..2026-04-30"
            ),
            "advice": await call(client, "advise", since="2026-01-01"),
        }

    told = ask(home, use)
    assert SECRET not in json.dumps(told)
    assert (len(told["first"]["sessions"]), told["first"]["total"], told["first"]["next_page"]) == (50, 60, 1)
    assert (len(told["second"]["sessions"]), told["second"]["next_page"]) == (10, None)
    assert len(told["found"]["sessions"]) == 1
    assert told["shown"]["crushed"] is True
    assert told["shown"]["turns"]["rows"][0]["prompt"].startswith("Please weave scarf 59 with [redacted:")
    assert all({"turn", "quote"} <= set(one) for one in told["shown"]["citations"])
    assert (told["score"]["score"]["crushed"], told["score"]["score"]["counted"]) == (30, 60)
    assert told["score"]["not_landed"][0]["sessions"] >= 1
    assert len(told["trend"]["points"]) >= 8
    assert len(told["compared"]["sides"]) == 2
    assert told["advice"]["counted"] == 60


def test_a_bad_question_gets_a_line_that_helps(home: Path):
    async def use(client: Client) -> list[tuple[bool, str]]:
        asked = [
            ("show_session", {"id": "nobody"}),
            ("list_sessions", {"since": "yesterday-ish"}),
            ("tell_trend", {"by": "hour"}),
            ("compare_sessions", {"one": "model:none", "other": SECRET}),
            ("find_sessions", {"words": '"open'}),
        ]
        done = [await client.call_tool(name, given) for name, given in asked]
        return [(bool(one.is_error), one.content[0].text) for one in done]  # type: ignore[union-attr]

    told = ask(home, use)
    assert all(is_error for is_error, _ in told)
    assert not [said for _, said in told if "Traceback" in said or SECRET in said]
    assert "list_sessions gives their ids" in told[0][1]


def test_without_transcripts_there_is_no_score_and_no_error(tmp_path: Path):
    async def use(client: Client) -> dict[str, Any]:
        return await call(client, "explain_score")

    assert ask(tmp_path, use)["score"]["value"] is None
