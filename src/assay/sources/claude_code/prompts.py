"""Which `user` records a person wrote, and what they said.

Claude Code writes tool results, injected context, notifications, echoes of slash commands and the
person's words all as `user` records. The order of the questions matters; it follows what was seen
in real files of versions 1.0.88 to 2.1.325.
"""

import re

from assay.sources.claude_code.records import MessageBlock, Record
from assay.types import PromptKind

INTERRUPTED = "[Request interrupted by user"
PLAN = "Implement the following plan:"
PERSON_SAID = re.compile(r"(?:To tell you how to proceed, )?the user said:\s*", re.IGNORECASE)
AFTER_SAID = re.compile(r"\n\nNote: The user.s next message may contain")
CLARIFY = "The user wants to clarify these questions"
ANSWER = re.compile(r"Answer:[ \t]*(\S.*)")
PREVIOUS = re.compile(r"read the full transcript at:?\s*\S*?([^/\\\s]+)\.jsonl")
TAG = re.compile(r"\s*<([a-z][a-z0-9_-]*)[^>]*>", re.IGNORECASE)
NAME = re.compile(r"<command-name>\s*(/?[^<]*?)\s*</command-name>")
ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
SHELL = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)

WRAPPED = frozenset({"ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder"})
"""Context put before the person's words; it is cut off and the rest is looked at again."""

MACHINE = frozenset(
    {
        "local-command-stdout",
        "local-command-stderr",
        "local-command-caveat",
        "bash-stdout",
        "bash-stderr",
        "bash-notification",
        "task-notification",
        "agent-notification",
        "teammate-message",
        "cross-session-message",
        "channel",
        "tick",
        "user-memory-input",
        "user-prompt-submit-hook",
        "fork-boilerplate",
    }
)
"""Tags that only the client writes at the head of a record."""

CLIENT_COMMANDS = frozenset(
    """add-dir agents allowed-tools app bashes branch bug chrome clear color compact config context
    continue copy cost desktop doctor effort exit export extra-usage fast feedback fork help hooks ide
    install-github-app install-slack-app keybindings login logout mcp memory mobile model new
    output-style passes permissions plugin plugins privacy-settings quit rate-limit-options
    release-notes reload-plugins remote-control remote-env rename reset resume rewind sandbox
    session settings skills stats status statusline stickers tag tasks terminal-setup theme
    think-back todos tui upgrade usage vim voice web-setup""".split()
)
"""Slash commands that set up the client and ask nothing of the agent."""

PromptText = tuple[PromptKind, str]


def from_text(text: str) -> PromptText | None:
    """Kind and words of the prompt in a record's text; `None` where a machine wrote it."""
    tag = TAG.match(text)
    while tag and tag[1] in WRAPPED:
        close = text.find(f"</{tag[1]}>", tag.end())
        text = text[close + len(tag[1]) + 3 :] if close >= 0 else ""
        tag = TAG.match(text)
    text = text.strip()
    if not text or text.startswith(INTERRUPTED):
        return None
    if tag and tag[1] in MACHINE:
        return None
    if tag and tag[1].startswith("command-"):
        return from_command(text)
    if shell := SHELL.match(text):
        return "shell", shell[1].strip()
    if text.startswith(PLAN):
        return "plan", text
    return "typed", text


def from_command(text: str) -> PromptText | None:
    """The request in a slash command; `None` for one that only steers the client."""
    name = find_command_name(text)
    if not name or name in CLIENT_COMMANDS:
        return None
    args = ARGS.search(text)
    return "command", f"/{name} {args[1].strip() if args else ''}".strip()


def find_command_name(text: str) -> str:
    """The name of the slash command in a text, without its slash."""
    found = NAME.search(text)
    return found[1].lstrip("/").strip() if found else ""


def from_rejection(text: str) -> PromptText | None:
    """The person's words inside a rejected tool call."""
    found = PERSON_SAID.search(text)
    if not found:
        return None
    words = AFTER_SAID.split(text[found.end() :])[0].strip()
    if words.startswith(CLARIFY):
        words = "\n".join(ANSWER.findall(words)) or "(wants to talk about the questions first)"
    return ("rejection", words) if words else None


def is_by_machine(record: Record) -> bool:
    """Whether the record's own flags say that no person wrote it."""
    if record.isMeta or record.isCompactSummary:
        return True
    if record.origin is not None and record.origin.kind not in ("", "human"):
        return True
    return record.promptSource == "system"


def join_text_blocks(blocks: list[MessageBlock]) -> str:
    """The person's text of a list of blocks, without injected context."""
    kept = []
    for block in blocks:
        tag = TAG.match(block.text) if block.type == "text" else None
        if block.type == "text" and not (tag and tag[1] in WRAPPED and is_one_tag(block.text, tag[1])):
            kept.append(block.text)
    return "\n".join(kept)


def is_one_tag(text: str, tag: str) -> bool:
    """Whether a text is one tag and nothing behind it."""
    close = f"</{tag}>"
    end = text.find(close)
    return end >= 0 and not text[end + len(close) :].strip()


def find_previous_stream(plan: str) -> str:
    """Vendor id of the stream that an accepted plan names as its origin; empty for none."""
    found = PREVIOUS.search(plan)
    return found[1] if found else ""
