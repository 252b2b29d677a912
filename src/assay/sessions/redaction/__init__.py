"""One step between a transcript and all that leaves the process: secrets become typed markers.

- `redactor`: replaces secrets in texts and streams, and makes streams without words;
- `finder`: where secrets stand in a text;
- `rulebook`: the rules, read from `rules/`;
- `checks`: what a value has to be like before it counts as a secret.

Takes texts or a stream, gives them back clean. Imports types and how `sessions` reads paths. Importing it reads and
compiles nothing; the first text that is looked at does.
"""

from assay.sessions.redaction.finder import RedactionOptions, prepare_rules
from assay.sessions.redaction.redactor import Redactor, redact_secrets, silence_stream
from assay.sessions.redaction.rulebook import hash_rules

__all__ = ["RedactionOptions", "Redactor", "hash_rules", "prepare_rules", "redact_secrets", "silence_stream"]
