"""Every page of the site as Markdown, and what they show: from the pages of the repository, and from the code."""

import json
from pathlib import Path

from scripts.site_pages.commands import render_commands
from scripts.site_pages.http_api import describe_server, render_api
from scripts.site_pages.judge_card import render_card
from scripts.site_pages.links import is_elsewhere, lead_links, list_links
from scripts.site_pages.listings import render_decisions, render_file, render_folder
from scripts.site_pages.python_api import render_python
from scripts.site_pages.schemas import render_schemas

PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/evaluation/README.md": "examples/evaluation.md",
    "docs/decisions": "decisions/index.md",
    "docs/reference/schemas": "reference/schemas/index.md",
}
"""Where pages and folders of the repository stand in the site; `docs/` stands at its root."""
PICTURES = (".png", ".svg")
MADE = (".pyc", ".msgpack")
"""Files beside those of the repository that a build made."""
SCHEMAS = "docs/reference/schemas/"


def gather(root: Path) -> dict[str, str | bytes]:
    """All files of the site's source, by path."""
    made = make_reference(root)
    told = {page: (root / page).read_text("utf-8") for page in list_pages(root)}
    files: dict[str, str | bytes] = dict(made)
    wanted: list[str] = []
    for page, text in told.items():
        at = place(page)
        files[at] = lead_links(text, page, at, place)
        wanted += [
            find_target(page, link) for link in list_links(text) if not is_elsewhere(link) and not link.startswith("#")
        ]
    for target in dict.fromkeys(wanted):
        add_target(root, target, files)
    return files


def list_pages(root: Path) -> list[str]:
    """Pages that people wrote; the README says what the site's own first page says, at more length."""
    written = [str(path.relative_to(root).as_posix()) for path in sorted((root / "docs").rglob("*.md"))]
    return [*written, *(page for page in PAGES if page.endswith(".md") and page != "README.md")]


def find_target(page: str, link: str) -> str:
    """What a link of a page means, as a path of the repository."""
    parts: list[str] = []
    for part in [*page.split("/")[:-1], *link.partition("#")[0].split("/")]:
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def place(path: str) -> str:
    """Where the site has a path of the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith(SCHEMAS):
        return f"{path.removeprefix('docs/').removesuffix('.json')}.md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if path.endswith(PICTURES) else f"files/{path}.md"


def add_target(root: Path, target: str, files: dict[str, str | bytes]) -> None:
    """Something that a page leads to and that is no page: a picture, a file to be read, a folder of them."""
    at, found = place(target), root / target
    if at in files:
        return
    if target.endswith(PICTURES):
        files[at] = found.read_bytes()
    elif found.is_dir():
        inside = [one for one in sorted(found.iterdir()) if one.is_file() and one.suffix not in MADE]
        files[at] = render_folder(target, [one.name for one in inside])
        for one in inside:
            add_target(root, f"{target}/{one.name}", files)
    else:
        files[at] = render_file(target, found.read_text("utf-8"))


def make_reference(root: Path) -> dict[str, str]:
    """The pages that are made from the code."""
    schemas = {path.stem: path.read_text("utf-8") for path in sorted((root / SCHEMAS).glob("*.json"))}
    described = describe_server()
    made = {
        "index.md": (Path(__file__).parent / "index.md").read_text("utf-8"),
        "decisions/index.md": render_decisions(sorted((root / "docs/decisions").glob("*.md"))),
        "reference/judge-card.md": render_card(),
        "reference/python.md": render_python(root / "src"),
        "reference/http.md": render_api(described),
        "reference/openapi.json": json.dumps(described, indent=1, ensure_ascii=False, default=str) + "\n",
    }
    made |= {f"reference/commands/{name}": text for name, text in render_commands().items()}
    made |= {f"reference/schemas/{name}": text for name, text in render_schemas(schemas).items()}
    return made | {f"reference/schemas/{kind}.json": text for kind, text in schemas.items()}
