"""What is said in Japanese and Korean is heard as it is meant, and not where its characters stand in other words."""

import tomllib
from pathlib import Path

import pytest

from assay.sessions.speech import read
from assay.sessions.speech.phrases import kinds, read_tables, tokens
from tests.tables import each_row

SAID = tomllib.loads(Path(__file__).with_name("speech_ja_ko.toml").read_text("utf-8"))["said"]


@each_row("said", SAID, ids=lambda said: said["text"])
def test_a_sentence_is_heard(said):
    heard = read(said["text"]).heard
    assert [kind for kind in said["hears"] if kind not in heard] == []
    assert {kind: heard[kind] for kind in said["not"] if kind in heard} == {}


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_kinds_are_those_of_english(language):
    assert [kind for kind, _ in kinds(read_tables()[language])] == [kind for kind, _ in kinds(read_tables()["en"])]


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_no_phrase_is_said_twice(language):
    for kind, phrases in kinds(read_tables()[language]):
        said = [tuple(tokens(phrase)) for phrase in phrases]
        assert (kind, len(said)) == (kind, len(set(said)))


@pytest.mark.parametrize(
    ("spaced", "unspaced"), [("안 돼", "안돼"), ("수정 해 주세요", "수정해주세요"), ("다시 해 줘", "다시해줘")]
)
def test_spaces_in_korean_do_not_matter(spaced, unspaced):
    assert set(read(spaced).heard) == set(read(unspaced).heard)


def test_sentences_name_kinds_there_are():
    known = {kind for kind, _ in kinds(read_tables()["en"])}
    assert {kind for said in SAID for kind in (*said["hears"], *said["not"])} <= known
