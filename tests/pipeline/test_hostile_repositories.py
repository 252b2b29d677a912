"""Repositories that somebody else wrote: nothing of them runs, nothing of them hangs, and no secret reaches git."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals.promoting.branch import PromotionRemote
from assay.evals.tasks.config import load_config
from assay.git import COPY, LAND, QUIET_VARIABLES, READ, GitRunner, GitTimeout, find_repository, find_transport
from assay.git.repo import open_repo
from tests.conftest import Ran, is_one_line, run, warm
from tests.evals.make_run import Remote
from tests.pipeline.make_work import as_of, transcript, worked
from tests.pipeline.rework_repositories import Repository, at, code
from tests.plain_judge import install

NOBODY = 65534
GIT = shutil.which("git") or "git"
HOOKS = "pre-auto-gc post-checkout post-index-change reference-transaction fsmonitor-watchman proc-receive".split()
KEYS = (
    "gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program", "core.pager", "pager.show",
    "pager.diff-tree", "pager.rev-list", "core.fsmonitor", "core.editor", "core.askPass", "core.sshCommand",
    "core.gitProxy", "core.alternateRefsCommand", "credential.helper", "diff.external", "diff.trap.command",
    "diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "merge.trap.driver",
    "uploadpack.packObjectsHook", "sequence.editor", "trailer.x.command", "tar.tar.command",
)  # fmt: skip
VERBS = "rev-parse rev-list symbolic-ref for-each-ref cat-file diff-tree ls-tree merge-base show log".split()


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="plugin-") as folder:
        Path(folder).chmod(0o755)
        install(monkeypatch, Path(folder))
        yield


@pytest.fixture(params=["whoever runs the tests", "nobody"])
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that anybody may enter; what is run there runs as root and as an ordinary user where that differs."""
    if request.param == "nobody" and os.geteuid():
        pytest.skip("is run as an ordinary user already")
    with tempfile.TemporaryDirectory(prefix="hostile-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "as").write_text(request.param)
        yield folder


def given_away(place: Path) -> None:
    """All of it belongs to whoever runs Assay there."""
    if (place / "as").read_text() == "nobody":
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(place)], check=True)


def as_somebody(place: Path, words: list[str], more: dict[str, Any]) -> None:
    if (place / "as").read_text() == "nobody":
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    ran = run(*words, **more)
    (place / "ran").write_text(f"{ran.code}\0{ran.out}\0{ran.err}")


def assay(place: Path, *words: object, cwd: Path | None = None, **env: str) -> Ran:
    """`assay WORDS` as whoever the place belongs to."""
    given_away(place)
    more = {"env": {"ASSAY_JUDGE": "plain", "HOME": str(place), **env}, "cwd": cwd or place}
    warm()
    process = get_context("fork").Process(target=as_somebody, args=(place, [*map(str, words)], more))
    process.start()
    process.join(90)
    assert process.exitcode == 0, "it did not end"
    code_, out, err = (place / "ran").read_text().split("\0")
    return Ran(int(code_), out, err)


def score(place: Path, day: float, *words: object, **more: Any) -> Ran:
    given = (place / "in", "--store", place / "kept" / "s.db", "--as-of", as_of(day), "--json")
    return assay(place, "score", *given, *words, **more)


def states(ran: Ran) -> dict[str, str]:
    return {one["streams"][0]: one["facts"]["rework"]["state"] for one in ran.json["sessions"]}


def trap_in(place: Path) -> Path:
    """A program that tells that it ran, and with which environment."""
    trap = place / "trap.sh"
    trap.write_text(f'#!/bin/sh\n(echo "$0 $*"; env) >> {place}/sprung/$$\ncat\n')
    trap.chmod(0o755)
    (place / "sprung").mkdir(exist_ok=True)
    (place / "sprung").chmod(0o777)
    return trap


def sprung(place: Path) -> list[str]:
    return [file.read_text() for file in (place / "sprung").iterdir()]


def sign(repository: Repository) -> None:
    """The last commit bears a signature of nobody; whoever looks at it asks a program."""
    said = repository.git("cat-file", "commit", "HEAD")
    head, _, message = said.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\n{message}\n"
    signed_id = repository.git("hash-object", "-t", "commit", "-w", "--stdin", input=signed.encode())
    repository.git("update-ref", "refs/heads/main", signed_id)


def plant(repository: Repository, trap: Path) -> None:
    """All the ways at once in which a repository's own settings can name a program."""
    for key in KEYS:
        repository.git("config", key, str(trap))
    for verb in VERBS:
        repository.git("config", f"alias.{verb}", f"!{trap}")
    for key, value in {"log.showSignature": "true", "gpg.format": "openpgp", "core.pager": str(trap)}.items():
        repository.git("config", key, value)
    folder = Path(repository.git("rev-parse", "--absolute-git-dir"))
    (folder / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        shutil.copy(trap, folder / "hooks" / hook)
    repository.git("config", "core.hooksPath", str(folder / "hooks"))
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "attributes").write_text("* diff=trap filter=trap merge=trap\n")


def story(place: Path, cwd: str = "") -> Repository:
    """A session whose lines a later commit replaced."""
    repository = Repository(place / "till")
    worked(place / "in", repository, "s1", 0, {"src/sum.py": code(20)}, **({"cwd": cwd} if cwd else {}))
    repository.commit(3, {"src/sum.py": "".join(f"{line}\n" for line in code(20, seed=2))}, who="bob")
    sign(repository)
    return repository


# --- nothing runs ---------------------------------------------------------------------------------


def test_of_a_sessions_own_repository_no_program_runs(place: Path) -> None:
    repository = story(place)
    plant(repository, trap_in(place))
    assert states(score(place, 20)) == {"s1": "yes"}
    assert sprung(place) == []


def test_the_traps_would_spring(place: Path) -> None:
    repository = story(place)
    plant(repository, trap_in(place))
    repository.git("show", "-s", "HEAD")
    assert sprung(place)


def embedded(place: Path) -> tuple[Repository, Path]:
    """A clone in which a bare repository lies as ordinary files, with a program that its settings name."""
    source, clone = story(place, cwd="/home/ada/ledger"), Repository(place / "clone")
    bare = clone.path / "fix" / "ledger"
    source.git("clone", "-q", "--bare", str(source.path), str(bare))
    plant(Repository(bare, is_new=False), trap_in(place))
    return clone, bare


def test_a_projects_file_may_not_name_a_bare_repository_that_came_with_it(place: Path) -> None:
    clone, bare = embedded(place)
    (clone.path / "assay.toml").write_text('[rework]\nrepos = ["fix/ledger"]\n')
    ran = score(place, 20, cwd=clone.path)
    assert (ran.code, ran.out, sprung(place)) == (2, "", [])
    assert is_one_line(ran.err)
    assert "assay.toml: rework.repos" in ran.err
    assert bare.is_dir()


def test_a_session_in_a_bare_repository_is_unknown_and_told_why(place: Path) -> None:
    _, bare = embedded(place)
    transcript(place / "in", "s2", 0, cwd=str(bare / "objects"), files={"src/sum.py": code(20)})
    ran = score(place, 20)
    assert states(ran) == {"s1": "unknown", "s2": "unknown"}
    assert "a bare git repository is only read where you name it with --repo" in ran.out
    assert sprung(place) == []


def test_a_bare_repository_that_a_person_names_is_read_and_nothing_of_it_runs(place: Path) -> None:
    _, bare = embedded(place)
    assert states(score(place, 20, "--repo", bare)) == {"s1": "yes"}
    assert states(score(place, 20, ASSAY_REWORK_REPOS=str(bare))) == {"s1": "yes"}
    assert sprung(place) == []


def test_a_repository_around_a_bare_one_is_not_taken_for_it(tmp_path: Path) -> None:
    _, bare = embedded(tmp_path)
    for folder in (bare, bare / "refs", bare / "objects" / "pack"):
        with pytest.raises(BadInput, match=r"is only read where you name it with --repo"):
            find_repository(folder)
        with pytest.raises(BadInput):
            open_repo(folder)
    with pytest.raises(BadInput):
        find_repository(bare / "refs", may_be_bare=True)
    done = GitRunner(bare, READ).run("rev-parse", "--git-dir")
    assert (done.returncode, b"bareRepository" in done.stderr) == (128, True)


def test_files_that_lie_elsewhere_are_not_looked_for_there(tmp_path: Path) -> None:
    _, bare = embedded(tmp_path)
    repository = Repository(tmp_path / "till", is_new=False)
    repository.git("config", "core.worktree", str(bare))
    with pytest.raises(BadInput, match=r"core\.worktree lies elsewhere"):
        open_repo(repository.path)


@pytest.mark.parametrize("variable", ["GIT_NO_LAZY_FETCH", ""])
def test_what_a_partial_clone_lacks_is_not_fetched_by_a_command(
    place: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, trap = story(place), trap_in(place)
    if variable:  # as if git did not know it
        monkeypatch.delitem(QUIET_VARIABLES, variable)
    settings = {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap} x", "protocol.ext.allow": "always", "protocol.allow": "always",
    }  # fmt: skip
    blob = repository.git("rev-parse", "HEAD:src/sum.py")
    (repository.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository.git("read-tree", "--empty")
    for key, value in settings.items():
        repository.git("config", key, value)
    assert score(place, 20).code == 0
    assert sprung(place) == []


@pytest.mark.parametrize("verb", ["show", "log", "diff", "blame", "status", "fetch", "checkout", "config"])
def test_an_analysed_repository_is_asked_by_plumbing_alone(tmp_path: Path, verb: str) -> None:
    with pytest.raises(ValueError, match="not on this errand"):
        GitRunner(tmp_path, READ).run(verb, "x")


def test_a_configuration_at_a_ref_is_taken_without_the_repositorys_filters(tmp_path: Path) -> None:
    repository, trap = Repository(tmp_path / "till"), trap_in(tmp_path)
    files = {"CLAUDE.md": "Be right.\n", ".gitattributes": "CLAUDE.md filter=trap diff=trap\n"}
    repository.commit(0, {**files, ".assay/config.toml": 'agent = "codex"\n'})
    sign(repository)
    plant(repository, trap)
    found = load_config("main", tmp_path / "keep", repository.path)
    assert (found.agent, (found.overlay / "CLAUDE.md").read_text()) == ("codex", "Be right.\n")
    assert sprung(tmp_path) == []


# --- nothing hangs --------------------------------------------------------------------------------


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.git.repo.READ", replace(READ, patience_s=1.0))
    monkeypatch.setattr("assay.git.repo.OPENING_S", 1.0)


FIFOS = {
    ".mailmap": "yes",
    ".gitattributes": "unknown",
    ".git/info/attributes": "unknown",
    ".git/index": "unknown",
    ".git/packed-refs": "unknown",
    ".git/shallow": "unknown",
    ".git/HEAD": "unknown",
    ".git/included": "unknown",
}


@pytest.mark.parametrize(("name", "state"), FIFOS.items())
def test_a_pipe_in_the_place_of_a_file_ends_as_unknown(
    tmp_path: Path, name: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    (tmp_path / "as").write_text("me")
    repository = story(tmp_path)
    if name == ".git/included":
        repository.git("config", "include.path", "included")
    for other in range(12):  # folders of one repository are not waited for one after the other
        (repository.path / f"part{other}").mkdir()
        transcript(tmp_path / "in", f"p{other}", 0, cwd=f"{repository.path}/part{other}", files={"x.py": code(20)})
    (repository.path / name).unlink(missing_ok=True)
    os.mkfifo(repository.path / name)
    began = time.monotonic()
    ran = score(tmp_path, 20)
    assert time.monotonic() - began < 15
    assert states(ran)["s1"] == state
    assert ("git gave no answer within 1 s" in ran.out) == (state == "unknown")


@pytest.mark.long
def test_a_few_silent_repositories_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    (tmp_path / "as").write_text("me")
    for n in range(9):
        repository = Repository(tmp_path / f"till{n}")
        transcript(tmp_path / "in", f"s{n}", 0, cwd=str(repository.path), files={"x.py": code(20)})
        (repository.path / ".git" / "HEAD").unlink()
        os.mkfifo(repository.path / ".git" / "HEAD")
    ran = score(tmp_path, 20)
    assert set(states(ran).values()) == {"unknown"}
    told = ran.out.rpartition('"sessions":[')[2]  # before them stands a count of the reasons
    assert told.count("git gave no answer within 1 s") == 3
    assert told.count("git gave no answer in several repositories") == 6


def fake_git(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("leave", [READ, COPY, LAND], ids=["read", "copy", "land"])
def test_every_errand_ends(tmp_path: Path, leave: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", "exec sleep 60", monkeypatch)
    git, began = GitRunner(tmp_path, replace(leave, patience_s=0.3)), time.monotonic()
    with pytest.raises(GitTimeout, match=r"no answer within 0\.3 s \(rev-parse\)"):
        git.run("rev-parse")
    with git.start("cat-file", "--batch") as stream, pytest.raises(GitTimeout):
        stream.out.readline()
    assert stream.process.returncode is not None
    assert time.monotonic() - began < 10


def test_a_stream_that_drips_is_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path / "bin", "while sleep 0.05; do echo x; done", monkeypatch)
    monkeypatch.setattr("assay.git.runner.MOST_WAITED_S", 0.5)
    with GitRunner(tmp_path, READ).start("rev-list") as stream, pytest.raises(GitTimeout):
        stream.out.read()


# --- nobody's secrets -----------------------------------------------------------------------------


def test_no_secret_of_the_environment_reaches_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "as").write_text("me")
    story(tmp_path)
    remote = Remote(tmp_path)
    (tmp_path / "seen").mkdir()
    fake_git(tmp_path / "bin", f'env > {tmp_path}/seen/$$\nexec {GIT} "$@"', monkeypatch)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "LANGFUSE_SECRET_KEY", "LOOM"):
        monkeypatch.setenv(name, f"canary of {name}")
    canaries = {name: f"canary of {name}" for name in ("ANTHROPIC_API_KEY", "LOOM")}
    assert states(score(tmp_path, 20, PATH=os.environ["PATH"], **canaries)) == {"s1": "yes"}
    load_config("main", tmp_path / "keep", tmp_path / "till")
    (tmp_path / "scratch").mkdir()
    landing = PromotionRemote(remote.clone, tmp_path / "scratch")
    landing.push_commit(landing.fetch_branch("trunk"), "weave")
    told = [file.read_text() for file in (tmp_path / "seen").iterdir()]
    assert len(told) > 20
    assert not [one for one in told if "canary" in one]
    assert {"weave", "trunk"} <= set(remote.branches())


# --- transports -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "transport"),
    [
        ("https://example.com/a.git", "https"),
        ("ssh://git@example.com/a.git", "ssh"),
        ("git@example.com:a/b.git", "ssh"),
        ("/srv/a.git", "file"),
        ("../a.git", "file"),
        ("/srv/a::b.git", "file"),
        ("file:///srv/a.git", "file"),
        ("loom::eu://a", "loom"),
        ("git+ssh://example.com/a", "ssh"),
    ],
)
def test_a_transport_is_the_one_of_its_address(url: str, transport: str) -> None:
    assert find_transport(url) == transport


@pytest.mark.parametrize("url", ["ext::sh -c touch% x", "fd::17", "ext://x"])
def test_an_address_that_is_a_command_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="names a command"):
        find_transport(url)


def test_nothing_is_fetched_over_a_transport_that_was_not_asked_for(tmp_path: Path) -> None:
    repository, trap = Repository(tmp_path / "till"), trap_in(tmp_path)
    repository.git("config", "protocol.ext.allow", "always")
    for url in (f"ext::{trap}", f"file://{repository.path}"):
        done = GitRunner(repository.path, COPY).run("fetch", url)
        assert (done.returncode, b"not allowed" in done.stderr) == (128, True)
    assert (
        GitRunner(repository.path, COPY).run("fetch", f"file://{repository.path}", transports=("file",)).returncode == 0
    )
    assert sprung(tmp_path) == []


def test_times_of_commits_are_those_that_git_tells(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "till")
    commit = repository.commit(3, {"a.py": "work = 1\n"})
    repo = open_repo(repository.path)
    assert repo
    assert (repo.find_commit_time(commit), repo.find_commit_time("0" * 40)) == (at(3), 0.0)
    repo.close()
