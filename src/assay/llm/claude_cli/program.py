"""Claude Code in print mode (`claude -p`): for those who have a subscription or a login, and no key.

It gets no tools, no servers, nothing of a project, an empty folder, and the words through its standard input, where
no list of processes shows them. It keeps no session.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assay.config import Model as Settings
from assay.errors import ModelBusy, ModelUnavailable
from assay.llm import wording
from assay.llm.claude_cli.envelope import read
from assay.llm.contract import Answer, Question

MODEL = "claude-haiku-4-5"
"""In full: what the alias stands for changes with the program, and a judge must not change unseen."""
PROGRAM = "claude"
QUIETLY = {
    "CLAUDE_CODE_MAX_RETRIES": "1",  # by default it tries a wrong key for two minutes
    "CLAUDE_CODE_SAFE_MODE": "1",  # no hooks, plugins, skills or CLAUDE.md of the person
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "0",  # spans and logs would be one more way out
    "CLAUDE_CODE_DISABLE_THINKING": "1",  # a reply has little room, and thinking counts
    "DISABLE_AUTOUPDATER": "1",
    "MAX_THINKING_TOKENS": "0",
}
NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID")
"""Set inside a session of Claude Code, where Assay may well be run."""


def connect(settings: Settings, env: Mapping[str, str]) -> "ClaudeCli":
    """A way to the program that the search path names."""
    program = shutil.which(PROGRAM, path=env.get("PATH", ""))
    if program is None:
        raise ModelUnavailable("no program called claude is on the PATH; install Claude Code, or choose another judge")
    return ClaudeCli(program, settings, env)


class ClaudeCli:
    """A connection: one process for every call."""

    backend = "claude-cli"
    caches_from = None
    """Nothing to count on: what is cached is the program's own choice."""
    room = 1

    def __init__(self, program: str, settings: Settings, env: Mapping[str, str]) -> None:
        self.where = program
        self.model = settings.name or MODEL
        self.timeout_s = settings.timeout_s
        self.env = {name: value for name, value in env.items() if name not in NESTED} | QUIETLY
        if settings.url:
            self.env["ANTHROPIC_BASE_URL"] = settings.url.rstrip("/").removesuffix("/v1")

    async def ask(self, question: Question) -> Answer:
        words = f"{question.material}\n\n{wording.task(question, schema=True)}"
        with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as scratch:
            try:
                out, err, code = await self.run(question, words, Path(scratch))
            except OSError as error:
                raise ModelUnavailable(f"{self.where} can't be run: {error.strerror}") from None
        return read(out, err, code, question, self.model)

    async def run(self, question: Question, words: str, scratch: Path) -> tuple[bytes, bytes, int]:
        """One process, from its start to its end; however it ends, nothing of it is left running."""
        empty, temporary = scratch / "empty", scratch / "tmp"
        empty.mkdir()
        temporary.mkdir()
        env = {"TMPDIR": str(temporary), "CLAUDE_CODE_TMPDIR": str(temporary)}
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(question.most_output)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            self.where,
            *self.arguments(question),
            cwd=empty,
            env=self.env | env,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self.timeout_s):
                out, err = await process.communicate(words.encode("utf-8", "replace"))
        except TimeoutError:
            raise ModelBusy(f"{PROGRAM} gave no answer within {self.timeout_s:g} s") from None
        finally:
            await ended(process)
        return out, err, process.returncode or 0

    def arguments(self, question: Question) -> list[str]:
        return [
            *("-p", "--output-format", "json", "--no-session-persistence", "--strict-mcp-config", "--tools", ""),
            *("--model", self.model, "--system-prompt", question.system),
            *("--json-schema", question.schema.decode("utf-8")),
        ]

    async def close(self) -> None:
        """Nothing is kept open."""


async def ended(process: asyncio.subprocess.Process) -> None:
    """Kills what may be left of a process and of those it started."""
    with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says it the second way
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
