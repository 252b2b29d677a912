"""Identities that stay the same where a fork copies its parent's history."""

import hashlib


def key(*parts: str) -> int:
    """64 bits of the parts."""
    text = "\0".join(parts)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def turn_key(turn: str, text: str, repeat: int = 0) -> int:
    """Key of a prompt and of all that its turn does.

    `turn` is the turn's id, or in old files the id of the thread; copies keep both, not the times.
    `repeat` tells apart the same words said again in it.
    """
    return key("turn", turn, text, str(repeat) if repeat else "")


def spend_key(turn: str, total: list[int]) -> int:
    """Key of one report of tokens: no two responses of a turn have the same running total."""
    return key("spend", turn, *map(str, total))
