"""One step between a transcript and all that leaves the process: secrets become typed markers.

Takes texts or a stream, gives them back clean. Knows `types` and how `sessions` reads paths. Importing it reads and
compiles nothing; the first text that is looked at does.
"""

from assay.sessions.redaction.redactor import Options, Redactor, prepare
from assay.sessions.redaction.rulebook import version
from assay.sessions.redaction.streams import clean, silent

__all__ = ["Options", "Redactor", "clean", "prepare", "silent", "version"]
