"""Lines followed through changes, without git: who owns them, where they live on, when they are gone."""

import random
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.sessions.rework.history import DAY, CodeChange, FileChange, FollowResult, Hunk, LineTarget, ReworkRules
from assay.sessions.rework.landing import RevertMessage, is_bot
from assay.sessions.rework.similarity import find_successors
from assay.sessions.rework.survival import follow_lines
from assay.types import FileLines, ReworkResult
from assay.types.lines import hash_lines

PATIENT = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
HOUR = 3600.0


class World:
    """A default branch without branches: files, the changes they went through, and how they were."""

    def __init__(self) -> None:
        self.files: dict[str, list[str]] = {}
        self.changes: list[CodeChange] = []
        self.past: list[tuple[float, str, dict[str, list[str]]]] = []

    def commit(self, day: float, files: Mapping[str, Sequence[str]], **more: Any) -> str:
        """Change files at a day; those that are empty are deleted."""
        commit = more.pop("id", f"{len(self.changes) + 1:07x}{'0' * 33}")
        changed = [self.changed(path, list(lines)) for path, lines in files.items()]
        self.files = {path: lines for path, lines in {**self.files, **files}.items() if lines}
        times = {"authored": day * DAY, "committed": day * DAY, "arrived": day * DAY}
        who = {"author": "Ada", "email": "ada@example.com", "message": "Work"}
        self.changes.append(CodeChange(id=commit, files=changed, **(times | who | more)))
        self.past.append((day * DAY, commit, dict(self.files)))
        return commit

    def changed(self, path: str, lines: list[str]) -> FileChange:
        before = self.files.get(path, [])
        steps = SequenceMatcher(None, before, lines, autojunk=False).get_opcodes()
        hunks = [
            Hunk([line.encode() for line in before[a:b]], [line.encode() for line in lines[c:d]])
            for kind, a, b, c, d in steps
            if kind != "equal"
        ]
        return FileChange(path if before else "", path if lines else "", hunks)

    def find_commit_at(self, when: float) -> str | None:
        return next((one for time, one, _ in reversed(self.past) if time <= when), None)

    def read_file(self, commit: str, path: str) -> bytes | None:
        files = next(files for _, one, files in self.past if one == commit)
        return "\n".join(files[path]).encode() if path in files else None

    def follow(
        self, *targets: LineTarget, as_of: float = 90.0, rules: ReworkRules | None = None
    ) -> dict[str, FollowResult]:
        return follow_lines(targets, self.changes, self, rules or ReworkRules(), as_of * DAY)


def wrote(lines: Mapping[str, Sequence[str]], id: str = "one", day: float = 0.0, **more: Any) -> LineTarget:
    written = tuple(FileLines(path=path, lines=hash_lines(some)) for path, some in lines.items())
    return LineTarget(id=id, written=written, started=day * DAY - HOUR, ended=day * DAY - 60, **more)


def words(count: int, seed: int, letters: str = "bdfgkmlnprst") -> list[str]:
    """Lines that are not like each other."""
    dice = random.Random(seed)
    return [" ".join("".join(dice.choices(letters + "aeiou", k=7)) for _ in range(3)) for _ in range(count)]


LINES = words(20, seed=1, letters="bdfgkm")
OTHER = words(20, seed=2, letters="lnprst")


# --- what is returned -------------------------------------------------------------------------


def test_what_became_of_lines_is_told_with_its_reasons() -> None:
    world = World()
    first = world.commit(0, {"a.py": LINES})
    world.commit(2, {"a.py": LINES[4:]}, author="Bob")
    later = world.commit(5, {"a.py": LINES[14:]}, author="Eve")
    found = world.follow(wrote({"a.py": LINES}))["one"]
    assert found == FollowResult(
        reworked=ReworkResult(
            state="yes", by="person Eve", share=0.7, lines=20, gone=14, commit=later, at="1970-01-06T00:00:00Z"
        ),
        commits=(first,),
        landed_at=0.0,
        final_at=30 * DAY,
        ages=((2.0, True, 4), (5.0, True, 10), (30.0, False, 6)),
    )


@pytest.mark.parametrize(
    ("as_of", "ages"),
    [
        (0.5, ((0.5, False, 20),)),
        (3.0, ((2.0, True, 4), (3.0, False, 16))),
        (40.0, ((2.0, True, 4), (30.0, False, 16))),
    ],
)
def test_lines_are_followed_until_now_or_the_end_of_the_curve(as_of: float, ages: object) -> None:
    world = World()
    world.commit(0, {"a.py": LINES})
    world.commit(2, {"a.py": LINES[4:]})
    assert world.follow(wrote({"a.py": LINES}), as_of=as_of)["one"].ages == ages


def test_lines_that_go_after_the_window_are_in_the_curve_and_turn_no_verdict() -> None:
    world = World()
    world.commit(0, {"a.py": LINES})
    world.commit(20, {"a.py": OTHER})
    found = world.follow(wrote({"a.py": LINES}))["one"]
    assert (found.reworked.state, found.ages) == ("no", ((20.0, True, 20),))


def test_lines_that_come_back_after_the_window_stay_gone_for_the_verdict() -> None:
    world = World()
    world.commit(0, {"a.py": LINES})
    world.commit(5, {"a.py": OTHER})
    world.commit(20, {"a.py": LINES})
    found = world.follow(wrote({"a.py": LINES}))["one"]
    assert (found.reworked.state, found.ages) == ("yes", ((30.0, False, 20),))


def test_a_window_longer_than_the_curve_is_followed_to_its_end() -> None:
    world = World()
    world.commit(0, {"a.py": LINES})
    found = world.follow(wrote({"a.py": LINES}), rules=ReworkRules(days=60.0))["one"]
    assert (found.final_at, found.ages) == (60 * DAY, ((60.0, False, 20),))


def test_nothing_is_known_of_lines_that_never_came() -> None:
    world = World()
    world.commit(0, {"a.py": OTHER})
    found = world.follow(wrote({"a.py": LINES}), as_of=10)["one"]
    assert (found.reworked.state, found.landed_at, found.commits, found.ages) == ("unknown", None, (), ())
    assert found.final_at == 90 * DAY - 60


def test_a_session_that_is_not_asked_for_is_only_named() -> None:
    world = World()
    world.commit(0, {"a.py": LINES})
    later = world.commit(3, {"a.py": OTHER})
    found = world.follow(wrote({"a.py": LINES}), wrote({}, "two", day=3, commits=(later[:9],), is_asked=False))
    assert found.keys() == {"one"}
    assert found["one"].reworked.session == "two"


def test_reading_ends_when_all_is_known() -> None:
    world = World()
    for day in range(60):
        world.commit(day, {"a.py": LINES if day == 0 else [*LINES, f"line number {day}"]})
    left = iter(world.changes)
    follow_lines([wrote({"a.py": LINES})], left, world, ReworkRules(), 90 * DAY)
    assert len(list(left)) > 25


# --- whose commit -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"message": "Work\n\nClaude-Session: two"}, {}),
        ({"message": "Work\n\nSession-Id: https://example.com/sessions/stream-2"}, {"names": ("stream-2",)}),
        ({"message": "Work (#41)\n\nMore."}, {"pulls": (41,)}),
        ({"id": "abcdef0" + "1" * 33}, {"commits": ("abcdef01",)}),
    ],
)
def test_a_commit_can_say_whose_it_is(more: dict[str, Any], names: dict[str, Any]) -> None:
    world = World()
    world.commit(0, {"a.py": LINES})
    world.commit(3, {"a.py": OTHER}, **more)
    found = world.follow(wrote({"a.py": LINES}), wrote({}, "two", day=3, **names))
    assert (found["one"].reworked.by, found["one"].reworked.session) == ("session two", "two")


def test_lines_in_a_commit_of_its_own_land_under_another_name() -> None:
    world = World()
    commit = world.commit(0, {"moved.py": LINES})
    assert world.follow(wrote({"a.py": LINES}))["one"].reworked.state == "unknown"
    assert world.follow(wrote({"a.py": LINES}, commits=(commit,)))["one"].reworked.state == "no"


@pytest.mark.parametrize(("authored", "committed", "state"), [(0, 9, "no"), (-9, 0, "no"), (-9, -9, "unknown")])
def test_a_rebased_commit_lands_by_either_of_its_times(authored: float, committed: float, state: str) -> None:
    world = World()
    times = {"authored": authored * DAY, "committed": committed * DAY}
    world.commit(9, {"a.py": LINES}, **times)
    assert world.follow(wrote({"a.py": LINES}))["one"].reworked.state == state


def test_common_lines_that_come_by_chance_are_not_the_sessions() -> None:
    world = World()
    lines = [*LINES, *LINES, "return value"]
    world.commit(0, {"a.py": lines[:-1]})
    later = world.commit(6, {"a.py": ["return value", *OTHER]})
    found = world.follow(wrote({"a.py": lines}))["one"]
    assert (found.reworked.state, found.reworked.commit, found.reworked.lines) == ("yes", later, 40)


@pytest.mark.parametrize(
    ("author", "email", "is_one"),
    [
        ("renovate[bot]", "29139614+renovate[bot]@users.noreply.github.com", True),
        ("dependabot", "support@github.com", True),
        ("Till Release Bot", "ci@example.com", True),
        ("snyk-bot", "snyk-bot@snyk.io", True),
        ("Ada Talbot", "ada.talbot@example.com", False),
        ("Abbot", "abbot@example.com", False),
    ],
)
def test_bots_are_told_from_people(author: str, email: str, is_one: bool) -> None:
    assert is_bot(author, email) == is_one


@pytest.mark.parametrize(
    ("message", "ids", "pulls", "title"),
    [
        ('Revert "Add it"\n\nThis reverts commit 0123456789abcdef.', ["0123456789abcdef"], set(), ""),
        ('Revert "Add it (#4)" (#5)\n\nReverts ada/till#4', [], {4}, ""),
        ("Undo\n\nThis reverts commit 0123456, reversing\nchanges made to abcdef0.", ["0123456", "abcdef0"], set(), ""),
        ('Revert "Add it"', [], set(), "Add it"),
        ("Never revert commit 0123456", [], set(), ""),
    ],
)
def test_a_revert_says_what_it_takes_back(message: str, ids: list[str], pulls: set[int], title: str) -> None:
    found = RevertMessage(CodeChange(id="1" * 40, authored=0, committed=0, arrived=0, message=message))
    assert (found.ids, found.pulls, found.title) == (ids, pulls, title)


# --- alike ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "added", "to"),
    [
        (["total = sum(parts)"], ["total = sum(all_parts)"], {0: 0}),
        (["total = sum(parts)"], ["raise SystemExit"], {}),
        (["call(one, two, three)"], ["call(", "    one,", "    two,", "    three,", ")"], {0: 0}),
        (["call(", "    first_one,", "    second_one)"], ["x = 1", "call(first_one, second_one)"], {1: 1, 2: 1}),
        (["print('a', file=err)", "print('b', file=err)"], ["print('b', file=out)"], {1: 0}),
        (["    deep = nested(value)"], ["deep = nested(other)"], {0: 0}),
        (["größe = länge(straße)"], ["größe = länge(gasse)"], {0: 0}),
    ],
)
def test_a_line_lives_on_in_one_like_it(gone: list[str], added: list[str], to: dict[int, int]) -> None:
    removed = [(n, line.encode()) for n, line in enumerate(gone)]
    free = set(range(len(added)))
    assert find_successors(removed, [line.encode() for line in added], free, {}, len(gone)) == to


def test_what_is_only_somewhat_alike_must_stand_in_its_place() -> None:
    old, new = "result = client.fetch(ledger, 3)", "answer = client.fetch(harbour, 5)"
    ratio = SequenceMatcher(None, new, old, autojunk=False).ratio()
    assert 0.6 <= ratio < 0.75
    far = [*OTHER, new]
    gone = [(n, line.encode()) for n, line in enumerate([old, *LINES])]
    assert find_successors(gone, [new.encode(), *(line.encode() for line in OTHER)], set(range(21)), {}, 21)[0] == 0
    assert 0 not in find_successors(gone, [line.encode() for line in far], set(range(21)), {}, 21)


@given(st.lists(st.binary(max_size=30)), st.lists(st.binary(max_size=30)))
def test_any_lines_can_be_compared(gone: list[bytes], added: list[bytes]) -> None:
    found = find_successors(list(enumerate(gone)), added, set(range(len(added))), {}, len(gone))
    assert found.keys() <= set(range(len(gone)))
    assert set(found.values()) <= set(range(len(added)))


# --- what must not matter ---------------------------------------------------------------------


def made_up(seed: int) -> tuple[World, list[LineTarget]]:
    """Sessions that write, edit, move and delete lines of each other's files, and people who do."""
    dice = random.Random(seed)
    world, targets = World(), []
    paths = ["a.py", "b.py", "c.py"]
    common = ["return value", "if error is not None:"]
    for n in range(dice.randint(4, 14)):
        day = n * dice.choice([0.5, 2.0]) + dice.random()
        path = dice.choice(paths)
        lines = list(world.files.get(path, []))
        start = dice.randint(0, len(lines))
        new = [*words(dice.randint(5, 25), seed=1000 * seed + n), *dice.sample(common, dice.randint(0, 2))]
        kind = dice.choice(["add", "add", "replace", "move", "delete", "edit"])
        files: dict[str, list[str]] = {}
        if kind in ("add", "replace"):
            files[path] = [*lines[:start], *new, *lines[start + (12 if kind == "replace" else 0) :]]
        elif kind == "move" and lines[start:]:
            to = dice.choice(paths)
            files = {path: lines[:start], to: [*([] if to == path else world.files.get(to, [])), *lines[start:]]}
        elif kind == "delete":
            files[path] = lines[: start // 2]
        else:
            files[path] = [line.replace("a", "o", 2) for line in lines]
        world.commit(day, files, author=dice.choice(["Ada", "Bob"]), email=dice.choice(["ada@x.org", "bob@x.org"]))
        if kind in ("add", "replace"):
            targets.append(wrote({path: new}, f"s{n}", day=day))
    return world, targets


@PATIENT
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_order_of_sessions_does_not_matter(seed: int, dice: random.Random) -> None:
    world, targets = made_up(seed)
    shuffled = dice.sample(targets, len(targets))
    assert world.follow(*shuffled) == world.follow(*targets)


@PATIENT
@given(st.integers(0, 10_000))
def test_unrelated_sessions_and_commits_do_not_matter(seed: int) -> None:
    world, targets = made_up(seed)
    expected = world.follow(*targets)
    more = World()
    times = iter(range(1000))
    others = []
    for change in world.changes:
        for _ in range(random.Random(seed).randint(0, 3)):
            n = next(times)
            lines = words(12, seed=n, letters="vwxz")
            day = change.arrived / DAY - 0.001
            kept = more.files.get("far.py", [])
            more.commit(day, {"far.py": [*kept[6:], *lines]}, id=f"{n:040}", email="eve@x.org")
            others.append(wrote({"far.py": lines}, f"far{n}", day=day))
        more.changes.append(change)
        more.past.append((change.arrived, change.id, next(files for _, one, files in world.past if one == change.id)))
    found = more.follow(*others, *targets)
    assert {target.id: found[target.id] for target in targets} == expected


@PATIENT
@example(6732)
@given(st.integers(0, 10_000))
def test_followed_together_or_one_by_one_lines_are_counted_alike(seed: int) -> None:
    """Without equal lines in two sessions, only who is named can differ."""
    world, targets = made_up(seed)
    distinct = [replace(one, written=tuple(replace(w, lines=w.lines[: 5 * 8]) for w in one.written)) for one in targets]
    together = world.follow(*distinct)
    for target in distinct:
        alone = world.follow(target)[target.id]
        assert alone.reworked.lines == together[target.id].reworked.lines
        assert alone.ages == together[target.id].ages


@PATIENT
@given(st.integers(0, 10_000), st.floats(0.0, 40.0))
def test_counts_add_up_at_any_time(seed: int, as_of: float) -> None:
    world, targets = made_up(seed)
    for target in targets:
        found = world.follow(*targets, as_of=as_of, rules=ReworkRules(days=30.0))[target.id]
        lines, gone = found.reworked.lines, found.reworked.gone
        assert sum(count for _, _, count in found.ages) == (lines or 0)
        assert sum(count for _, is_removed, count in found.ages if is_removed) == (gone or 0)
        assert found.reworked.share == (gone / lines if lines and gone is not None else None)


@PATIENT
@given(st.integers(0, 10_000))
def test_lines_that_nobody_moves_or_edits_are_gone_when_the_tree_has_none(seed: int) -> None:
    """Against the plain truth: each line is unlike any other, so it is in the last tree or it is gone."""
    dice = random.Random(seed)
    world = World()
    world.commit(0, {"a.py": LINES})
    left = list(LINES)
    for day in range(1, 10):
        left = [line for line in left if dice.random() > 0.15]
        world.commit(day, {"a.py": [*left, "end of the file"]})
    found = world.follow(wrote({"a.py": LINES}))["one"].reworked
    assert found.gone == len(LINES) - len(left)
    assert (found.state == "yes") == (len(left) <= 10)
