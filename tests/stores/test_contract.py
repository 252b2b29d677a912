"""A store is found by the scheme of its URL, and by nothing else."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from assay import stores
from assay.errors import BadInput
from assay.stores import has_store, list_schemes, open_existing_store, open_store, pick_store_url


def test_a_store_is_there_once_it_was_opened_and_looking_makes_none(fresh_url: Callable[[str], str]):
    url = fresh_url("new")
    assert not has_store(url)
    with pytest.raises(BadInput, match=r"no store at .* yet; run `assay score` first"):
        open_existing_store(url)
    assert not has_store(url)
    open_store(url).close()
    assert has_store(url)
    with closing(open_existing_store(url)) as store:
        assert store.count_bytes() > 0
        assert store.where


def test_every_scheme_leads_to_one_store():
    assert list_schemes() == sorted(set(list_schemes()))
    assert "sqlite" in list_schemes()


def test_a_scheme_that_no_store_serves_is_told_with_those_there_are():
    with pytest.raises(BadInput, match=r"no store for loom://; there are: .*sqlite"):
        open_store("loom:///tmp/a")
    with pytest.raises(BadInput, match=r"only a file path or .*sqlite:/// is known to this version"):
        pick_store_url("loom://elsewhere/a", {})


def test_a_password_in_the_address_of_a_store_is_not_told():
    with pytest.raises(BadInput, match="--store loom://") as told:
        pick_store_url("loom://ada:woad-and-madder@loom.example/a", {})
    assert "madder" not in str(told.value)


def test_a_store_of_another_package_is_found_by_its_scheme(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("loom_store")
    module.SCHEMES = ("loom",)  # type: ignore[attr-defined]
    module.open_store = lambda url: f"opened {url}"  # type: ignore[attr-defined]
    found = stores.list_store_modules()
    monkeypatch.setattr(stores, "list_store_modules", lambda: [*found, module])
    url = pick_store_url("loom://elsewhere/a", {})
    assert url == "loom://elsewhere/a"
    assert open_store(url) == f"opened {url}"


def test_knowing_stores_imports_no_database():
    looks = "import sys, assay.stores; sys.exit('sqlalchemy' in sys.modules or 'assay.stores.sql' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", looks], check=False, cwd=Path(__file__).parent).returncode == 0
