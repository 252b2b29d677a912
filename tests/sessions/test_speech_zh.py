"""What is said in Chinese is heard as it is meant, in either script."""

import tomllib
from pathlib import Path

from assay.sessions.speech import parse_utterance
from assay.sessions.speech.phrases import list_kinds, load_tables
from tests.tables import each_row

SAID = tomllib.loads(Path(__file__).with_name("speech_zh.toml").read_text("utf-8"))["said"]


@each_row("said", SAID, ids=lambda said: said["text"])
def test_a_sentence_is_heard(said):
    heard = parse_utterance(said["text"]).heard
    assert [kind for kind in said["hears"] if kind not in heard] == []
    assert {kind: heard[kind] for kind in said["not"] if kind in heard} == {}


def test_the_kinds_are_those_of_english():
    assert [kind for kind, _ in list_kinds(load_tables()["zh"])] == [
        kind for kind, _ in list_kinds(load_tables()["en"])
    ]


def test_no_phrase_is_said_twice():
    assert [kind for kind, phrases in list_kinds(load_tables()["zh"]) if len(phrases) != len(set(phrases))] == []


def test_praise_that_begins_like_a_denial_is_not_denied():
    denials = tuple(load_tables()["zh"]["not"])
    assert [phrase for phrase in load_tables()["zh"]["accepts"] if phrase.startswith(denials)] == []


def test_sentences_name_kinds_there_are():
    known = {kind for kind, _ in list_kinds(load_tables()["en"])}
    assert {kind for said in SAID for kind in (*said["hears"], *said["not"])} <= known
