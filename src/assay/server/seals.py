"""Cursors and entity tags: made with a store's own secret, so that those of one tenant mean nothing to another."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from assay.server.replies import Refusal

SEAL = 16
LONGEST = 2_000
PLACES = msgspec.json.Decoder(list[str]).decode
WRONG = "this cursor is not of this list; begin again without one"


def seal_cursor(secret: bytes, about: str, place: Sequence[str]) -> str:
    """A place in a list as a text that nobody can make or change."""
    said = msgspec.json.encode([about, *place])
    return urlsafe_b64encode(sign(secret, b"cursor", said) + said).rstrip(b"=").decode()


def open_cursor(secret: bytes, about: str, cursor: str) -> list[str]:
    """The place that a cursor means, if it was made here for the same list."""
    if len(cursor) > LONGEST or not cursor.isascii():
        raise Refusal(400, WRONG)
    try:
        packed = urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        seal, said = packed[:SEAL], packed[SEAL:]
        is_ours = hmac.compare_digest(seal, sign(secret, b"cursor", said))
        found = PLACES(said) if is_ours else []
    except (ValueError, msgspec.DecodeError):
        raise Refusal(400, WRONG) from None
    if not found or found[0] != about:
        raise Refusal(400, WRONG)
    return found[1:]


def build_tag(secret: bytes, body: bytes) -> str:
    """The entity tag of an answer."""
    return f'"{sign(secret, b"etag", body).hex()}"'


def matches_tag(given: str, tag: str) -> bool:
    """Whether a condition `If-None-Match` names a tag."""
    return given.strip() == "*" or tag in [one.strip().removeprefix("W/") for one in given.split(",")]


def sign(secret: bytes, use: bytes, said: bytes) -> bytes:
    return blake2b(said, key=secret, digest_size=SEAL, person=use).digest()
