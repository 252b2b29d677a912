"""Promotion: the right files on the right branch with the right body, once, and only for what a run proves."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from typer.testing import CliRunner

from assay.cli.eval import app
from assay.cli.program import app as whole
from assay.errors import AssayError, BadInput
from assay.evals.deciding.seal import seal_comparison
from assay.evals.promoting.branch import PromotionRemote
from assay.evals.promoting.files import explain_unsafe
from assay.evals.promoting.promote import PromoteRequest, Promotion, check_branch_name, promote_candidate
from assay.evals.promoting.verify import PromotionRefused
from assay.evals.running import recorded_run, run_folder
from assay.types.evals import Comparison
from tests.evals.make_run import BETTER, WORSE, Gh, MadeRun, Remote, git
from tests.evals.run.make import task, tree

pytestmark = pytest.mark.long

TASKS, REPEATS = 6, 5
HALF = [[1, 0, 1, 0, 1]] * TASKS


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gh:
    found = Gh(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{found.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return found


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path)


def plain(comparison: Comparison) -> str:
    return f"{comparison.verdict}\n\n{comparison.evidence.seal}\n"


def go(made: MadeRun, remote: Remote, **more: object) -> Promotion:
    wish = PromoteRequest(
        run=made.folder, repository=remote.clone, candidate=str(made.configs["candidate"]), is_meant=True
    )
    return promote_candidate(replace(wish, **more), plain)


def why_not(made: MadeRun, remote: Remote, gh: Gh) -> AssayError:
    """Why a promotion is refused; and that nothing happened."""
    with pytest.raises(AssayError) as caught:
        go(made, remote)
    assert list(remote.branches()) == ["trunk"]
    assert gh.created == []
    return caught.value


def test_a_proven_candidate_becomes_a_branch_and_a_pull_request(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    found = go(made, remote)
    assert (found.state, found.url, found.base) == ("opened", "https://example.com/pull/7", "trunk")
    assert remote.files(found.branch) == {
        "CLAUDE.md": "Be right.\n",
        ".claude/skills/test/SKILL.md": "Test.\n",
        "shop.py": "price = 1\n",
    }
    assert git(remote.bare, "rev-parse", f"{found.branch}^") == git(remote.bare, "rev-parse", "trunk")
    [asked] = gh.created
    assert asked[2:] == [
        "--head", found.branch, "--base", "trunk", "--title", found.title, "--body-file", "-"
    ]  # fmt: skip
    assert gh.body == plain(made.comparison)


def test_what_was_promoted_is_noted_once_with_all_that_went_in(tmp_path: Path, gh: Gh, remote: Remote):
    made, kept = MadeRun(tmp_path).ended(), []
    wish = PromoteRequest(
        run=made.folder, repository=remote.clone, candidate=str(made.configs["candidate"]), is_meant=True
    )
    first = promote_candidate(wish, plain, lambda one: kept.append(one) is None)
    again = promote_candidate(wish, plain, lambda one: kept.append(one) is None)
    assert (first.state, first.is_noted, again.state, again.is_noted) == ("opened", True, "known", True)
    note, same = kept
    assert (note.name, note.agents, note.verdict, note.project) == (
        "new", ("claude-code",), "improved", str(remote.clone.resolve())
    )  # fmt: skip
    assert note.first_commit == git(remote.clone, "rev-list", "--max-parents=0", "HEAD").strip()
    assert {one.path: one.sha256 for one in note.files} == {
        "CLAUDE.md": sha256(b"Be right.\n").hexdigest(),
        ".claude/skills/test/SKILL.md": sha256(b"Test.\n").hexdigest(),
        ".claude/gone.md": None,
    }
    assert (note.url, note.commit, note.seal) == (first.url, first.commit, made.comparison.evidence.seal)
    assert (same.id, same.at) == (note.id, note.at) != ("", "")


def test_a_dry_run_notes_nothing(tmp_path: Path, gh: Gh, remote: Remote):
    made, kept = MadeRun(tmp_path).ended(), []
    wish = PromoteRequest(run=made.folder, repository=remote.clone, candidate=str(made.configs["candidate"]))
    assert not promote_candidate(wish, plain, lambda one: kept.append(one) is None).is_noted
    go(made, remote)
    assert not promote_candidate(wish, plain, lambda one: kept.append(one) is None).is_noted
    assert kept == []


def test_a_promotion_that_can_not_be_noted_is_promoted_and_says_so(tmp_path: Path, gh: Gh, remote: Remote):
    def fail(_: object) -> bool:
        raise BadInput("the store is full")

    made = MadeRun(tmp_path).ended()
    wish = PromoteRequest(
        run=made.folder, repository=remote.clone, candidate=str(made.configs["candidate"]), is_meant=True
    )
    found = promote_candidate(wish, plain, fail)
    assert (found.state, found.is_noted) == ("opened", False)
    assert "the store is full; then run the same command again" in found.says[-1]


def test_the_persons_checkout_stays_as_it_is(tmp_path: Path, gh: Gh, remote: Remote):
    (remote.clone / ".git/hooks").mkdir(exist_ok=True)
    hook = remote.clone / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    def everything() -> dict[str, bytes]:
        return {str(file): file.read_bytes() for file in remote.clone.rglob("*") if file.is_file()}

    before = everything()
    go(MadeRun(tmp_path).ended(), remote)
    assert everything() == before


def test_it_happens_once(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    first = go(made, remote)
    there = remote.branches()
    again = go(made, remote)
    assert (again.state, again.url, again.branch) == ("known", first.url, first.branch)
    assert remote.branches() == there
    assert len(gh.created) == 1


def test_what_was_cut_short_between_branch_and_pull_request_is_finished(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    (gh.folder / "gh").rename(gh.folder / "later")
    pushed = go(made, remote)
    assert pushed.state == "pushed"
    assert "no `gh`" in pushed.says[0]
    (gh.folder / "later").rename(gh.folder / "gh")
    assert go(made, remote).state == "opened"
    assert remote.branches()[pushed.branch] == pushed.commit
    assert len(gh.created) == 1


def test_without_gh_a_pushed_branch_is_known_the_next_time(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    (gh.folder / "gh").unlink()
    assert [go(made, remote).state for _ in range(2)] == ["pushed", "known"]


def test_a_pull_request_that_was_closed_is_not_opened_again(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    found = go(made, remote)
    git(remote.bare, "branch", "-D", found.branch)
    assert go(made, remote).state == "known"
    assert list(remote.branches()) == ["trunk"]


def test_a_fork_with_a_branch_of_that_name_is_somebody_else(tmp_path: Path, gh: Gh, remote: Remote):
    (gh.folder / "pulls").write_text('[{"url": "https://example.com/9", "state": "OPEN", "isCrossRepository": true}]')
    assert go(MadeRun(tmp_path).ended(), remote).state == "opened"


def test_a_gh_that_fails_is_told_and_the_branch_is_not(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    gh.fails(4)
    assert "gh pr list" in str(why_not(made, remote, gh))


def test_a_dry_run_writes_nothing(tmp_path: Path, gh: Gh, remote: Remote):
    found = go(MadeRun(tmp_path).ended(), remote, is_meant=False)
    assert found.state == "planned"
    assert {(one.path, one.kind) for one in found.files} == {
        ("CLAUDE.md", "changed"), (".claude/skills/test/SKILL.md", "added"), (".claude/gone.md", "removed")
    }  # fmt: skip
    assert list(remote.branches()) == ["trunk"]
    assert gh.created == []


def test_files_that_are_there_already_need_no_branch(tmp_path: Path, gh: Gh, remote: Remote):
    git(remote.clone, "rm", "-q", ".claude/gone.md")
    remote.commit({"CLAUDE.md": "Be right.\n", ".claude/skills/test/SKILL.md": "Test.\n"})
    assert go(MadeRun(tmp_path).ended(), remote).state == "unchanged"
    assert list(remote.branches()) == ["trunk"]


def test_somebody_elses_branch_is_not_touched(tmp_path: Path, gh: Gh, remote: Remote):
    git(remote.clone, "push", "-q", "origin", "trunk:refs/heads/mine")
    with pytest.raises(BadInput, match="another branch of that name"):
        go(MadeRun(tmp_path).ended(), remote, branch="mine")
    assert remote.branches()["mine"] == remote.branches()["trunk"]


def test_who_was_faster_is_not_overwritten(tmp_path, gh, remote, monkeypatch: pytest.MonkeyPatch):
    git(remote.clone, "push", "-q", "origin", "trunk:refs/heads/mine")
    monkeypatch.setattr(PromotionRemote, "find_tip", lambda *_: "")
    with pytest.raises(BadInput, match="git push"):
        go(MadeRun(tmp_path).ended(), remote, branch="mine")
    assert remote.branches()["mine"] == remote.branches()["trunk"]
    assert gh.created == []


def test_a_push_goes_in_by_the_persons_own_settings_and_no_others(tmp_path: Path, remote: Remote):
    git(remote.clone, "config", "http.https://example.com/.extraheader", "Authorization: t0ken")
    git(remote.clone, "config", "core.sshCommand", "ssh -i key")
    git(remote.clone, "config", "filter.evil.clean", "touch owned")
    found = PromotionRemote(remote.clone, tmp_path).settings
    assert found == {"http.https://example.com/.extraheader": "Authorization: t0ken", "core.sshcommand": "ssh -i key"}
    assert not any(b"t0ken" in file.read_bytes() for file in (tmp_path / "own.git").rglob("*") if file.is_file())


# --- what does not go in --------------------------------------------------------------------------

VERDICTS = [
    ("regressed", 1, BETTER, WORSE, {}),
    ("inconclusive", 3, HALF, HALF, {}),
    ("inconclusive", 3, WORSE, [[1] * 3] * TASKS, {}),
    ("neutral", 3, [[1]] * TASKS, [[1]] * TASKS, {"rule": "seed"}),
]


@pytest.mark.parametrize(
    ("verdict", "code", "shares", "later", "more"), VERDICTS, ids=[f"{one[0]} {n}" for n, one in enumerate(VERDICTS)]
)
def test_nothing_but_improved_goes_in(tmp_path, gh, remote, verdict, code, shares, later, more):
    made = MadeRun(tmp_path, shares, later).ended(**more)
    assert made.comparison.verdict == verdict
    assert why_not(made, remote, gh).exit_code == code


@pytest.mark.parametrize(("verdict", "code"), [("mixed", 1), ("neutral", 3), ("regressed", 1), ("invalid", 4)])
def test_a_sealed_comparison_with_another_verdict_stays_out(tmp_path, gh, remote, verdict, code):
    made = MadeRun(tmp_path).ended()
    recorded_run.write_comparison(
        made.folder, seal_comparison(replace(made.comparison, verdict=verdict, promote=False))
    )
    assert why_not(made, remote, gh).exit_code == code


def test_a_comparison_edited_by_hand_is_refused(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path, BETTER, WORSE).ended()
    made.edit(recorded_run.COMPARISON, verdict="improved", promote=True, regressions=[], suspects=[], wanted=[])
    error = why_not(made, remote, gh)
    assert "changed after it was made" in str(error)
    assert error.exit_code == 4


def test_a_forged_seal_does_not_help(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path, HALF, HALF).ended()
    clean = {"verdict": "improved", "promote": True, "regressions": (), "suspects": (), "wanted": ()}
    forged = replace(made.comparison, **clean)
    forged = replace(forged, evidence=replace(forged.evidence, gaps=()))
    recorded_run.write_comparison(made.folder, seal_comparison(forged))
    error = why_not(made, remote, gh)
    assert "not what the trials say" in str(error)
    assert error.exit_code == 4


def test_a_comparison_of_another_run_is_refused(tmp_path: Path, gh: Gh, remote: Remote):
    (tmp_path / "other").mkdir()
    made, other = MadeRun(tmp_path, HALF, HALF).ended(), MadeRun(tmp_path / "other").ended()
    shutil.copy(other.folder / recorded_run.COMPARISON, made.folder / recorded_run.COMPARISON)
    assert "not the trials that were compared" in str(why_not(made, remote, gh))


def test_thresholds_moved_afterwards_are_refused(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    held = json.loads((made.folder / run_folder.LOCK).read_bytes())
    limits = json.loads(held["more"]["thresholds"]) | {"alpha": 0.005}
    made.edit(run_folder.LOCK, more=held["more"] | {"thresholds": json.dumps(limits)})
    assert "lock.json is not what was written" in str(why_not(made, remote, gh))


def first_trial(made: MadeRun, arm: str = "candidate") -> Path:
    return min(made.folder.glob(f"trials/*/*-{arm}-*/{run_folder.TRIAL}"))


def lose(made: MadeRun) -> None:
    first_trial(made).unlink()


def lose_folder(made: MadeRun) -> None:
    shutil.rmtree(first_trial(made).parent)


def pass_by_hand(made: MadeRun) -> None:
    file = first_trial(made, "baseline")
    told = json.loads(file.read_bytes())
    told["trial"]["checks"][0]["passed"] = True
    file.write_text(json.dumps(told))


def change_evidence(made: MadeRun) -> None:
    next(first_trial(made).parent.glob("attempt-*/checks.json")).write_text("[]")


def swap(made: MadeRun) -> None:
    one, two = first_trial(made), first_trial(made, "baseline")
    text = one.read_text()
    one.write_text(two.read_text())
    two.write_text(text)


def scribble(made: MadeRun) -> None:
    first_trial(made).write_text("{")


def stop_early(made: MadeRun) -> None:
    made.edit(recorded_run.RESULT, stopped="budget")


def drop_design(made: MadeRun) -> None:
    made.edit(run_folder.LOCK, more={})


def other_agent(made: MadeRun) -> None:
    held = json.loads((made.folder / run_folder.LOCK).read_bytes())
    held["arms"]["candidate"]["model"] = "bigger"
    made.edit(run_folder.LOCK, arms=held["arms"])


def change_candidate(made: MadeRun) -> None:
    (made.configs["candidate"] / "files/CLAUDE.md").write_text("Be something else.\n")


def nothing_compared(made: MadeRun) -> None:
    (made.folder / recorded_run.COMPARISON).unlink()


SPOILED = [
    (lose, 4), (lose_folder, 4), (pass_by_hand, 4), (change_evidence, 4), (swap, 4), (scribble, 2), (stop_early, 5),
    (drop_design, 4), (other_agent, 4), (change_candidate, 4), (nothing_compared, 2),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "code"), SPOILED, ids=[one.__name__ for one, _ in SPOILED])
def test_evidence_with_a_hole_carries_nothing(tmp_path, gh, remote, spoil: Callable[[MadeRun], None], code: int):
    made = MadeRun(tmp_path).ended()
    spoil(made)
    assert why_not(made, remote, gh).exit_code == code


def test_a_candidate_that_differs_in_its_arguments_too_is_refused(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path)
    (made.configs["candidate"] / "config.toml").write_text('agent = "claude-code"\nargs = ["--max-turns", "9"]\n')
    assert "differ in config.toml too" in str(why_not(made.ended(), remote, gh))


def test_a_file_that_somebody_changed_meanwhile_is_not_removed(tmp_path: Path, gh: Gh, remote: Remote):
    remote.commit({".claude/gone.md": "somebody's work\n"})
    assert "not the baseline's file any more" in str(why_not(MadeRun(tmp_path).ended(), remote, gh))


# --- hostile configurations -----------------------------------------------------------------------

HOSTILE = [
    "../CLAUDE.md", "/etc/passwd", "a/../../b", "./a", "a//b", "", ".git/config", "sub/.git/hooks/post-checkout",
    ".GIT/config", ".git /config", ".git./x", "git~1/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x",
    ".gitmodules", ".gitattributes", ".github/workflows/own.yml", "a\nb", "a\\b", "a\x1b[2J", "..", "a/\u202egnp.md",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE, ids=ascii)
def test_no_path_leads_out_or_into_git(path: str):
    assert explain_unsafe(path, "-:00")


@pytest.mark.parametrize("path", ["CLAUDE.md", ".claude/skills/a b/SKILL.md", ".mcp.json", "docs/für.md", "...x"])
def test_ordinary_paths_are_carried(path: str):
    assert not explain_unsafe(path, "-:00")


@given(st.lists(st.sampled_from(["..", ".", "", ".git", ".GIT", "a", "b.md"]), min_size=1, max_size=5))
def test_a_path_is_carried_only_if_every_part_of_it_is_plain(parts: list[str]):
    assert bool(explain_unsafe("/".join(parts), "-:00")) == bool({"..", ".", "", ".git", ".GIT"}.intersection(parts))


def link_file(files: Path) -> None:
    (files / "AGENTS.md").symlink_to("/etc/passwd")


def link_folder(files: Path) -> None:
    (files / "skills").symlink_to("..")


def own_git(files: Path) -> None:
    (files / ".git/hooks").mkdir(parents=True)
    (files / ".git/hooks/post-checkout").write_text("#!/bin/sh\n")


def pipe(files: Path) -> None:
    os.mkfifo(files / "pipe")


@pytest.mark.parametrize("spoil", [link_file, link_folder, own_git, pipe])
def test_a_hostile_configuration_is_refused(tmp_path, gh, remote, spoil: Callable[[Path], None]):
    made = MadeRun(tmp_path)
    spoil(made.configs["candidate"] / "files")
    assert why_not(made.ended(), remote, gh).exit_code == 4


def test_a_path_forged_into_the_lock_is_refused(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    held = json.loads((made.folder / run_folder.LOCK).read_bytes())
    held["arms"]["candidate"]["files"]["../../evil"] = "-:00"
    made.edit(run_folder.LOCK, arms=held["arms"])
    assert isinstance(why_not(made, remote, gh), PromotionRefused)


@pytest.mark.parametrize("place", ["CLAUDE.md", ".claude"])
def test_a_link_in_the_repository_is_not_written_through(tmp_path: Path, gh: Gh, remote: Remote, place: str):
    git(remote.clone, "rm", "-rq", place)
    (remote.clone / place).symlink_to("elsewhere")
    remote.commit({})
    assert "no plain file" in str(why_not(MadeRun(tmp_path).ended(), remote, gh))


@pytest.mark.parametrize(
    "name", ["-x", "a b", "a..b", "a/", "/a", "a.lock", "x;rm", "$(x)", "a/.b", "trunk", "é", "a@{1}"]
)
def test_a_branch_with_a_tricky_name_is_refused(name: str):
    with pytest.raises(BadInput):
        check_branch_name(name, "trunk")


# --- the command ----------------------------------------------------------------------------------


def test_the_command_is_a_dry_run_unless_it_is_meant(tmp_path: Path, gh: Gh, remote: Remote):
    made = MadeRun(tmp_path).ended()
    words = ["promote", str(made.folder), "--repo", str(remote.clone), "--candidate", str(made.configs["candidate"])]
    dry = CliRunner().invoke(app, words)
    assert dry.exit_code == 0, dry.exception
    assert dry.stdout.startswith("would promote: Agent configuration new: improved by")
    assert "## Evaluation: improved" in dry.stdout
    assert list(remote.branches()) == ["trunk"]
    done = CliRunner().invoke(app, [*words, "--yes", "--branch", "agents/new", "--json"])
    told = json.loads(done.stdout)
    assert (told["state"], told["branch"]) == ("opened", "agents/new")
    assert "agents/new" in remote.branches()


def test_a_candidate_in_the_folder_one_is_in_is_found(tmp_path, gh, remote, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert go(MadeRun(tmp_path).ended(), remote, candidate="").state == "opened"


def really_run(tmp_path: Path, agents: tuple[str, str]) -> None:
    """`assay eval run` with agents that make a scarf of what their instructions say."""
    told = 'agent = "command"\ncommand = ["./agent.sh"]\n'
    for name, text, agent in zip(("plain", "careful"), ("red", "blue"), agents, strict=True):
        files = {"config.toml": told, "agent.sh": f"#!/bin/sh\n{agent}\n", "files/CLAUDE.md": f"{text}\n"}
        tree(tmp_path / name, files)
    for name in ("one", "two"):
        task(tmp_path / "tasks", name)
    words = ["--tasks", "tasks", "--baseline", "plain", "--candidate", "careful", "--repeats", "1", "--out", "run"]
    ran = CliRunner().invoke(whole, ["eval", "run", *words])
    assert ran.exit_code == 0, (ran.output, ran.exception)


def test_a_real_run_goes_all_the_way(tmp_path: Path, gh: Gh, remote: Remote, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    really_run(tmp_path, ("cat CLAUDE.md > scarf.txt", "cat CLAUDE.md > scarf.txt"))
    done = CliRunner().invoke(app, ["promote", "run", "--repo", str(remote.clone), "--yes", "--json"])
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert remote.files(found["branch"])["CLAUDE.md"] == "blue\n"
    assert gh.body.startswith("<!-- assay:evaluation -->")


def test_a_better_program_is_not_promoted_as_better_files(tmp_path, gh, remote, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    really_run(tmp_path, ("true", "echo blue > scarf.txt"))
    done = CliRunner().invoke(app, ["promote", "run", "--repo", str(remote.clone), "--yes"])
    assert "differ in agent.sh too" in str(done.exception)
    assert list(remote.branches()) == ["trunk"]
