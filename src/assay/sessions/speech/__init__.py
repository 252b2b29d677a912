"""What people and agents say, told by phrases: one TOML file per language, each with the same keys.

- `utterances`: the phrases in a text, without what is pasted (code, logs, quotes), found in one pass over its words;
- `phrases`: the phrases of all languages, as tries.

Takes a text, gives an `Utterance`; imports `sessions.text` alone. Phrases tell moods and requests, they don't
understand: whoever uses them weighs them against what was done.
"""

from assay.sessions.speech.phrases import LANGUAGES, hash_phrases, prepare_phrases
from assay.sessions.speech.utterances import HeardPhrase, Utterance, find_own_words, parse_utterance

__all__ = [
    "LANGUAGES",
    "HeardPhrase",
    "Utterance",
    "find_own_words",
    "hash_phrases",
    "parse_utterance",
    "prepare_phrases",
]
