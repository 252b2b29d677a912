"""A configuration that was promoted: what went into which repository, when, and the verdict behind it."""

from assay.types.value import Row


class NotedFile(Row, frozen=True):
    """A file as the promoted configuration has it."""

    path: str
    """In the repository."""
    sha256: str | None
    """Of its bytes; `None` for one that was removed."""


class NotedPromotion(Row, frozen=True):
    """What `assay eval promote` keeps of a change that it brought on its way, for `assay compare` to look at later."""

    id: str
    """The same for the same comparison in the same repository."""
    name: str
    """Of the candidate's configuration."""
    at: str
    """When its branch was pushed."""
    project: str
    """The folder of the repository on the machine it was promoted from."""
    first_commit: str
    """Of the repository: the same in every clone. Empty where it is not known."""
    agents: tuple[str, ...]
    """Whose sessions it concerns; none: all agents that work there."""
    branch: str
    commit: str
    url: str | None
    files: tuple[NotedFile, ...]
    config_sha256: str
    verdict: str
    """Of the comparison behind it, with its gain and how many tasks it was made of."""
    gain: float | None
    tasks: int
    seal: str
    """Of the comparison."""
