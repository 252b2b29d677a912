"""Makes the site: pages are gathered, put in order, and made HTML; what they would fetch is put beside them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomlkit

from scripts.site_pages.gather import gather
from scripts.site_pages.listings import read_title, strip_number

HERE = Path(__file__).parent
FETCHED = re.compile(r"https://unpkg\.com/iframe-worker/shim")
"""What lets search work in a page that was opened from a disk: the theme's offline mode would fetch it."""
SHORT = re.compile(r"<code>([^<>]{1,24})</code>")
"""Words of code that stay on one line: no `--` at its end."""
SHIM, STYLE = "assets/javascripts/iframe-worker.js", "assets/assay.css"
ORDER: dict[str, list[str]] = {
    "Start": ["index.md", "tutorial.md", "how-to/questions.md", "how-to/terminal.md", "glossary.md", "changelog.md"],
    "How to": ["how-to/"],
    "Concepts": ["concepts/score.md", "concepts/sessions.md", "concepts/judges.md", "concepts/"],
    "Reference": [
        "reference/commands/", "reference/config.md", "reference/agents.md", "reference/json.md",
        "reference/schemas/index.md", "reference/python.md", "reference/http.md", "reference/",
    ],
    "How sure, how safe": ["reference/judge-card.md", "benchmarks.md", "scale.md", "security.md", "reporting.md"],
    "Inside": ["architecture.md", "contributing.md", "examples/evaluation.md", "decisions/"],
}  # fmt: skip
"""Sections, and their pages in order; a folder stands for those of its pages that are named nowhere."""
FOLDERS = {"reference/commands/": "Commands", "decisions/": "Decisions"}
"""Folders that are a list of their own inside a section."""


def build_site(root: Path, out: Path, work: Path) -> None:
    """Make the site at `out` of the repository at `root`; `work` is a folder for what is made on the way."""
    files = gather(root)
    shutil.rmtree(work, ignore_errors=True)
    for path, held in files.items():
        write(work / "docs" / path, held)
    write(work / "docs" / STYLE, (HERE / "assay.css").read_bytes())
    config = tomlkit.parse((HERE / "zensical.toml").read_text("utf-8")).unwrap()
    config["project"] |= {"docs_dir": "docs", "site_dir": "site", "nav": order_pages(files)}
    write(work / "zensical.toml", tomlkit.dumps(config))
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=work, check=True, timeout=300
    )
    keep_whole(work / "site")
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(work / "site", out)


def write(path: Path, held: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(held.encode() if isinstance(held, str) else held)


def order_pages(files: dict[str, str | bytes]) -> list[dict[str, Any]]:
    """The navigation: every page that people may look for, once."""
    titles = {
        path: name_page(path, text) for path, text in files.items() if path.endswith(".md") and isinstance(text, str)
    }
    named = {path for paths in ORDER.values() for path in paths}
    return [
        {section: [part for path in paths for part in list_part(path, titles, named)]}
        for section, paths in ORDER.items()
    ]


def name_page(path: str, text: str) -> str:
    title = read_title(text)
    return f"{int(path[10:14])} {strip_number(title)}" if re.match(r"decisions/\d", path) else title


def list_part(path: str, titles: dict[str, str], named: set[str]) -> list[dict[str, Any]]:
    """A page, or all those of a folder that are named nowhere."""
    if not path.endswith("/"):
        return [{titles[path]: path}]
    inside = [one for one in titles if one.startswith(path) and "/" not in one.removeprefix(path) and one not in named]
    if path in FOLDERS:
        first = f"{path}index.md"
        return [{FOLDERS[path]: [first, *({titles[one]: one} for one in inside if one != first)]}]
    return [{titles[one]: one} for one in sorted(inside, key=lambda one: titles[one])]


def keep_whole(site: Path) -> None:
    """Have pages fetch nothing from elsewhere, and break no short word of code."""
    write(site / SHIM, (HERE / "iframe_worker/index.js").read_bytes())
    write(site / f"{SHIM}.LICENSE", (HERE / "iframe_worker/LICENSE").read_bytes())
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = SHORT.sub(r'<code class="short">\1</code>', page.read_text("utf-8"))
        page.write_text(FETCHED.sub(f"{up}{SHIM}", text), "utf-8")
