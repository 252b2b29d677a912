"""A session as a judge reads it: hostile text in a frame that it can't leave, within a budget of tokens.

Takes turns that went through `sessions.redaction`; gives text; knows no judge and no model.
"""

from assay.sessions.rendering.asked import prompts
from assay.sessions.rendering.defusing import defused
from assay.sessions.rendering.session import session
from assay.sessions.rendering.size import estimate

VERSION = 1
"""Raised when the same turns are rendered in another way: judges must be asked again."""

__all__ = ["VERSION", "defused", "estimate", "prompts", "session"]
