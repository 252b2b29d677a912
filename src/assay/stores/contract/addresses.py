"""Where a store is, as it may be shown."""

import re
from urllib.parse import parse_qsl, urlencode

FILE_URL = "sqlite:///"
"""Before the path of a store that is a file."""


def hide_password(url: str) -> str:
    """An address that may be shown: without the password, and without the settings behind `?` but for the tenant.

    Whatever stands before the last `@` can be of the password: many hold signs that should have been written as `%2F`.
    """
    scheme, _, rest = url.partition("://")
    said = (
        [pair for pair in parse_qsl(rest.rpartition("?")[2].partition("#")[0]) if pair[0] == "tenant"]
        if "?" in rest
        else []
    )
    before, at, behind = rest.rpartition("@")
    name, place = re.split(r"[:/?#@]", before)[0], re.split(r"[?#]", behind)[0]
    return f"{scheme}://{name}{at if name else ''}{place}" + (f"?{urlencode(said)}" if said else "")


def show_address(url: str) -> str:
    """Where a store is, for people: the path of a file, else an address without its password."""
    return url.removeprefix(FILE_URL) if url.startswith(FILE_URL) else hide_password(url)
