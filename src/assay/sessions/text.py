"""Shortening text without losing its two ends."""

GAP = "\n[… {} characters left out …]\n"
WORTH_CUTTING = 39


def clip(text: str, head: int, tail: int) -> str:
    """The text, or its first `head` and last `tail` characters and how much lay between."""
    left_out = len(text) - head - tail
    if left_out <= WORTH_CUTTING:
        return text
    return text[:head] + GAP.format(left_out) + text[len(text) - tail :]
