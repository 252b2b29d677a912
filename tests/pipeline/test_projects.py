"""One project for one repository, however its folders are written and wherever it is checked out."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.git import GitRunner, GitTimeout
from assay.pipeline.projects import FolderUse, find_git_folder, name_projects, spell_folder, spell_remote, tally_folders
from assay.testing.claude_code import build_prompt, build_reply, build_result, build_shell_call, write_lines
from tests.make_sessions import QUICK
from tests.tables import each_row

USED = FolderUse(1, has_branch=True)
BARE = FolderUse(1, has_branch=False)


def name_all(*folders: str | Path, **more: FolderUse) -> list[str]:
    """The names of folders, in order."""
    found = name_projects({str(one): USED for one in folders} | more)
    return [found[str(one)] for one in folders]


def git(where: Path, *words: str) -> None:
    who = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.com", "GIT_COMMITTER_NAME": "Ada",
           "GIT_COMMITTER_EMAIL": "ada@example.com", "GIT_CONFIG_GLOBAL": os.devnull}  # fmt: skip
    env = {"PATH": os.environ["PATH"], "HOME": str(where), **who}
    subprocess.run(["git", "-C", str(where), *words], env=env, check=True, capture_output=True)


def make_repository(path: Path, *, remote: str = "", says: str = "Begin") -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", says)
    if remote:
        git(path, "remote", "add", "origin", remote)
    return path


ONE_PROJECT = [
    ("a drive in either case", [r"C:\work\loom", r"c:\work\loom"]),
    ("a path of Windows in either case", [r"C:\Work\Loom", "c:/work/loom", "c:\\work\\loom\\"]),
    ("a drive as WSL writes it", [r"C:\work\loom", "/mnt/c/work/loom"]),
    ("a drive as Git Bash writes it", [r"C:\Users\ada\loom", "/c/Users/ada/loom"]),
    ("a share in either case", [r"\\Server\work\loom", r"\\server\Work\loom"]),
    ("a home of a Mac in either case", ["/Users/ada/Loom", "/Users/ada/loom"]),
    ("a slash at the end", ["/srv/loom", "/srv/loom/"]),
    ("a work tree inside", ["/srv/loom", "/srv/loom/.worktrees/warp", "/srv/loom/.claude/worktrees/weft/src"]),
    ("a work tree inside, on Windows", [r"C:\loom", r"c:\loom\.worktrees\warp"]),
    ("a subfolder of where a branch was", ["/srv/loom", "/srv/loom/packages/shed"]),
    ("a copy in the agent's own folder", ["/Users/ada/src/loom", "/Users/ada/.codex/worktrees/045e/loom"]),
    ("copies without the project", ["/Users/ada/.codex/worktrees/045e/loom", "/Users/ada/.codex/worktrees/1/loom"]),
]


@each_row(("why", "folders"), ONE_PROJECT)
def test_folders_of_one_project_have_one_name(why: str, folders: list[str]) -> None:
    assert len(set(name_all(*folders))) == 1, why


TWO_PROJECTS = [
    ("capitals matter on Linux", ["/srv/Loom", "/srv/loom"]),
    ("two drives", [r"C:\work\loom", r"D:\work\loom"]),
    ("a name that begins alike", ["/srv/loom", "/srv/loom-shed"]),
    ("the same name elsewhere", ["/srv/a/loom", "/srv/b/loom"]),
    ("a home that is in git", ["/home/ada", "/home/ada/loom"]),
    ("a home that is in git, on Windows", [r"C:\Users\ada", r"C:\Users\ada\loom"]),
    ("a copy of one of two", ["/Users/a/x/loom", "/Users/a/y/loom", "/Users/a/.codex/worktrees/1/loom"]),
    ("a copy in another's home", ["/Users/ada/src/loom", "/Users/bob/.codex/worktrees/045e/loom"]),
]  # fmt: skip


@each_row(("why", "folders"), TWO_PROJECTS)
def test_folders_of_several_projects_stay_apart(why: str, folders: list[str]) -> None:
    assert len(set(name_all(*folders))) == len(folders), why


def test_a_subfolder_stays_a_project_where_nothing_says_that_its_parent_is_a_repository() -> None:
    found = name_projects({"/srv/work": BARE, "/srv/work/loom": USED})
    assert found == {"/srv/work": "/srv/work", "/srv/work/loom": "/srv/work/loom"}


def test_the_outermost_folder_names_a_project_though_a_subfolder_is_used_more() -> None:
    used = {"/srv/loom": USED, "/srv/loom/shed": FolderUse(9, has_branch=True)}
    assert set(name_projects(used).values()) == {"/srv/loom"}


def test_a_subfolder_of_a_repository_here_is_its_project(tmp_path: Path) -> None:
    loom = make_repository(tmp_path / "loom")
    (loom / "packages" / "shed").mkdir(parents=True)
    assert set(
        name_projects({str(loom / "packages" / "shed"): BARE, str(loom / "gone" / "long ago"): BARE}).values()
    ) == {str(loom)}


def test_a_repository_inside_of_another_is_a_project_of_its_own(tmp_path: Path) -> None:
    loom, shed = make_repository(tmp_path / "loom"), make_repository(tmp_path / "loom" / "shed", says="Shed")
    assert name_all(loom, shed) == [str(loom), str(shed)]


def test_work_trees_anywhere_are_their_repository(tmp_path: Path) -> None:
    loom = make_repository(tmp_path / "loom")
    git(loom, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "warp")
    assert name_all(tmp_path / "elsewhere", loom) == [str(loom), str(loom)]


@pytest.mark.parametrize(
    "remotes",
    [
        ["git@example.com:ada/loom.git", "https://ada:secret@example.com/ada/loom"],
        ["ssh://git@example.com:2222/Ada/Loom.git", "https://example.com/ada/loom/"],
    ],
)
def test_clones_of_one_remote_are_one_project_named_by_the_one_that_is_used_most(
    tmp_path: Path, remotes: list[str]
) -> None:
    one, other = (make_repository(tmp_path / str(n), remote=url, says=str(n)) for n, url in enumerate(remotes))
    assert set(name_all(one, other, **{str(other): FolderUse(9, has_branch=True)})) == {str(other)}


def test_a_clone_of_a_folder_here_is_that_project(tmp_path: Path) -> None:
    loom = make_repository(tmp_path / "loom", remote="https://example.com/ada/loom")
    git(tmp_path, "clone", "-q", str(loom), str(tmp_path / "copy"))
    other = make_repository(tmp_path / "other", remote="https://example.com/ada/other", says="Other")
    found = name_all(loom, tmp_path / "copy", other)
    assert found[0] == found[1] != found[2]


def test_a_copy_without_a_remote_is_known_by_its_first_commit(tmp_path: Path) -> None:
    loom = make_repository(tmp_path / "loom", remote="https://example.com/ada/loom")
    git(tmp_path, "clone", "-q", str(loom), str(tmp_path / "copy"))
    git(tmp_path / "copy", "remote", "remove", "origin")
    unrelated = make_repository(tmp_path / "unrelated", says="Unrelated")
    found = name_all(loom, tmp_path / "copy", unrelated)
    assert found[0] == found[1] != found[2]


def test_forks_stay_apart_and_a_copy_that_may_be_of_either_stays_alone(tmp_path: Path) -> None:
    loom = make_repository(tmp_path / "loom", remote="https://example.com/ada/loom")
    for name in ("fork", "copy"):
        git(tmp_path, "clone", "-q", str(loom), str(tmp_path / name))
    git(tmp_path / "fork", "remote", "set-url", "origin", "https://example.com/bob/loom")
    git(tmp_path / "copy", "remote", "remove", "origin")
    assert len(set(name_all(loom, tmp_path / "fork", tmp_path / "copy"))) == 3


def test_git_is_not_asked_where_one_repository_is_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loom = make_repository(tmp_path / "loom")
    monkeypatch.setattr(GitRunner, "run", lambda *_, **__: pytest.fail("git was asked"))
    assert name_all(loom, "/nowhere/else") == [str(loom), "/nowhere/else"]


def test_a_git_that_does_not_answer_is_asked_three_times_and_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [make_repository(tmp_path / str(n), says=str(n)) for n in range(5)]
    asked = []

    def hang(runner: GitRunner, *_: str, **__: float) -> None:
        asked.append(runner.folder)
        raise GitTimeout("no answer")

    monkeypatch.setattr(GitRunner, "run", hang)
    assert name_all(*some) == [str(one) for one in some]
    assert len(asked) == 3


def test_a_git_file_that_is_nonsense_names_no_other_repository(tmp_path: Path) -> None:
    for n, said in enumerate([b"", b"gitdir:", b"\xff\x00gitdir: \x00", b"gitdir: " + b"x" * 9000]):
        (tmp_path / str(n)).mkdir()
        (tmp_path / str(n) / ".git").write_bytes(said)
        assert find_git_folder(tmp_path / str(n)).startswith(str(tmp_path / str(n)))


def test_where_sessions_were_is_counted_by_folder() -> None:
    assert tally_folders([("/a", ""), ("/a", "main"), ("/b", "")]) == {
        "/a": FolderUse(2, has_branch=True),
        "/b": FolderUse(1, has_branch=False),
    }


FOLDERS = st.text(st.sampled_from("/\\.:cCuUsers~ ab\n\0é"), max_size=24) | st.sampled_from(
    [folder for _, folders in [*ONE_PROJECT, *TWO_PROJECTS] for folder in folders]
)


@QUICK
@given(st.dictionaries(FOLDERS, st.builds(FolderUse, st.integers(1, 9), st.booleans()), max_size=8), st.data())
def test_every_folder_has_a_name_whatever_the_order(used: dict[str, FolderUse], data: st.DataObject) -> None:
    found = name_projects(used)
    shuffled = {folder: used[folder] for folder in data.draw(st.permutations(sorted(used)))}
    assert found.keys() == used.keys()
    assert name_projects(shuffled) == found


@QUICK
@given(st.text(max_size=40))
def test_any_folder_and_any_remote_can_be_spelled(text: str) -> None:
    assert spell_folder(spell_folder(text)) == spell_folder(text)
    assert "secret" not in spell_remote(f"https://ada:secret@example.com/{text.replace('secret', '')}")


def test_opt_outs_and_the_project_that_is_asked_for_go_by_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, folder in (("top", "/srv/loom"), ("shed", "/srv/loom/shed")):
        where = {"cwd": folder, "gitBranch": "main"}
        write_lines(
            tmp_path / "in" / f"{name}.jsonl",
            build_prompt(0, f"Please mend the {name} of the loom and test it", name) | where,
            build_shell_call(1, "pytest -q", name) | where,
            build_result(2, 1, "1 passed", name) | where,
            build_reply(3, "It is mended", name) | where,
        )
    monkeypatch.chdir(tmp_path)
    found = {one.streams[0]: one for one in assay.score("in", store=tmp_path / "a.db").sessions}
    assert {one.repository for one in found.values()} == {"/srv/loom"}
    some = assay.score("in", store=tmp_path / "a.db", project="/srv/loom/shed").sessions
    assert [(one.project, one.repository) for one in some] == [("/srv/loom/shed", "/srv/loom")]
    (tmp_path / "assay.toml").write_text('[tenants.acme]\nprojects = ["/srv/loom/shed"]\nopt_out = true\n')
    found = {one.streams[0]: one for one in assay.score("in", store=tmp_path / "a.db").sessions}
    assert (found["shed"].title, found["shed"].repository, found["top"].repository) == ("", None, "/srv/loom")
    assert found["top"].title
