"""What is and isn't rework, in repositories made by real git: a table of stories."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.sessions.rework.history import LineTarget, ReworkRules
from tests.pipeline.rework_repositories import Repository, at, code, followed, session, states, text

LINES = code(20)
OTHER = code(20, seed=2)
Story = Callable[[Repository], Sequence[LineTarget]]

STORIES: dict[str, tuple[Story, tuple[str, ...]]] = {}


def story(*expected: str) -> Callable[[Story], Story]:
    """A story and the states of its sessions when all windows are over."""

    def add(make: Story) -> Story:
        STORIES[make.__name__] = (make, expected)
        return make

    return add


def written(
    repository: Repository, lines: Sequence[str] = LINES, path: str = "a.py", day: float = 0.0
) -> list[LineTarget]:
    """A session that wrote a file, and its commit."""
    repository.commit(day, {path: text(lines)}, "Write it")
    return [session({path: lines}, day=day)]


# --- taken back -------------------------------------------------------------------------------


@story("yes")
def a_revert(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.git("revert", "--no-edit", "HEAD", day=2, who="bob")
    return found


@story("yes")
def a_revert_of_few_lines(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository, LINES[:4])
    repository.git("revert", "--no-edit", "HEAD", day=2)
    return found


@story("yes")
def a_revert_of_a_merge(repository: Repository) -> Sequence[LineTarget]:
    repository.branch("feature")
    found = written(repository)
    repository.switch("main")
    repository.git("merge", "-q", "--no-ff", "feature", day=1)
    repository.git("revert", "--no-edit", "-m", "1", "HEAD", day=2)
    return found


@story("yes")
def a_revert_of_a_pull_request(repository: Repository) -> Sequence[LineTarget]:
    repository.commit(0, {"a.py": text(LINES)}, "Add the till (#12)")
    repository.commit(1, {"a.py": None}, 'Revert "Add the till" (#13)\n\nReverts ada/till#12')
    return [session({"a.py": LINES})]


@story("no")
def a_revert_that_was_reverted(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.git("revert", "--no-edit", "HEAD", day=2)
    repository.git("revert", "--no-edit", "HEAD", day=3)
    return found


@story("no")
def a_revert_that_was_reverted_of_a_commit_the_transcript_names(repository: Repository) -> Sequence[LineTarget]:
    commit = repository.commit(0, {"a.py": text(LINES)})
    repository.git("revert", "--no-edit", "HEAD", day=2)
    repository.git("revert", "--no-edit", "HEAD", day=3)
    return [session({"a.py": LINES}, commits=(commit[:7],))]


@story("yes")
def a_revert_of_a_commit_whose_lines_nobody_knows(repository: Repository) -> Sequence[LineTarget]:
    commit = repository.commit(0, {"a.py": text(LINES)})
    repository.git("revert", "--no-edit", "HEAD", day=2)
    return [session({}, commits=(commit[:7],))]


@story("no")
def a_revert_after_the_window(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.git("revert", "--no-edit", "HEAD", day=20)
    return found


@story("not_judged")
def a_revert_by_the_session_itself(repository: Repository) -> Sequence[LineTarget]:
    first = repository.commit(-0.01, {"a.py": text(LINES)})
    repository.git("revert", "--no-edit", "HEAD", day=0)
    return [session({"a.py": LINES}, commits=(first[:8], repository.git("rev-parse", "HEAD")[:8]))]


# --- rewritten --------------------------------------------------------------------------------


def rewritten(repository: Repository, count: int, day: float = 3.0, who: str = "bob") -> list[LineTarget]:
    lines, other = code(100), code(100, seed=2)
    found = written(repository, lines)
    repository.change(day, "a.py", lines[:count], other[:count], who=who)
    return found


@pytest.mark.parametrize(("count", "state"), [(40, "no"), (49, "no"), (50, "yes"), (60, "yes")])
def test_half_of_the_lines_make_it_rework(tmp_path: Path, count: int, state: str) -> None:
    repository = Repository(tmp_path)
    [target] = rewritten(repository, count)
    found = followed(repository, target)["one"].reworked
    assert (found.state, found.lines, found.gone, found.share) == (state, 100, count, count / 100)


@pytest.mark.parametrize(("day", "state"), [(13.0, "yes"), (13.99, "yes"), (14.01, "no"), (15.0, "no")])
def test_what_goes_in_14_days_counts(tmp_path: Path, day: float, state: str) -> None:
    repository = Repository(tmp_path)
    assert states(repository, *rewritten(repository, 60, day)) == [state]


@pytest.mark.parametrize(
    ("rules", "state"),
    [
        (ReworkRules(share=0.4), "yes"),
        (ReworkRules(share=0.41), "no"),
        (ReworkRules(share=0.4, days=2), "no"),
        (ReworkRules(share=0.4, min_lines=101), "not_judged"),
    ],
)
def test_the_rule_can_be_set(tmp_path: Path, rules: ReworkRules, state: str) -> None:
    repository = Repository(tmp_path)
    assert states(repository, *rewritten(repository, 40), rules=rules) == [state]


@pytest.mark.parametrize(("as_of", "state"), [(1.0, "open"), (13.9, "open"), (14.0, "yes"), (60.0, "yes")])
def test_a_window_is_open_for_14_days(tmp_path: Path, as_of: float, state: str) -> None:
    repository = Repository(tmp_path)
    assert states(repository, *rewritten(repository, 60, day=0.5), as_of=as_of) == [state]


def test_a_revert_needs_no_window(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    found = followed(repository, *a_revert(repository), as_of=3)["one"].reworked
    commit = repository.git("rev-parse", "HEAD")
    assert (found.state, found.by, found.commit) == ("yes", f"revert {commit[:7]}", commit)
    assert found.at == "2026-01-03T09:00:00Z"


@pytest.mark.parametrize(
    ("who", "by"), [("bob", "person Bob"), ("renovate", "bot renovate[bot]"), ("ada", "person Ada")]
)
def test_who_replaced_it_is_told(tmp_path: Path, who: str, by: str) -> None:
    repository = Repository(tmp_path)
    [target] = rewritten(repository, 60, who=who)
    found = followed(repository, target)["one"].reworked
    assert (found.state, found.by, found.session, found.commit) == (
        "yes", by, None, repository.git("rev-parse", "HEAD"),
    )  # fmt: skip


@story("yes", "no")
def a_later_session_rewrites(repository: Repository) -> Sequence[LineTarget]:
    first = written(repository)
    repository.change(3, "a.py", LINES[:15], OTHER[:15])
    return [*first, session({"a.py": OTHER[:15]}, "two", day=3)]


def test_the_later_session_is_named(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    found = followed(repository, *a_later_session_rewrites(repository))["one"].reworked
    assert (found.by, found.session) == ("session two", "two")


def test_a_session_is_named_by_the_commit_its_transcript_names(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    [target] = rewritten(repository, 60)
    later = session({}, "0123456789abcdef", day=3, commits=(repository.git("rev-parse", "HEAD")[:7],))
    found = followed(repository, target, later)["one"].reworked
    assert (found.by, found.session) == ("session 01234567…", "0123456789abcdef")


@story("yes")
def a_deleted_file(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(4, {"a.py": None}, who="bob")
    return found


@story("yes")
def piece_by_piece(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    for n in range(12):
        repository.change(1 + n / 2, "a.py", LINES[n : n + 1], OTHER[n : n + 1])
    return found


@story("yes")
def a_long_session_whose_one_commit_was_thrown_out(repository: Repository) -> Sequence[LineTarget]:
    parts = {f"part{n}.py": code(300, seed=10 + n) for n in range(10)}
    for n, (path, lines) in enumerate(parts.items()):
        repository.commit(n / 100, {path: text(lines)})
    repository.commit(5, {"part3.py": text(code(300, seed=78))}, who="bob")
    return [session(parts, day=0.1)]


@story("no")
def a_session_of_300_lines_is_not_judged_per_commit(repository: Repository) -> Sequence[LineTarget]:
    parts = {f"part{n}.py": code(30, seed=10 + n) for n in range(10)}
    for n, (path, lines) in enumerate(parts.items()):
        repository.commit(n / 100, {path: text(lines)})
    repository.commit(5, {"part3.py": text(code(30, seed=78))}, who="bob")
    return [session(parts, day=0.1)]


# --- lines live on ----------------------------------------------------------------------------


@story("no")
def moved_to_another_file(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(3, {"a.py": text(LINES[:2]), "b.py": text([*OTHER, *LINES[2:]])}, who="bob")
    return found


@story("yes")
def moved_to_another_file_and_deleted_there(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(3, {"a.py": text(LINES[:2]), "b.py": text([*OTHER, *LINES[2:]])}, who="bob")
    repository.commit(4, {"b.py": text(OTHER)}, who="bob")
    return found


@story("no")
def moved_inside_the_file(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository, [*LINES, *OTHER])
    repository.commit(3, {"a.py": text([*OTHER, *LINES])}, who="bob")
    return found


@story("no")
def indented_anew(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(3, {"a.py": text([f"\t  {line}" for line in LINES])}, who="bob")
    return found


@story("no")
def wrapped_anew(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    broken = [part for line in LINES for part in (line[: len(line) // 2], "    " + line[len(line) // 2 :])]
    repository.commit(3, {"a.py": text(broken)}, who="bob")
    return found


@story("no")
def wrapped_together(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    joined = [" ".join(LINES[n : n + 3]) for n in range(0, len(LINES), 3)]
    repository.commit(3, {"a.py": text(joined)}, who="bob")
    return found


@story("yes")
def wrapped_and_then_deleted(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    joined = [" ".join(LINES[n : n + 4]) for n in range(0, len(LINES), 4)]
    repository.commit(3, {"a.py": text(joined)}, who="bob")
    repository.change(5, "a.py", joined[:3], ["pass"], who="bob")
    return found


CALLS = [f"total_{word} = ledger.sum(entries, {n})" for n, word in enumerate("abcdefghijklmnopqrst")]


@story("no")
def a_symbol_renamed_everywhere(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository, CALLS)
    repository.commit(3, {"a.py": text(CALLS).replace("ledger", "account")}, who="bob")
    return found


@story("yes")
def a_symbol_renamed_and_then_all_deleted(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository, CALLS)
    repository.commit(3, {"a.py": text(CALLS).replace("ledger", "account")}, who="bob")
    repository.commit(5, {"a.py": "pass\n"}, who="renovate")
    return found


@story("no")
def a_file_renamed(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.git("mv", "a.py", "b.py")
    repository.commit(3, who="bob")
    return found


@story("no")
def a_file_renamed_and_edited(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.git("mv", "a.py", "b.py")
    repository.commit(3, {"b.py": text([*LINES[:16], *OTHER[:4]])}, who="bob")
    return found


@story("yes")
def a_file_renamed_and_then_rewritten(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.git("mv", "a.py", "b.py")
    repository.commit(3, who="bob")
    repository.commit(5, {"b.py": text([*LINES[:8], *OTHER])}, who="bob")
    return found


@story("no")
def deleted_and_put_back(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(3, {"a.py": None}, who="bob")
    repository.commit(6, {"a.py": text(LINES)}, who="bob")
    return found


@story("no")
def deleted_and_put_back_elsewhere(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(3, {"a.py": None}, who="bob")
    repository.commit(6, {"src/b.py": text([*OTHER, *LINES])}, who="bob")
    return found


@story("yes")
def put_back_after_the_window(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository)
    repository.commit(3, {"a.py": None}, who="bob")
    repository.commit(16, {"a.py": text(LINES)}, who="bob")
    return found


@story("no")
def a_short_line_deleted_and_put_back(repository: Repository) -> Sequence[LineTarget]:
    short = [f"x{n} = {n}{n}" for n in range(10, 22)]
    found = written(repository, short)
    for n, line in enumerate(short):
        repository.change(1 + n / 4, "a.py", [line], [])
    for n, line in enumerate(short):
        repository.commit(5 + n / 4, {"a.py": (repository.path / "a.py").read_text() + f"{line}\n"})
    return found


# --- how lines reach the default branch -------------------------------------------------------


def on_a_branch(repository: Repository, day: float = 0.0) -> list[LineTarget]:
    repository.branch("feature")
    repository.commit(day - 0.02, {"a.py": text(LINES[:10])}, "First half")
    repository.commit(day, {"a.py": text(LINES)}, "Second half")
    repository.switch("main")
    repository.commit(day + 0.5, {"till.py": text(code(45, seed=99))}, "Meanwhile", who="bob")
    return [session({"a.py": LINES}, day=day)]


@story("no")
def a_squash_merge(repository: Repository) -> Sequence[LineTarget]:
    found = on_a_branch(repository)
    repository.git("merge", "-q", "--squash", "feature", day=5)
    repository.commit(5, message="Add the till (#7)", who="bob")
    return found


@story("yes")
def a_squash_merge_rewritten_13_days_later(repository: Repository) -> Sequence[LineTarget]:
    found = a_squash_merge(repository)
    repository.commit(18, {"a.py": text(OTHER)}, who="bob")
    return found


@story("no")
def a_rebase(repository: Repository) -> Sequence[LineTarget]:
    found = on_a_branch(repository)
    repository.git("rebase", "-q", "main", "feature", day=4)
    repository.switch("main")
    repository.git("merge", "-q", "--ff-only", "feature", day=4)
    return found


@story("yes")
def a_rebase_rewritten(repository: Repository) -> Sequence[LineTarget]:
    found = a_rebase(repository)
    repository.commit(17, {"a.py": text(OTHER)}, who="bob")
    return found


@story("no")
def a_cherry_pick(repository: Repository) -> Sequence[LineTarget]:
    found = on_a_branch(repository)
    repository.git("cherry-pick", "feature~1", "feature", day=6, who="bob")
    return found


@story("no")
def a_cherry_pick_and_a_merge(repository: Repository) -> Sequence[LineTarget]:
    found = on_a_branch(repository)
    repository.git("cherry-pick", "feature~1", "feature", day=6, who="bob")
    repository.git("merge", "-q", "--no-ff", "feature", day=7)
    return found


@story("yes")
def a_merge_of_an_old_branch_rewritten_on_main(repository: Repository) -> Sequence[LineTarget]:
    found = on_a_branch(repository)
    repository.git("merge", "-q", "--no-ff", "feature", day=25)
    repository.commit(30, {"a.py": text(OTHER)}, who="bob")
    return found


@story("no")
def a_conflict_resolved_against_the_session(repository: Repository) -> Sequence[LineTarget]:
    repository.commit(-1, {"a.py": text(OTHER[:1])})
    repository.branch("feature")
    repository.commit(0, {"a.py": text(LINES)})
    repository.switch("main")
    repository.commit(0.5, {"a.py": text(code(5, seed=5))}, who="bob")
    repository.git("merge", "-q", "feature", day=1, check=False)
    repository.commit(1, {"a.py": text([*code(5, seed=5), *LINES[:3]])}, "Merge feature", who="bob")
    assert len(repository.git("log", "-1", "--format=%P").split()) == 2
    return [session({"a.py": LINES})]


@story("unknown")
def a_branch_never_merged(repository: Repository) -> Sequence[LineTarget]:
    return on_a_branch(repository)


@story("yes")
def replaced_inside_the_branch_before_the_merge(repository: Repository) -> Sequence[LineTarget]:
    repository.branch("feature")
    found = written(repository)
    repository.change(1, "a.py", LINES[:15], OTHER[:15], who="bob")
    repository.switch("main")
    repository.git("merge", "-q", "--no-ff", "feature", day=3)
    return found


@story("no")
def replaced_inside_the_branch_by_the_session_itself(repository: Repository) -> Sequence[LineTarget]:
    repository.branch("feature")
    repository.commit(-0.05, {"a.py": text([*LINES, *OTHER])})
    repository.commit(0, {"a.py": text(OTHER)})
    repository.switch("main")
    repository.git("merge", "-q", "--no-ff", "feature", day=3)
    return [session({"a.py": [*LINES, *OTHER]})]


@story("no")
def the_sessions_own_later_commit(repository: Repository) -> Sequence[LineTarget]:
    lines = code(60)
    repository.commit(-0.05, {"a.py": text(lines)})
    own = repository.commit(2, {"a.py": text(lines[45:])})
    return [session({"a.py": lines}, commits=(own[:10],))]


@story("yes")
def a_last_commit_of_documents_alone_begins_the_window(repository: Repository) -> Sequence[LineTarget]:
    repository.commit(-5, {"a.py": text(LINES)})
    last = repository.commit(0, {"README.md": "A till, and how to use it.\n"})
    repository.commit(12, {"a.py": text(OTHER)}, who="bob")
    return [session({"a.py": LINES}, started=at(-5.1), ended=at(0), commits=(last[:8],))]


# --- whose lines ------------------------------------------------------------------------------


@story("yes", "no")
def two_sessions_in_one_commit(repository: Repository) -> Sequence[LineTarget]:
    repository.commit(0, {"a.py": text([*LINES, *OTHER])})
    repository.change(4, "a.py", LINES, ["pass"], who="bob")
    return [session({"a.py": LINES}, "one"), session({"a.py": OTHER}, "two")]


@story("no", "yes")
def two_sessions_that_wrote_the_same_lines(repository: Repository) -> Sequence[LineTarget]:
    """The commit after both belongs to the one that was active last; the other's lines never came."""
    repository.commit(0, {"a.py": text([*OTHER, *LINES])})
    repository.change(4, "a.py", LINES, ["pass"], who="bob")
    early = session({"a.py": [*OTHER, *LINES]}, "one", started=at(-1), ended=at(-0.9))
    return [early, session({"a.py": LINES}, "two")]


@story("no", "yes")
def two_sessions_with_the_same_lines_twice(repository: Repository) -> Sequence[LineTarget]:
    """Of two equal blocks the later one goes."""
    repository.commit(0, {"a.py": text(LINES)})
    repository.commit(2, {"a.py": text([*LINES, *OTHER, *LINES])})
    repository.commit(4, {"a.py": text([*LINES, *OTHER])}, who="bob")
    return [session({"a.py": LINES}, "one"), session({"a.py": LINES}, "two", day=2)]


@story("not_judged")
def nine_lines(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository, LINES[:9])
    repository.commit(3, {"a.py": "pass\n"}, who="bob")
    return found


@story("yes")
def ten_lines(repository: Repository) -> Sequence[LineTarget]:
    found = written(repository, LINES[:10])
    repository.commit(3, {"a.py": text(OTHER[:5])}, who="bob")
    return found


@story("not_judged")
def lines_of_other_kinds_of_files(repository: Repository) -> Sequence[LineTarget]:
    paths = ["vendor/lib/a.py", "docs/a.md", "package-lock.json", "api_pb2.py", "settings.toml", "node_modules/x/i.js"]
    repository.commit(0, {path: text(LINES) for path in paths})
    repository.commit(3, dict.fromkeys(paths), who="bob")
    return [session(dict.fromkeys(paths, LINES))]


@story("not_judged")
def a_file_that_says_it_is_generated(repository: Repository) -> Sequence[LineTarget]:
    lines = ["# Code generated by till-gen. DO NOT EDIT.", *LINES]
    repository.commit(-20, {"a.py": text([*lines, *OTHER])})
    repository.change(0, "a.py", OTHER, code(20, seed=6))
    repository.commit(3, {"a.py": None}, who="bob")
    return [session({"a.py": code(20, seed=6)})]


@story("no")
def only_the_documents_went(repository: Repository) -> Sequence[LineTarget]:
    repository.commit(0, {"a.py": text(LINES), "docs/b.md": text(OTHER * 3)})
    repository.commit(3, {"docs/b.md": "Gone.\n"}, who="bob")
    return [session({"a.py": LINES, "docs/b.md": OTHER * 3})]


COMMON = ["    if err != nil {", "        return nil", "    }"]


@story("no")
def common_lines_of_others_went(repository: Repository) -> Sequence[LineTarget]:
    blocks = [line for n in range(6) for line in (f"func other{n}(value int) {{", *COMMON, "}")]
    repository.commit(-5, {"a.go": text(blocks)})
    lines = [*COMMON * 6, *LINES[:4]]
    repository.commit(0, {"a.go": text([*blocks, *lines])})
    repository.commit(3, {"a.go": text([*(line for line in blocks if line not in COMMON), *lines])}, who="bob")
    return [session({"a.go": lines})]


@story("yes")
def common_lines_went_with_those_beside_them(repository: Repository) -> Sequence[LineTarget]:
    blocks = [line for n in range(6) for line in (f"func other{n}(value int) {{", *COMMON, "}")]
    lines = [line for n in range(6) for line in (f"func mine{n * 37}(Copper string) {{", *COMMON, "}")]
    repository.commit(-5, {"a.go": text(blocks)})
    repository.commit(0, {"a.go": text([*blocks, *OTHER, *lines])})
    repository.commit(3, {"a.go": text([*blocks, *OTHER])}, who="bob")
    return [session({"a.go": lines})]


@pytest.mark.parametrize("name", STORIES)
def test_it_is_rework_or_not(tmp_path: Path, name: str) -> None:
    make, expected = STORIES[name]
    repository = Repository(tmp_path)
    targets = make(repository)
    assert states(repository, *targets) == list(expected)
