"""A session that did not land becomes the skeleton of a task: what was asked, where it began, checks to fill in."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config
from assay.errors import BadInput
from assay.evals import beginnings, skeleton
from assay.evals.beginnings import Beginning, Fix
from assay.git.repo import Repo, open_repo
from assay.pipeline.lookup import read_turns
from assay.pipeline.score import open_run
from assay.reports.safe import one_line
from assay.scores.prism import has_crushed
from assay.stores import Store
from assay.types import Session
from assay.types.value import Row

MOST_LISTED = 10
WORDLESS = "its words may not be read: its project opted out, or keeps them no longer"


class Wish(Struct, frozen=True, kw_only=True):
    """What a person asks for."""

    session: str
    into: Path
    repository: Path | None = None
    fix: str = ""


class Mined(Row, frozen=True):
    """A skeleton that was written."""

    folder: str
    session: str
    ref: str
    ref_by: str
    fix: str | None
    tests: tuple[str, ...]
    says: tuple[str, ...]


class Found(Struct, frozen=True, kw_only=True):
    """A session, and what its segments tell of commits."""

    session: Session
    commits: tuple[str, ...]


def mine(store: Store, config: Config, wish: Wish) -> Mined:
    """Write a task's skeleton for a session that did not land."""
    found = sought(store, config, wish.session)
    refused(found.session, has_fix=bool(wish.fix))
    prompt = next((turn.prompt.text for turn in read_turns(store, config, found.session) if turn.prompt), "")
    if not prompt.strip():
        raise BadInput(f"{found.session.id}: nobody asked for anything in it")
    folder = wish.into / name_of(found.session)
    if folder.exists():
        raise BadInput(f"{folder}: is there already; remove it, or choose another folder with --into")
    with opened(wish.repository, found.session) as repo:
        start = beginnings.beginning(repo, found.session, found.commits)
        fix = fix_of(repo, found.session, wish.fix, start)
        return laid(folder, found.session, prompt, start, fix)


def laid(folder: Path, session: Session, prompt: str, start: Beginning, fix: Fix | None) -> Mined:
    """Write the folder, whole or not at all."""
    text = skeleton.task_file(session, prompt, start, fix)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mining-", dir=folder.parent) as scratch:
        half = Path(scratch) / folder.name
        half.mkdir()
        (half / skeleton.FILE).write_text(text, "utf-8")
        for test in fix.tests if fix else ():
            place = half / "checks" / test.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(test.content)
        half.rename(folder)
    return Mined(
        folder=str(folder), session=session.id, ref=start.commit, ref_by=start.why, fix=fix.commit if fix else None,
        tests=tuple(test.path for test in fix.tests) if fix else (),
        says=tuple(skeleton.left_to_do(fix)),
    )  # fmt: skip


def sought(store: Store, config: Config, prefix: str) -> Found:
    """The session whose id begins so, with what became of its lines; none or several are told."""
    with open_run(store, config) as run:
        run.bring_up_to_date()
        linked = run.linked()
        some = [one for one in linked if prefix and one.segments[0].id.startswith(prefix.lower())]
        exact = [one for one in some if one.segments[0].id == prefix.lower()] or some
        if len(exact) != 1:
            raise unclear(prefix, run.sessions(exact[:MOST_LISTED]), len(exact))
        session = run.followed(exact, linked)[0][0]
    commits = dict.fromkeys(commit for part in exact[0].segments for commit in part.commits)
    return Found(session=replace(session, crushed=has_crushed(session)), commits=tuple(commits))


def unclear(prefix: str, found: Sequence[Session], there: int) -> BadInput:
    said = one_line(prefix, 60)
    if not found:
        return BadInput(f"no session begins with {said!r}; `assay sessions` lists them")
    listed = "\n  ".join(f"{one.id}  {one_line(one.title, 60)}" for one in found)
    return BadInput(f"{there} sessions begin with {said!r}; give more of the id:\n  {listed}")


def refused(session: Session, *, has_fix: bool) -> None:
    """Only a session that did not land, and that may be read, becomes a task; who names a fix says it did not."""
    wrong = {
        WORDLESS: session.judge_status == "opted_out",
        "it landed; a task is made of one that did not, or of one whose --fix you name": session.crushed is True
        and not has_fix,
        "it has no goal that could be checked": session.judge_status in ("no_goal", "trivial"),
    }
    for why, holds in wrong.items():
        if holds:
            raise BadInput(f"{session.id}: {why}")


def name_of(session: Session) -> str:
    """A folder's name: some words of the title, and the session's id."""
    words = re.findall(r"[a-z0-9]+", session.title.lower())
    return "-".join([*words[:6], session.id[:8]])[-79:].lstrip("-")


def opened(given: Path | None, session: Session) -> Repo:
    """The repository that a session worked in."""
    place = given or Path(session.project)
    found = open_repo(place, may_be_bare=given is not None) if given or place.is_absolute() else None
    if found is None:
        raise BadInput(f"{place}: no git repository; name the one that {session.id} worked in with --repo")
    if not found.tip:
        raise BadInput(f"{place}: its repository has no commits")
    return found


def fix_of(repo: Repo, session: Session, given: str, start: Beginning) -> Fix | None:
    """The later commit that put things right: the one that is given, else the one that replaced its lines."""
    rework = session.facts.get("rework") or {}
    known = rework.get("commit") if rework.get("state") == "yes" else None
    wanted = given or known
    if not wanted:
        return None
    found = beginnings.fixed(repo, str(wanted), start)
    if found is None and given:
        raise BadInput(f"--fix {given}: no commit of {repo.root} that came after {start.commit[:12]}")
    return found
