"""Where in Langfuse the words of a turn stand: the trace and the observation, found in a pulled session's file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote as escape

import msgspec

from assay.langfuse.client import Client
from assay.langfuse.pull import load_records
from assay.sources.langfuse.records import Record

LEAST_WORDS = 8
"""A shorter quote stands anywhere."""


class EvidenceMap:
    """The observations of one pulled session, to be searched for what is quoted of its turns."""

    def __init__(self, client: Client, path: Path, moments: Sequence[str]) -> None:
        self.base = f"{client.http.base}/project/{escape(client.load_project().id)}/traces"
        self.moments = moments
        """When each turn of the session began."""
        self.records = load_records(path)

    def locate(self, turn: int, quote: str) -> Mapping[str, str]:
        """The trace of a turn, and the observation in it that holds the quote, else the one it begins with."""
        if not 0 < turn <= len(self.moments):
            return {}
        moment = self.moments[turn - 1]
        first = next((one for one in self.records if one.at == moment), None)
        first = first or next((one for one in self.records if one.at >= moment), None)
        if first is None or not first.trace:
            return {}
        words = strip_spaces(quote)
        inside = [one for one in self.records if one.trace == first.trace]
        holds = (one for one in inside if len(words) >= LEAST_WORDS and words in collect_words(one))
        found = next(holds, first)
        address = f"{self.base}/{escape(found.trace)}?observation={escape(found.id)}"
        return {"trace": found.trace, "observation": found.id, "url": address}


def collect_words(one: Record) -> str:
    """All that an observation was given and gave, without white space."""
    return strip_spaces(" ".join(dump_words(value) for value in (one.input, one.output) if value is not None))


def dump_words(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return " ".join(dump_words(one) for one in value.values())
    if isinstance(value, list):
        return " ".join(dump_words(one) for one in value)
    return msgspec.json.encode(value).decode()


def strip_spaces(text: str) -> str:
    return "".join(text.split())
