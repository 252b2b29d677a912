"""Shell commands of a transcript: what they run, what that is for, what it writes, how it went.

Takes the text of a command, and later its exit code and output; gives `Run`s. Imports only `types`.
"""

from assay.sessions.shell.commits import commit_ids
from assay.sessions.shell.outcome import conclude
from assay.sessions.shell.reading import read, said_for

__all__ = ["commit_ids", "conclude", "read", "said_for"]
