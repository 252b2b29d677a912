"""A fresh store of every kind there is: the tests of the contract (`test_contract_*.py`) run over each of them."""

from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest

from assay.stores import Store, list_schemes, open_store
from tests.postgres import start_server


def name_tenant(folder: Path, name: str) -> str:
    """The URL of a tenant that no other test has."""
    return start_server().url(f"{name[:8].lower()}-{blake2b(f'{folder}/{name}'.encode(), digest_size=8).hexdigest()}")


FRESH: dict[str, Callable[[Path, str], str]] = {"postgresql": name_tenant}
"""How the URL of a new store is made, for a scheme whose stores are no files."""


@pytest.fixture(params=list_schemes())
def fresh_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Gives the URL of a store that is not there yet; the same one for the same name."""
    scheme: str = request.param
    if scheme in FRESH:
        return lambda name: FRESH[scheme](tmp_path, name)
    return lambda name: f"{scheme}:///{tmp_path / name}.db"


@pytest.fixture
def store_url(fresh_url: Callable[[str], str]) -> str:
    return fresh_url("store")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with closing(open_store(store_url)) as opened:
        yield opened
