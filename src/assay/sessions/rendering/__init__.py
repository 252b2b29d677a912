"""A session as a judge reads it: hostile text in a frame that it can't leave, within a budget of tokens.

- `transcript`: a whole session, or its prompts alone;
- `blocks`: a turn as blocks, each with the shorter shapes it can take;
- `budget`: tokens of a text, and which blocks are shortened until all fits;
- `repeats`: text that stood before, told in one line;
- `frame`: lines of ours and lines of the transcript, kept apart;
- `words`: the few words in which our own lines speak.

Takes turns that went through `sessions.redaction`; gives text; knows no judge and no model.
Imports types and the rest of sessions.
"""

from assay.sessions.rendering.budget import estimate_tokens
from assay.sessions.rendering.frame import sanitize_text
from assay.sessions.rendering.transcript import list_own_lines, render_prompts, render_session

VERSION = 4
"""Raised when the same turns are rendered in another way: judges must be asked again."""

__all__ = ["VERSION", "estimate_tokens", "list_own_lines", "render_prompts", "render_session", "sanitize_text"]
