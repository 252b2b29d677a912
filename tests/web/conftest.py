"""What tests of pages share: a store with the examples in it, a server on it, and a browser."""

import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from assay import score
from tests.server.serving import RunningServer, run_server
from tests.web.browsing import open_browser


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store that holds the examples, scored; nobody writes into it."""
    folder = tmp_path_factory.mktemp("examples")
    score(str(files("assay") / "examples"), store=folder / "assay.db", jobs=1, timezone="UTC")
    return folder


@pytest.fixture
def own_examples(examples: Path, tmp_path: Path) -> str:
    """The URL of a store with the examples, for a test that changes it."""
    shutil.copytree(examples, tmp_path / "store")
    return f"sqlite:///{tmp_path / 'store' / 'assay.db'}"


@pytest.fixture(scope="session")
def served(examples: Path) -> Iterator[RunningServer]:
    """A server on the examples."""
    with run_server(f"sqlite:///{examples / 'assay.db'}") as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found
