"""What a person said, out of what the client wrapped around it."""

import re

_REQUEST = "## My request for Codex:"
_WRAPPERS = ("# Context from my IDE", "# Files mentioned by the user")
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<recommended_plugins>",
    "# AGENTS.md instructions",
    "<skill>",
)
_INJECTED_KINDS = ("environment_context", "user_instructions")
_SHELL = re.compile(r"\s*<user_shell_command>.*?<command>\n?(.*?)\n?</command>", re.DOTALL)


def spoken(text: str, kind: str = "") -> str | None:
    """The person's own words; `None` when the client wrote it."""
    if kind in _INJECTED_KINDS or text.startswith(_INJECTED):
        return None
    if text.startswith(_WRAPPERS):
        request = text.partition(_REQUEST)[2]
        text = request if request.strip() else text
    return text.strip()


def shell_command(text: str) -> str | None:
    """The command that a person ran with `!`."""
    found = _SHELL.match(text)
    return found[1].strip() if found else None
