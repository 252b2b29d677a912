"""Pages that list others, and files of the repository shown as they are."""

import re
from collections.abc import Sequence
from pathlib import Path

from scripts.site_pages.markdown import render_table

UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
"""Files are shown where a page leads to them; nobody looks for words in there."""
LANGUAGES = {
    ".py": "python",
    ".toml": "toml",
    ".md": "markdown",
    ".sh": "sh",
    ".json": "json",
    ".yml": "yaml",
    ".yaml": "yaml",
}
DECISIONS = """# Decisions

A library or a design that somebody will ask about has a page: what was decided, why, and what it costs.
"""


def read_title(text: str) -> str:
    """What a page is called."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert found, text[:200]
    return found[1].strip()


def render_decisions(pages: Sequence[Path]) -> str:
    """The index of decisions."""
    rows = [(page.name[:4], f"[{strip_number(read_title(page.read_text('utf-8')))}]({page.name})") for page in pages]
    return f"{DECISIONS}\n{render_table(('', 'decision'), rows)}"


def strip_number(title: str) -> str:
    return re.sub(r"^\d+[.:]? +", "", title)


def render_folder(path: str, names: Sequence[str]) -> str:
    """A folder of the repository."""
    name = path.rsplit("/", 1)[-1]
    rows = "\n".join(f"- [{one}]({name}/{one}.md)" for one in names)
    return f"{UNSEARCHED}# {name}\n\nThe files in `{path}` of the repository:\n\n{rows}\n"


def render_file(path: str, text: str) -> str:
    """A file of the repository."""
    fence = "`" * max([3, *(len(found) + 1 for found in re.findall("`{3,}", text))])
    language = LANGUAGES.get(Path(path).suffix, "text")
    shown = f"{fence}{language}\n{text.rstrip()}\n{fence}\n"
    return f"{UNSEARCHED}# {Path(path).name}\n\n`{path}` in the repository:\n\n{shown}"
