"""Whose words a text holds, and which phrases stand where in them."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.sessions.speech import LANGUAGES, Utterance, find_own_words, hash_phrases, parse_utterance
from assay.sessions.speech.phrases import GAP, KINDS, build_trie, list_kinds, load_tables, split_words
from assay.sessions.speech.utterances import LONGEST_QUOTE
from tests.judges.make_turns import QUICK, texts
from tests.tables import each_row

NOBODY = "none"
ENGLISH = {phrase for _, phrases in list_kinds(load_tables()["en"]) for phrase in phrases}
AGES = 20.0


def places(said: Utterance, kind: str) -> list[tuple[int, int]]:
    """Sentence and word of each phrase of a kind."""
    return [(heard.sentence, heard.word) for heard in said.heard.get(kind, ())]


# --- whose words --------------------------------------------------------------------------------


@each_row(
    "pasted",
    [
        "```\nthis is wrong\n```",
        "```python\nraise ValueError('wrong')\n```",
        "~~~\nthis is wrong\n~~~",
        "> this is wrong",
        "  > this is wrong",
        "--- a/wrong.py\n+++ b/wrong.py\n@@ -1,2 +1,2 @@ wrong",
        "diff --git a/wrong.py b/wrong.py",
        "2026-03-02T09:00:01Z something is wrong",
        "2026-03-02 09:00:01 something is wrong",
        "[09:00:01] something is wrong",
        "Traceback (most recent call last):\n" + '  File "wrong.py", line 3, in wrong',
        "    at wrong (wrong.js:3:1)",
        "TypeError: something is wrong",
        "till.sums.WrongError: this is wrong",
        "java.lang.IllegalStateException at wrong",
        "error: something is wrong",
        "error[E0308]: something is wrong",
        "warning: something is wrong",
        "FAIL tests/wrong.test.ts",
        "$ ./wrong --now",
        "ada@till:~/till$ wrong",
        "│ something is wrong │",
        "⏺ Bash(wrong)",
        "✗ something is wrong",
        "if (wrong) { stop(); }",
        "def wrong(sum):",
        "const wrong = sum(1)",
        "import { wrong } from 'till'",
        "from wrong import sum",
        "return wrong(sum)",
        "});",
        "see https://example.org/this/is/wrong",
        "see www.example.org/this/is/wrong",
        f"<log>{'something is wrong ' * 9}</log>",
    ],
)
def test_what_is_pasted_is_not_said(pasted: str) -> None:
    said = parse_utterance(f"please look\n{pasted}\nthank you")
    assert "wrong" not in said.text
    assert "complains" not in said.heard
    assert (said.text[:11], said.text[-9:]) == ("please look", "thank you")


@each_row(
    "text",
    [
        "if it fails (again), stop and tell me",
        "for the footer: use blue",
        "let me see the sums (all of them)",
        "from now on use tabs (not spaces)",
        "return an error (404) when the till is closed",
        "import the prices (csv) first",
        "class names should be long: Till, not T",
        "Error handling is missing in the till",
        "Exception messages should name the till",
        "warnings are fine",
        "ok now push it",
        "1. round the sums",
        "- round the sums",
        "# Goal",
        "it costs $ 5",
        "12:30 is too early",
        "a < b and b > a",
    ],
)
def test_a_sentence_that_looks_like_code_or_a_log_is_said(text: str) -> None:
    assert find_own_words(text) == text


@each_row(
    ("text", "said"),
    [
        ("", ""),
        (" \n\n ", ""),
        ("before ```open and never closed", "before"),
        ("one ```a``` two ```b``` three", "one \n two \n three"),
        ("see <b>this</b> now", "see  this  now"),
        ("<a><b><i>deep</i></b></a>", "deep"),
        ("x" * 6_000 + "thanks", "x" * 6_000),
        ("keep\r\n> quote\r\nthis", "keep\r\nthis"),
        ("a\n> quote\n> quote\nb", "a\nb"),
    ],
)
def test_what_is_left_of_a_text(text: str, said: str) -> None:
    assert find_own_words(text) == said


# --- hostile text -------------------------------------------------------------------------------

LONG = 200_000
HOSTILE = {
    "one letter": "a" * LONG,
    "spaces": " " * LONG,
    "spaces and a letter": " " * 5_990 + "x",
    "spaces, a semicolon, spaces": " " * 2_900 + ";" + " " * 2_900 + "x",
    "tabs": "\t" * LONG,
    "lines": "\n" * LONG,
    "wide spaces": "\u3000" * LONG,
    "separators": "\x1c" * LONG,
    "full stops": ". " * LONG,
    "question marks": "?" * LONG,
    "brackets": "<" * 10_000,
    "open tags": "<a" * LONG,
    "tags that never close": "<a " * LONG,
    "tags in tags": "<a>" * 1_000 + "deep" + "</a>" * 1_000,
    "long tags that never close": ("<a>" + "b" * 81) * 100,
    "a tag's name": "<" + "a" * LONG,
    "open fences": "```" * 20_001,
    "backticks": "`" * LONG,
    "tildes": "~" * LONG,
    "dotted": "a." * LONG,
    "dotted words": "aaaa." * LONG,
    "at": "at " + " " * LONG,
    "addresses": "a@" + "." * LONG,
    "a definition": "def " + "=" * LONG,
    "an import": "import " + "from " * LONG,
    "assignments": "let " * LONG,
    "semicolons": ";" * LONG,
    "semicolons and a letter": "; " * 2_990 + "x",
    "braces": "{ " * LONG,
    "hyphens": "a" + "-" * LONG,
    "apostrophes": "a'" * LONG,
    "underscores": "a" + "_" * LONG,
    "links": "http://" * LONG,
    "Han": "漢" * LONG,
    "Han and Latin": "a漢" * LONG,
    "lone surrogates": "\ud800" * LONG,
    "a lone surrogate in a word": "than\ud800ks " * LONG,
    "combining": "e" + "\u0301" * LONG,
    "combined": "e\u0301" * LONG,
    "dotted capital I": "İ" * LONG,
    "sharp s": "ß" * LONG,
    "denials": "not " * LONG,
    "stems": "fuck" * LONG,
    "gaps": "revisit " * LONG,
    "gaps in German": "geht " * LONG,
    "nothing": "\0" * LONG,
    "emoji": "👍🏽" * LONG,
    "right to left": "\u202e" * LONG,
}


@each_row("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_within_a_second(text: str) -> None:
    began = time.process_time()
    said = parse_utterance(text)
    assert time.process_time() - began < AGES
    assert all(heard.phrase in text for all_of in said.heard.values() for heard in all_of)


# --- where a phrase stands ----------------------------------------------------------------------


@each_row(
    ("text", "kind", "expected"),
    [
        ("thanks", "accepts", [(0, 0)]),
        ("ok so many thanks", "accepts", [(0, 3)]),
        ("Round it. Thanks!", "accepts", [(1, 0)]),
        ("Round it? Thanks!", "accepts", [(1, 0)]),
        ("round it\nthanks", "accepts", [(1, 0)]),
        ("round 1.5 up, thanks", "accepts", [(0, 4)]),
        ("round it\n> quote\nthanks", "accepts", [(1, 0)]),
        ("```code```\nround it, thanks", "accepts", [(0, 2)]),
        ("Thanks. It is wrong. Thank you.", "accepts", [(0, 0), (2, 0)]),
        ("四捨五入。谢谢", "accepts", [(1, 0)]),
        ("四捨五入谢谢", "accepts", [(0, 2)]),
        ("fix这个bug谢谢", "accepts", [(0, 3)]),
    ],
)
def test_a_phrase_has_its_place_in_its_sentence(text: str, kind: str, expected: list[tuple[int, int]]) -> None:
    assert places(parse_utterance(text), kind) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("one", 1), ("one two, three!", 3), ("don't re-run it", 3), ("谢谢", 1), ("谢谢你", 2), ("fix这个", 2)],
)
def test_two_characters_without_spaces_are_about_a_word(text: str, words: int) -> None:
    assert parse_utterance(text).words == words


@pytest.mark.parametrize(
    ("text", "is_unspaced"), [("thank you", False), ("谢谢", True), ("ありがとう", True), ("使用pytest", True)]
)
def test_a_script_without_spaces_is_known(text: str, is_unspaced: bool) -> None:
    assert parse_utterance(text).is_unspaced is is_unspaced


# --- phrases ------------------------------------------------------------------------------------


@each_row("language", LANGUAGES)
def test_every_phrase_is_heard_as_what_it_is(language: str) -> None:
    kana = "の" if language == "ja" else ""  # without it, Han is taken for Chinese
    deaf = [
        (kind, phrase)
        for kind, phrases in list_kinds(load_tables()[language])
        for phrase in phrases
        if kind != "not" and (language == "en" or phrase not in ENGLISH)
        if kind not in parse_utterance(phrase.replace(f" {GAP}", "").replace("*", "") + kana).heard
    ]
    assert not deaf


@pytest.mark.parametrize("text", ["THANKS", "Thanks", "tHaNkS", "thanks,", "«thanks»", "*thanks*", "(thanks)"])
def test_neither_case_nor_punctuation_matters(text: str) -> None:
    assert parse_utterance(text).first("accepts").casefold() == "thanks"


@pytest.mark.parametrize("apostrophe", ["'", "’"])
def test_an_apostrophe_may_be_curly(apostrophe: str) -> None:
    said = parse_utterance(f"It DOESN{apostrophe}T work")
    assert said.first("complains") == f"DOESN{apostrophe}T work"


@pytest.mark.parametrize("text", ["thanksgiving", "unthanks", "thanks_to", "thank the you", "ty-pe"])
def test_a_part_of_a_word_is_no_phrase(text: str) -> None:
    assert "accepts" not in parse_utterance(text).heard


@pytest.mark.parametrize("text", ["fuck", "fucking", "Fucked up", "frustrating", "frustrated"])
def test_a_stem_is_heard_in_all_its_forms(text: str) -> None:
    assert parse_utterance(text).first("frustrated") == text.split()[0]


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("revisit later", "revisit later"),
        ("revisit this later", "revisit this later"),
        ("revisit all of this later", "revisit all of this later"),
        ("revisit all of this much later", ""),
        ("revisit this. later", ""),
        ("revisit this? later", ""),
        ("revisit\nlater", ""),
    ],
)
def test_up_to_three_words_of_the_same_sentence_stand_in_a_gap(text: str, phrase: str) -> None:
    assert parse_utterance(text).first("drops") == phrase


def test_of_phrases_that_begin_together_the_longest_is_heard() -> None:
    assert parse_utterance("commit and push").first("chores") == "commit and push"


def test_a_phrase_may_be_of_several_kinds() -> None:
    assert {"complains", "frustrated"} <= set(parse_utterance("it is still broken").heard)


@each_row(
    ("text", "kind"),
    [
        ("not done", "agent.done"),
        ("it isn't fixed", "agent.done"),
        ("this is not yet fixed", "agent.done"),
        ("it has never been so very resolved", "agent.done"),
        ("once all tests pass", "agent.done"),
        ("no, that's not perfect", "accepts"),
        ("it doesn't look great", "accepts"),
        ("das ist nicht perfekt", "accepts"),
        ("nunca perfecto", "accepts"),
    ],
)
def test_what_is_denied_is_not_heard(text: str, kind: str) -> None:
    assert kind not in parse_utterance(text).heard


@each_row(
    ("text", "kind"),
    [
        ("done", "agent.done"),
        ("fixed, not a hack", "agent.done"),
        ("It does not crash. Fixed.", "agent.done"),
        ("It does not crash\nfixed", "agent.done"),
        ("I could not believe how very simple: fixed", "agent.done"),
        ("not only that, it is still broken", "complains"),
        ("no, perfect", "accepts"),
        ("never mind, it works now", "accepts"),
        ("nein, danke", "accepts"),
        ("不是，已完成", "agent.done"),
    ],
)
def test_a_denial_reaches_three_words_and_neither_over_a_comma_nor_into_the_next_sentence(text: str, kind: str) -> None:
    assert kind in parse_utterance(text).heard


def kinds_at(phrase: str) -> set[str]:
    """Kinds of a phrase that has neither gap nor stem."""
    node = build_trie(NOBODY)
    for word in split_words(phrase):
        node = node[word]
    return set(node[KINDS])


def test_what_is_english_too_means_what_it_means_in_english() -> None:
    english = {
        phrase: {kind for kind, phrases in list_kinds(load_tables()["en"]) if phrase in phrases}
        for phrase in ENGLISH
        if GAP not in phrase and "*" not in phrase
    }
    shared = {
        phrase
        for language in LANGUAGES
        if language != "en"
        for _, phrases in list_kinds(load_tables()[language])
        for phrase in phrases
        if phrase in english
    }
    told = {tuple(split_words(phrase)): set[str]() for phrase in english}
    for phrase in english:
        told[tuple(split_words(phrase))] |= english[phrase]
    assert shared
    assert {phrase: kinds_at(phrase) for phrase in shared} == {
        phrase: told[tuple(split_words(phrase))] for phrase in shared
    }


def test_japanese_and_chinese_share_characters_and_not_meanings() -> None:
    assert parse_utterance("算了").first("drops") == "算了"
    assert "drops" not in parse_utterance("算了です").heard
    assert parse_utterance("完璧です").first("accepts") == "完璧"


def test_the_version_is_short_and_stays() -> None:
    assert len(hash_phrases()) == 12
    assert hash_phrases() == hash_phrases()


# --- quotes -------------------------------------------------------------------------------------


@each_row(
    ("text", "quote"),
    [
        ("it is wrong", "it is wrong"),
        ("  it is WRONG  \nthanks", "it is WRONG"),
        ("sums:\nIt is wrong.\nthanks", "It is wrong."),
        ("İİİİ\nİt is wrong\nthanks", "İt is wrong"),
        ("ßßßßßßßß\nß\nStraße: it is wrong\nthanks", "Straße: it is wrong"),
        ("İß it doesn’t work\nthanks", "İß it doesn’t work"),
        ("> it is wrong, they say\nI say it is wrong", "I say it is wrong"),
        ("```\nwrong\n```\nit is wrong", "it is wrong"),
        ("the sums https://example.org/wrong are wrong", "the sums https://example.org/wrong are wrong"),
        ("the wrongs are\nreally wrong", "really wrong"),
        ("this is <b>not</b> <i>right</i>", "this is <b>not</b> <i>right</i>"),
        ("the sum is fine", ""),
    ],
)
def test_a_quote_is_the_line_in_which_the_first_phrase_stands(text: str, quote: str) -> None:
    assert parse_utterance(text).quote("complains") == quote


def test_of_a_long_line_the_words_around_the_phrase_are_quoted() -> None:
    text = "sum " * 300 + "is wrong " + "sum " * 300
    quote = parse_utterance(text).quote("complains")
    assert len(quote) <= LONGEST_QUOTE
    assert "is wrong" in quote
    assert quote in text


@pytest.mark.parametrize(("word", "first"), [("scheiße", "scheiße"), ("SCHEISSE", "SCHEISSE"), ("Scheiẞe", "Scheiẞe")])
def test_a_sharp_s_is_two_and_the_phrase_is_as_it_was_written(word: str, first: str) -> None:
    assert parse_utterance(f"So eine {word}, sagt ’s").first("frustrated") == first


@QUICK
@given(st.lists(st.sampled_from(["İ", "ß", "’", "ﬁ", "\0", "thanks", "wrong", " .. ", "```"]) | st.text(), max_size=12))
@example(["İ", " still broken"])
def test_whatever_is_heard_stands_in_the_text_where_it_is_said_to(parts: list[str]) -> None:
    text = " ".join(parts)
    said = parse_utterance(text)
    for kind, all_of in said.heard.items():
        assert said.quote(kind) in text
        assert said.first(kind) == all_of[0].phrase
        assert all(text[one.start :].startswith(one.phrase) for one in all_of)
        assert all(one.start < two.start for one, two in pairwise(all_of))


@QUICK
@given(texts)
def test_a_text_says_no_more_than_it_holds(text: str) -> None:
    said = parse_utterance(text)
    assert said.text == find_own_words(text)
    assert len(said.text) <= len(text)
    assert said == parse_utterance(text)
