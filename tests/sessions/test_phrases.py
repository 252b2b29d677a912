"""The packed phrases: the same as those that are made of the tables, and never older."""

from pathlib import Path

import msgspec
import pytest

import assay
from assay.sessions.speech import phrases
from assay.sessions.speech.phrases import list_kinds, load_tables

SOURCE = Path(assay.__file__).parent


def plain(node: object) -> object:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(node))


@pytest.mark.parametrize("other", phrases.SHARING)
def test_packed_phrases_lead_where_the_tables_lead(other: str):
    whole, packed = (
        phrases.build_trie(other),
        msgspec.msgpack.decode(phrases.pack_phrases(), type=phrases.PackedPhrases),
    )
    words = [*whole, *whole[phrases.STEMS], "nothing", "fixing", "ошибками"]
    for word in words:
        named = [word, *(f"{word[:k]}*" for k in range(2, len(word) + 1))]
        there = [packed.nodes[packed.tries[other][name]] for name in named if name in packed.tries[other]]
        if word != phrases.STEMS:
            assert [msgspec.msgpack.decode(node) for node in there] == [
                plain(node) for node in phrases.find_next_nodes(whole, word)
            ]


def test_packed_phrases_of_other_tables_are_not_used(tmp_path, monkeypatch):
    old = msgspec.structs.replace(
        msgspec.msgpack.decode(phrases.pack_phrases(), type=phrases.PackedPhrases), version="older"
    )
    for content in (msgspec.msgpack.encode(old), b"half a fi", b""):
        (tmp_path / "phrases.msgpack").write_bytes(content)
        monkeypatch.setattr(phrases, "PACKED", tmp_path / "phrases.msgpack")
        phrases.load_packed.cache_clear()
        assert phrases.load_packed() is None
    phrases.load_packed.cache_clear()


def test_every_kind_of_phrase_is_read_by_somebody() -> None:
    code = "".join(file.read_text("utf-8") for file in sorted(SOURCE.rglob("*.py")))
    kinds = [kind for kind, _ in list_kinds(load_tables()["en"])]
    alone = [kind for kind in kinds if not kind.startswith(("asks.", "about."))]
    assert not [kind for kind in alone if f'"{kind}"' not in code]
