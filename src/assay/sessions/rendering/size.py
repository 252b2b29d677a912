"""How many tokens a text takes, told from its characters alone: measured in `docs/concepts/rendering.md`."""

from string import ascii_letters, digits

UNIT = 100
"""A token is so many of the weights below."""
PLAIN = ((ascii_letters.encode(), 24), (digits.encode(), 100), (b" \t", 15))
SIGN = 92
"""Of every other ASCII character: a bracket, a quote or a newline is mostly a token, and so is a digit."""
WIDE = ((bytes(range(0xC0, 0xE0)), 100), (bytes(range(0xE0, 0xF0)), 140), (bytes(range(0xF0, 0x100)), 350))
"""First bytes of characters of two, three and four bytes."""
BEYOND_ASCII = bytes(range(0x80, 0x100))


def estimate(text: str) -> int:
    """Tokens of a text, rather too many than too few."""
    return -(-weight(text) // UNIT)


def weight(text: str) -> int:
    """What a text weighs: of two texts together, what they weigh apart."""
    raw = text.encode("utf-8", "surrogatepass")
    found = 0
    if not text.isascii():
        found = sum(each * count(raw, kind) for kind, each in WIDE)
        raw = raw.translate(None, BEYOND_ASCII)
    counts = [(each, count(raw, kind)) for kind, each in PLAIN]
    signs = len(raw) - sum(n for _, n in counts)
    return found + sum(each * n for each, n in counts) + signs * SIGN


def count(raw: bytes, kind: bytes) -> int:
    return len(raw) - len(raw.translate(None, kind))
