"""Transcripts beside what they must give: where they lie, and how each becomes the file that its agent would write."""

import shutil
import sqlite3
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
FIXTURES = sorted(
    path
    for path in HERE.glob("*/*.*")
    if path.parent.name not in ("__pycache__", "testing") and not path.name.endswith((".expected.json", ".py"))
)


def write_capture(path: Path, folder: Path) -> Path:
    """The file itself, with what lies `beside` it.

    A database is made of its `.sql`, an archive of a folder that ends in `.zipped`.
    """
    if path.suffix == ".sql":
        made = folder / f"{path.stem}.db"
        with sqlite3.connect(made) as database:
            database.executescript(path.read_text())
        database.close()
        return made
    if path.suffix == ".zipped":
        made = folder / f"{path.stem}.eval"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for one in sorted(path.rglob("*.json")):
                archive.write(one, str(one.relative_to(path)))
        return made
    beside = path.parent / "beside"
    if beside.is_dir():
        shutil.copytree(beside, folder, dirs_exist_ok=True)
        return Path(shutil.copy(path, folder))
    return path


def find_expected(path: Path) -> Path:
    """The events that a capture must give."""
    return path.with_name(f"{path.name.split('.')[0]}.expected.json")
