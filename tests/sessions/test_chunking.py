"""Chunks: by tokens, never over the target, every turn in one, the task in all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.sessions.chunks import GAP, Chunk, cut_chunks, find_task, shorten_turn
from assay.types import Call, Prompt, Reply, Run, Turn
from tests.judges.make_turns import asked, session, shell
from tests.tables import each_row

TARGET, WHOLE = 70_000, 80_000
sizes = st.lists(st.integers(0, 30_000) | st.integers(60_000, 200_000), max_size=60)
tasks = st.integers(0, 20_000)


def spans(chunks: list[Chunk]) -> list[tuple[int, int, int]]:
    return [(one.first, one.own_first, one.last) for one in chunks]


@each_row(
    ("turns", "expected"),
    [
        ([], []),
        ([80_000], [(0, 0, 0)]),
        ([40_000, 40_000], [(0, 0, 1)]),  # as much as is judged whole
        ([10_000] * 7 + [10_001], [(0, 0, 6), (3, 7, 7)]),  # one more than that: cut at 70,000
        ([20_000] * 5, [(0, 0, 2), (1, 3, 3), (2, 4, 4)]),  # two of the four fit beside the next
        ([7_000] * 20, [(0, 0, 9), (6, 10, 15), (12, 16, 19)]),
        ([100_000], [(0, 0, 0)]),
        ([1_000, 100_000, 1_000], [(0, 0, 0), (1, 1, 1), (2, 2, 2)]),  # nothing fits beside a giant
        ([0] * 3 + [90_000], [(0, 0, 3)]),
    ],
)
def test_a_session_is_cut_by_tokens(turns: list[int], expected: list[tuple[int, int, int]]) -> None:
    assert spans(cut_chunks(turns)) == expected


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        # the final one shares 40,000 and adds 16,000: more than half of 70,000
        ([10_000] * 10 + [16_000], [(0, 0, 6), (3, 7, 9), (6, 10, 10)]),
        # 16,000 is under half of 70,000, but 61,000 and 12,000 of their own are too much for one
        ([60_000, 9_000, 9_000, 9_000, 9_000, 30_000, 1_000, 1_000, 1_000, 1_000, 12_000],
         [(0, 0, 1), (1, 2, 9), (6, 10, 10)]),
    ],
)  # fmt: skip
def test_the_tail_is_left_alone_where_it_is_large_or_does_not_fit(
    turns: list[int], expected: list[tuple[int, int, int]]
) -> None:
    assert spans(cut_chunks(turns)) == expected


def test_the_tail_is_merged_under_the_target() -> None:
    # 0-1 | 1 shared and 2-3 (69,000) | 1,000 each shared and 2,000: merged into 2-7 once turn 1 is no longer shared
    turns = [49_000, 20_000, 45_000, 1_000, 1_000, 1_000, 1_000, 2_000]
    found = cut_chunks(turns)
    assert spans(found) == [(0, 0, 1), (2, 2, 7)]
    assert found[-1].tokens == 51_000
    assert [one.own_tokens for one in found] == [69_000, 51_000]


def test_the_task_takes_room_in_every_chunk_but_the_first() -> None:
    found = cut_chunks([10_000] * 14, task=10_000)
    assert [one.has_task for one in found] == [False, *[True] * (len(found) - 1)]
    assert spans(found)[:2] == [(0, 0, 6), (3, 7, 8)]
    assert found[1].tokens == 70_000
    assert found[1].own_tokens == 20_000


def test_a_giant_turn_is_shortened_and_said_so() -> None:
    found = cut_chunks([5_000, 300_000, 5_000], task=2_000)
    assert [one.shortened for one in found] == [None, 1, None]
    assert found[1].room == 68_000
    assert found[1].tokens == TARGET
    assert found[1].own_tokens == 68_000


@given(sizes, tasks)
def test_no_chunk_is_over_the_target_and_every_turn_is_somebodys_own(turns: list[int], task: int) -> None:
    found = cut_chunks(turns, task=task)
    own = [n for one in found for n in range(one.own_first, one.last + 1)]
    assert own == list(range(len(turns)))
    if sum(turns) <= WHOLE:
        assert len(found) == bool(turns)
        return
    assert all(one.tokens <= TARGET for one in found)
    for one in found:
        large = [n for n in range(one.first, one.last + 1) if turns[n] > TARGET - (task if n else 0)]
        assert (one.shortened in large) if large else one.shortened is None


@given(sizes, tasks)
def test_a_chunk_shares_four_turns_or_as_many_as_fit(turns: list[int], task: int) -> None:
    found = cut_chunks(turns, task=task)
    room = TARGET - task
    cut = [min(size, room if n else TARGET) for n, size in enumerate(turns)]
    for one in found[1:]:
        shared = one.own_first - one.first
        assert 0 <= shared <= 4
        if shared < min(4, one.own_first):
            assert sum(cut[one.first - 1 : one.last + 1]) > room


@given(sizes, tasks)
def test_tokens_are_own_and_shared_and_the_task(turns: list[int], task: int) -> None:
    for one in cut_chunks(turns, task=task):
        own = turns[one.own_first : one.last + 1]
        if one.shortened is None:
            assert one.own_tokens == sum(own)
            assert one.tokens == sum(turns[one.first : one.last + 1]) + (task if one.first else 0)
        assert one.has_task == (one.first > 0)


@given(sizes, tasks)
def test_a_small_tail_stays_only_where_it_does_not_fit(turns: list[int], task: int) -> None:
    found = cut_chunks(turns, task=task)
    if len(found) > 1 and found[-1].tokens < 0.5 * found[-2].tokens:
        room = TARGET - (task if found[-2].own_first else 0)
        merged = sum(turns[found[-2].own_first :]) + (task if found[-2].first else 0)
        has_giant = found[-2].shortened is not None or found[-1].shortened is not None
        assert has_giant or merged > TARGET or sum(turns[found[-2].own_first :]) > room


def test_the_task_is_the_first_prompt_that_is_no_shell_command() -> None:
    turns = session(asked(None, "warming up"), asked("ls", kind="shell"), asked("weave a scarf"), asked("blue"))
    task = find_task(turns)
    assert task
    assert task.text == "weave a scarf"
    assert find_task(session(asked(None, "x"))) is None


# --- one giant turn ---------------------------------------------------------------------------


def size(turn: Turn) -> int:
    """Tokens by characters, as the tests count them."""
    said = [turn.prompt.text if turn.prompt else "", *(reply.text for reply in turn.replies)]
    said += [part for call in turn.calls for part in (call.command, call.target, call.output)]
    return sum(map(len, said)) // 4


def giant(calls: int = 400, errors: tuple[int, ...] = (77, 200, 341)) -> Turn:
    done: list[str | Call] = []
    for n in range(calls):
        failed = "failed" if n in errors else "passed"
        output = f"row {n} " * 80 + (f"\nError: thread {n} broke" if n in errors else "")
        done += [f"Weaving row {n}. " + "So it goes. " * 20, shell(f"weave {n}", "build", failed, output=output)]
    return session(asked("weave a very long scarf", *done))[0]


@pytest.mark.parametrize("tokens", [20_000, 5_000, 1_000])
def test_a_shortened_turn_keeps_its_head_its_tail_and_every_error(tokens: int) -> None:
    turn = giant()
    assert size(turn) > 60_000
    found = shorten_turn(turn, tokens, size)
    assert size(found) <= tokens
    assert found.prompt == turn.prompt
    said = [call.command for call in found.calls]
    assert {"weave 77", "weave 200", "weave 341"} <= set(said)
    assert said[-1] == "weave 399"
    assert found.replies[0].text.startswith("Weaving row 0.")
    outputs = "\n".join(call.output for call in found.calls)
    assert all(f"Error: thread {n} broke" in outputs for n in (77, 200, 341))
    gap = GAP.partition("{}")[0]
    assert any(reply.text.startswith(gap) for reply in found.replies)


def test_more_room_keeps_more() -> None:
    turn = giant()
    kept = [len(shorten_turn(turn, tokens, size).calls) for tokens in (2_000, 10_000, 40_000)]
    assert kept == sorted(set(kept))


def test_a_turn_that_fits_stays_as_it_is() -> None:
    turn = giant(10, ())
    assert shorten_turn(turn, 1_000_000, size) is turn


def test_errors_stay_even_where_they_alone_are_too_many() -> None:
    turn = giant(200, tuple(range(200)))
    found = shorten_turn(turn, 500, size)
    assert len(found.calls) == 200
    assert all("Error: thread" in call.output for call in found.calls)
    assert size(found) < size(turn) / 3


words = st.text(max_size=400)
steps = st.lists(
    st.builds(
        Call,
        id=st.just("c"),
        at=st.integers(100, 999).map(str),
        name=st.just("Bash"),
        command=words,
        output=words,
        status=st.sampled_from(["ok", "error", "open", "rejected"]),
        runs=st.just(()) | st.just((Run(program="x", purpose="test", outcome="failed"),)),
    )
    | st.builds(Reply, at=st.integers(100, 999).map(str), text=words),
    max_size=30,
)


@given(steps, st.integers(0, 2_000))
def test_whatever_the_turn_every_error_is_kept(done: list[Call | Reply], tokens: int) -> None:
    turn = Turn(
        prompt=Prompt(at="0", text="go", key=1),
        replies=tuple(one for one in done if isinstance(one, Reply)),
        calls=tuple(one for one in done if isinstance(one, Call)),
    )
    found = shorten_turn(turn, tokens, size)
    failed = [call for call in turn.calls if call.status in ("error", "rejected") or call.runs]
    assert len([call for call in found.calls if call.status in ("error", "rejected") or call.runs]) == len(failed)
    assert found.prompt == turn.prompt
    assert size(found) <= max(tokens, size(turn))
