"""Paths of a transcript, as the repository has them, wherever it was checked out."""

import pytest

from assay.sessions.paths import find_checkouts, find_in_repository, make_relative

KNOWN = {"src/sum.py", "src/till/__init__.py", "src/till/tax.py", "tests/test_sum.py", "README.md", "__init__.py"}


@pytest.mark.parametrize(
    ("path", "top", "found"),
    [
        ("/a/till/src/sum.py", "/a/till", "src/sum.py"),
        ("/a/till/src/sum.py", "/a/till/", "src/sum.py"),
        ("/a/tiller/sum.py", "/a/till", None),
        ("/a/till", "/a/till", None),
        ("C:\\work\\till\\src\\sum.py", "c:\\work\\till", "src/sum.py"),
        ("/sum.py", "/", "sum.py"),
    ],
)
def test_a_path_is_seen_from_a_folder_above_it(path: str, top: str, found: str | None):
    assert make_relative(path, top) == found


def placed(*paths: str, first: tuple[str, ...] = ()) -> list[str | None]:
    found = find_checkouts(paths, KNOWN, first)
    return [find_in_repository(path, found, KNOWN) for path in paths]


@pytest.mark.parametrize(
    ("paths", "first", "found"),
    [
        (["/a/src/sum.py", "/a/src/gone.py"], ["/a"], ["src/sum.py", "src/gone.py"]),
        (["/home/ada/till/src/sum.py", "/home/ada/till/src/gone.py"], [], ["src/sum.py", "src/gone.py"]),
        (["C:\\till\\src\\sum.py", "C:\\till\\src\\gone.py"], [], ["src/sum.py", "src/gone.py"]),
        (["/w/src/sum.py", "/w/README.md", "/w/b/__init__.py"], [], ["src/sum.py", "README.md", "b/__init__.py"]),
        (["/a/src/sum.py", "/a/.trees/x/src/sum.py"], ["/a"], ["src/sum.py", "src/sum.py"]),
        (["/a/src/sum.py", "/tmp/note.py"], ["/a"], ["src/sum.py", None]),
        (["/tmp/note.py"], [], [None]),
    ],
    ids=["on disk", "elsewhere", "windows", "a common name", "a work tree inside", "not in it", "nothing known"],
)  # fmt: skip
def test_paths_are_found_in_the_repository(paths: list[str], first: list[str], found: list[str | None]):
    assert placed(*paths, first=tuple(first)) == found
