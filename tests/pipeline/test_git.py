"""Repositories as git tells of them, also those that are shallow, bare, broken or somebody else's."""

import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadInput
from assay.git import READ, GitRunner
from assay.git.history import FORMAT, PatchReader, parse_path, straighten_times
from assay.git.repo import LARGEST_FILE, Repo, build_pathspecs, open_repo
from assay.sessions.rework.history import CodeChange, FileChange, Hunk
from tests.pipeline.rework_repositories import Repository, at, code, followed, session, text


def opened(path: Path) -> Repo:
    found = open_repo(path, may_be_bare=True)
    assert found
    return found


def changes(path: Path, since: float = -60.0, until: float = 90.0) -> list[CodeChange]:
    with opened(path) as repo:
        return list(repo.read_changes(at(since), at(until)))


def files(path: Path) -> list[FileChange]:
    """What the last commit does."""
    return changes(path)[-1].files


def clone(repository: Repository, to: Path, *words: str) -> Path:
    repository.git("clone", "-q", *words, f"file://{repository.path}", str(to))
    return to


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "till")


# --- where it stands --------------------------------------------------------------------------


def test_a_folder_without_a_repository_is_none(tmp_path: Path) -> None:
    assert open_repo(tmp_path) is None
    assert open_repo(tmp_path / "nowhere") is None


def test_a_folder_inside_is_in_the_repository(repository: Repository) -> None:
    repository.commit(0, {"src/a.py": text(code(3))})
    repo = opened(repository.path / "src")
    assert repo.root == repository.path.resolve()
    assert [file.new for change in repo.read_changes(at(-1), at(1)) for file in change.files] == ["src/a.py"]
    assert repo.read_file(str(repo.tip), "src/a.py") == text(code(3)).encode()
    repo.close()


def default(path: Path) -> tuple[str | None, str | None]:
    with opened(path) as repo:
        return repo.default_branch, repo.tip


def test_the_default_branch_is_main_then_master_then_what_is_checked_out(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.branch("work")
    second = repository.commit(1, {"a.py": "work = 1\n"})
    assert default(repository.path) == ("main", first)
    repository.git("branch", "-m", "main", "master")
    assert default(repository.path) == ("master", first)
    repository.git("branch", "-D", "master")
    assert default(repository.path) == ("work", second)
    repository.git("checkout", "-q", "--detach")
    repository.git("branch", "-D", "work")
    assert default(repository.path) == ("HEAD", second)


def test_what_the_remote_calls_head_comes_first(repository: Repository, tmp_path: Path) -> None:
    repository.branch("trunk")
    tip = repository.commit(1, {"a.py": "work = 1\n"})
    copy = clone(repository, tmp_path / "copy")
    assert default(copy) == ("trunk", tip)


def test_of_a_branch_and_the_remotes_the_later_one_counts(repository: Repository, tmp_path: Path) -> None:
    copy = Repository(clone(repository, tmp_path / "copy"), is_new=False)
    ahead = repository.commit(1, {"a.py": "work = 1\n"})
    copy.git("fetch", "-q")
    assert default(copy.path) == ("main", ahead)
    copy.git("merge", "-q", "--ff-only", "origin/main")
    local = copy.commit(2, {"a.py": "work = 2\n"})
    assert default(copy.path) == ("main", local)


def test_an_empty_repository_has_no_commits(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "new")], check=True)
    with opened(tmp_path / "new") as repo:
        assert (repo.default_branch, repo.tip, list(repo.read_changes(0, 1e12)), repo.find_commit_at(1e12)) == (
            None,
            None,
            [],
            None,
        )


@pytest.mark.parametrize("words", [["--bare"], ["--mirror"], []])
def test_a_clone_tells_the_same_bare_or_not(repository: Repository, tmp_path: Path, words: list[str]) -> None:
    repository.commit(0, {"a.py": text(code(3))})
    copy = clone(repository, tmp_path / "copy", *words)
    assert changes(copy) == changes(repository.path)
    with opened(copy) as repo:
        assert repo.is_bare == bool(words)


def test_a_work_tree_tells_the_same(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "-q", "-b", "feature", str(tmp_path / "other"))
    assert changes(tmp_path / "other") == changes(repository.path)


def test_the_commit_at_a_time_is_the_last_before(repository: Repository) -> None:
    first, second = repository.git("rev-parse", "HEAD"), repository.commit(3, {"a.py": "work = 1\n"})
    with opened(repository.path) as repo:
        assert [repo.find_commit_at(at(day)) for day in (-31, -30, 0, 2.99, 3, 99)] == [
            None,
            first,
            first,
            first,
            second,
            second,
        ]


# --- what happened ----------------------------------------------------------------------------


def test_commits_come_when_they_reach_the_default_branch(repository: Repository) -> None:
    repository.branch("feature")
    ours = [repository.commit(day, {f"a{day}.py": "work = 1\n"}) for day in (1, 4)]
    repository.switch("main")
    between = repository.commit(2, {"b.py": "work = 1\n"})
    repository.git("merge", "-q", "--no-ff", "feature", day=6)
    merge = repository.git("rev-parse", "HEAD")
    last = repository.commit(7, {"c.py": "work = 1\n"})
    found = changes(repository.path, since=0)
    assert [(one.id, one.arrived, one.merge) for one in found] == [
        (between, at(2), ""),
        (ours[0], at(6), merge),
        (ours[1], at(6), merge),
        (last, at(7), ""),
    ]
    assert [one.id for one in changes(repository.path, since=0, until=6.5)] == [between, *ours]


def test_what_a_commit_does_is_told_in_hunks(repository: Repository) -> None:
    lines = [f"line number {n}" for n in range(30)]
    repository.commit(0, {"a.py": text(lines)})
    repository.commit(1, {"a.py": text([*lines[:3], "new one", *lines[5:7], "new two", *lines[7:20], *lines[22:]])})
    assert files(repository.path) == [
        FileChange(
            "a.py",
            "a.py",
            [
                Hunk([b"line number 3", b"line number 4"], [b"new one", b"new two"]),
                Hunk([b"line number 20", b"line number 21"], []),
            ],
        )
    ]


def test_a_change_of_white_space_is_none(repository: Repository) -> None:
    repository.commit(0, {"a.py": text(code(5))})
    repository.commit(1, {"a.py": text([f"    {line}" for line in code(5)])})
    assert [len(change.files) for change in changes(repository.path, since=0)] == [1, 0]


def test_a_renamed_file_is_told_with_both_names(repository: Repository) -> None:
    repository.commit(0, {"a.py": text(code(9))})
    repository.git("mv", "a.py", "b.py")
    repository.commit(1, {"b.py": text(code(10))})
    assert files(repository.path) == [FileChange("a.py", "b.py", [Hunk([], [code(10)[-1].encode()])])]


def test_lines_that_look_like_a_patch_are_lines(repository: Repository) -> None:
    odd = ["-- a/till.py", "++ b/till.py", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No newline", "rename from x"]
    repository.commit(0, {"a.py": text(odd)})
    repository.commit(1, {"a.py": b"last"})
    expected = [line.encode() for line in odd]
    assert [one.files[0].hunks for one in changes(repository.path, since=0)] == [
        [Hunk([], expected)],
        [Hunk(expected, [b"last"])],
    ]


@pytest.mark.parametrize(
    "path",
    [
        "with space.py",
        "tab\there.py",
        'quote"d.py',
        "back\\slash.py",
        "new\nline.py",
        "grüße/日本.py",
        os.fsdecode(b"caf\xe9.py"),
        "a/b/a/b.py",
        "-dash.py",
    ],
)
def test_any_name_is_told_as_it_is(repository: Repository, path: str) -> None:
    repository.commit(0, {path: text(code(12))})
    assert [(file.old, file.new) for file in files(repository.path)] == [("", path)]
    repository.commit(1, {path: None})
    assert [(file.old, file.new) for file in files(repository.path)] == [(path, "")]
    with opened(repository.path) as repo:
        assert repo.read_file(f"{repo.tip}~1", path) == (None if "\n" in path else text(code(12)).encode())


def test_lines_that_are_no_utf8_are_as_a_transcript_has_them(repository: Repository) -> None:
    repository.commit(0, {"a.py": b"name = 'caf\xe9'\ncity = 'K\xc3\xb6ln'\n"})
    assert files(repository.path)[0].hunks[0].added == ["name = 'caf\ufffd'".encode(), "city = 'Köln'".encode()]


def test_an_author_and_a_message_may_hold_anything(repository: Repository) -> None:
    repository.git("config", "i18n.commitEncoding", "latin1")
    message = b"caf\xe9\n\nThis reverts commit 1234567.\n"
    repository.write({"a.py": "work = 1\n"})
    repository.git("add", "-A")
    repository.git("commit", "-q", "-F", "-", input=message)
    assert changes(repository.path)[-1].message == "café\n\nThis reverts commit 1234567.\n"


def test_documents_and_binary_files_are_left_out(repository: Repository) -> None:
    repository.commit(0, {"README.md": "More.\n", "b.py": b"\0\1\2" * 100, "uv.lock": "x\n", "a.py": "work = 1\n"})
    assert [file.new for file in files(repository.path)] == ["a.py"]


@pytest.mark.parametrize(
    ("paths", "kinds"),
    [
        ([], [":(top)"]),
        (["a.py", "bin/till"], [":(top)"]),
        (["x/a.GO", "b.go"], [":(top,icase)*.go"]),
        (["a.pyi"], [":(top,icase)*.py", ":(top,icase)*.pyi", ":(top,icase)*.pyx", ":(top,icase)*.pxd"]),
    ],
)
def test_only_kinds_of_files_that_matter_are_compared(paths: list[str], kinds: list[str]) -> None:
    assert sorted(build_pathspecs(paths)) == sorted(kinds)


def test_files_of_other_kinds_are_not_even_read(repository: Repository) -> None:
    repository.commit(0, {"a.go": "package till\n", "b.py": "work = 1\n", "src/C.TS": "let x = 1\n"})
    with opened(repository.path) as repo:
        found = [file.new for change in repo.read_changes(at(-1), at(1), ["x.js", "y.go"]) for file in change.files]
    assert found == ["a.go", "src/C.TS"]


@pytest.mark.long
def test_a_file_of_100000_lines_is_read(repository: Repository) -> None:
    lines = [f"value_{n} = {n * n}" for n in range(100_000)]
    repository.commit(0, {"a.py": text(lines)})
    repository.commit(2, {"a.py": text(lines[:30_000])}, who="bob")
    found = followed(repository, session({"a.py": lines}))["one"].reworked
    assert (found.state, found.lines, found.gone) == ("yes", 100_000, 70_000)


def test_a_file_that_is_too_large_is_left_out(repository: Repository) -> None:
    huge = b"value = 1\n" * (LARGEST_FILE // 10 + 1)
    repository.commit(0, {"a.py": huge, "b.py": "work = 1\n"})
    with opened(repository.path) as repo:
        assert [file.new for change in repo.read_changes(at(-1), at(1)) for file in change.files] == ["b.py"]
        assert repo.read_file(str(repo.tip), "a.py") is None
        assert repo.read_file(str(repo.tip), "b.py") == b"work = 1\n"
        assert repo.read_file(str(repo.tip), "src") is None
        assert repo.read_file("no-such-commit", "b.py") is None


def test_a_commit_that_is_too_large_is_cut(monkeypatch: pytest.MonkeyPatch, repository: Repository) -> None:
    monkeypatch.setattr("assay.git.history.MOST_LINES", 50)
    repository.commit(0, {"a.py": text(code(40)), "b.py": text(code(40))})
    with opened(repository.path) as repo:
        found = [file.new for change in repo.read_changes(at(-1), at(1)) for file in change.files]
        assert (found, repo.notes) == (["a.py"], {"lines of huge commits were left out": 40})


def test_reading_can_be_left_at_any_time(repository: Repository) -> None:
    for n in range(5):
        repository.commit(n, {"a.py": text(code(2_000, seed=n))})
    with opened(repository.path) as repo:
        reading = repo.read_changes(at(-60), at(60))
        next(reading)
        reading.close()


# --- clocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([], []),
        ([1, 2, 3], [1, 2, 3]),
        ([1, 99, 2, 3, 4], [1, 1, 2, 3, 4]),
        ([5, 6, 0, 7, 8], [5, 6, 6, 7, 8]),
        ([9, 1, 2, 3], [1, 1, 2, 3]),
        ([2, 2, 2], [2, 2, 2]),
    ],
)
def test_a_wrong_clock_does_not_move_the_others(times: list[float], found: list[float]) -> None:
    assert straighten_times(times) == found


@given(st.lists(st.integers(-5, 20)))
def test_straightened_times_never_go_back(times: list[float]) -> None:
    found = straighten_times(times)
    assert found == sorted(found)
    assert len(found) == len(times)


# --- what is missing --------------------------------------------------------------------------


def break_object(repository: Repository, id: str) -> None:
    """Take an object away; git would take it from the work tree if it could."""
    repository.git("read-tree", "--empty")
    file = repository.path / ".git" / "objects" / id[:2] / id[2:]
    file.chmod(0o644)
    file.unlink()


@pytest.mark.parametrize("what", ["b.py", "d.py"])
def test_a_missing_file_costs_the_commits_that_need_it(repository: Repository, what: str) -> None:
    for day, path in enumerate(["a.py", "b.py", "c.py", "d.py"]):
        repository.commit(day, {path: text(code(5, seed=day))})
    break_object(repository, repository.git("rev-parse", f"HEAD:{what}"))
    with opened(repository.path) as repo:
        found = [file.new for change in repo.read_changes(at(-1), at(9)) for file in change.files]
        assert found == [path for path in ("a.py", "b.py", "c.py", "d.py") if path != what]
        assert any("unable to read" in note for note in repo.notes)
        assert repo.read_file(str(repo.tip), what) is None
        assert repo.read_file(str(repo.tip), "a.py") == text(code(5, seed=0)).encode()


def test_a_missing_tree_costs_the_commits_that_need_it(repository: Repository) -> None:
    for day, path in enumerate(["a.py", "b.py", "c.py", "d.py"]):
        repository.commit(day, {path: text(code(5, seed=day))})
    break_object(repository, repository.git("rev-parse", "HEAD~2^{tree}"))
    with opened(repository.path) as repo:
        found = [file.new for change in repo.read_changes(at(-1), at(9)) for file in change.files]
        assert found == ["a.py", "d.py"]
        assert repo.notes


def test_history_behind_a_missing_commit_is_left_out_and_said(repository: Repository) -> None:
    for day, path in enumerate(["a.py", "b.py", "c.py", "d.py"]):
        repository.commit(day, {path: text(code(5, seed=day))})
    break_object(repository, repository.git("rev-parse", "HEAD~2"))
    with opened(repository.path) as repo:
        found = [file.new for change in repo.read_changes(at(-1), at(9)) for file in change.files]
        assert found[-1:] == ["d.py"]
        assert "a.py" not in found
        assert repo.notes


def test_the_edge_of_a_shallow_clone_adds_nothing(repository: Repository, tmp_path: Path) -> None:
    lines = code(20)
    repository.commit(0, {"a.py": text(lines)})
    repository.commit(1, {"b.py": text(code(5))})
    repository.commit(2, {"c.py": text(code(5))})
    copy = clone(repository, tmp_path / "copy", "--depth", "2")
    with opened(copy) as repo:
        assert repo.is_shallow
        assert [file.new for change in repo.read_changes(at(-99), at(9)) for file in change.files] == ["c.py"]
    shallow = Repository(copy, is_new=False)
    assert followed(shallow, session({"a.py": lines}))["one"].reworked.state == "unknown"


def test_nothing_is_fetched_for_a_partial_clone(repository: Repository, tmp_path: Path) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.commit(0, {"a.py": text(code(20))})
    repository.commit(1, {"a.py": text(code(20, seed=2))})
    copy = clone(repository, tmp_path / "copy", "--filter=blob:none", "--no-checkout")
    before = sorted(copy.rglob("*.pack"))
    with opened(copy) as repo:
        assert list(repo.read_changes(at(-1), at(9))) == []
        assert repo.read_file(str(repo.tip), "a.py") is None
        assert repo.notes
    assert sorted(copy.rglob("*.pack")) == before


def test_a_repository_of_somebody_else_is_told_plainly(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    monkeypatch.setenv("HOME", str(repository.path.parent))
    for variable in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for path in [repository.path, *repository.path.rglob("*")]:
        os.chown(path, 12345, 12345)
    with pytest.raises(BadInput, match=r"belongs to somebody else.*safe\.directory") as told:
        open_repo(repository.path)
    assert "\n" not in str(told.value)


def test_a_broken_repository_is_told_plainly(repository: Repository) -> None:
    (repository.path / ".git" / "config").write_text("[core\n")
    with pytest.raises(BadInput, match="git can't read this repository") as told:
        open_repo(repository.path)
    assert "\n" not in str(told.value)


def test_without_git_it_is_told_plainly(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository.path))
    assert shutil.which("git") is None
    with pytest.raises(BadInput, match="git: not found"):
        open_repo(repository.path)


# --- nothing of it runs -----------------------------------------------------------------------


def test_no_program_of_the_repository_runs(repository: Repository, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    repository.commit(0, {"a.py": text(code(5)), ".gitattributes": "*.py diff=trap\n"})
    repository.commit(1, {"a.py": text(code(5, seed=2))})
    for key in ("diff.external", "diff.trap.command", "diff.trap.textconv", "core.pager", "core.fsmonitor"):
        repository.git("config", key, str(trap))
    assert len(changes(repository.path, since=0)) == 2
    assert not (tmp_path / "sprung").exists()


def test_a_hook_that_runs_assay_does_not_lead_it_elsewhere(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS"):
        monkeypatch.setenv(variable, "/nowhere")
        assert "/nowhere" not in GitRunner(repository.path, READ).build_environment(()).values()
    assert opened(repository.path).root == repository.path.resolve()


# --- patches ----------------------------------------------------------------------------------


@given(st.binary(max_size=400))
def test_no_bytes_upset_the_reader(data: bytes) -> None:
    head = FORMAT.replace("%x00", "\0").encode()
    for given_ in (
        data,
        head + b"\n" + data,
        head + b"\ndiff --git a/x b/x\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n" + data,
    ):
        list(PatchReader(io.BytesIO(given_), lambda _: True))


@pytest.mark.parametrize(
    ("said", "path"),
    [
        (b"a/x.py\n", "x.py"),
        (b"a/with space.py\t\n", "with space.py"),
        (b'"a/tab\\there.py"\n', "tab\there.py"),
        (b'"a/caf\\351.py"\n', os.fsdecode(b"caf\xe9.py")),
        (b"/dev/null\n", ""),
    ],
)
def test_names_are_read_as_git_spells_them(said: bytes, path: str) -> None:
    assert parse_path(said, b"a/") == path
