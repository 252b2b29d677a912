"""A session that did not land becomes a task to fill in: its prompt, the commit it began at, checks from its fix."""

import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config
from assay.errors import BadInput
from assay.evals.tasks.task import FILE
from assay.git.repo import Repo, open_repo
from assay.pipeline.lookup import read_turns
from assay.pipeline.score import open_run
from assay.reports.format import format_line
from assay.scores.prism import has_crushed
from assay.stores import Store
from assay.types import Session
from assay.types.value import Document

MOST_LISTED = 10
WORDLESS = "its words may not be read: its project opted out, or keeps them no longer"
MARK = "TODO"
"""A kind that no check has: `assay eval check` refuses the task until somebody has been here."""
TIMEOUT_S, LEAST_S, MOST_S = 900.0, 300.0, 7200.0
RUNNERS = {
    "go": "go test ./{folder}",
    "rb": "ruby -Itest {path}",
    "js": "node --test {path}",
    "mjs": "node --test {path}",
    "rs": "cargo test",
    "sh": "sh {path}",
}
"""How tests are usually run, by the ending of their files."""
TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__)/|(?:^|/)test_[^/]*$|[._-](?:tests?|specs?)\.[a-z]+$|Tests?\.[a-z]+$"
)
SAFE_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@+-]*")
MOST_TESTS, MOST_BYTES = 40, 1 << 20
PLAIN = ("100644", "100755")


class MineRequest(Struct, frozen=True, kw_only=True):
    """Which session becomes a task, and where the task goes."""

    session: str
    into: Path
    repository: Path | None = None
    fix: str = ""


class MinedTask(Document, frozen=True, kw_only=True, tag="mined_task"):
    """A task that was written, for a person to fill in."""

    folder: str
    session: str
    ref: str
    ref_by: str
    fix: str | None
    tests: tuple[str, ...]
    says: tuple[str, ...]


class SessionCommits(Struct, frozen=True, kw_only=True):
    """A session, and what its segments tell of commits."""

    session: Session
    commits: tuple[str, ...]


class StartCommit(Struct, frozen=True, kw_only=True):
    """The commit at which a session began to work."""

    commit: str
    why: str
    """How it is known, in words."""
    repo: str
    """Where anybody gets it: the remote where it is there, else the folder of this machine."""


class TestFile(Struct, frozen=True, kw_only=True):
    """A test as a later commit left it."""

    __test__ = False
    path: str
    content: bytes


class FixCommit(Struct, frozen=True, kw_only=True):
    """A later commit that put things right, and the tests that it touched."""

    commit: str
    tests: tuple[TestFile, ...]


def mine_session(store: Store, config: Config, wish: MineRequest) -> MinedTask:
    """Write a task for a session that did not land."""
    found = find_session(store, config, wish.session)
    check_minable(found.session, has_fix=bool(wish.fix))
    prompt = next((turn.prompt.text for turn in read_turns(store, config, found.session) if turn.prompt), "")
    if not prompt.strip():
        raise BadInput(f"{found.session.id}: nobody asked for anything in it")
    folder = wish.into / build_folder_name(found.session)
    if folder.exists():
        raise BadInput(f"{folder}: is there already; remove it, or choose another folder with --into")
    with open_session_repo(wish.repository, found.session) as repo:
        start = find_start_commit(repo, found.session, found.commits)
        fix = find_session_fix(repo, found.session, wish.fix, start)
        return write_task(folder, found.session, prompt, start, fix)


def write_task(folder: Path, session: Session, prompt: str, start: StartCommit, fix: FixCommit | None) -> MinedTask:
    """Write the folder of a task, whole or not at all."""
    text = render_task_file(session, prompt, start, fix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mining-", dir=folder.parent) as scratch:
        half = Path(scratch) / folder.name
        half.mkdir()
        (half / FILE).write_text(text, "utf-8")
        for test in fix.tests if fix else ():
            place = half / "checks" / test.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(test.content)
        half.rename(folder)
    return MinedTask(
        folder=str(folder), session=session.id, ref=start.commit, ref_by=start.why, fix=fix.commit if fix else None,
        tests=tuple(test.path for test in fix.tests) if fix else (),
        says=tuple(describe_todo(fix)),
    )  # fmt: skip


def find_session(store: Store, config: Config, prefix: str) -> SessionCommits:
    """The session whose id begins so, with what became of its lines; none or several are told."""
    with open_run(store, config) as run:
        run.judge_streams()
        linked = run.link_all()
        some = [one for one in linked if prefix and one.segments[0].id.startswith(prefix.lower())]
        exact = [one for one in some if one.segments[0].id == prefix.lower()] or some
        if len(exact) != 1:
            raise explain_unclear(prefix, run.build_sessions(exact[:MOST_LISTED]), len(exact))
        session = run.follow_sessions(exact, linked)[0][0]
    commits = dict.fromkeys(commit for part in exact[0].segments for commit in part.commits)
    return SessionCommits(session=replace(session, crushed=has_crushed(session)), commits=tuple(commits))


def explain_unclear(prefix: str, found: Sequence[Session], there: int) -> BadInput:
    said = format_line(prefix, 60)
    if not found:
        return BadInput(f"no session begins with {said!r}; `assay sessions` lists them")
    listed = "\n  ".join(f"{one.id}  {format_line(one.title, 60)}" for one in found)
    return BadInput(f"{there} sessions begin with {said!r}; give more of the id:\n  {listed}")


def check_minable(session: Session, *, has_fix: bool) -> None:
    """Only a session that did not land, and that may be read, becomes a task; who names a fix says it did not."""
    wrong = {
        WORDLESS: session.judge_status == "opted_out",
        "it landed; a task is made of one that did not, or of one whose --fix you name": session.crushed is True
        and not has_fix,
        "it is still going on": session.judge_status == "in_progress",
        "it has no goal that could be checked": session.judge_status in ("no_goal", "trivial"),
    }
    for why, holds in wrong.items():
        if holds:
            raise BadInput(f"{session.id}: {why}")


def build_folder_name(session: Session) -> str:
    """A folder's name: some words of the title, and the session's id."""
    words = re.findall(r"[a-z0-9]+", session.title.lower())
    return "-".join([*words[:6], session.id[:8]])[-79:].lstrip("-")


def open_session_repo(given: Path | None, session: Session) -> Repo:
    """The repository that a session worked in."""
    place = given or Path(session.project)
    found = open_repo(place, may_be_bare=given is not None) if given or place.is_absolute() else None
    if found is None:
        raise BadInput(f"{place}: no git repository; name the one that {session.id} worked in with --repo")
    if not found.tip:
        raise BadInput(f"{place}: its repository has no commits")
    return found


def find_session_fix(repo: Repo, session: Session, given: str, start: StartCommit) -> FixCommit | None:
    """The later commit that put things right: the one that is given, else the one that replaced its lines."""
    rework = session.facts.get("rework") or {}
    known = rework.get("commit") if rework.get("state") == "yes" else None
    wanted = given or known
    if not wanted:
        return None
    found = find_fix(repo, str(wanted), start)
    if found is None and given:
        raise BadInput(f"--fix {given}: no commit of {repo.root} that came after {start.commit[:12]}")
    return found


def render_task_file(session: Session, prompt: str, start: StartCommit, fix: FixCommit | None) -> str:
    """The text of `task.toml` for a session."""
    return (
        "\n".join([*list_head_lines(session, prompt, start), "", *list_todo_lines(fix), *list_proposed_checks(fix)])
        + "\n"
    )


def list_head_lines(session: Session, prompt: str, start: StartCommit) -> Iterator[str]:
    yield f"# Made of session {session.id}, which did not land: {format_line(session.title, 80)}"
    yield "# Read the prompt as a stranger: what it refers to must stand in it, or in the workspace."
    yield f"prompt = {format_toml(prompt)}"
    yield f"timeout_s = {pick_timeout(session):.1f}"
    yield f"# {format_line(start.why, 160)}"
    yield f"repo = {format_toml(start.repo)}"
    yield f"ref = {format_toml(start.commit)}"


def list_todo_lines(fix: FixCommit | None) -> Iterator[str]:
    """A mark that must go before the task can be used."""
    for said in describe_todo(fix):
        yield f"# {MARK}: {said}"
    yield "[[checks]]"
    yield f"kind = {format_toml(MARK)}"
    yield 'name = "remove this one when the checks below are right"'


def describe_todo(fix: FixCommit | None) -> list[str]:
    """What a person has to do, in sentences."""
    if fix is None:
        return [
            "write checks that a good result passes and the untouched workspace does not; --fix COMMIT proposes some"
        ]
    if not fix.tests:
        return [f"write checks: the fix, {fix.commit[:12]}, touched no tests"]
    return [
        f"the checks below run the tests that the fix, {fix.commit[:12]}, touched; keep what good results pass",
        "`assay eval check` must see them fail on the untouched workspace",
    ]


def list_proposed_checks(fix: FixCommit | None) -> Iterator[str]:
    """A check for each test of the fix."""
    for test in fix.tests if fix else ():
        yield from ["", "[[checks]]", f"name = {format_toml(f'passes {test.path}')}"]
        if test.path.endswith(".py"):
            yield from ['kind = "pytest"', f"files = [{format_toml(test.path)}]"]
        else:
            yield from ['kind = "command"', f"run = {format_toml(build_test_line(test))}"]
            yield "proof = false  # code that it loads can end it early and pass; better is a check that proves its end"


def build_test_line(test: TestFile) -> str:
    """A shell line that puts a test where it belongs and runs it."""
    path = shlex.quote(test.path)
    folder = test.path.rpartition("/")[0] or "."
    usual = RUNNERS.get(test.path.rpartition(".")[2], f"echo {MARK}: say how this is run >&2; exit 1")
    if path != test.path:
        usual = usual.replace("./{folder}", "{folder}")
    laid = f"mkdir -p {shlex.quote(folder)} && cp {shlex.quote(f'checks/{test.path}')} {path}"
    return f"{laid} && {usual.format(path=path, folder=shlex.quote(folder))}"


def pick_timeout(session: Session) -> float:
    """Twice what the session took, within reason."""
    took = session.facts.get("active_s")
    return min(MOST_S, max(LEAST_S, 2 * took)) if isinstance(took, int | float) and took > 0 else TIMEOUT_S


def format_toml(value: str) -> str:
    """A string as TOML has it; several lines stay several lines."""
    lines = value.encode("utf-8", "replace").decode().split("\n")
    inner = [json.dumps(line, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f") for line in lines]
    return f'"{inner[0]}"' if len(inner) == 1 else '"""\n{}"""'.format("\n".join(inner))


def find_start_commit(repo: Repo, session: Session, commits: Sequence[str]) -> StartCommit:
    """The commit before a session's first change: by its own commits, else by its branch, else by the time alone."""
    found = find_by_commits(repo, session, commits) or find_by_branch(repo, session) or find_by_time(repo, session)
    if found is None:
        raise BadInput(f"{session.id}: {repo.root} has no commit from before {session.started_at}")
    commit, why = found
    return StartCommit(commit=commit, why=why, repo=find_source(repo, commit))


def find_by_commits(repo: Repo, session: Session, commits: Sequence[str]) -> tuple[str, str] | None:
    """The parent of the session's first commit that is here, if the session had begun by then."""
    for one in commits:
        own = find_commit(repo, one)
        parent = find_commit(repo, f"{own}^") if own else ""
        if parent and repo.find_commit_time(own) >= parse_start_time(session) - 1:
            return parent, f"the parent of the session's first commit, {own[:12]}"
    return None


def find_by_branch(repo: Repo, session: Session) -> tuple[str, str] | None:
    """The last commit of the session's branch when it began."""
    if not SAFE_REF.fullmatch(session.branch):
        return None
    for ref in (f"refs/heads/{session.branch}", f"refs/remotes/origin/{session.branch}"):
        if find_commit(repo, ref):
            said = repo.ask("rev-list", "-1", "--first-parent", f"--before={int(parse_start_time(session))}", ref)
            if said:
                return said, f"the last commit of {session.branch} when the session began"
    return None


def find_by_time(repo: Repo, session: Session) -> tuple[str, str] | None:
    found = repo.find_commit_at(parse_start_time(session))
    return (found, f"the last commit of {repo.default_branch} when the session began") if found else None


def find_fix(repo: Repo, wanted: str, start: StartCommit) -> FixCommit | None:
    """A commit that came after the beginning, with the tests it touched; `None` where there is no such commit."""
    fix = find_commit(repo, wanted)
    if not fix or fix == start.commit or repo.run("merge-base", "--is-ancestor", start.commit, fix).returncode:
        return None
    words = ("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AM")
    rows = os.fsdecode(repo.run(*words, f"{fix}^1", fix).stdout).split("\0")
    touched = [path for row, path in zip(rows[::2], rows[1::2], strict=False) if row.split()[1] in PLAIN]
    tests = [path for path in touched if TEST_PATH.search(path) and is_harmless(path)][:MOST_TESTS]
    read = [(path, repo.read_file(fix, path)) for path in tests]
    return FixCommit(
        commit=fix,
        tests=tuple(
            TestFile(path=path, content=text) for path, text in read if text is not None and len(text) <= MOST_BYTES
        ),
    )


def is_harmless(path: str) -> bool:
    """Whether a path of a repository can be written below a folder and named in a file."""
    return path.isprintable() and not any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/"))


def find_source(repo: Repo, commit: str) -> str:
    """The remote, without anybody's password, if the commit is there; else the repository itself."""
    url = repo.ask("config", "--get", "remote.origin.url")
    if not url or not repo.ask("for-each-ref", "--count=1", f"--contains={commit}", "refs/remotes/origin"):
        return str(repo.root)
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return url


def find_commit(repo: Repo, name: str) -> str:
    if not SAFE_REF.fullmatch(name.rstrip("^")):
        return ""
    return repo.ask("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")


def parse_start_time(session: Session) -> float:
    """When a session began, in seconds."""
    try:
        return datetime.fromisoformat(session.started_at).timestamp()
    except ValueError:
        raise BadInput(f"{session.id}: its transcript tells no time") from None
