"""What a value has to be like before it counts as a secret."""

import re
from base64 import b64decode
from binascii import Error
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache
from math import log2

from msgspec import Struct

from assay.sessions.redaction.rulebook import RedactionRule, load_tables

FREQUENT = frozenset(
    "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic "
    "ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un "
    "lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev "
    "ld ry mp fe bl ab gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc ok ey sk "
    "ub ck pi cl up ib gi ui um mb nu fl ft ws lt xt br ew go ua au ms ys ds ue ff".split()
)
"""Pairs of letters that make up most of English, and so most names in code: a quarter of all pairs."""

APART = re.compile(rb"(?<![A-Za-z0-9])[0-9]+(?![A-Za-z0-9])")
LETTERS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
NOT_ALNUM = re.compile(rb"[^A-Za-z0-9]")
SIGN = re.compile(rb"[^A-Za-z0-9_./:-]")
CHOSEN = re.compile(rb"(?=.*[A-Z])(?=.*[a-z])(?=.*[0-9]).{8}")
"""Nobody writes a placeholder like this: `SuperSecret123!`."""
CODE = re.compile(rb"[(\[{=|<>]")
DIGIT = re.compile(rb"[0-9]")
HEX = re.compile(rb"(?:0x)?[0-9A-Fa-f]{16,4000}")
NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->|-|/|:)[A-Za-z0-9_]+)*")
WEAK = re.compile(rb"(?=[0-9]*[A-Za-z])(?=[A-Za-z]*[0-9])[A-Za-z0-9]{6,40}")
"""`hunter2`: no password to be proud of, but one."""
COMPOUND = re.compile(rb"[a-z]{5,40}[0-9]{0,4}")
"""`rootpw`: words, but nobody's placeholder, for that has signs between them."""
NUMBERED = re.compile(rb"([a-z]{1,12})[-_]?[0-9]{1,4}[a-z]?")
STRONG = frozenset({b"password", b"passwd", b"passphrase", b"passcode"})
"""Names of nothing but passwords; a `_pass` may be one of several over some code."""
LOOSE = frozenset({b"token", b"credential", b"bearer"})
"""Names of many things besides secrets."""
VARIABLE = re.compile(rb"(?:_?[0-9]{1,2}|_(?:PROD|PRODUCTION|STAGING|STAGE|DEV|LIVE|MAIN|OLD|NEW))?=(?!=)")
"""What stands behind the last word of an environment variable's name."""
NAME_PART = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
AHEAD = re.compile(rb"[A-Za-z0-9_-]{0,40}\Z")
BEHIND = re.compile(rb"[A-Za-z0-9_-]{0,40}")
IN_SECRET = re.compile(rb'kind\\{0,7}"?[ ]?:[ ]?\\{0,7}"?Secret(?![A-Za-z])')
PEM_BODY = re.compile(rb"[A-Za-z0-9+/=]{16,}|(?:[0-9a-f]{16})")


LEAST, LEAST_HEX = 3.0, 2.6
"""Bits a byte; 16 random hex digits come to 3.2, 16 letters and digits to 3.8, words to 3.2."""
LONGEST_BLANK = 300
NEAR = 2000


class Candidate(Struct, frozen=True):
    """A match that may be a secret."""

    rule: RedactionRule
    text: bytes
    word: tuple[int, int]
    """Where the word stands that led here."""
    match: re.Match[bytes]
    start: int
    end: int

    def group(self, name: str) -> bytes:
        return self.match.groupdict().get(name) or b""


class NeverTable(Struct, frozen=True):
    """`never.toml`, compiled."""

    parts: re.Pattern[bytes]
    starts: re.Pattern[bytes]
    wholes: re.Pattern[bytes]
    ids: re.Pattern[bytes]
    plain: frozenset[bytes]
    known: frozenset[bytes]
    numbered: frozenset[bytes]
    words: re.Pattern[bytes]
    before: frozenset[bytes]
    after: frozenset[bytes]


@cache
def load_never() -> NeverTable:
    """What is never a secret."""
    given = load_tables()["never"]
    words = sorted(given["words"].split(), key=len, reverse=True)

    def either(patterns: list[str], flags: int = re.IGNORECASE) -> re.Pattern[bytes]:
        return re.compile("|".join(patterns).encode(), re.ASCII | flags)

    return NeverTable(
        either(given["parts"]),
        either(given["starts"]),
        either(given["wholes"], 0),
        either(given["ids"], 0),
        frozenset(given["plain"].encode().split()),
        frozenset(given["words"].encode().split()),
        frozenset(given["numbered"].encode().split()),
        either([*words, "[^A-Za-z0-9]"]),
        frozenset(name.encode() for name in given["before"]),
        frozenset(name.encode() for name in given["after"]),
    )


class PlaceTable(Struct, frozen=True):
    """The part of `never.toml` that is about people and places."""

    email: re.Pattern[bytes]
    home: re.Pattern[bytes]
    host: re.Pattern[bytes]


@cache
def load_places() -> PlaceTable:
    """Addresses, homes and hosts that are nobody's own."""
    given = load_tables()["never"]["places"]
    return PlaceTable(
        *(re.compile("|".join(given[one]).encode(), re.ASCII | re.IGNORECASE) for one in ("email", "home", "host"))
    )


# --- what values are like ---------------------------------------------------------------------


@lru_cache(1024)
def measure_entropy(value: bytes) -> float:
    """Shannon's entropy, in bits a byte."""
    size = len(value) or 1
    return -sum(n / size * log2(n / size) for n in Counter(value).values())


@lru_cache(1024)
def is_wordy(value: bytes) -> bool:
    """Whether most of a value is words; numbers that stand apart, as in dates and versions, don't matter."""
    rest = APART.sub(b" ", value)
    words = sum(len(run) for run in LETTERS.findall(rest) if is_word(run.lower().decode()))
    return words * 2 >= len(NOT_ALNUM.sub(b"", rest))


@lru_cache(4096)
def is_word(letters: str) -> bool:
    """Whether letters pair up as in words: random ones do so for one pair in four."""
    pairs = [letters[at : at + 2] for at in range(len(letters) - 1)]
    return len(letters) > 2 and sum(pair in FREQUENT for pair in pairs) * 3 >= len(pairs) * 2


@lru_cache(1024)
def is_blank(value: bytes) -> bool:
    """Whether a value only stands for one, whatever the place: a placeholder, a variable, a call, a path."""
    known = load_never()
    if len(value) > LONGEST_BLANK:
        return bool(known.starts.match(value))
    return bool(known.starts.match(value) or known.wholes.fullmatch(value) or known.parts.search(value))


@lru_cache(1024)
def is_none(value: bytes) -> bool:
    """Whether a value is blank, an id, or what people write for a secret in tests."""
    known = load_never()
    return bool(
        is_blank(value) or known.ids.fullmatch(value) or not (known.words.sub(b"", value) or CHOSEN.match(value))
    )


def is_mixed(value: bytes) -> bool:
    """Whether a value has letters and digits, or letters of both cases in disorder."""
    letters = sum(map(len, LETTERS.findall(value)))
    has_digit = any(48 <= one <= 57 for one in value)
    return letters * 5 >= len(value) and (has_digit or (value.swapcase() != value and not value.islower()))


def is_random(value: bytes, shortest: int = 16) -> bool:
    """Whether nobody would make a value up: long, mixed, and no words."""
    if len(value) < shortest or not is_mixed(value) or is_none(value):
        return False
    if HEX.fullmatch(value):
        return measure_entropy(value) >= LEAST_HEX
    return measure_entropy(value) >= LEAST and not is_wordy(value)


def is_chosen(value: bytes) -> bool:
    """Whether a value looks like a password somebody chose, rather than like a name in code."""
    if len(value) < 6 or is_none(value):
        return False
    has_sign, has_digit = bool(SIGN.search(value)), bool(DIGIT.search(value))
    if not LETTERS.search(value) or not (has_sign or has_digit):
        return len(value) >= 12 and is_random(value, 12)
    return has_sign or not NAME.fullmatch(value) or bool(HEX.fullmatch(value)) or not is_wordy(value)


def is_weak(value: bytes) -> bool:
    """Whether a value is a weak password: letters, and digits that number nothing."""
    known, low = load_never(), value.lower()
    numbered = NUMBERED.fullmatch(low)
    if not WEAK.fullmatch(value) or is_blank(value) or (numbered and numbered[1] in known.numbered):
        return False
    return len(known.words.sub(b"", low)) > 2


def is_lettered(value: bytes) -> bool:
    """Whether a value is letters that make no words: `jsonpw`."""
    return len(value) >= 6 and value.isalpha() and value.islower() and not is_none(value) and not is_wordy(value)


def is_set(value: bytes) -> bool:
    """Whether a variable may be set to this value: no placeholder, number, name in code or sentence."""
    if is_blank(value) or value.lower() in load_never().known or (is_none(value) and not COMPOUND.fullmatch(value)):
        return False
    if NOT_ALNUM.search(value) and len(load_never().words.sub(b"", value)) < 3:  # `test-token-1`
        return False
    return not (b" " in value and is_wordy(value)) and not (b"." in value and NAME.fullmatch(value))


def is_variable(found: Candidate) -> bool:
    """Whether the name is an environment variable's, set as a shell does: `API_TOKEN=`, not `api_token =`."""
    start, end = found.word
    return found.text[start:end].isupper() and bool(VARIABLE.match(found.text, end))


def is_sent(found: Candidate) -> bool:
    """Whether the name is a header's of somebody's own or a parameter's of an address."""
    start, end = found.word
    ahead = AHEAD.search(found.text[max(0, start - 40) : start])
    first = start - len(ahead[0]) if ahead else start
    name = found.text[first:start].lower()
    is_parameter = found.text[max(0, first - 1) : first] in (b"?", b"&", b"#", b"/")
    return name.startswith(b"x-") or (is_parameter and found.text[end - 1 : end + 1].endswith(b"="))


def is_named_secret(found: Candidate) -> bool:
    """Whether the name around the word says so: `api_token`, not `token_count` or `next_page_token`."""
    start, end = found.word
    ahead, behind = AHEAD.search(found.text[max(0, start - 40) : start]), BEHIND.match(found.text, end)
    first = NAME_PART.findall(ahead[0])[-1:] if ahead else []
    last = NAME_PART.findall(behind[0])[-1:] if behind else []
    known = load_never()
    return not any(one.lower() in known.before for one in first) and not any(one.lower() in known.after for one in last)


# --- by name ----------------------------------------------------------------------------------


def has_shape(value: bytes, found: Candidate) -> bool:
    return measure_entropy(value) >= found.rule.entropy


def is_random_value(value: bytes, _: Candidate) -> bool:
    return is_random(value)


def is_given(value: bytes, _: Candidate) -> bool:
    return len(value) > 2 and not is_blank(value) and value.lower() not in load_never().plain


def is_likely(value: bytes, _: Candidate) -> bool:
    return len(value) >= 8 and is_chosen(value)


def is_lasting(value: bytes, _: Candidate) -> bool:
    """Whether a value has letters and digits, where only a secret stands."""
    return len(value) >= 6 and not is_none(value) and bool(DIGIT.search(value)) and bool(LETTERS.search(value))


def is_environment_value(value: bytes, found: Candidate) -> bool:
    return is_named_secret(found) and is_set(value)


def is_spoken(value: bytes, _: Candidate) -> bool:
    """Whether a value is what people say after `password`: a word of the sentence, unless digits stand in it."""
    if is_none(value) or len(value) < 6:
        return False
    has_sign = bool(SIGN.search(value)) and not CODE.search(value)
    return is_weak(value) or (has_sign and bool(DIGIT.search(value)) and bool(LETTERS.search(value)))


def is_pin(value: bytes, _: Candidate) -> bool:
    return len(set(value)) > 1


def is_basic_login(value: bytes, _: Candidate) -> bool:
    """Whether a value is `name:password` in base64."""
    try:
        return b":" in b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except Error:
        return False


def is_pem(value: bytes, _: Candidate) -> bool:
    """Whether a value is a key, rather than code that looks for one."""
    body = value.split(b"KEY", 1)[-1].split(b"V1", 1)[-1]
    return any(measure_entropy(line) > 2.5 for line in PEM_BODY.findall(body))


def is_kubernetes_secret(value: bytes, found: Candidate) -> bool:
    """Whether a value is `data` of a Secret, and of nothing else."""
    start, end = found.word
    text = found.text
    if text.find(b"Secret", max(0, start - NEAR), found.end + NEAR) < 0:
        return False
    is_secret = IN_SECRET.search(text, max(0, start - NEAR), start) or IN_SECRET.search(text, end, found.end + NEAR)
    return bool(is_secret) and is_given(value, found)


def is_login(value: bytes, found: Candidate) -> bool:
    """Whether a value is the password of `-u name:password`: of curl anything may be, elsewhere it may be a group."""
    ahead = found.text[max(0, found.start - 300) : found.start]
    return is_given(value, found) if b"curl" in ahead.rsplit(b"\n", 1)[-1] else is_chosen(value)


def is_flag_value(value: bytes, found: Candidate) -> bool:
    """Whether a value behind a flag is a secret; in prose it is a word."""
    is_password = b"pass" in found.match[0].lower() or b"pwd" in found.match[0].lower()
    if is_password and (found.group("q") or found.group("glue").strip()):
        return is_given(value, found)
    return is_chosen(value) or (is_password and is_weak(value))


def is_password(value: bytes, found: Candidate) -> bool:
    if not is_named_secret(found):
        return False
    if found.group("comma"):
        return is_listed(value)
    if is_variable(found):
        return is_set(value)
    if is_chosen(value) or found.group("call") or is_blank(value):
        return is_chosen(value)
    if found.group("q"):
        return bool(WEAK.fullmatch(value)) or is_lettered(value)
    return found.text[slice(*found.word)].lower() in STRONG and is_weak(value)


def is_named_value(value: bytes, found: Candidate) -> bool:
    if not is_named_secret(found):
        return False
    if found.group("comma"):
        return is_listed(value)
    if is_variable(found):
        return is_set(value)
    if is_sent(found) and is_lasting(value, found):
        return True
    if found.group("q") or found.group("e"):
        is_loose = found.text[slice(*found.word)].lower() in LOOSE or bool(found.group("call"))
        return len(value) >= 8 and (is_chosen(value) or (not is_loose and is_weak(value)))
    return is_random(value, 12) and not (b"." in value and NAME.fullmatch(value))


def is_listed(value: bytes) -> bool:
    """Whether a value in a list is a secret, rather than the next name."""
    return is_random(value) and bool(DIGIT.search(value))


def is_email(value: bytes, _: Candidate) -> bool:
    return not load_places().email.search(value)


def is_home(value: bytes, _: Candidate) -> bool:
    return not (load_places().home.fullmatch(value) or is_blank(value))


def is_host(value: bytes, _: Candidate) -> bool:
    return not load_places().host.fullmatch(value)


CHECKS: dict[str, Callable[[bytes, Candidate], bool]] = {
    "shape": has_shape,
    "random": is_random_value,
    "given": is_given,
    "likely": is_likely,
    "lasting": is_lasting,
    "environment": is_environment_value,
    "spoken": is_spoken,
    "pin": is_pin,
    "basic": is_basic_login,
    "pem": is_pem,
    "kubernetes": is_kubernetes_secret,
    "login": is_login,
    "flag": is_flag_value,
    "password": is_password,
    "named": is_named_value,
    "email": is_email,
    "home": is_home,
    "host": is_host,
}
"""Checks by the names that rules call them by."""
