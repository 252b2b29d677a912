"""Whatever changes, step by step: a store that has seen all of it prints the bytes of one made from nothing."""

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from difflib import unified_diff
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assay.stores import open_store
from assay.types import AuditDraw, PersonVerdict, VerdictKind
from tests.pipeline.growing_world import DAY, LATER, PIECES, GrowingWorld, Killed, list_told, make_folder, raise_killed
from tests.stores.conftest import name_tenant

WHAT_IFS = ("--commit", "--judge")
SETTINGS = {
    "judge": ['"plain"', '"offline"'],
    "timezone": ['"UTC"', '"Asia/Tokyo"'],
    "as_of": ["", '"2026-03-05T10:00:00Z"'],
    "outcome.floors": ["", '"published"'],
    "boundaries.commit": ["", '"hard"', '"off"'],
    "boundaries.merge_minutes": ["", "0.0", "300.0"],
    "rework.days": ["", "2.0"],
    "rework.min_lines": ["", "16"],
    "rework.share": ["", "0.9"],
    "redaction.email": ["", "true"],
    "redaction.home": ["", "true"],
    "redaction.hosts": ["", "true"],
    "tenants.loom.projects": ["", '["/home/ada/loom"]'],
    "tenants.loom.opt_out": ["", "true"],
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "score": ("score", "IN", "--json"),
    "score in words": ("score", "IN"),
    "score by week and project": ("score", "IN", "--by", "week", "--by", "project"),
    "score of late": ("score", "IN", "--since", "2d", "--json"),
    "score of a window": ("score", "IN", "--since", "2026-03-02", "--until", "2026-03-04", "--json"),
    "score of a project": ("score", "IN", "--project", "till", "--json"),
    "score of one agent": ("score", "IN/codex", "--json"),
    "score of another agent": ("score", "IN/claude", "--by", "week", "--json"),
    "score as it was": ("score", "IN", "--as-of", "2026-03-03T12:00:00Z", "--json"),
    "what if": ("score", "IN", "--commit", "hard", "--json"),
    "what if in words": ("score", "IN", "--commit", "off"),
    "what if offline": ("score", "IN", "--judge", "offline", "--json"),
    "sessions": ("sessions", "IN", "--json"),
    "sessions in words": ("sessions", "IN", "--all"),
    "sessions that did not": ("sessions", "IN", "--not-crushed", "--json"),
    "ledger": ("sessions", "IN", "--ledger", "--since", "5h"),
    "search": ("sessions", "IN", "--search", "scarf", "--json"),
    "show last": ("show", "last", "--json"),
    "show": ("show", "ID", "--json"),
    "show in words": ("show", "ID", "--full"),
    "show stream": ("show", "--stream", "STREAM", "--json"),
    "marks": ("session", "marks", "--json"),
    "usage": ("usage", "IN", "--json"),
    "advise": ("advise", "IN", "--json"),
}


PICK = st.integers(0, 30)
SEED = st.integers(1, 4)
CHANGES: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "begin": (st.sampled_from(["claude", "codex"]), PICK, st.sampled_from(PIECES)),
    "append": (PICK, st.sampled_from(PIECES), SEED),
    "append_work": (PICK, st.sampled_from(["write", "commit", "now"]), SEED),
    "continue_elsewhere": (PICK, st.sampled_from(["resume", "accept_plan", "send_agent"])),
    "write_half": (PICK, st.sampled_from([0.0, 0.4, 0.75, 0.97, 1.0])),
    "rewrite": (PICK, st.integers(0, 3)),
    "delete": (PICK,),
    "restore": (PICK,),
    "commit": (PICK, SEED),
    "revert": (PICK,),
    "wait": (st.sampled_from(LATER),),
    "change_setting": (st.sampled_from([(key, value) for key, values in SETTINGS.items() for value in values]),),
    "change_version": (st.integers(0, 2), st.integers(1, 3)),
    "split": (PICK, st.integers(1, 3)),
    "merge": (PICK, PICK),
    "rename": (PICK, st.sampled_from(["The scarf", "Mail to ada@woolmill.io"])),
    "mark": (PICK, st.sampled_from(["landed", "not", "exclude", "--undo"])),
    "answer_audit": (PICK, st.sampled_from(["landed", "not", "unclear", "none"])),
}
CHANGE = st.one_of([st.tuples(st.just(name), *values) for name, values in CHANGES.items()])
LOOK = st.tuples(st.sampled_from([*COMMANDS, *["score", "sessions"] * 4]), st.sampled_from([0, 0, 0, 0, 1, 2, 3, 5, 8]))
PAUSE = st.sampled_from([None, None, *LATER, *LATER[2:]]).map(lambda later: ("wait", later or timedelta(0)))
STEP = st.tuples(st.tuples(PAUSE, CHANGE, CHANGE), LOOK)


class GrowingStore:
    """One store that lives through changes, with a new one beside it at every look."""

    def __init__(self, world: GrowingWorld) -> None:
        self.world = world
        self.ids: list[str] = []
        """Sessions that were listed last."""
        make_folder(world.inputs / "codex")
        world.begin("claude", 0, "commit")
        world.begin("codex", 0, "write")
        world.second += DAY
        world.begin("claude", 2, "talk")
        world.add_piece(0, "now", 2)
        self.compare("score")
        self.compare("sessions")

    def pick(self, n: int) -> int:
        return n % len(self.world.conversations)

    def pick_id(self, n: int) -> str:
        return self.ids[n % len(self.ids)] if self.ids else "last"

    # --- what happens -----------------------------------------------------------------------------

    def begin(self, agent: str, place: int, piece: str) -> None:
        self.world.begin(agent, place, piece)

    def append(self, of: int, piece: str, seed: int) -> None:
        self.world.add_piece(self.pick(of), piece, seed)

    append_work = append

    def continue_elsewhere(self, of: int, how: str) -> None:
        getattr(self.world, how)(self.pick(of))

    def write_half(self, of: int, share: float) -> None:
        self.world.write(self.pick(of), share)

    def rewrite(self, of: int, how: int) -> None:
        self.world.rewrite(self.pick(of), how)

    def delete(self, of: int) -> None:
        self.world.delete(self.pick(of))

    def restore(self, n: int) -> None:
        if shelf := self.world.shelf:
            path = sorted(shelf)[n % len(shelf)]
            self.world.put(path, shelf[path])

    def commit(self, place: int, seed: int) -> None:
        self.world.commit_by_person(place, seed)

    def revert(self, place: int) -> None:
        self.world.revert(place)

    def wait(self, later: timedelta) -> None:
        self.world.second += later.total_seconds()

    def change_setting(self, choice: tuple[str, str]) -> None:
        self.world.change_setting(*choice)

    def change_version(self, what: int, to: int) -> None:
        self.world.change_version(what, to)

    # --- what people say ----------------------------------------------------------------------------

    def say(self, *words: object) -> None:
        self.world.tell(self.world.url, "session", *words)

    def split(self, n: int, turn: int) -> None:
        self.say("split", self.pick_id(n), turn)

    def merge(self, n: int, other: int) -> None:
        self.say("merge", self.pick_id(n), self.pick_id(other))

    def rename(self, n: int, title: str) -> None:
        self.say("rename", self.pick_id(n), title)

    def mark(self, n: int, verdict: str) -> None:
        self.say("mark", self.pick_id(n), verdict)

    def answer_audit(self, n: int, verdict: VerdictKind) -> None:
        at = f"2026-03-02T09:00:{n:02}+00:00"
        said = PersonVerdict(turn=self.pick_id(n), verdict=verdict, at=at, is_sampled=True, turns=1)
        with closing(open_store(self.world.url)) as store:
            store.corrections.save_draw(AuditDraw(seed="5eed", wanted=n))
            store.corrections.save_verdicts([said])

    # --- what is seen -------------------------------------------------------------------------------

    def compare(self, name: str, killed_at: int = 0) -> str:
        """What a command says on the grown store, after it was killed on the way perhaps, and on a new one."""
        world, words = self.world, [self.fill_word(word) for word in COMMANDS[name]]
        if killed_at:
            with suppress(Killed), world.stop_before_commit(killed_at, raise_killed):
                world.tell(world.url, *words)
        url = world.build_fresh()
        is_what_if = any(flag in words for flag in WHAT_IFS)
        grown, fresh = world.tell_grown(*words), world.tell(url, *words)
        if not is_what_if:
            check_same(grown, fresh)
        elif "--json" in words:
            check_same(hide_settings_score(grown), hide_settings_score(fresh))
        if is_what_if:  # what the settings alone would give is told where all of it is judged already
            assert world.tell_grown("sessions", world.inputs) == world.tell(url, "sessions", world.inputs)
            check_same(world.tell_grown(*words), world.tell(url, *words))
        with closing(open_store(world.url)) as one, closing(open_store(url)) as other:
            assert list_told(one) == list_told(other)
        if name == "sessions" and grown.startswith("{"):
            self.ids = [one["id"] for one in read_json(grown)["sessions"]]
        return grown

    def fill_word(self, word: str) -> str:
        if word.startswith("IN"):
            return word.replace("IN", str(self.world.inputs), 1)
        n = len(self.world.conversations)
        if word == "ID":
            return self.pick_id(n)
        return self.world.conversations[n // 2][1].stream if word == "STREAM" else word


def read_json(said: str) -> Any:
    return json.loads(said.partition("\n---")[0])


def hide_settings_score(said: str) -> str:
    """What a report says, without what the settings alone would have given."""
    if not said.startswith("{"):
        return said
    report = read_json(said)
    if report["what_if"]:
        report["what_if"]["score"] = None
    return json.dumps(report, indent=1)


def check_same(grown: str, fresh: str) -> None:
    if grown == fresh:
        return
    one, other = (json.dumps(read_json(said), indent=1) if said.startswith("{") else said for said in (grown, fresh))
    lines = [*unified_diff(one.splitlines(), other.splitlines(), "grown", "fresh", n=3, lineterm="")]
    pytest.fail("\n".join(lines[:80]) or "the same JSON in other bytes")


Steps = list[tuple[tuple[tuple[Any, ...], ...], tuple[str, int]]]


@contextmanager
def open_world(name_store: Callable[[Path, str], str]) -> Iterator[GrowingStore]:
    """A world of its own, with the store that grows in it."""
    with tempfile.TemporaryDirectory(prefix="grown-") as made, pytest.MonkeyPatch.context() as patch:
        folder = Path(os.path.realpath(made))
        patch.chdir(folder)
        yield GrowingStore(GrowingWorld(folder, patch, name_store))


def name_file(folder: Path, name: str) -> str:
    return f"sqlite:///{folder / name}.db"


def tell_stories(config: pytest.Config, stories: int, steps: int, name_store: Callable[[Path, str], str]) -> None:
    """Live through stories, the same each time unless a seed is asked for, and look after every step."""

    @settings(
        max_examples=stories, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate], derandomize=config.getoption("hypothesis_seed", None) is None,
    )  # fmt: skip
    @given(story=st.lists(STEP, min_size=steps, max_size=steps))
    def live(story: Steps) -> None:
        with open_world(name_store) as store:
            for changes, look in story:
                for name, *values in changes:
                    getattr(store, name)(*values)
                store.compare(*look)

    live()


TOUR: list[tuple[Any, ...]] = [
    ("append", 2, "talk", 1),
    ("wait", LATER[2]),
    ("begin", "codex", 1, "commit"),
    ("wait", LATER[3]),
    ("append", 0, "secret", 1),
    ("change_setting", ("redaction.email", "true")),
    ("change_setting", ("redaction.home", "true")),
    ("change_setting", ("redaction.hosts", "true")),
    ("write_half", 0, 0.4),
    ("append", 0, "write", 3),
    ("change_setting", ("boundaries.merge_minutes", "0.0")),
    ("change_setting", ("boundaries.merge_minutes", "")),
    ("append", 3, "write", 1),
    ("change_setting", ("boundaries.commit", '"hard"')),
    ("continue_elsewhere", 0, "resume"),
    ("rewrite", 0, 0),
    ("continue_elsewhere", 2, "accept_plan"),
    ("continue_elsewhere", 2, "send_agent"),
    ("append", 2, "unanswerable", 1),
    ("rewrite", 2, 1),
    ("wait", LATER[4]),
    ("split", 0, 2),
    ("merge", 0, 1),
    ("rename", 0, "The scarf"),
    ("mark", 0, "not"),
    ("mark", 0, "--undo"),
    ("answer_audit", 1, "landed"),
    ("change_setting", ("outcome.floors", '"published"')),
    ("change_setting", ("outcome.floors", "")),
    ("change_setting", ("rework.min_lines", "16")),
    ("change_setting", ("rework.min_lines", "")),
    ("change_setting", ("rework.days", "2.0")),
    ("change_setting", ("rework.days", "")),
    ("change_setting", ("timezone", '"Asia/Tokyo"')),
    ("change_setting", ("tenants.loom.projects", '["/home/ada/loom"]')),
    ("change_setting", ("tenants.loom.opt_out", "true")),
    ("change_setting", ("tenants.loom.opt_out", "")),
    ("change_version", 0, 2),
    ("change_version", 1, 2),
    ("commit", 0, 1),
    ("commit", 1, 1),
    ("wait", LATER[5]),
    ("change_version", 2, 2),
    ("revert", 0),
    ("delete", 1),
    ("restore", 1),
    ("rewrite", 1, 3),
    ("change_setting", ("as_of", '"2026-03-03T10:00:00Z"')),
    ("change_setting", ("judge", '"offline"')),
]
"""Every kind of change, in an order in which each of them changes what is told."""
QUIET = [("wait", LATER[3]), ("delete", 1), ("restore", 1), ("change_setting", ("timezone", '"Asia/Tokyo"'))]
"""A commit seals its session: nothing waits. What was read of a file stays while it is gone; days begin elsewhere in
what is drawn alone."""


def test_after_every_few_changes_a_store_tells_what_a_new_one_would():
    with open_world(name_file) as store:
        for n, (name, *values) in enumerate(TOUR):
            getattr(store, name)(*values)
            if n % 3 == 2:
                store.compare("sessions" if n % 2 else "score")


@pytest.mark.long
def test_after_every_kind_of_change_a_store_tells_what_a_new_one_would():
    with open_world(name_file) as store:
        told = ""
        for n, (name, *values) in enumerate(TOUR):
            getattr(store, name)(*values)
            before, told = told, store.compare("score", killed_at=n % 5)
            assert (told == before) is ((name, *values) in QUIET), (name, *values)  # else it would show nothing
            if name in ("begin", "continue_elsewhere"):
                store.compare("sessions")
        for name in COMMANDS:
            store.compare(name)


def test_a_store_that_grew_tells_what_a_new_one_would(pytestconfig: pytest.Config):
    tell_stories(pytestconfig, 2, 5, name_file)


@pytest.mark.long
def test_a_store_that_grew_tells_what_a_new_one_would_in_many_stories(pytestconfig: pytest.Config):
    tell_stories(pytestconfig, 12, 12, name_file)


@pytest.mark.long
def test_a_store_in_postgresql_that_grew_tells_what_a_new_one_would(pytestconfig: pytest.Config):
    tell_stories(pytestconfig, 3, 8, name_tenant)


def kill_this_process(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
@pytest.mark.parametrize("name_store", [name_file, name_tenant])
def test_a_score_whose_process_is_killed_at_any_transaction_is_made_good_by_the_next(
    name_store: Callable[[Path, str], str],
):
    with open_world(name_store) as store:
        words = [store.fill_word(word) for word in COMMANDS["score"]]
        for k in range(1, 40):
            store.append(k, ("commit", "write", "now")[k % 3], 1 + k % 4)
            store.continue_elsewhere(k, ("resume", "accept_plan", "send_agent")[k % 3])
            store.wait(LATER[k % 5])
            child = get_context("fork").Process(target=run_killed, args=(store.world, k, words))
            child.start()
            child.join(120)
            assert child.exitcode in (0, -signal.SIGKILL), k
            store.compare("score")
            if child.exitcode == 0:  # it takes no more transactions than that
                break
    assert 5 < k < 39


def run_killed(world: GrowingWorld, k: int, words: list[str]) -> None:
    """Score in a process that is gone before its k-th transaction is kept."""
    with world.stop_before_commit(k, kill_this_process):
        world.tell(world.url, *words)
