"""German, Spanish, French, Portuguese, Italian, Russian and English are heard side by side."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.sessions.speech import parse_utterance
from assay.sessions.speech.phrases import load_tables
from tests.tables import each_row

SENTENCES = tomllib.loads(Path(__file__).with_name("speech_european.toml").read_text("utf-8"))
ROWS = [(language, row) for language, rows in SENTENCES.items() for row in rows]
OURS = [language for language in SENTENCES if language != "en"]


def phrases(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, list[str]]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from phrases(value, f"{before}{key}.")
        elif isinstance(value, list):
            yield before + key, value


@each_row(("language", "row"), ROWS, ids=lambda value: value if isinstance(value, str) else value["text"])
def test_a_sentence_is_heard_as_the_table_says(language: str, row: dict[str, Any]) -> None:
    heard = parse_utterance(row["text"]).heard
    assert not set(row["hears"]) - heard.keys()
    assert {kind: [one.phrase for one in heard[kind]] for kind in row["not"] if kind in heard} == {}


@pytest.mark.parametrize("language", OURS)
def test_a_language_has_every_kind_that_english_has(language: str) -> None:
    english = {kind for kind, _ in phrases(load_tables()["en"])}
    kept = dict(phrases(load_tables()[language]))
    assert not english - kept.keys()
    assert not [kind for kind, listed in kept.items() if not listed]


@pytest.mark.parametrize("language", OURS)
def test_no_phrase_is_listed_twice(language: str) -> None:
    twice = [
        (kind, phrase)
        for kind, listed in phrases(load_tables()[language])
        for phrase in set(listed)
        if listed.count(phrase) > 1
    ]
    assert not twice


@pytest.mark.parametrize("language", OURS)
def test_no_phrase_begins_or_ends_with_a_gap(language: str) -> None:
    every = [phrase for _, listed in phrases(load_tables()[language]) for phrase in listed]
    assert not [phrase for phrase in every if phrase.startswith("..") or phrase.endswith("..")]


def test_a_table_has_enough_sentences_of_each_language() -> None:
    assert {language: len(rows) >= 15 for language, rows in SENTENCES.items()} == dict.fromkeys(SENTENCES, True)
