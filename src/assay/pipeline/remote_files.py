"""Files in an object store or behind an address: listed and read where they lie, through fsspec, and never copied.

What identifies an object is its etag (or whatever its store calls it) and its size. Credentials come from where each
store's own tools take them; an address is kept and shown without the password or signature it may hold.
"""

import importlib
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache
from io import BytesIO
from typing import Any, BinaryIO, TypeVar, cast

from msgspec import Struct

from assay.errors import BadInput
from assay.retry import double_wait
from assay.types import to_key

T = TypeVar("T")
EXTRAS = {
    "s3": "s3",
    "gs": "gs",
    "az": "az",
    "abfs": "az",
    "abfss": "az",
    "hf": "hf",
    "http": "https",
    "https": "https",
}
"""What must be installed for each scheme."""
WEB = ("http", "https")
ADDRESS = re.compile(rf"({'|'.join(EXTRAS)}):/+(.*)", re.DOTALL)
"""A path that was made of an address has lost a slash."""
PASSWORD = re.compile(r"//[^/?#]*@(?=[^/@]*(?:/|$))|//[^/?#@]*:[^/?#@]*@")
IN_TEXT = re.compile(r"[a-z][a-z0-9+]*://[^\s'\"<>)]+")
TAGS = ("ETag", "etag", "generation", "blob_id", "oid", "content_md5", "md5Hash")
TIMES = ("LastModified", "last_modified", "updated", "mtime")
TRIES, FIRST_WAIT_S, MOST_WAIT_S = 4, 0.5, 8.0
MOST_AT_ONCE = 8
BLOCK = 8 << 20
"""Of larger objects so much is fetched at a time; smaller ones are fetched whole."""
BEGINNING = 160
TROUBLES = {
    "botocore.exceptions": ("BotoCoreError", "ClientError"),
    "aiohttp": ("ClientError",),
    "google.auth.exceptions": ("GoogleAuthError",),
    "gcsfs.retry": ("HttpError",),
    "azure.core.exceptions": ("AzureError",),
    "huggingface_hub.errors": ("HfHubHTTPError",),
}
"""What libraries raise that is no `OSError`."""
NO_CREDENTIALS = re.compile(
    r"NoCredentials|DefaultCredentials|Unable to locate credentials|account_name|connection_string", re.IGNORECASE
)
THROTTLED = re.compile(r"SlowDown|reduce your request rate|Throttl|TooManyRequests|\b(?:429|503)\b", re.IGNORECASE)
PASSING = re.compile(r"timed? ?out|reset|disconnected|IncompleteRead|\b50[024]\b|InternalError", re.IGNORECASE)


class RemoteObject(Struct, frozen=True):
    """An object as its store lists it."""

    address: str
    name: str
    """The address as it is kept and shown."""
    tag: int
    """Made of what its store changes whenever the content changes."""
    size: int
    """0 where its store does not say."""


def parse_address(path: object) -> str:
    """The address that a path stands for; nothing for a path of this machine."""
    found = ADDRESS.fullmatch(str(path))
    return f"{found[1]}://{found[2]}" if found and found[2] else ""


def hide_secrets(address: str) -> str:
    """An address without user, password and what stands behind the path, where signatures are."""
    plain = PASSWORD.sub("//", address).rstrip("/")
    return plain.partition("?")[0].partition("#")[0] if plain.startswith(WEB) else plain


def hide_in_text(text: str) -> str:
    """A message in which every address is without secrets."""
    return IN_TEXT.sub(lambda found: hide_secrets(found[0].partition("?")[0]), text)


# --- how it is reached ----------------------------------------------------------------------


@cache
def open_store_of(scheme: str) -> Any:
    """The file system of a scheme; what is missing is named."""
    try:
        return importlib.import_module("fsspec").filesystem(scheme, use_listings_cache=False)
    except ImportError:
        raise BadInput(f"{scheme}:// needs more than is installed; pip install 'assay[{EXTRAS[scheme]}]'") from None
    except ValueError as error:  # so Azure's says that it knows no account
        raise BadInput(f"{scheme}://: {explain_trouble(error)}") from None


def find_place(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    scheme = address.partition(":")[0]
    store = open_store_of(scheme)
    return store, cast(str, store._strip_protocol(address))


def name_place(address: str) -> str:
    """An address as it is kept and shown: all that lies below begins with it."""
    scheme = address.partition(":")[0]
    if scheme in WEB:
        return hide_secrets(address)
    _, path = find_place(address)
    return f"{scheme}://{path.strip('/')}"


def list_troubles() -> tuple[type[BaseException], ...]:
    """All that can be raised for want of a network, rights or an object."""
    found: list[type[BaseException]] = [OSError]
    for module, names in TROUBLES.items():
        if module in sys.modules:
            found += [getattr(sys.modules[module], name) for name in names if hasattr(sys.modules[module], name)]
    return tuple(found)


def explain_trouble(error: BaseException) -> str:
    """Why an object could not be read, in words that hold no secret."""
    said = f"{type(error).__name__}: {error}"
    if NO_CREDENTIALS.search(said):
        return "no credentials; give them where the store's own tools look for them"
    if isinstance(error, FileNotFoundError):
        return "not there"
    if isinstance(error, PermissionError) or re.search(r"\b(?:401|403)\b|Forbidden|AccessDenied", said):
        return "access denied; check your credentials and rights"
    if THROTTLED.search(said):
        return "the store asked to be left alone for now; run again later, with fewer --jobs"
    return hide_in_text(said)[:BEGINNING]


def try_patiently(call: Callable[[], T]) -> T:
    """What a call gives, asked for again where the store is busy or the line went dead."""
    for tried in range(1, TRIES):
        try:
            return call()
        except list_troubles() as error:
            said = f"{type(error).__name__}: {error}"
            is_passing = isinstance(error, (ConnectionError, TimeoutError)) or PASSING.search(said)
            if not is_passing and not THROTTLED.search(said):
                raise
            time.sleep(double_wait(tried, FIRST_WAIT_S, MOST_WAIT_S, random.random()))  # noqa: S311
    return call()


# --- what lies there ------------------------------------------------------------------------


def list_objects(address: str, is_like: Callable[[str], object]) -> list[RemoteObject]:
    """Objects at an address, or below it where their name is like a transcript's; raises what `list_troubles` has."""
    store, path = find_place(address)
    scheme = address.partition(":")[0]
    if scheme in WEB:
        return list_web_objects(store, address, is_like)
    found: dict[str, dict[str, Any]] = try_patiently(lambda: store.find(path, detail=True))
    if not found:
        raise FileNotFoundError(address)
    wanted = [one for one in found.values() if is_like(one["name"].rpartition("/")[2]) or one["name"] == path]
    return [to_object(f"{scheme}://{one['name'].strip('/')}", one) for one in wanted if one.get("type") == "file"]


def list_web_objects(store: Any, address: str, is_like: Callable[[str], object]) -> list[RemoteObject]:
    """What a web address leads to: itself where its name is a file's, else the files that its page links to."""
    if is_like(hide_secrets(address).rpartition("/")[2]) or "?" in address:
        return [to_object(address, try_patiently(lambda: store.info(address)))]
    names = [
        one for one in try_patiently(lambda: store.find(f"{address.rstrip('/')}/")) if is_like(one.rpartition("/")[2])
    ]
    if not names:
        raise FileNotFoundError(address)
    with ThreadPoolExecutor(MOST_AT_ONCE) as threads:
        infos = threads.map(lambda one: try_patiently(lambda: store.info(one)), names)
        return [to_object(name, info) for name, info in zip(names, infos, strict=True)]


def to_object(address: str, info: dict[str, Any]) -> RemoteObject:
    tag, size = identify_object(info)
    return RemoteObject(address, hide_secrets(address), tag, size)


def identify_object(info: dict[str, Any]) -> tuple[int, int]:
    """What changes whenever an object does: its tag, else the time it was written, and its size."""
    size = info.get("size")
    kept = size if isinstance(size, int) else 0
    tag = next((info[name] for name in TAGS if info.get(name)), "")
    if not tag:
        time_of = next((info[name] for name in TIMES if info.get(name)), "")
        tag = time_of.isoformat() if isinstance(time_of, datetime) else time_of
    return to_key(f"{tag}") & (1 << 62) - 1, kept


# --- what it holds --------------------------------------------------------------------------


def is_same_object(address: str, tag: int, size: int) -> bool:
    """Whether an object is still the one that was listed."""
    store, path = find_place(address)
    return identify_object(try_patiently(lambda: store.info(path))) == (tag, size)


def open_object(address: str, size: int) -> BinaryIO:
    """An object's bytes: a small one at once, a large one block by block."""
    store, path = find_place(address)
    if 0 < size <= BLOCK:
        return BytesIO(try_patiently(lambda: store.cat_file(path)))
    return cast(BinaryIO, try_patiently(lambda: store.open(path, "rb", block_size=BLOCK)))


def fetch_each(items: Sequence[T], fetch: Callable[[T], BinaryIO]) -> Iterable[BinaryIO | BaseException]:
    """Objects that are fetched at the same time, in order; what went wrong stands in the place of one."""

    def try_one(item: T) -> BinaryIO | BaseException:
        try:
            return fetch(item)
        except list_troubles() as error:
            return error

    if len(items) < 2:
        yield from map(try_one, items)
        return
    with ThreadPoolExecutor(MOST_AT_ONCE) as threads:
        yield from threads.map(try_one, items)
