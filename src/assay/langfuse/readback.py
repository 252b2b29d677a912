"""Scores that Langfuse has, by their ids."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from assay.http import PathNotFound, decode_answer
from assay.langfuse.client import GENERAL, LEGACY, Client
from assay.langfuse.scores import MARK, Row

V3, V2 = "/api/public/v3/scores", "/api/public/v2/scores"
IDS_AT_ONCE = 50
"""Ids of 38 characters: their list stays well below what proxies allow in a URL."""


class Kept(Struct, frozen=True, rename="camel"):
    id: str
    name: str
    timestamp: str = ""
    value: float | str | bool | None = None
    string_value: str | None = None
    data_type: str = ""
    metadata: Any = None


class Page(Struct, frozen=True):
    data: list[Kept]


def rows(client: Client, ids: Iterable[str]) -> Iterator[Row]:
    """The rows with these ids; from 3.179 on by the one endpoint, before by the one that v4 has given up."""
    left = iter(ids)
    while some := tuple(islice(left, IDS_AT_ONCE)):
        named = ",".join(some)
        try:
            answer = client.http.get(V3, {"id": named, "limit": 100, "fields": "details"}, GENERAL)
        except PathNotFound:
            answer = client.http.get(V2, {"scoreIds": named, "limit": 100, "page": 1}, LEGACY)
        for one in decode_answer(answer, Page).data:
            yield row(one)


def row(one: Kept) -> Row:
    """A score of either endpoint; the older gives a category's label beside its number."""
    value = one.string_value if one.data_type == "CATEGORICAL" and one.string_value is not None else one.value
    metadata = one.metadata if isinstance(one.metadata, dict) else {}
    written = metadata.get(MARK)
    return Row(
        id=one.id,
        name=one.name,
        value=value,
        timestamp=one.timestamp,
        written=written if isinstance(written, str) else "",
    )
