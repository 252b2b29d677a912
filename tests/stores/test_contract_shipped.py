"""The store keeps what other machines ship: each session once, and told by the machine that knows most of it."""

import pytest

from assay.stores import Machine, ShippedRow, Store

LOOM, MILL = Machine(name="loom", person="ada", key="k1"), Machine(name="mill", person="bob")


def make_row(id: str = "aa11", *streams: str, ended_at: str = "2026-11-02T10:00:00Z", words: str = "") -> ShippedRow:
    return ShippedRow(
        agent="claude-code", id=id, streams=streams or (f"s-{id}",), began_at="2026-11-02T09:00:00Z", ended_at=ended_at,
        project="/home/ada/till", digest=f"{id}{ended_at}{words}", body=b"body \x00", words=words.encode(),
        has_words=bool(words),
    )  # fmt: skip


def list_told(store: Store) -> set[tuple[str, str]]:
    return {
        (part.machine, row.id)
        for part in store.shipped.list_parts()
        for row in store.shipped.load_part(part.machine, part.month)
    }


def sum_revisions(store: Store) -> int:
    return sum(part.revision for part in store.shipped.list_parts())


def test_sessions_come_back_as_they_came(store: Store):
    row = make_row("aa11", "x", "y", words="€ \x00")
    assert store.shipped.save_sessions(LOOM, [row], []) == 0
    (part,) = store.shipped.list_parts()
    (found,) = store.shipped.load_part("loom", part.month)
    assert (found.name, found.streams, found.body, found.digest) == (row.name, row.streams, row.body, row.digest)
    assert store.shipped.load_words(row.name) == row.words
    assert store.shipped.find_machine("loom") == LOOM
    assert store.shipped.find_machine("attic") is None
    assert [(one.name, one.person, one.sessions) for one in store.shipped.list_machines()] == [("loom", "ada", 1)]
    assert store.shipped.count_streams() == 2
    assert store.shipped.count_streams(since="2026-11-03") == store.shipped.count_streams(project="loom") == 0
    assert store.shipped.count_streams(until="2026-11-03", project="till") == 2


def test_what_is_sent_again_takes_the_place_of_what_was_there(store: Store):
    store.shipped.save_sessions(LOOM, [make_row(), make_row("bb22")], [])
    before, state = sum_revisions(store), store.read_state()
    store.shipped.save_sessions(
        LOOM, [make_row(ended_at="2026-11-03T10:00:00Z")], [("claude-code", "bb22"), ("x", "y")]
    )
    assert sum_revisions(store) > before
    assert store.read_state() != state
    assert [one.ended_at for one in store.shipped.list_lines("loom", (), 9)] == ["2026-11-03T10:00:00Z"]
    assert store.shipped.count_streams() == 1


def test_lists_go_on_behind_a_place(store: Store):
    store.shipped.save_sessions(LOOM, [make_row(f"aa{n}{n}") for n in range(5)], [])
    first = store.shipped.list_lines("loom", (), 3)
    rest = store.shipped.list_lines("loom", (first[-1].agent, first[-1].id), 3)
    assert [one.id for one in first + rest] == [f"aa{n}{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("mine", "other", "told"),
    [("10", "11", "mill"), ("11", "10", "loom"), ("10", "10", "loom")],
    ids=["longer there", "longer here", "the same"],
)
def test_a_conversation_of_two_machines_is_told_by_the_one_that_knows_more(
    store: Store, mine: str, other: str, told: str
):
    store.shipped.save_sessions(MILL, [make_row("aa11", "x", ended_at=f"2026-11-02T{other}")], [])
    revision = sum_revisions(store)
    store.shipped.save_sessions(LOOM, [make_row("bb22", "x", ended_at=f"2026-11-02T{mine}")], [])
    assert sum_revisions(store) > revision + 1
    assert {machine for machine, _ in list_told(store)} == {told}
    store.shipped.drop_machine(told)
    assert len(list_told(store)) == 1


def test_a_session_of_several_conversations_goes_before_one_of_them(store: Store):
    store.shipped.save_sessions(LOOM, [make_row("aa11", "y")], [])
    store.shipped.save_sessions(MILL, [make_row("bb22", "x", "y")], [])
    assert list_told(store) == {("mill", "bb22")}


def test_words_that_were_deleted_stay_so(store: Store):
    row = make_row(words="secret thread")
    store.shipped.save_sessions(LOOM, [row, make_row("bb22", words="other")], [])
    assert [one.id for _, one in store.shipped.list_spoken("2026-12")] == ["aa11", "bb22"]
    assert list(store.shipped.list_spoken("2026-11-01")) == []
    ((machine, found),) = store.shipped.find_relatives([row.name])
    store.shipped.replace_words(machine, [found])
    assert store.shipped.load_words(row.name) == b""
    assert store.shipped.find_forgotten("loom", [row.name, ("claude-code", "bb22")]) == {row.name}
    store.shipped.save_sessions(LOOM, [make_row()], [])
    assert [one.is_forgotten for one in store.shipped.list_lines("loom", (), 9)] == [True, False]


def test_another_person_has_everything_told_anew(store: Store):
    store.shipped.save_sessions(LOOM, [make_row()], [])
    before = sum_revisions(store)
    store.shipped.save_sessions(Machine(name="loom", person="eve"), [], [])
    assert sum_revisions(store) > before


def test_a_dropped_machine_leaves_nothing(store: Store):
    store.shipped.save_sessions(LOOM, [make_row(), make_row("bb22")], [])
    assert store.shipped.has_sessions()
    assert store.shipped.drop_machine("loom") == 2
    assert not store.shipped.has_sessions()
    assert store.shipped.list_machines() == []
    assert store.shipped.drop_machine("loom") == 0


def test_a_transcript_that_is_here_is_told_instead(store: Store):
    store.shipped.save_sessions(LOOM, [make_row("aa11", "x")], [])
    assert store.told.has_outside(["/"])
    assert not store.told.has_outside(["/", "shipped:"])
    assert store.shipped.find_sessions(["aa11", "none"]) == [("claude-code", "aa11")]
