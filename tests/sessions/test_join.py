"""Files of one stream and copies in other streams, counted once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import facts
from assay.facts import tokens
from assay.facts import turns as turns_fact
from assay.sessions.streams import FilePiece, join_files, list_keys, rank_file
from assay.types import Stream, Turn
from tests.make import (
    Record,
    answer,
    aside,
    assistant,
    boundary,
    built,
    calling,
    conversations,
    moment,
    patch,
    stamped,
    usage,
    user,
)

PATIENT = settings(max_examples=60, deadline=None)


def piece(path: str, records: list[Record]) -> FilePiece:
    return path, *built(*records)


def joined(*pieces: FilePiece) -> dict[str, Stream]:
    """All streams of some files, each without what an earlier file of another stream owns."""
    streams = {part.stream for _, part, _ in pieces}
    found = {}
    for stream in sorted(streams):
        mine = [one for one in pieces if one[1].stream == stream]
        others = [one for one in pieces if one[1].stream != stream]
        found[stream] = join_files(mine, owned_elsewhere(mine, others))
    return found


def owned_elsewhere(mine: list[FilePiece], others: list[FilePiece]) -> frozenset[int]:
    """As a store finds it: the key belongs to the file that comes first of all that hold it."""
    first: dict[int, tuple[bool, str, str, str]] = {}
    for path, part, found in mine:
        for key in list_keys(found):
            first[key] = min(first.get(key, (True, "~", "", "")), rank_file(path, part))
    held = [(rank_file(path, part), list_keys(found)) for path, part, found in others]
    return frozenset(key for key, rank in first.items() if any(key in have and other < rank for other, have in held))


def prompts(stream: Stream) -> list[str]:
    return [turn.prompt.text for turn in stream.turns if turn.prompt]


def spent(*streams: Stream) -> int:
    return sum(tokens.fact(stream.turns).tokens.output for stream in streams)


def calls(stream: Stream) -> list[tuple[str, str]]:
    return [(call.id, call.status) for turn in stream.turns for call in turn.calls]


EDIT = assistant(
    calling("t1", "Edit", file_path="/till/a.py", old_string="a", new_string="b"), id="m2", spent=usage(5, 7)
)
OLD = stamped(
    user("One", uuid="u1"),
    assistant("Looking", id="m1", spent=usage(5, 3)),
    EDIT,
    answer("t1", "ok", patch("/till/a.py", "-a", "+b", "+c")),
    user("Two", uuid="u2"),
    assistant("Done", id="m3", spent=usage(5, 11)),
    stream="old",
)
MORE = [user("Three", uuid="u3"), assistant("More", id="m4", spent=usage(5, 13))]


def copied(at: float | None, *more: Record) -> list[Record]:
    """The old records under a new stream, stamped anew or as they were, and what came then."""
    fresh = {"sessionId": "new"} | ({} if at is None else {"timestamp": moment(at)})
    again = [{key: value for key, value in record.items() if key != "toolUseResult"} | fresh for record in OLD]
    return [*again, *stamped(*more, stream="new", start=500)]


LEADS: dict[str, list[Record]] = {
    "stamped anew": copied(400, *MORE),
    "kept times behind a later record": [
        *stamped({"type": "queue-operation", "operation": "enqueue", "content": "Three"}, stream="new", start=390),
        *copied(None, *MORE),
    ],
    "kept times behind a later mark": [*stamped(boundary(), stream="new", start=390), *copied(None, *MORE)],
}


@pytest.mark.parametrize("copy", LEADS.values(), ids=[name.replace(" ", "-") for name in LEADS])
@pytest.mark.parametrize("names", [("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")])
def test_the_older_file_owns_what_a_resumed_or_forked_one_repeats(copy: list[Record], names: tuple[str, str]) -> None:
    streams = joined(piece(names[0], OLD), piece(names[1], copy))
    assert prompts(streams["old"]) == ["One", "Two"]
    assert prompts(streams["new"]) == ["Three"]
    assert spent(streams["old"]) == 21
    assert spent(streams["new"]) == 13
    assert (calls(streams["old"]), calls(streams["new"])) == ([("t1", "ok")], [])


def test_a_copy_whose_original_is_not_there_owns_itself() -> None:
    streams = joined(piece("b.jsonl", copied(400, *MORE)))
    assert prompts(streams["new"]) == ["One", "Two", "Three"]


def test_what_a_fork_adds_to_a_copied_turn_is_kept_without_its_prompt() -> None:
    again = copied(400, assistant("And this", id="m9", spent=usage(5, 17)))
    streams = joined(piece("a.jsonl", OLD), piece("b.jsonl", again))
    assert (prompts(streams["new"]), spent(streams["new"])) == ([], 17)
    assert turns_fact.fact(streams["new"].turns).turns == 0


def test_a_copy_of_a_copy_owns_only_what_it_adds() -> None:
    third = [record | {"sessionId": "third", "timestamp": moment(900)} for record in copied(400, *MORE)]
    third += stamped(user("Four", uuid="u4"), stream="third", start=950)
    streams = joined(piece("a", OLD), piece("b", copied(400, *MORE)), piece("c", third))
    assert [prompts(streams[name]) for name in ("old", "new", "third")] == [["One", "Two"], ["Three"], ["Four"]]


def test_a_compaction_worker_that_repeats_its_stream_adds_nothing() -> None:
    worker = aside("acompact-1", *(record | {"sessionId": "old", "timestamp": moment(300)} for record in OLD))
    alone, both = join_files([piece("a", OLD)]), join_files([piece("a", OLD), piece("agent-acompact-1", worker)])
    assert (both.turns, both.files) == (alone.turns, ("a", "agent-acompact-1"))


def test_the_stream_is_told_by_its_first_main_file() -> None:
    agent = aside("a1", *stamped(assistant("x", id="m8"), stream="old", start=-50, cwd="/elsewhere"))
    stream = join_files([piece("agent-a1", agent), piece("a", OLD)])
    assert (stream.about.by, stream.about.cwd, stream.files) == ("", "/home/ada/till", ("a", "agent-a1"))


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (OLD[:3], OLD),
        (OLD[:2], OLD),
        (OLD[:1], OLD),
        (OLD[:4], OLD[4:]),
    ],
)
def test_two_files_of_a_stream_hold_each_turn_once(early: list[Record], late: list[Record]) -> None:
    whole = join_files([piece("a", OLD)]).turns
    for names in (("a", "b"), ("b", "a")):
        both = join_files([piece(names[0], early), piece(names[1], late)])
        assert both.turns == whole


@PATIENT
@given(records=conversations(), draws=st.data())
def test_a_file_and_its_beginning_are_the_file(records: list[Record], draws: st.DataObject) -> None:
    whole = piece("b", records)
    cut = piece(draws.draw(st.sampled_from(["a", "c"])), records[: draws.draw(st.integers(1, len(records)))])
    assert join_files([whole, cut]).turns == join_files([whole]).turns


@PATIENT
@given(records=conversations())
def test_a_stream_of_one_file_is_that_files_turns(records: list[Record]) -> None:
    path, part, found = piece("a", records)
    assert join_files([(path, part, found)]).turns == found


@pytest.mark.parametrize(
    "records",
    [
        [assistant("Hello", message={"usage": None})],
        [boundary()],
        [assistant("Hello", message={"usage": None}), user("Go"), assistant("Going", id="m2")],
    ],
)
def test_what_came_before_anybody_spoke_is_not_lost(records: list[Record]) -> None:
    path, part, found = piece("a", stamped(*records))
    assert join_files([(path, part, found)]).turns == found


@PATIENT
@given(
    records=conversations(stream="old"),
    own=conversations(stream="new", most=4),
    draws=st.data(),
)
def test_neither_copies_nor_the_order_of_files_change_what_is_counted(
    records: list[Record], own: list[Record], draws: st.DataObject
) -> None:
    kept = draws.draw(st.integers(1, len(records)))
    mine = [record | {"uuid": f"n{n}"} if "uuid" in record else record for n, record in enumerate(own)]
    again = chained(records[:kept])
    agent = aside("a1", *stamped(assistant("x", id="m8"), stream="old", start=20))
    pieces = [piece("a", records), piece("b", again + mine), piece("agent-a1", agent), piece("c", records[:kept])]
    streams = joined(*pieces)
    shuffled = joined(*draws.draw(st.permutations(pieces)))
    assert shuffled == streams
    assert not keys_of(streams.get("old")) & keys_of(streams.get("new"))


def chained(records: list[Record]) -> list[Record]:
    """What a resumed stream repeats: the records that have an id, stamped anew."""
    return [record | {"sessionId": "new", "timestamp": moment(400)} for record in records if "uuid" in record]


def keys_of(stream: Stream | None) -> set[int]:
    return set(list_keys(stream.turns)) if stream else set()


def established(found: tuple[Turn, ...]) -> bytes:
    return facts.to_json(facts.establish_facts(found))


@PATIENT
@given(records=conversations(stream="old"))
def test_a_wholly_copied_stream_adds_no_turns_and_no_tokens(records: list[Record]) -> None:
    streams = joined(piece("a", records), piece("b", chained(records)))
    assert established(streams["old"].turns) == established(join_files([piece("a", records)]).turns)
    assert prompts(streams["new"]) == []
    assert spent(streams["new"]) == 0
    assert calls(streams["new"]) == []
