"""What people and agents say, told by phrases: one TOML file per language, each with the same keys.

`read` finds every phrase of every language in one pass over the words; what is pasted (code, logs, quotes)
is left out first by `own_words`. Phrases tell moods and requests, they don't understand: whoever uses them
weighs them against what was done.
"""

from assay.sessions.speech.phrases import LANGUAGES, prepare, version
from assay.sessions.speech.reading import Heard, Said, own_words, read

__all__ = ["LANGUAGES", "Heard", "Said", "own_words", "prepare", "read", "version"]
