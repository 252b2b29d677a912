"""Fakes for tests of your own sources and judges, the same that Assay is tested with; nothing in Assay imports them.

- `claude_code`, `codex`: transcripts in a few lines; prompts, replies, calls, edits, shell runs with exit codes, times.
- `models`: a model in this process, and a server that speaks the protocols of Anthropic and OpenAI, both scripted.
- `langfuse`: a Langfuse server that remembers what it is sent; `observations` are rows to put into it, `langfuse_rows`
  what it answers with.
- `plugins`: what holds for every source and judge, as checks; a plugin that is there while a test runs.

Takes what a test says; gives files, servers and values; may import every room, and needs no more than Assay does.
"""

from assay.testing.claude_code import ClaudeTranscript
from assay.testing.codex import CodexTranscript
from assay.testing.langfuse import FakeClock, LangfuseServer
from assay.testing.models import FakeModel, ModelServer, reply_in_turn
from assay.testing.plugins import check_judge, check_source, install_plugin, read_events, read_turns

__all__ = [
    "ClaudeTranscript",
    "CodexTranscript",
    "FakeClock",
    "FakeModel",
    "LangfuseServer",
    "ModelServer",
    "check_judge",
    "check_source",
    "install_plugin",
    "read_events",
    "read_turns",
    "reply_in_turn",
]
