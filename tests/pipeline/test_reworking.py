"""What became of sessions' lines, from transcripts and a real repository to the report."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.config import Config, Rework
from assay.pipeline.inputs import find_files
from assay.pipeline.scan import scan
from assay.pipeline.score import ScoreResult, open_run, score_run
from assay.pipeline.scoring_run import Selection
from assay.stores import Store, open_store
from tests.make_report import hold_result
from tests.pipeline.make_work import as_of, transcript, worked
from tests.pipeline.rework_repositories import Repository, code, text
from tests.plain_judge import install

LINES, OTHER = code(20), code(20, seed=2)


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    install(monkeypatch, tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "till")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "in"


def score(store: Store, folder: Path, day: float, *repos: Path, remembers: bool = True, **choice: str) -> ScoreResult:
    """Scan and score, as of a day of the story."""
    config = Config(judge="plain", timezone="UTC", as_of=as_of(day), rework=Rework(repos=tuple(map(str, repos))))
    changes = scan(store, find_files([folder]), 1, lambda *_: None)
    with open_run(store, config, changes.roots, selection=Selection(**choice), jobs=1) as run:
        return hold_result(score_run(run, changes.unreadable, remembers=remembers))


def fresh(tmp_path: Path, folder: Path, day: float, *repos: Path) -> ScoreResult:
    """The same by a run that knows nothing yet."""
    with closing(open_store(f"sqlite:///{tmp_path / f'fresh-{len(list(tmp_path.iterdir()))}.db'}")) as opened:
        return score(opened, folder, day, *repos)


def rework(found: ScoreResult, stream: str = "s1") -> dict[str, Any]:
    [session] = [one for one in found.report.sessions if stream in one.streams]
    facts: dict[str, Any] = session.facts["rework"]
    return facts


def state(found: ScoreResult, stream: str = "s1") -> tuple[str, bool | None]:
    [session] = [one for one in found.report.sessions if stream in one.streams]
    return session.facts["rework"]["state"], session.crushed


# --- a crush that is lost -----------------------------------------------------------------------


def test_a_session_whose_lines_are_replaced_loses_its_crush(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"src/sum.py": LINES})
    worked(folder, repository, "s2", 0, {"src/tax.py": LINES[:15]})
    young = score(store, folder, 1)
    assert state(young) == ("open", True)
    assert (young.report.score.crushed, young.report.score.rework_open, young.report.lost) == (2, 2, [])
    later = worked(folder, repository, "s3", 5, {"src/sum.py": OTHER})
    assert state(score(store, folder, 6, remembers=False)) == ("open", True)
    old = score(store, folder, 15)
    assert state(old) == ("yes", False)
    assert state(old, "s2") == ("no", True)
    by = next(one.id for one in old.report.sessions if "s3" in one.streams)
    found = rework(old)
    assert (found["by"], found["session"], found["commit"]) == (f"session {by}", by, later)
    assert (found["share"], found["lines"], found["gone"]) == (1.0, 20, 20)
    [lost] = old.report.lost
    assert (lost.title, lost.by, lost.share) == ("Build s1", f"session {by}", 1.0)
    assert (old.report.score.crushed, old.report.score.counted) == (2, 3)
    assert score(store, folder, 15).report.lost == []


@pytest.mark.parametrize("whole_first", [True, False])
def test_a_loss_is_told_once_whichever_report_says_it(
    folder: Path, repository: Repository, store: Store, whole_first: bool
):
    """One of a part of the transcripts is not told from what is kept of all."""
    worked(folder, repository, "s1", 0, {"src/sum.py": LINES})
    worked(folder, repository, "s2", 0, {"src/tax.py": LINES[:15]})
    part = next(folder.rglob("*s1*"))
    score(store, folder, 1)
    worked(folder, repository, "s3", 5, {"src/sum.py": OTHER})
    score(store, folder, 15, remembers=False)
    told = [len(score(store, one, 15).report.lost) for one in ((folder, part) if whole_first else (part, folder))]
    assert told == [1, 0]


def test_a_persons_commit_counts_and_is_named(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.commit(3, {"sum.py": text(OTHER)}, "My way", who="bob")
    assert rework(score(store, folder, 20))["by"] == "person Bob"


def test_a_revert_is_seen_at_once(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    score(store, folder, 1)
    repository.git("revert", "--no-edit", "HEAD", day=2, who="bob")
    found = score(store, folder, 3)
    assert state(found) == ("yes", False)
    assert rework(found)["by"].startswith("revert ")
    assert [one.by for one in found.report.lost] == [rework(found)["by"]]


def test_what_was_never_said_to_have_crushed_is_not_lost(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.commit(3, {"sum.py": text(OTHER)})
    assert (score(store, folder, 20).report.lost, state(score(store, folder, 20))) == ([], ("yes", False))


# --- the other states ---------------------------------------------------------------------------


def test_without_a_repository_nothing_is_known_and_the_score_goes_on(folder: Path, tmp_path: Path, store: Store):
    transcript(folder, "s1", 0, cwd="/nowhere/till", files={"sum.py": LINES})
    transcript(folder, "s2", 1, cwd=str(tmp_path), files={"sum.py": LINES})
    found = score(store, folder, 20)
    assert [state(found, one) for one in ("s1", "s2")] == [("unknown", True)] * 2
    assert "not on this machine" in rework(found)["detail"]
    assert "no git repository" in rework(found, "s2")["detail"]
    assert (found.report.score.value, found.report.score.rework_unknown) == (100.0, 2)
    assert (found.report.survival, found.histories) == (None, 0)


def test_lines_that_reached_no_commit_of_the_default_branch_are_unknown(
    folder: Path, repository: Repository, store: Store
):
    repository.branch("feature")
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.switch("main")
    repository.commit(3)
    found = score(store, folder, 20)
    assert state(found) == ("unknown", True)
    assert "default branch" in rework(found)["detail"]
    repository.git("merge", "-q", "--no-ff", "feature", day=21)
    assert state(score(store, folder, 22)) == ("open", True)
    assert state(score(store, folder, 40)) == ("no", True)


def test_few_lines_and_lines_that_are_no_code_are_not_judged(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES[:9]})
    worked(folder, repository, "s2", 0, {"README.md": LINES})
    transcript(folder, "s3", 0, cwd="/nowhere", files={"docs/a.md": LINES})
    found = score(store, folder, 20)
    assert [state(found, one)[0] for one in ("s1", "s2", "s3")] == ["not_judged"] * 3


def test_a_later_transcript_can_only_say_yes(folder: Path, store: Store):
    transcript(folder, "s1", 0, cwd="/nowhere/till", files={"sum.py": LINES})
    transcript(folder, "s2", 1, cwd="/nowhere/till", files={}, undo="git restore sum.py")
    found = score(store, folder, 3)
    assert state(found) == ("yes", False)
    assert "transcript" in rework(found)["detail"]


def test_a_session_that_is_yet_to_come_is_open(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 3, {"sum.py": LINES})
    assert (state(score(store, folder, 1)), state(score(store, folder, 4))) == (("open", True), ("open", True))


@pytest.mark.parametrize(("day", "state_then"), [(20, "no"), (50, "no"), (80, "no"), (95, "unknown")])
def test_lines_may_come_to_the_default_branch_for_ninety_days(
    folder: Path, repository: Repository, store: Store, day: float, state_then: str
):
    repository.branch("feature")
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.switch("main")
    repository.commit(1)
    repository.git("merge", "-q", "--no-ff", "feature", day=day)
    repository.commit(150)
    assert state(score(store, folder, 200))[0] == state_then


# --- which repository -----------------------------------------------------------------------------


def test_a_transcript_of_another_checkout_is_found_by_the_repository_that_is_given(
    folder: Path, repository: Repository, store: Store
):
    worked(folder, repository, "s1", 0, {"src/sum.py": LINES}, cwd="/home/ada/elsewhere", commit="")
    repository.commit(3, {"src/sum.py": text(OTHER)})
    repository.commit(20, {"src/sum.py": text([*OTHER, *LINES[:3]])})
    assert state(score(store, folder, 20)) == ("unknown", True)
    assert state(score(store, folder, 20, repository.path)) == ("yes", False)


def test_of_several_repositories_each_session_finds_its_own(folder: Path, tmp_path: Path, store: Store):
    one, two = Repository(tmp_path / "one"), Repository(tmp_path / "two")
    for stream, there in (("s1", one), ("s2", two)):
        worked(folder, there, stream, 0, {"sum.py": LINES}, cwd=f"/home/ada/{there.path.name}")
    two.commit(2, {"sum.py": text(OTHER)})
    found = score(store, folder, 20, one.path, two.path)
    assert [state(found, stream)[0] for stream in ("s1", "s2")] == ["no", "yes"]


def test_work_trees_of_a_repository_are_one(folder: Path, repository: Repository, store: Store, tmp_path: Path):
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    commit = repository.commit(0, {"sum.py": text(LINES)})
    transcript(folder, "s1", 0, cwd=str(tmp_path / "side"), files={"sum.py": LINES}, commit=commit)
    worked(folder, repository, "s2", 3, {"sum.py": OTHER})
    found = score(store, folder, 20)
    assert (state(found)[0], found.histories) == ("yes", 1)


def test_a_repository_that_can_not_be_read_is_told(folder: Path, tmp_path: Path, store: Store):
    (tmp_path / "till").mkdir()
    (tmp_path / "till/.git").write_text("gitdir: /nowhere\n")
    transcript(folder, "s1", 0, cwd=str(tmp_path / "till"), files={"sum.py": LINES})
    found = score(store, folder, 20)
    assert state(found) == ("unknown", True)
    assert rework(found)["detail"]


def test_a_shallow_clone_is_told(folder: Path, repository: Repository, store: Store, tmp_path: Path):
    worked(folder, repository, "s1", 0, {"sum.py": LINES}, cwd="/home/ada/elsewhere", commit="")
    repository.commit(20)
    shallow = tmp_path / "shallow"
    repository.git("clone", "-q", "--depth", "1", f"file://{repository.path}", str(shallow))
    assert "shallow" in rework(score(store, folder, 30, shallow))["detail"]
    assert state(score(store, folder, 30, repository.path))[0] == "no"


def test_a_bare_repository_can_be_given(folder: Path, repository: Repository, store: Store, tmp_path: Path):
    worked(folder, repository, "s1", 0, {"src/sum.py": LINES}, cwd="/home/ada/elsewhere")
    repository.commit(3, {"src/sum.py": text(OTHER)}, who="bob")
    repository.git("clone", "-q", "--bare", str(repository.path), str(tmp_path / "till.git"))
    assert rework(score(store, folder, 30, tmp_path / "till.git"))["by"] == "person Bob"


def test_without_git_nothing_is_known(
    folder: Path, repository: Repository, store: Store, monkeypatch: pytest.MonkeyPatch
):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    monkeypatch.setenv("PATH", "/nonexistent")
    found = score(store, folder, 20)
    assert state(found) == ("unknown", True)
    assert "git" in rework(found)["detail"]


# --- only what is needed ---------------------------------------------------------------------------


def test_what_is_known_is_not_read_again(folder: Path, repository: Repository, store: Store):
    for n in range(3):
        worked(folder, repository, f"s{n}", n, {f"f{n}.py": code(12, seed=n)})
    repository.commit(40)
    first, second = score(store, folder, 50), score(store, folder, 50)
    assert (first.histories, second.histories) == (1, 0)
    assert msgspec.json.encode(first.report) == msgspec.json.encode(second.report)
    repository.commit(51)
    assert score(store, folder, 52).histories == 0


def test_what_may_still_turn_is_read_when_the_repository_or_the_day_changes(
    folder: Path, repository: Repository, store: Store
):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    assert [score(store, folder, day).histories for day in (1, 1.01, 2, 2.01)] == [1, 0, 1, 0]
    repository.commit(2.05)
    assert score(store, folder, 2.1).histories == 1


def test_a_clone_that_was_not_fetched_is_looked_at_again(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    assert state(score(store, folder, 20)) == ("no", True)
    repository.commit(4, {"sum.py": text(OTHER)})
    found = score(store, folder, 21)
    assert (state(found), len(found.report.lost)) == (("yes", False), 1)


def test_the_past_is_told_as_it_was(folder: Path, repository: Repository, store: Store, tmp_path: Path):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.commit(5, {"sum.py": text(OTHER)})
    repository.commit(30)
    states = [state(score(store, folder, day))[0] for day in (40, 1, 40, 6, 15)]
    assert states == ["yes", "open", "yes", "open", "yes"]


def test_an_added_session_has_only_itself_followed_and_the_report_is_that_of_a_fresh_run(
    folder: Path, repository: Repository, store: Store, tmp_path: Path
):
    for n in range(4):
        worked(folder, repository, f"s{n}", n, {f"f{n}.py": code(12, seed=n)})
    worked(folder, repository, "s5", 9, {"f1.py": code(30, seed=20)})
    kept = {one: (folder / f"{one}.jsonl").read_bytes() for one in ("s2", "s5")}
    for one in kept:
        (folder / f"{one}.jsonl").rename(tmp_path / one)
    repository.commit(60)
    before = score(store, folder, 70, remembers=False)
    assert rework(before)["by"] == "person Ada"
    for one, content in kept.items():
        (folder / f"{one}.jsonl").write_bytes(content)
        after = score(store, folder, 70, remembers=False)
        assert after.histories == 1
    assert rework(after)["by"].startswith("session ")
    assert msgspec.json.encode(after.report) == msgspec.json.encode(fresh(tmp_path, folder, 70).report)


def many(folder: Path, repository: Repository) -> list[str]:
    """Sessions of every fate, some of which wrote the same lines or share a commit."""
    worked(folder, repository, "a", 0, {"a.py": LINES})
    both = {"b.py": [*code(14, seed=3), *code(14, seed=5)]}
    commit = repository.commit(1, {path: text(lines) for path, lines in both.items()}, "Two at once")
    for stream, seed in (("b", 3), ("c", 5)):
        lines = {"b.py": [*code(14, seed=seed), "shared = line_of(both)"]}
        transcript(folder, stream, 1, cwd=str(repository.path), files=lines, commit=commit)
    worked(folder, repository, "d", 2, {"a.py": [*LINES[:8], *OTHER]})
    worked(folder, repository, "e", 3, {"e.py": code(12, seed=7), "b.py": code(14, seed=3)})
    repository.git("revert", "--no-edit", "HEAD~1", day=4)
    transcript(folder, "f", 5, cwd="/nowhere/till", files={"f.py": code(12, seed=9)})
    worked(folder, repository, "g", 6, {"e.py": code(12, seed=8)})
    repository.commit(40)
    return list("abcdefg")


@pytest.mark.parametrize("seed", range(4))
def test_the_order_in_which_transcripts_come_does_not_matter(
    folder: Path, repository: Repository, store: Store, tmp_path: Path, seed: int
):
    streams = many(folder, repository)
    whole = fresh(tmp_path, folder, 50)
    kept = {one: (folder / f"{one}.jsonl").read_bytes() for one in streams}
    for one in streams:
        (folder / f"{one}.jsonl").unlink()
    random.Random(seed).shuffle(streams)
    for one in streams:
        (folder / f"{one}.jsonl").write_bytes(kept[one])
        found = score(store, folder, 50, remembers=False)
    assert [one.facts["rework"] for one in found.report.sessions] == [
        one.facts["rework"] for one in whole.report.sessions
    ]
    assert msgspec.json.encode(found.report) == msgspec.json.encode(whole.report)


def test_an_earlier_session_that_names_the_commit_gets_its_lines_whenever_it_turns_up(
    folder: Path, repository: Repository, store: Store, tmp_path: Path
):
    worked(folder / "a", repository, "s1", 0, {"sum.py": LINES})
    transcript(folder / "b", "s2", 0.01, cwd=str(repository.path), files={"sum.py": LINES})
    assert state(score(store, folder / "b", 1), "s2")[0] == "open"
    whole = score(store, folder, 1, remembers=False)
    assert [state(whole, one)[0] for one in ("s1", "s2")] == ["open", "unknown"]
    assert msgspec.json.encode(whole.report) == msgspec.json.encode(fresh(tmp_path, folder, 1).report)


def test_an_earlier_hour_of_the_same_day_knows_nothing_of_later_commits(
    folder: Path, repository: Repository, store: Store, tmp_path: Path
):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.git("revert", "--no-edit", "HEAD", day=0.3, who="bob")
    assert state(score(store, folder, 0.4))[0] == "yes"
    before = score(store, folder, 0.2, remembers=False)
    assert state(before)[0] == "open"
    assert msgspec.json.encode(before.report) == msgspec.json.encode(fresh(tmp_path, folder, 0.2).report)


def test_sessions_and_commits_that_touch_nothing_of_it_change_nothing(
    folder: Path, repository: Repository, store: Store, tmp_path: Path
):
    streams = many(folder, repository)
    before = {one: rework(score(store, folder, 50), one) for one in streams}
    for n in range(5):
        worked(folder, repository, f"x{n}", 41 + n, {f"other/{n}.py": code(12, seed=40 + n)})
        repository.commit(42 + n, {f"notes/{n}.py": text(code(5, seed=60 + n))}, who="bob")
    assert {one: rework(score(store, folder, 50), one) for one in streams} == before
    assert {one: rework(fresh(tmp_path, folder, 50), one) for one in streams} == before


def test_other_rules_are_other_states(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.commit(3, {"sum.py": text([*LINES[8:], *OTHER])})
    repository.commit(30)
    changes = scan(store, find_files([folder]), 1, lambda *_: None)
    found = []
    for share in (0.5, 0.4, 0.5):
        config = Config(judge="plain", as_of=as_of(40), rework=Rework(share=share))
        with open_run(store, config, changes.roots, jobs=1) as run:
            found.append(state(hold_result(score_run(run))))
    assert found == [("no", True), ("yes", False), ("no", True)]


def test_lines_make_a_survival_curve(folder: Path, repository: Repository, store: Store):
    worked(folder, repository, "s1", 0, {"sum.py": LINES})
    repository.commit(5, {"sum.py": text(LINES[5:])})
    found = score(store, folder, 20).report.survival
    assert found is not None
    assert (found.lines, found.removed) == (20, 5)
    assert [(one.days, one.alive) for one in found.points] == [(1, 1.0), (3, 1.0), (7, 0.75), (14, 0.75), (30, None)]
