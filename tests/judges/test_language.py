"""What the person writes in, and what the code is written in."""

from typing import Any, get_args

import pytest
from hypothesis import given

from assay.judges.offline.language import detect_language
from assay.sessions import speech
from assay.types import PromptKind
from tests.judges.make_turns import QUICK, any_turns, asked, edit, language_of, session, texts
from tests.tables import each_row

SPOKEN = {
    "en": "Please fix the rounding of the discount, there should be a test for it when you are done",
    "zh": "请修复折扣的四舍五入，然后补一个测试",
    "ja": "割引の丸め処理を修正して、テストも追加してください",
    "ko": "할인 반올림을 수정하고 테스트도 추가해 주세요",
    "de": "Bitte behebe die Rundung des Rabatts und schreibe einen Test dafür, wenn das nicht zu viel ist",
    "es": "Por favor corrige el redondeo del descuento y añade una prueba para que no vuelva a pasar",
    "fr": "Corrige l'arrondi de la remise dans le panier et ajoute un test pour que cela ne se reproduise pas",
    "ru": "Исправь округление скидки и добавь тест, чтобы это больше не повторялось",
}
BY_SCRIPT = {"zh", "ja", "ko", "ru"}


def natural_of(*texts: str, **prompt: Any) -> str | None:
    return language_of(session(*(asked(text, "Done.", **prompt) for text in texts))).natural


@each_row("language", SPOKEN)
def test_the_language_of_a_prompt_is_known(language: str) -> None:
    assert natural_of(SPOKEN[language]) == language


@each_row("language", SPOKEN)
def test_identifiers_paths_and_loan_words_do_not_make_it_english(language: str) -> None:
    text = f"{SPOKEN[language]} `sumOfBasket()` till/discount_rules.py README.md"
    assert natural_of(text) == language


@each_row("language", SPOKEN)
def test_pasted_code_logs_and_addresses_do_not_count(language: str) -> None:
    pasted = "```\nthe and you that this with for are have not can what\n```\nhttps://example.org/the/and/you/that"
    log = "2026-03-02 09:00:00 the worker is not able to do what you should have done with it"
    assert natural_of(f"{SPOKEN[language]}\n{pasted}\n{log}") == language


def test_what_was_said_most_of_wins() -> None:
    assert natural_of(SPOKEN["de"], SPOKEN["de"], "what is this?") == "de"
    assert natural_of("wo?", SPOKEN["en"], SPOKEN["en"]) == "en"


@pytest.mark.parametrize("text", ["", "   ", "42 !!", "```\nthe and you\n```", "https://example.org/the/and"])
def test_where_nothing_is_said_there_is_no_language(text: str) -> None:
    assert natural_of(text) is None
    assert language_of(()).natural is None
    assert language_of(session(asked(None, "the agent and only the agent said this"))).natural is None


def test_what_was_not_typed_by_the_person_does_not_count() -> None:
    counted = {kind for kind in get_args(PromptKind) if natural_of(SPOKEN["de"], kind=kind)}
    assert counted == set(get_args(PromptKind)) - {"plan", "shell"}


def test_the_agents_language_does_not_count() -> None:
    assert language_of(session(asked(SPOKEN["ja"], SPOKEN["en"] * 5))).natural == "ja"


def test_the_code_is_in_the_language_of_most_lines_that_were_written() -> None:
    turns = session(
        asked(SPOKEN["en"], edit("a.py", added=3), edit("b.go", added=40), edit("c.rs", added=90, status="rejected"))
    )
    assert language_of(turns).programming == "Go"
    assert language_of(session(asked(SPOKEN["en"], "Done."))).programming is None


@QUICK
@given(any_turns())
def test_any_turns_are_in_some_language_or_none_and_twice_in_the_same(turns: Any) -> None:
    found = language_of(turns)
    assert found == language_of(turns)
    assert found.natural is None or found.natural in BY_SCRIPT | set(speech.LANGUAGES)


@QUICK
@given(texts)
def test_the_language_of_a_text_does_not_depend_on_case_of_ascii_words(text: str) -> None:
    shouted = "".join(letter.upper() if letter.isascii() else letter for letter in text)
    assert detect_language(text) == detect_language(shouted)
