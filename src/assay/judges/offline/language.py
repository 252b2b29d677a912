"""The language judge: what the person writes in, by script and by frequent words; what the code is written in."""

import re
from collections import Counter
from collections.abc import Sequence

from assay.facts import languages
from assay.sessions import speech
from assay.sessions.speech.phrases import load_frequent_words, split_words
from assay.types import LanguageJudgement, Turn

KANA, HANGUL, HAN = re.compile("[\u3040-\u30ff]"), re.compile("[\uac00-\ud7af]"), re.compile("[\u4e00-\u9fff]")
CYRILLIC, LETTER = re.compile("[\u0400-\u04ff]"), re.compile(r"[^\W\d_]")
ENOUGH = 0.15
"""Share of letters in another script; identifiers and loan words are Latin everywhere."""


def language(turns: Sequence[Turn]) -> LanguageJudgement:
    """ISO 639-1 code of the person's language, `None` where too little was said; the language of most lines."""
    said = [
        speech.parse_own_words(turn.prompt).text
        for turn in turns
        if turn.prompt and turn.prompt.kind not in ("plan", "shell")
    ]
    lines = languages.fact(turns).programming_languages
    return LanguageJudgement(natural=detect_language("\n".join(said)[:20_000]), programming=next(iter(lines), None))


def detect_language(text: str) -> str | None:
    """The language of a text."""
    letters = len(LETTER.findall(text))
    if not letters:
        return None
    kana, hangul, han = (len(script.findall(text)) for script in (KANA, HANGUL, HAN))
    if hangul > ENOUGH * letters:
        return "ko"
    if kana + han > ENOUGH * letters:
        return "ja" if kana > 0.1 * (kana + han) else "zh"
    if len(CYRILLIC.findall(text)) > ENOUGH * letters:
        return "ru"
    counts = Counter(split_words(text))
    share = {
        name: sum(counts[word] for word in words) / len(words) ** 0.5
        for name, words in load_frequent_words().items()
        if name not in ("ja", "zh", "ko", "ru")
    }
    best = max(sorted(share), key=lambda name: share[name])
    return best if share[best] else None
