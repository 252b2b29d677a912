"""The phrases of all languages as two tries: over words, and over characters where words are not spaced."""

import re
import tomllib
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

FOLDER = files("assay.sessions.speech")
LANGUAGES = tuple(sorted(entry.name[:-5] for entry in FOLDER.iterdir() if entry.name.endswith(".toml")))

UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9d\u3005"
"""Kana, Han, Hangul: matched character by character, since a phrase may stand anywhere in a run of them."""
TOKEN = re.compile(
    rf"[{UNSPACED}]|[^\W\d_{UNSPACED}](?:(?:[^\W{UNSPACED}]|['-])*[^\W_{UNSPACED}])?|\d+|[?？!！。\n]|\.(?=\s|\Z)"
)
"""A character of those scripts, a word with its apostrophes and hyphens, a number, or the end of a sentence."""

GAP = ".."
KINDS = ""
STEMS = "*"
Trie = dict[str, Any]
"""Token to deeper trie; `""` holds the kinds of the phrases that end here, `"*"` the stems that may follow."""


def tokens(text: str) -> list[str]:
    """The words of a text, as they are looked up."""
    return TOKEN.findall(text.casefold().replace("’", "'"))


@cache
def contents() -> dict[str, dict[str, Any]]:
    """Every language's file."""
    return {name: tomllib.loads(FOLDER.joinpath(f"{name}.toml").read_text("utf-8")) for name in LANGUAGES}


@cache
def version() -> str:
    """Changes whenever a phrase does."""
    whole = b"".join(FOLDER.joinpath(f"{name}.toml").read_bytes() for name in LANGUAGES)
    return sha256(whole).hexdigest()[:12]


def prepare() -> None:
    """Read the phrases now, so that processes which are forked later share them."""
    trie("ja")


@cache
def trie(other: str) -> Trie:
    """All phrases but one language's; what is English too ("error", "documentation") means what it means there."""
    root: Trie = {}
    english = {phrase for _, phrases in kinds(contents()["en"]) for phrase in phrases}
    for name, table in contents().items():
        if name == other:
            continue
        for kind, phrases in kinds(table):
            for phrase in phrases:
                if name == "en" or phrase not in english:
                    add(root, phrase, kind)
    return root


def kinds(table: dict[str, Any], before: str = "") -> list[tuple[str, list[str]]]:
    """Kinds with their phrases: `accepts`, `asks.bug_fix`, `agent.done`."""
    found: list[tuple[str, list[str]]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += kinds(value, f"{before}{key}.")
        elif isinstance(value, list) and key != "frequent":
            found.append((before + key, value))
    return found


def add(root: Trie, phrase: str, kind: str) -> None:
    """Put one phrase into the trie."""
    node = root
    for part in phrase.split():
        if part == GAP:
            node = node.setdefault(GAP, {})
            continue
        words = tokens(part.rstrip("*"))
        if not words:
            continue
        for word in words[:-1]:
            node = node.setdefault(word, {})
        if part.endswith("*") and len(words[-1]) > 1:
            node = node.setdefault(STEMS, {}).setdefault(words[-1], {})
        else:
            node = node.setdefault(words[-1], {})
    node.setdefault(KINDS, set()).add(kind)
