"""What is said in Japanese and Korean is heard as it is meant, and not where its characters stand in other words."""

import tomllib
from pathlib import Path

import pytest

from assay.sessions.speech import parse_utterance
from assay.sessions.speech.phrases import list_kinds, load_tables, split_words
from tests.tables import each_row

SAID = tomllib.loads(Path(__file__).with_name("speech_ja_ko.toml").read_text("utf-8"))["said"]


@each_row("said", SAID, ids=lambda said: said["text"])
def test_a_sentence_is_heard(said):
    heard = parse_utterance(said["text"]).heard
    assert [kind for kind in said["hears"] if kind not in heard] == []
    assert {kind: heard[kind] for kind in said["not"] if kind in heard} == {}


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_kinds_are_those_of_english(language):
    assert [kind for kind, _ in list_kinds(load_tables()[language])] == [
        kind for kind, _ in list_kinds(load_tables()["en"])
    ]


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_no_phrase_is_said_twice(language):
    for kind, phrases in list_kinds(load_tables()[language]):
        said = [tuple(split_words(phrase)) for phrase in phrases]
        assert (kind, len(said)) == (kind, len(set(said)))


@pytest.mark.parametrize(
    ("spaced", "unspaced"), [("안 돼", "안돼"), ("수정 해 주세요", "수정해주세요"), ("다시 해 줘", "다시해줘")]
)
def test_spaces_in_korean_do_not_matter(spaced, unspaced):
    assert set(parse_utterance(spaced).heard) == set(parse_utterance(unspaced).heard)


def test_sentences_name_kinds_there_are():
    known = {kind for kind, _ in list_kinds(load_tables()["en"])}
    assert {kind for said in SAID for kind in (*said["hears"], *said["not"])} <= known
