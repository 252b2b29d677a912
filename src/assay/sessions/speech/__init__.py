"""What people and agents say, told by phrases: one TOML file per language, each with the same keys.

- `ownership`: whose words a prompt holds: typed, pasted, a template's, the client's;
- `templates`: what a slash command, skill or prompt file brought, and what it is called;
- `utterances`: the phrases in somebody's own words, found in one pass over them;
- `phrases`: the phrases of all languages, as tries.

Takes a prompt or a text, gives an `Utterance`; imports `types` and `sessions.text`. Phrases tell moods and requests,
they don't understand: whoever uses them weighs them against what was done.
"""

from assay.sessions.speech.ownership import Piece, split_prompt
from assay.sessions.speech.phrases import LANGUAGES, hash_phrases, prepare_phrases
from assay.sessions.speech.templates import is_plan, name_template
from assay.sessions.speech.utterances import (
    HeardPhrase,
    Utterance,
    count_words,
    find_own_words,
    parse_own_words,
    parse_request,
    parse_utterance,
)

__all__ = [
    "LANGUAGES",
    "HeardPhrase",
    "Piece",
    "Utterance",
    "count_words",
    "find_own_words",
    "hash_phrases",
    "is_plan",
    "name_template",
    "parse_own_words",
    "parse_request",
    "parse_utterance",
    "prepare_phrases",
    "split_prompt",
]
