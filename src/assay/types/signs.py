"""Signs by which the tenant of some words is known, other than a folder: hashes, so that no attribute is kept."""

from hashlib import sha256

MOST = 100
KEY, ATTRIBUTE = "key:", "attribute:"


def of_key(hashed: str) -> str:
    """The sign of the key with which telemetry came in; given as its sha256."""
    return f"{KEY}{hashed.lower()}"


def of_attribute(name: str, value: str) -> str:
    """The sign of a resource attribute."""
    return f"{ATTRIBUTE}{sha256(f'{name}={value}'.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def is_folder(sign: str) -> bool:
    return not sign.startswith((KEY, ATTRIBUTE))


def joined(known: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Both, each once; the very same where nothing is new."""
    if known is new or not new:
        return known
    if not known:
        return new
    more = [one for one in new if one not in known]
    return (*known, *more)[:MOST] if more else known
