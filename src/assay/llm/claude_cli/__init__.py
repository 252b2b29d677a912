"""The backend `claude-cli`: `program` runs Claude Code, `envelope` reads what it printed."""

from assay.llm.claude_cli.program import MODEL, connect

__all__ = ["MODEL", "connect"]
