"""What a database says, turned into what went wrong, where, and what to do."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from assay.errors import StoreError


@contextmanager
def told_plainly(where: str) -> Iterator[None]:
    """Turn what a database says into what, where, and what to do."""
    try:
        yield
    except StoreError as error:
        if where in str(error):
            raise
        raise StoreError(f"can't use the store {where}: {error}") from None
    except DBAPIError as error:
        raise StoreError(advice(where, str(error.orig))) from error
    except sqlite3.Error as error:
        raise StoreError(advice(where, str(error))) from error
    except OSError as error:
        raise StoreError(f"can't use the store {where}: {error.strerror}; give another with --store") from error


def advice(where: str, said: str) -> str:
    """What to do about what the database said."""
    if re.search(r"disk is full|disk I/O error|No space", said):
        return f"the store {where} can't be written: {said}; free some space and run again, what was stored is kept"
    if re.search(r"locked|busy", said):
        return f"the store {where} is in use by another program ({said}); wait for it, or give another with --store"
    if re.search(r"not a database|malformed", said):
        return f"{where} is not an Assay store ({said}); move it away, or give another with --store"
    if re.search(r"readonly|unable to open", said):
        return f"the store {where} can't be written ({said}); check its permissions, or give another with --store"
    return f"the store {where} failed: {said}"
