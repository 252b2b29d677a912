"""Makes secrets of every kind out of their shapes, and puts them where people and tools leave them."""

import json
import random
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SHAPES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("redaction_shapes.toml").read_text("utf-8"))
LETTERS = {
    "an": string.ascii_letters + string.digits,
    "ur": string.ascii_letters + string.digits + "_-",
    "b6": string.ascii_letters + string.digits + "+/",
    "hx": "0123456789abcdef",
    "UP": string.ascii_uppercase + string.digits,
    "b32": string.ascii_uppercase + "234567",
    "lo": string.ascii_lowercase + string.digits,
    "az": string.ascii_lowercase,
    "le": string.ascii_letters,
    "di": string.digits,
    "pw": string.ascii_letters + string.digits + "!#*+%^",
}
PART = re.compile(r"<(uuid|b32|an|ur|b6|hx|UP|lo|az|le|di|pw)(\d*)>")


class Secret(NamedTuple):
    """A text, and what is secret in it."""

    kind: str
    text: str
    value: str


def secrets(seed: int) -> Iterator[Secret]:
    """One of every shape, other ones for every seed."""
    for kind, shapes in SHAPES.items():
        for n, shape in enumerate(shapes):
            yield made(kind, shape, random.Random(f"{seed} {kind} {n}"))


def made(kind: str, shape: str, rng: random.Random) -> Secret:
    text = PART.sub(lambda part: drawn(part[1], int(part[2] or 0), rng), shape)
    value = text.split("«")[1].split("»")[0] if "«" in text else text
    return Secret(kind, text.replace("«", "").replace("»", ""), value)


def drawn(letters: str, size: int, rng: random.Random) -> str:
    """Random ones; what a service hands out has letters and digits, and ends in neither sign."""
    if letters == "uuid":
        return "-".join("".join(rng.choices(LETTERS["hx"], k=k)) for k in (8, 4, 4, 4, 12))
    whole = rng.choices(LETTERS[letters], k=size)
    if letters not in ("di", "le", "az") and size >= 8:
        whole[1], whole[-2], whole[0] = "7", "4", rng.choice("abcdef" if letters in ("hx", "lo") else "ABCDEF")
    if letters in ("ur", "b6", "pw") and size:
        whole[-1], whole[0] = rng.choice(string.ascii_letters), rng.choice(string.ascii_uppercase)
    return "".join(whole)


PLACES = {
    "alone": "{}",
    "at the end": "and then we get {}",
    "at the start": "{} is what it said\n",
    "on a line": "first\n{}\nlast",
    "in a diff": "@@ -1 +1,2 @@\n context\n+{}\n",
    "in backticks": "I set `{}` there",
    "in brackets": "({})",
    "after Chinese": "使用这个密钥：{}",
    "before Chinese": "{}。请保密",
    "in colour": "\x1b[32m{}\x1b[0m",
    "with line numbers": "    12→{}\n    13→next",
}
ESCAPED = ("json", "json twice", "html-safe json")


def placed(secret: Secret) -> Iterator[tuple[str, str, str]]:
    """The secret in all places: the place, the text, and the value as it stands there."""
    for name, place in PLACES.items():
        yield name, place.format(secret.text), secret.value
    for name in ESCAPED:
        text, value = escaped(name, f"line\n{secret.text}\nend"), escaped(name, secret.value)
        yield name, '{"out": "' + text + '"}', value


def escaped(how: str, text: str) -> str:
    """The text inside a JSON string; some writers escape what HTML could misread."""
    text = json.dumps(text, ensure_ascii=False)[1:-1]
    if how == "json twice":
        return json.dumps(text, ensure_ascii=False)[1:-1]
    if how == "html-safe json":
        return text.replace("=", "\\u003d").replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return text
