"""What sessions make of events: turns, parts of streams, streams."""

from assay.types.events import Call, Mark, Prompt, Reply, Spend
from assay.types.value import Value


class Turn(Value, frozen=True):
    """One human prompt and all that follows up to the next one.

    `prompt` is `None` for what happened before anybody said anything (and in sub-agents).
    """

    at: str = ""
    ended_at: str = ""
    prompt: Prompt | None = None
    replies: tuple[Reply, ...] = ()
    calls: tuple[Call, ...] = ()
    spends: tuple[Spend, ...] = ()
    marks: tuple[Mark, ...] = ()
    signs: tuple[str, ...] = ()
    """By what its tenant is known: folders it was done in, and hashes as `types.value` makes them."""


class Part(Value, frozen=True):
    """What one file holds of a stream, apart from its turns."""

    agent: str
    stream: str
    by: str = ""
    parent: str = ""
    forked_from: str = ""
    cwd: str = ""
    branch: str = ""
    title: str = ""
    origin: str = ""
    versions: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    asked: str = ""
    """What the first prompt begins with: a title where nobody gave one."""
    began_at: str = ""
    """When the file's first record was written: of copies, the file begun first owns them."""
    first_at: str = ""
    """When anybody first said or did anything in it; what was copied may be older than the file."""
    ended_at: str = ""
    is_warmup: bool = False
    signs: tuple[str, ...] = ()
    """Those of its turns."""
    is_forgotten: bool = False
    """Its words were deleted from the store when their retention had passed."""


class Stream(Value, frozen=True):
    """One conversation as its vendor keeps it: its files joined, copies dropped."""

    id: str
    agent: str
    files: tuple[str, ...]
    about: Part
    turns: tuple[Turn, ...]
