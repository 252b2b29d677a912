"""The pictures that README and docs show: each is taken by the script, and each is shown."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).parents[1]


def load_names() -> set[str]:
    """The pictures that the script takes."""
    loader = SourceFileLoader("screenshots", str(ROOT / "scripts" / "screenshots"))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return {f"{name}.png" for name in module.PICTURES}


def test_every_picture_is_taken_by_the_script_and_shown_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"\]\([^)\s]*images/([\w-]+\.png)\)", page.read_text())}
    kept = {one.name for one in (ROOT / "docs" / "images").iterdir()}
    assert load_names() == kept == shown
    assert sum(one.stat().st_size for one in (ROOT / "docs" / "images").iterdir()) < 1_500_000
