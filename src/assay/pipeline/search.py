"""Sessions by words that were said in them: all words of a search stand in the title, summary or prompts of one.

Nothing is indexed: kept prompts are looked through as they lie there (0.3 s for 15,000 turns), so that what is deleted
from the store, withheld or redacted is not found either.
"""

import shlex
from collections.abc import Sequence

from assay.errors import BadInput
from assay.pipeline.privacy import PrivacyRules, find_prompts
from assay.stores import Store
from assay.types import Session

AT_ONCE = 64


def search_sessions(store: Store, sessions: Sequence[Session], text: str, rules: PrivacyRules) -> list[Session]:
    """Those of the sessions in which every word, or phrase in quotes, of a text was said."""
    words = split_search(text)
    said: dict[tuple[str, str, str], str] = {}
    files = store.transcripts.list_stream_files({(one.agent, stream) for one in sessions for stream in one.streams})
    for start in range(0, len(files), AT_ONCE):
        some = files[start : start + AT_ONCE]
        for stream, kept in zip(some, store.transcripts.load_pieces(some), strict=True):
            said |= {(stream.agent, stream.id, at): words for at, words in find_prompts(kept, words, rules).items()}
    return [one for one in sessions if all(word in list_words(one, said) for word in words)]


def split_search(text: str) -> list[str]:
    """What is looked for, in small letters: words, and phrases in double quotes."""
    try:
        reader = shlex.shlex(text, posix=True)
        reader.whitespace_split, reader.quotes, reader.escape, reader.commenters = True, '"', "", ""
        words = [word.lower() for word in reader if word.strip()]
    except ValueError:
        raise BadInput(f"--search {text}: close the double quote, or leave it out") from None
    if not words:
        raise BadInput("--search: give some words to look for")
    return words


def list_words(one: Session, said: dict[tuple[str, str, str], str]) -> str:
    """The title, the summary and those prompts of a session in which one of the words was found."""
    found = (said.get((one.agent, stream, at), "") for stream in one.streams for at in one.prompts_at)
    return "\n".join((one.title, one.summary, *found)).lower()
