"""Sessions as they were told are kept by neighbourhood, and every change of what they are told from is noted."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from assay.reports.json import encode_json
from assay.stores import Fate, Store, open_store
from assay.stores.contract.told import (
    CommitDeed,
    Neighbourhood,
    StreamName,
    StreamPlace,
    ToldChoice,
    ToldNeighbourhood,
    ToldRow,
)
from assay.testing.claude_code import build_conversation, encode_lines, write_lines
from assay.types import LedgerLine, PersonCorrection, PersonVerdict
from tests.stores.make_cuts import ONE, TURNS, TWO, cut, part, read, write_streams
from tests.tables import each_row

ALL = ToldChoice()
BEGAN_AT = "2026-03-02T09:00:00Z"
LINE = msgspec.json.Decoder(LedgerLine).decode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_streams(tmp_path / "in")


@pytest.fixture
def store(store_url: str, folder: Path) -> Iterator[Store]:
    """A store in which two streams are read and cut, and nothing is told."""
    with closing(open_store(store_url)) as opened:
        read(opened, folder)
        opened.sessions.save_cuts([cut(opened, "one", part("one"), part("one", 1)), cut(opened, "two", part("two"))])
        opened.told.begin_view(b"plain")
        yield opened


def row(id: str, began_at: str = BEGAN_AT, **more: Any) -> ToldRow:
    plain: dict[str, Any] = {
        "agent": "claude-code",
        "id": id,
        "folder": "/p",
        "began_at": began_at,
        "ended_at": began_at,
        "crushed": True,
        "obstacle": "",
        "is_news": False,
        "is_answered": False,
        "ages": b"",
        "body": f"body of {id}".encode(),
        "work": f"work of {id}".encode(),
    }
    return ToldRow(**plain | more)


def news(**more: Any) -> ToldRow:
    """A session of which the last report did not say that it crushed."""
    return row("a", **{"is_news": True} | more)


def line(session: str, at: str = BEGAN_AT, stream: str = "one", effect: Any = "began") -> LedgerLine:
    return LedgerLine(
        at=at,
        agent="claude-code",
        stream=stream,
        session=session,
        signal="clear",
        effect=effect,
        confidence=1.0,
        evidence="/clear",
    )


def place(stream: str, *continues: str, folder: str = "/p") -> StreamPlace:
    return StreamPlace(agent="claude-code", stream=stream, folders=((folder, 2, True),), continues=continues)


def deed(commit: str, id: str, how: str = "names", began_at: str = BEGAN_AT) -> CommitDeed:
    return CommitDeed(commit=commit, how=how, agent="claude-code", id=id, began_at=began_at)


def tell(
    name: str,
    rows: Sequence[ToldRow] = (),
    places: Sequence[StreamPlace] = (),
    ledger: dict[str, list[LedgerLine]] | None = None,
    deeds: Sequence[CommitDeed] = (),
) -> ToldNeighbourhood:
    """A neighbourhood of one folder."""
    about = Neighbourhood(
        name=name, nodes=(name, "folder /q"), key="as it is", told_at=1.5, valid_until=2.5, folders=(("/p", 2, True),)
    )
    lines = [(one.name, [(said, encode_json(said)) for said in (ledger or {}).get(one.id, ())]) for one in rows]
    return ToldNeighbourhood(
        about=about, tally=f"tally of {name}".encode(), places=places, rows=rows, ledger=lines, deeds=deeds
    )


def lines(store: Store, choice: ToldChoice = ALL, offset: int = 0, limit: int | None = None) -> list[str]:
    """The ledger: when, which session, and what."""
    found = [LINE(packed) for packed in store.told.list_ledger(choice, offset, limit)]
    return [f"{one.at} {one.session} {one.effect}" for one in found]


def keep(store: Store, told: ToldNeighbourhood, *instead_of: str) -> None:
    """Keep a neighbourhood as if all changes were known."""
    store.told.save_told(told, instead_of, store.told.list_changed()[1])


def changed(store: Store) -> list[StreamName]:
    return store.told.list_changed()[0]


def settle(store: Store) -> None:
    """Tell the two streams, so that nothing is noted any more."""
    keep(store, tell("p", [row("one0"), row("two0")], [place("one"), place("two")]))
    assert changed(store) == []


def bodies(store: Store, choice: ToldChoice = ALL, offset: int = 0, limit: int | None = None) -> list[str]:
    return [body.decode().removeprefix("body of ") for body in store.told.list_bodies(choice, offset, limit)]


# --- what changed ---------------------------------------------------------------------------------


def test_another_view_drops_all_that_was_told_and_every_stream_is_told_anew(store: Store):
    settle(store)
    said = {"one0": [line("one0")]}
    keep(store, tell("p", [row("one0", is_news=True, ages=b"1")], [place("one", "two")], said, [deed("c", "one0")]))
    store.told.begin_view(b"other")
    assert (store.told.load_view(), changed(store)) == (b"other", [ONE, TWO])
    assert (store.told.list_neighbourhoods(), list(store.told.load_tallies()), bodies(store)) == ([], [], [])
    assert (list(store.told.list_ledger(ALL)), store.told.count_ledger(), store.told.list_news(ALL)) == ([], 0, [])
    assert (store.told.list_deeds(["c"], ["names"]), store.told.list_continuing()) == ([], [])
    assert (store.told.find_places([ONE, TWO]), store.told.find_neighbourhoods([ONE, TWO])) == ({}, {})
    assert store.sessions.list_segments(None) != []


def test_no_view_is_known_before_the_first(store_url: str):
    with closing(open_store(store_url)) as fresh:
        assert (fresh.told.load_view(), fresh.told.list_changed()) == (b"", ([], 0))
        assert (fresh.told.find_last(), bodies(fresh), fresh.told.count_ledger()) == (None, [], 0)


def test_the_view_stands_beside_what_else_is_remembered(store: Store):
    store.sessions.save_last_report(b"how")
    store.told.begin_view(b"other")
    assert (store.sessions.load_last_report(), store.told.load_view()) == (b"how", b"other")


def test_a_stream_that_is_cut_anew_changed(store: Store):
    settle(store)
    assert store.sessions.save_cuts([cut(store, "two", part("two", judged=b"[2]"))]) == {TWO}
    assert changed(store) == [TWO]


def test_a_cut_that_was_made_by_what_a_stream_was_changes_nothing(store: Store, folder: Path):
    settle(store)
    old = cut(store, "one", part("one"))
    grow(store, folder)
    settle(store)
    assert store.sessions.save_cuts([old]) == set()
    assert changed(store) == []


def grow(store: Store, folder: Path) -> None:
    with (folder / "one.jsonl").open("ab") as file:
        file.write(encode_lines(build_conversation("one", 1, start=100)))
    read(store, folder)


def test_a_stream_that_grew_changed(store: Store, folder: Path):
    settle(store)
    grow(store, folder)
    assert changed(store) == [ONE]


def test_a_stream_that_is_gone_changed(store: Store, folder: Path):
    settle(store)
    write_lines(folder / "two.jsonl", *build_conversation("three", 2))
    read(store, folder)
    assert changed(store) == [TWO]


def test_cuts_that_are_brought_back_changed(store: Store):
    store.sessions.save_cuts([cut(store, name, part(name), version="w") for name in ("one", "two")])
    settle(store)
    assert store.sessions.list_uncut("v", None) == []
    assert changed(store) == [ONE, TWO]


@each_row(
    ("said", "streams"),
    [
        (PersonCorrection(kind="rename", turn="one1", title="Wool"), [ONE]),
        (PersonCorrection(kind="merge", turn="two0", into="one0"), [ONE, TWO]),
        (PersonCorrection(kind="split", turn="two0"), [TWO]),
        (PersonVerdict(turn="one0", verdict="landed", at="2026"), [ONE]),
        (PersonVerdict(turn="two0", verdict="none", at="2026"), [TWO]),
        (PersonVerdict(turn="nobody's", verdict="landed", at="2026"), []),
    ],
)
def test_whatever_a_person_says_of_a_session_changes_its_streams(
    store: Store, said: PersonCorrection | PersonVerdict, streams: list[StreamName]
):
    settle(store)
    say(store, said)
    assert changed(store) == streams


def say(store: Store, said: PersonCorrection | PersonVerdict) -> None:
    if isinstance(said, PersonCorrection):
        store.corrections.save_correction(said)
    else:
        store.corrections.save_verdicts([said])


def test_a_turn_is_found_wherever_it_stands_in_a_stream(store: Store):
    inside = "0a0b0c0d0e0f"
    store.sessions.save_cuts([cut(store, "two", replace(part("two"), turns=(*TURNS[:1], inside)))])
    settle(store)
    assert store.told.find_streams(["one1", inside, "", "none"]) == {"one1": ONE, inside: TWO}
    store.corrections.save_correction(PersonCorrection(kind="rename", turn=inside, title="Wool"))
    assert changed(store) == [TWO]


def test_a_change_that_came_meanwhile_stays_noted(store: Store):
    _, known = store.told.list_changed()
    say(store, PersonVerdict(turn="one0", verdict="landed", at="2026"))
    store.told.save_told(tell("p", [row("one0")], [place("one"), place("two")]), (), known)
    assert changed(store) == [ONE]
    store.told.settle_changes([ONE], known)
    assert changed(store) == [ONE]


def test_a_change_that_came_meanwhile_stays_noted_whatever_was_told_before(store: Store):
    """No number is given twice, not even that of a change that is told already."""
    _, known = store.told.list_changed()
    store.told.save_told(tell("q", [row("two0")], [place("two", folder="/q")]), (), known)
    say(store, PersonVerdict(turn="one0", verdict="landed", at="2026"))
    store.told.save_told(tell("p", [row("one0")], [place("one")]), (), known)
    assert changed(store) == [ONE]


def test_what_is_told_of_some_streams_leaves_the_others_noted(store: Store):
    keep(store, tell("p", [row("one0")], [place("one")]))
    assert changed(store) == [TWO]


def test_of_streams_that_are_gone_no_place_is_left(store: Store):
    settle(store)
    say(store, PersonVerdict(turn="one0", verdict="landed", at="2026"))
    store.told.settle_changes([ONE], store.told.list_changed()[1])
    assert changed(store) == []
    assert store.told.list_places(["p"]) == [place("two")]


def test_files_outside_of_paths_are_seen(store: Store, folder: Path):
    assert not store.told.has_outside([str(folder)])
    assert not store.told.has_outside([str(folder / "one.jsonl"), str(folder / "two.jsonl")])
    assert store.told.has_outside([str(folder / "one.jsonl")])
    assert store.told.has_outside([])


# --- neighbourhoods -------------------------------------------------------------------------------


def test_a_neighbourhood_is_given_back_as_it_was_kept(store: Store):
    told = tell("p", [row("one0")], [place("one"), place("two", "one", "elsewhere")])
    keep(store, told)
    assert store.told.list_neighbourhoods() == [told.about]
    assert list(store.told.load_tallies()) == [b"tally of p"]
    assert store.told.list_places(["p", "q"]) == list(told.places)
    assert store.told.find_places([TWO, ("codex", "two")]) == {TWO: told.places[1]}
    assert store.told.list_continuing() == [told.places[1]]
    assert store.told.find_neighbourhoods([ONE, TWO, ("codex", "one")]) == {ONE: "p", TWO: "p"}


def test_a_neighbourhood_that_is_told_anew_replaces_what_differs_and_drops_what_is_gone(store: Store):
    said = {name: [line(name, f"2026-03-02T09:00:0{n}Z")] for n, name in enumerate(("a", "b", "c"))}
    before = [row("a"), row("b"), row("c")]
    places = [place("one"), place("two", "one")]
    keep(store, tell("p", before, places, said, [deed("c1", "a"), deed("c1", "b")]))
    after = [row("a"), replace(before[1], body=b"body of b, again"), row("d")]
    keep(store, tell("p", after, places[:1], {"a": said["a"], "b": [line("b", effect="joined")]}, [deed("c1", "a")]))
    assert bodies(store) == ["a", "b, again", "d"]
    assert lines(store) == ["2026-03-02T09:00:00Z a began", "2026-03-02T09:00:00Z b joined"]
    assert store.told.list_own_deeds(["p"]) == {deed("c1", "a")}
    assert (store.told.list_places(["p"]), store.told.list_continuing()) == (places[:1], [])


@each_row(
    "other",
    [
        {"rows": [news(ages=b"9")]},
        {"rows": [news(work=b"9")]},
        {"rows": [news(crushed=None)]},
        {"rows": [news(crushed=False)]},
        {"rows": [news(obstacle="frustration")]},
        {"rows": [news(is_answered=True)]},
        {"rows": [news(is_news=False)]},
        {"rows": [news(folder="/q")]},
        {"rows": [news(began_at="2026-03-03T09:00:00Z")]},
        {"rows": [news(ended_at="2026-03-03T09:00:00Z")]},
        {"ledger": {"a": [line("a", effect="went_on")]}},
        {"ledger": {}},
        {"deeds": [deed("c2", "a")]},
        {"deeds": []},
    ],
    ids=lambda one: "".join(map(str, one)),
)
def test_whatever_differs_of_a_session_is_kept_anew(store: Store, other: dict[str, Any]):
    plain: dict[str, Any] = {"rows": [news()], "ledger": {"a": [line("a")]}, "deeds": [deed("c1", "a")]}
    keep(store, tell("p", **plain))
    keep(store, tell("p", **plain | other))
    with_it = look(store)
    store.told.begin_view(b"other")
    keep(store, tell("p", **plain | other))
    assert with_it == look(store)
    keep(store, tell("p", **plain))
    assert with_it != look(store)


def look(store: Store) -> list[object]:
    """All that can be seen of what was told."""
    choices = [
        ALL, ToldChoice(since="2026-03-03"), ToldChoice(folders=("/q",)), ToldChoice(obstacle="frustration"),
        ToldChoice(only_answered=True),
    ]  # fmt: skip
    told = store.told
    return [
        *(list(told.list_bodies(one)) for one in choices), list(told.list_ages(ALL)), list(told.list_ledger(ALL)),
        told.list_news(ALL), told.list_own_deeds(["p"]), told.list_works("", "9"),
        told.list_news(ToldChoice(only_lost=True)),
    ]  # fmt: skip


def test_sessions_that_stay_as_they_are_kept_are_only_named(store: Store):
    keep(store, tell("p", [row("a", input=b"1"), row("b", input=b"2", crushed=None)], deeds=[deed("c", "a")]))
    kept = store.told.load_kept("p")
    assert kept.rows == {("claude-code", "a"): (b"1", True), ("claude-code", "b"): (b"2", None)}
    later = tell("p", [row("b", input=b"3", body=b"body of b, later")], deeds=[deed("c", "a")])
    keep(store, replace(later, same={("claude-code", "a"): True}, months=b"by month"))
    assert bodies(store) == ["a", "b, later"]
    assert [one.id for one, _ in store.told.list_deeds(["c"], ["names"])] == ["a"]
    assert store.told.list_news(ALL) == [(("claude-code", "a"), True)]
    kept = store.told.load_kept("p")
    assert (kept.months, kept.rows["claude-code", "b"]) == (b"by month", (b"3", True))
    keep(store, tell("p", [row("b", input=b"3")]))
    assert (bodies(store), [*store.told.load_kept("p").rows]) == (["b, later"], [("claude-code", "b")])


def test_of_a_neighbourhood_that_is_not_there_nothing_is_kept(store: Store):
    assert (store.told.load_kept("nowhere").rows, store.told.load_kept("nowhere").months) == ({}, b"")


def test_a_neighbourhood_takes_the_place_of_others_with_all_that_was_told_of_them(store: Store):
    keep(store, tell("a", [row("x")], [place("one")], {"x": [line("x")]}, [deed("c1", "x")]))
    keep(store, tell("b", [row("y"), row("z")], [place("two")], {"y": [line("y")]}))
    keep(store, tell("c", [row("w")]))
    keep(store, tell("b", [row("x"), row("y")], [place("one"), place("two")], {"x": [line("x")]}), "a", "b")
    assert [one.name for one in store.told.list_neighbourhoods()] == ["b", "c"]
    assert bodies(store) == ["w", "x", "y"]
    assert lines(store) == [f"{BEGAN_AT} x began"]
    assert store.told.find_neighbourhoods([ONE, TWO]) == {ONE: "b", TWO: "b"}
    assert store.told.list_deeds(["c1"], ["names"]) == []


def test_a_session_that_is_told_elsewhere_by_now_is_told_once(store: Store):
    keep(store, tell("a", [row("x")], [place("one")], {"x": [line("x")]}))
    keep(store, tell("b", [row("x")], [place("one")], {"x": [line("x")]}))
    assert (bodies(store), store.told.count_ledger()) == (["x"], 1)
    assert store.told.find_neighbourhoods([ONE]) == {ONE: "b"}


def test_the_same_id_of_another_agent_is_another_session(store: Store):
    other = row("x", agent="codex", body=b"body of codex's x")
    keep(store, tell("a", [row("x"), other], ledger={"x": [line("x")]}, deeds=[deed("c", "x")]))
    assert bodies(store) == ["x", "codex's x"]
    assert bodies(store, ToldChoice(names=(("codex", "x"),))) == ["codex's x"]
    keep(store, tell("a", [other]))
    assert (bodies(store), store.told.list_own_deeds(["a"])) == (["codex's x"], set())


def test_many_sessions_are_kept_at_once(store: Store):
    many = [row(f"{n:05}", work=b"") for n in range(2500)]
    keep(store, tell("p", many, ledger={one.id: [line(one.id)] for one in many}))
    keep(store, tell("p", many[:-1]))
    assert (len(bodies(store)), store.told.count_ledger()) == (2499, 0)
    wanted = ToldChoice(names=tuple(one.name for one in many))
    assert len(bodies(store, wanted)) == 2499


# --- sessions -------------------------------------------------------------------------------------


def told_over_days(store: Store) -> None:
    """Sessions of several days, kept in an order that is not that of time."""
    days = {"d": 4, "b": 2, "a": 2, "c": 3, "e": 5}
    rows = [
        row(
            name,
            f"2026-03-{day:02}T09:00:00Z",
            ended_at=f"2026-03-{day + 1:02}T10:00:00Z",
            folder="/q" if name in "ce" else "/p",
            obstacle="frustration" if name in "ad" else "",
            crushed={"a": False, "b": False, "c": None}.get(name, True),
            is_news=name in "abce",
            is_answered=name in "be",
            ages=name.encode() if name in "bd" else b"",
        )
        for name, day in days.items()
    ]
    keep(store, tell("p", rows[:3], ledger={"a": [line("a", rows[2].began_at, "two")]}))
    keep(store, tell("q", rows[3:], ledger={"e": [line("e", rows[4].began_at), line("e1", rows[0].began_at)]}))


@each_row(
    ("choice", "expected"),
    [
        ({}, "abcde"),
        ({"since": "2026-03-04"}, "cde"),
        ({"since": "2026-03-04T10:00:00Z"}, "cde"),
        ({"until": "2026-03-03T09:00:00Z"}, "ab"),
        ({"since": "2026-03-04", "until": "2026-03-05"}, "cd"),
        ({"folders": ("/p",)}, "abd"),
        ({"folders": ("/p", "/q", "/elsewhere")}, "abcde"),
        ({"folders": ()}, ""),
        ({"names": (("claude-code", "e"), ("claude-code", "b"), ("codex", "a"))}, "be"),
        ({"names": ()}, ""),
        ({"obstacle": "frustration"}, "ad"),
        ({"only_answered": True}, "be"),
        ({"only_lost": True}, "ab"),
        ({"only_lost": True, "folders": ("/q",)}, ""),
        ({"only_answered": True, "until": "2026-03-04"}, "b"),
    ],
)
def test_sessions_are_chosen_and_come_in_order_of_time(store: Store, choice: dict[str, Any], expected: str):
    told_over_days(store)
    wanted = ToldChoice(**choice)
    assert bodies(store, wanted) == list(expected)
    assert store.told.list_ids(wanted) == list(expected)
    assert sorted(store.told.list_ages(wanted)) == [name.encode() for name in expected if name in "bd"]
    assert sorted(name for (_, name), _ in store.told.list_news(wanted)) == [one for one in expected if one in "abce"]


@each_row(
    ("offset", "limit", "expected"),
    [
        (0, None, "abcde"),
        (2, None, "cde"),
        (0, 2, "ab"),
        (1, 3, "bcd"),
        (4, 9, "e"),
        (5, 1, ""),
        (0, 0, ""),
        (9, 9, ""),
    ],
)
def test_a_portion_of_sessions_is_read_alone(store: Store, offset: int, limit: int | None, expected: str):
    told_over_days(store)
    assert bodies(store, ALL, offset, limit) == list(expected)


def test_a_portion_is_one_of_what_was_chosen(store: Store):
    told_over_days(store)
    assert bodies(store, ToldChoice(folders=("/p",)), 1, 1) == ["b"]


def test_the_session_that_ended_last_is_found_and_of_several_the_first(store: Store):
    told_over_days(store)
    assert store.told.find_last() == ("claude-code", "e")
    late = "2026-04-01T09:00:00Z"
    keep(store, tell("r", [row("z", ended_at=late), row("y", ended_at=late)]))
    assert store.told.find_last() == ("claude-code", "y")


def test_sessions_are_found_by_how_a_segment_of_theirs_begins_and_by_stream(store: Store):
    told_over_days(store)
    e = ("claude-code", "e")
    assert store.told.find_begun("e") == [(e, "e"), (e, "e1")]
    assert (store.told.find_begun("e1"), store.told.find_begun("f")) == ([(e, "e1")], [])
    assert store.told.find_in_stream(ONE) == [e]
    assert store.told.find_in_stream(TWO) == [("claude-code", "a")]
    assert store.told.find_in_stream(("codex", "two")) == []


def test_a_session_stands_in_the_streams_of_every_agent_that_it_goes_through(store: Store):
    """A person may have merged what two agents did; streams of several agents may have one id."""
    other = replace(line("a1", "2026-03-02T10:00:00Z"), agent="codex")
    keep(store, tell("p", [row("a"), row("b", agent="codex")], ledger={"a": [line("a"), other]}))
    assert store.told.find_in_stream(ONE) == store.told.find_in_stream(("codex", "one")) == [("claude-code", "a")]


def test_what_only_joined_or_went_on_is_no_beginning(store: Store):
    lines = [line("a"), line("abc", effect="joined"), line("abd", effect="went_on", stream="two")]
    keep(store, tell("p", [row("a")], ledger={"a": lines}))
    assert store.told.find_begun("a") == [(("claude-code", "a"), "a")]
    assert store.told.find_in_stream(TWO) == []


# --- the ledger -----------------------------------------------------------------------------------

NINE, TEN = "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"


def told_with_ledger(store: Store) -> None:
    rows = [row("a", NINE), row("b", TEN, folder="/q")]
    keep(store, tell("p", rows[:1], ledger={"a": [line("a", NINE), line("c", TEN, effect="joined"), line("", "")]}))
    keep(store, tell("q", rows[1:], ledger={"b": [line("b", TEN), line("b", NINE, effect="went_on")]}))


LINES = ["  began", f"{NINE} a began", f"{NINE} b went_on", f"{TEN} b began",
         f"{TEN} c joined"]  # fmt: skip


def test_lines_of_all_sessions_come_in_order_of_time(store: Store):
    told_with_ledger(store)
    assert (lines(store), store.told.count_ledger()) == (LINES, 5)


def test_lines_are_those_of_sessions_that_were_chosen(store: Store):
    told_with_ledger(store)
    assert lines(store, ToldChoice(folders=("/q",))) == [LINES[2], LINES[3]]
    assert lines(store, ToldChoice(folders=("/q",)), 1, 5) == [LINES[3]]
    assert lines(store, ALL, 1, 2) == LINES[1:3]
    assert lines(store, ALL, 3) == LINES[3:]


def test_lines_that_are_alike_are_all_kept_in_their_order(store: Store):
    twice = [line("a"), replace(line("a"), evidence="/clear again")]
    told = tell("p", [row("a")])
    keep(store, replace(told, ledger=[(told.rows[0].name, [(one, encode_json(one)) for one in twice])]))
    assert [LINE(one).evidence for one in store.told.list_ledger(ALL)] == ["/clear", "/clear again"]


# --- what others did ------------------------------------------------------------------------------


def test_deeds_are_found_by_commit_in_order_of_time_with_where_they_were_told(store: Store):
    late, early = deed("c1", "b", began_at=TEN), deed("c1", "a", began_at=NINE)
    undone, other = deed("c1", "a", "undoes", NINE), deed("c2", "b", "wants", TEN)
    keep(store, tell("q", [row("b", TEN)], deeds=[late, other]))
    keep(store, tell("p", [row("a", NINE)], deeds=[early, undone, early]))
    assert store.told.list_deeds(["c1"], ["names"]) == [(early, "p"), (late, "q")]
    assert store.told.list_deeds(["c1", "c2", "c3"], ["undoes", "wants"]) == [(undone, "p"), (other, "q")]
    assert store.told.list_own_deeds(["p"]) == {early, undone}
    assert store.told.list_own_deeds(["p", "q"]) == {early, undone, late, other}
    assert (store.told.list_deeds([], ["names"]), store.told.list_own_deeds([])) == ([], set())


def test_what_others_need_to_know_is_found_by_session_and_by_time(store: Store):
    keep(store, tell("q", [row("c", TEN), row("b", TEN)]))
    keep(store, tell("p", [row("a", NINE, ended_at="2026-03-02T12:00:00Z")]))

    def told(works: Iterable[bytes]) -> list[str]:
        return [one.decode().removeprefix("work of ") for one in works]

    assert told(store.told.load_works([("claude-code", "c"), ("claude-code", "a"), ("codex", "b")])) == ["a", "c"]
    assert told(store.told.list_works(NINE, "2026-03-02T12:00:00Z")) == ["a", "b", "c"]
    assert told(store.told.list_works(NINE, TEN)) == ["b", "c"]
    assert told(store.told.list_works(NINE, "2026-03-03", {"q"})) == ["a"]


# --- news -----------------------------------------------------------------------------------------


def test_news_is_what_the_last_report_said_otherwise_until_one_says_it(store: Store):
    told_over_days(store)
    names = {name: ("claude-code", name) for name in "abce"}
    assert sorted(store.told.list_news(ALL)) == [
        (names["a"], False), (names["b"], False), (names["c"], False), (names["e"], True),
    ]  # fmt: skip
    store.rework.save_fates([Fate(agent="claude-code", id=name, is_told=False) for name in "ab"])
    assert sorted(store.told.list_news(ALL)) == [(names["c"], False), (names["e"], True)]
    store.rework.save_fates([Fate(agent="claude-code", id=name, is_told=name == "e") for name in "ce"])
    assert store.told.list_news(ALL) == []
    assert bodies(store, ToldChoice(only_lost=True)) == []


def test_news_that_is_told_anew_is_news_again(store: Store):
    keep(store, tell("p", [row("a", is_news=True)]))
    store.rework.save_fates([Fate(agent="claude-code", id="a", is_told=True)])
    assert store.told.list_news(ALL) == []
    keep(store, tell("p", [row("a", is_news=True)]))
    assert store.told.list_news(ALL) == [(("claude-code", "a"), True)]
    keep(store, tell("p", [row("a")]))
    assert store.told.list_news(ALL) == []


# --- all of it, for somewhere else ------------------------------------------------------------


def test_all_that_was_told_is_listed_in_order_of_time_and_by_span(store: Store):
    early, late = "2026-02-27T09:00:00Z", "2026-04-02T09:00:00Z"
    said = {"b": [line("b"), line("b", effect="went_on")], "c": [line("c", late)]}
    keep(store, tell("p", [row("c", late), row("b", ages=b"old"), row("a", early, is_news=True)], ledger=said))
    found = [(one.id, one.ages, one.work, went_on) for one, went_on in store.told.list_rows()]
    assert found == [("a", b"", b"", 0), ("b", b"old", b"", 1), ("c", b"", b"", 0)]
    assert [one.id for one, _ in store.told.list_rows("2026-03", "2026-04")] == ["b"]
    listed = [(one.id, one.effect, one.n, one.line) for one in store.told.list_lines()]
    assert [entry[:3] for entry in listed] == [("b", "began", 0), ("b", "went_on", 1), ("c", "began", 0)]
    assert [entry[3] for entry in listed] == list(store.told.list_ledger(ALL))
    assert [one.session for one in store.told.list_lines("2026-04", "2026-05")] == ["c"]


def test_a_digest_tells_whether_a_session_is_told_otherwise(store: Store):
    keep(store, tell("p", [row("a", crushed=False), row("b")]))
    before = list(store.told.list_digests())
    keep(store, tell("p", [row("a", crushed=False), row("b", is_news=True)]))
    assert list(store.told.list_digests()) == before
    keep(store, tell("p", [row("a", crushed=False, is_news=True), row("b", body=b"other")]))
    after = list(store.told.list_digests())
    assert [at for at, _ in after] == [BEGAN_AT, BEGAN_AT]
    assert after[0] != before[0]
    assert after[1] != before[1]


def test_as_many_streams_are_listed_as_are_counted(store: Store, folder: Path):
    listed = [(one.agent, one.id, one.is_shipped) for one in store.told.list_counted_streams(None)]
    assert listed == [(*ONE, False), (*TWO, False)]
    assert len(listed) == store.transcripts.count_streams(None)
    assert list(store.told.list_counted_streams([str(folder / "nowhere")])) == []
