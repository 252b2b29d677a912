"""The phrases of all languages as two tries: over words, and over characters where words are not spaced.

Making the tries of the TOML files takes a third of a second, so the package is built with `phrases.msgpack`: the same
tries, cut at their first words, of which only those that occur are unpacked. Where that file is missing or older than
the phrases, the tries are made here. Nothing of ours is imported: the build runs this file by itself.
"""

import re
import tomllib
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

FOLDER = Path(__file__).parent
PACKED = FOLDER / "phrases.msgpack"
LANGUAGES = tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))

UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9d\u3005"
"""Kana, Han, Hangul: matched character by character, since a phrase may stand anywhere in a run of them."""
GAP = ".."
KINDS = ""
STEMS = "*"
SHARING = ("ja", "zh")
"""Languages that share characters, not meanings: a text is read without the phrases of one of them."""
Trie = dict[str, Any]
"""Token to deeper trie; `""` holds the kinds of the phrases that end here, `"*"` the stems that may follow."""


@cache
def compile_token() -> re.Pattern[str]:
    """A character of those scripts, a word with its apostrophes and hyphens, a number, or the end of a sentence."""
    return re.compile(
        rf"[{UNSPACED}]|[^\W\d_{UNSPACED}](?:(?:[^\W{UNSPACED}]|['-])*[^\W_{UNSPACED}])?|\d+|[?？!！。\n]|\.(?=\s|\Z)"
    )


def split_words(text: str) -> list[str]:
    """The words of a text, as they are looked up."""
    return compile_token().findall(text.casefold().replace("’", "'"))


class PackedPhrases(msgspec.Struct, frozen=True):
    """What `phrases.msgpack` holds."""

    version: str
    frequent: dict[str, list[str]]
    tries: dict[str, dict[str, int]]
    """For each language that is left out: first words, stems among them as `word*`, and the number of their node."""
    nodes: list[bytes]


@cache
def load_tables() -> dict[str, dict[str, Any]]:
    """Every language's table of phrases."""
    return {name: tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")) for name in LANGUAGES}


@cache
def hash_phrases() -> str:
    """A hash that changes whenever a phrase does."""
    return sha256(b"".join((FOLDER / f"{name}.toml").read_bytes() for name in LANGUAGES)).hexdigest()[:12]


@cache
def load_packed() -> PackedPhrases | None:
    """The packed tries, where they are there and hold today's phrases."""
    try:
        packed = msgspec.msgpack.decode(PACKED.read_bytes(), type=PackedPhrases)
    except (OSError, msgspec.DecodeError):
        return None
    return packed if packed.version == hash_phrases() else None


def pack_phrases() -> bytes:
    """All phrases, as `phrases.msgpack` holds them."""
    nodes: dict[bytes, int] = {}
    tries: dict[str, dict[str, int]] = {}
    for other in SHARING:
        whole = build_trie(other)
        first = {word: node for word, node in whole.items() if word != STEMS}
        first |= {f"{word}{STEMS}": node for word, node in whole[STEMS].items()}
        tries[other] = {
            word: nodes.setdefault(msgspec.msgpack.encode(node), len(nodes)) for word, node in first.items()
        }
    frequent = {name: table["frequent"] for name, table in load_tables().items()}
    return msgspec.msgpack.encode(PackedPhrases(hash_phrases(), frequent, tries, [*nodes]))


def load_frequent_words() -> dict[str, list[str]]:
    """The commonest words of each language."""
    packed = load_packed()
    return packed.frequent if packed else {name: table["frequent"] for name, table in load_tables().items()}


def prepare_phrases() -> None:
    """Read the phrases now, so that processes which are forked later share them."""
    compile_token()
    if load_packed() is None:
        build_trie("ja")


def find_first_nodes(word: str, other: str) -> list[Trie]:
    """Where phrases that begin with a word go on, without the phrases of one language."""
    packed = load_packed()
    if packed is None:
        return find_next_nodes(build_trie(other), word)
    places = packed.tries[other]
    named = [word, *(f"{word[:k]}{STEMS}" for k in range(2, len(word) + 1))]
    return [msgspec.msgpack.decode(packed.nodes[places[name]]) for name in named if name in places]


def find_next_nodes(node: Trie, word: str) -> list[Trie]:
    """Where a word leads: by itself, and as an inflection of a stem."""
    nodes = [node[word]] if word in node else []
    if (stems := node.get(STEMS)) is not None:
        nodes += [stems[word[:k]] for k in range(2, len(word) + 1) if word[:k] in stems]
    return nodes


@cache
def build_trie(other: str) -> Trie:
    """All phrases but one language's; what is English too ("error", "documentation") means what it means there."""
    root: Trie = {}
    english = {phrase for _, phrases in list_kinds(load_tables()["en"]) for phrase in phrases}
    for name, table in load_tables().items():
        if name == other:
            continue
        for kind, phrases in list_kinds(table):
            for phrase in phrases:
                if name == "en" or phrase not in english:
                    add_phrase(root, phrase, kind)
    return root


def list_kinds(table: dict[str, Any], before: str = "") -> list[tuple[str, list[str]]]:
    """Kinds with their phrases: `accepts`, `asks.bug_fix`, `agent.done`."""
    found: list[tuple[str, list[str]]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += list_kinds(value, f"{before}{key}.")
        elif isinstance(value, list) and key != "frequent":
            found.append((before + key, value))
    return found


def add_phrase(root: Trie, phrase: str, kind: str) -> None:
    """Put one phrase into the trie."""
    node = root
    for part in phrase.split():
        if part == GAP:
            node = node.setdefault(GAP, {})
            continue
        words = split_words(part.rstrip("*"))
        if not words:
            continue
        for word in words[:-1]:
            node = node.setdefault(word, {})
        if part.endswith("*") and len(words[-1]) > 1:
            node = node.setdefault(STEMS, {}).setdefault(words[-1], {})
        else:
            node = node.setdefault(words[-1], {})
    held = node.setdefault(KINDS, [])
    if kind not in held:
        held.append(kind)
