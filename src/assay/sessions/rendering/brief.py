"""A turn in a few lines, and many turns in one: what is left when shorter shapes are not enough."""

from collections.abc import Sequence

from msgspec import Struct

from assay.sessions.calls import made_edits, telling_line
from assay.sessions.rendering.blocks import headline, spoken
from assay.sessions.rendering.deeds import files_of
from assay.sessions.rendering.frame import named, quoted
from assay.sessions.rendering.names import Names
from assay.sessions.rendering.shapes import has_failed
from assay.sessions.rendering.words import done, several
from assay.types import Turn


class Brief(Struct, frozen=True):
    """How much of a turn is told."""

    prompt: tuple[int, int] = (160, 0)
    """Characters of its head and tail; without a tail, of its first line."""
    failures: int = 2
    words: int = 0
    """Characters at the end of the last reply."""
    is_counted: bool = True
    has_files: bool = False


EARLY_BRIEF = Brief()
LAST_BRIEFS = (
    Brief(prompt=(2_000, 500), failures=8, words=1_200, has_files=True),
    Brief(prompt=(800, 200), failures=4, words=600, has_files=True),
    Brief(prompt=(300, 100), failures=3, words=300),
)
SQUEEZED = (
    Brief(prompt=(300, 100), failures=2, words=200),
    Brief(prompt=(120, 0), failures=1, words=100),
    Brief(prompt=(60, 0), failures=1, words=40),
    Brief(prompt=(30, 0), failures=0),
    Brief(prompt=(8, 0), failures=0, is_counted=False),
)


def briefly(turn: Turn, number: int, brief: Brief, names: Names) -> list[str]:
    """A turn in a few lines."""
    lines = [headline(turn, number)]
    if turn.prompt is not None:
        lines = [f"{lines[0]}:", *said(turn.prompt.text, brief.prompt)]
    if brief.is_counted:
        lines.append(f"- in short: {done([turn])}")
    edits = [edit for call in turn.calls for edit in made_edits(call)]
    if brief.has_files and edits:
        lines += ["- files:", *files_of(edits, names)]
    why = list(dict.fromkeys(telling_line(call) for call in turn.calls if has_failed(call)))
    if brief.failures and why:
        lines += ["- failures, the last ones:", *named(why[-brief.failures :], min(200, 2 * sum(brief.prompt)))]
    words = next((text for reply in reversed(turn.replies) if (text := spoken(reply))), "")
    if brief.words and words:
        lines += ["- the agent's last words:", *quoted(words, 0, brief.words)]
    return lines


def said(text: str, limit: tuple[int, int]) -> list[str]:
    """A prompt, or what it begins with."""
    head, tail = limit
    if tail:
        return quoted(text, head, tail)
    first = next((line for line in text[: 100 * head].splitlines() if line.strip()), text[:head])
    return named([first], head)


def folded(turns: Sequence[Turn], first: int, *, is_counted: bool = True) -> list[str]:
    """Turns in one line, without a word of theirs."""
    if not turns:
        return []
    prompts = several(sum(turn.prompt is not None for turn in turns), "prompt", "prompts")
    what = f"; {done(turns)}" if is_counted else ""
    return [f"[turns {first}-{first + len(turns) - 1}] folded: {prompts}{what}"]
