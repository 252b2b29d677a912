"""Events folded into turns."""

import pytest
from msgspec.structs import replace

from assay.sessions.turns import TurnBuilder, find_first_words
from assay.types import About, Call, Event, Mark, Prompt, Reply, Result, Spend, Turn, Usage
from tests.make import answer, assistant, built, calling, failure, moment, stamped, turns, usage, user


def test_a_stream_is_called_by_the_first_words_that_the_person_typed() -> None:
    said = (
        "Unknown skill: till",
        "<system-reminder>be quick</system-reminder>",
        "```\nx = 1\n```\nround the sums",
        "no",
    )
    prompts = [Prompt(at="", text=text, key=n) for n, text in enumerate(said)]
    assert find_first_words(prompts) == "round the sums"
    assert find_first_words([None, Prompt(at="", text="/till-review", key=1, kind="command")]) == "/till-review"


def folded(*events: Event) -> tuple[Turn, ...]:
    builder = TurnBuilder()
    for event in events:
        builder.take(event)
    return builder.turns()


def asked(key: int = 1, at: str = "10") -> Prompt:
    return Prompt(at=at, text=f"prompt {key}", key=key)


def spend(output: int, key: int = 5, at: str = "20") -> Spend:
    return Spend(at=at, key=key, model="m", usage=Usage(input=1, output=output))


SHELL = Call(id="c1", at="20", name="Bash", kind="shell", command="pytest -q")


def test_a_turn_is_a_prompt_and_all_that_follows_it() -> None:
    first, second = folded(
        asked(1), Reply(at="11", text="a"), SHELL, spend(3), asked(2, "30"), Reply(at="31", text="b")
    )
    assert (first.at, first.ended_at, len(first.calls), len(first.spends)) == ("10", "20", 1, 1)
    assert ([reply.text for reply in second.replies], second.at, second.ended_at) == (["b"], "30", "31")


def test_what_happens_before_anybody_spoke_is_a_turn_without_a_prompt() -> None:
    early, late = folded(Reply(at="05", text="hello"), asked())
    assert (early.prompt, late.prompt) == (None, asked())


@pytest.mark.parametrize("kind", ["clear", "compact", "retry"])
def test_marks_before_the_first_prompt_belong_to_its_turn(kind: str) -> None:
    mark = Mark(kind=kind, at="05")  # type: ignore[arg-type]
    [turn] = folded(mark, asked())
    assert (turn.marks, turn.prompt, turn.at) == ((mark,), asked(), "10")


def test_the_same_prompt_is_taken_once() -> None:
    assert len(folded(asked(1), Reply(at="11", text="a"), asked(1))) == 1


@pytest.mark.parametrize(("reports", "expected"), [([3], 3), ([3, 9], 9), ([9, 3], 9), ([3, 3], 3), ([0, 0], 0)])
def test_the_largest_report_of_a_response_stands(reports: list[int], expected: int) -> None:
    [turn] = folded(asked(), *(spend(output) for output in reports))
    assert [one.usage.output for one in turn.spends] == [expected]


def test_tokens_reported_again_behind_the_next_prompt_stay_in_their_turn() -> None:
    first, second = folded(asked(1), spend(3), asked(2, "30"), spend(9, at="31"))
    assert ([one.usage.output for one in first.spends], second.spends) == ([9], ())


def test_a_result_is_put_to_its_call_in_whichever_turn() -> None:
    first, second = folded(asked(1), SHELL, asked(2, "30"), Result(id="c1", at="40", status="ok", exit_code=0))
    assert (first.calls[0].status, first.calls[0].ended_at, first.ended_at) == ("ok", "40", "40")
    assert second.calls == ()


def test_a_result_of_no_call_is_left_out() -> None:
    assert folded(asked(), Result(id="nobody", at="40", status="ok")) == folded(asked())


def test_a_call_made_twice_is_one() -> None:
    [turn] = folded(asked(), SHELL, SHELL)
    assert len(turn.calls) == 1


@pytest.mark.parametrize(
    ("status", "code", "output", "outcome"),
    [
        ("ok", 0, "3 passed in 0.1s", "passed"),
        ("error", 1, "1 failed, 2 passed in 0.1s", "failed"),
        ("ok", None, "running in the background", None),
        ("interrupted", None, "", None),
        ("rejected", None, "The user doesn't want to proceed", None),
        ("denied", None, "Permission to use Bash has been denied", None),
    ],
)
def test_a_run_has_an_outcome_only_where_it_ran_to_its_end(
    status: str, code: int | None, output: str, outcome: str | None
) -> None:
    result = Result(id="c1", at="40", status=status, exit_code=code, output=output)  # type: ignore[arg-type]
    [turn] = folded(asked(), SHELL, result)
    assert [(run.purpose, run.outcome) for run in turn.calls[0].runs] == [("test", outcome)]


@pytest.mark.parametrize(
    ("output", "reported", "expected"),
    [
        ("[main 1a2b3c4] Mend", "", ("1a2b3c4",)),
        ("[main 1a2b3c4] Mend", "1a2b3c4", ("1a2b3c4",)),
        ("[main 1a2b3c4] Mend", "1a2b3c4d5e6f", ("1a2b3c4",)),
        ("", "1a2b3c4d", ("1a2b3c4d",)),
        ("nothing to commit", "", ()),
    ],
)
def test_a_commit_is_known_by_what_git_printed_or_the_client_saw(
    output: str, reported: str, expected: tuple[str, ...]
) -> None:
    call = Call(id="c1", at="20", name="Bash", kind="shell", command="git commit -m Mend")
    [turn] = folded(asked(), call, Result(id="c1", at="40", status="ok", exit_code=0, output=output, commit=reported))
    assert turn.calls[0].commits == expected


def test_a_text_that_powershell_cannot_read_did_not_end_well() -> None:
    said = "At line:4 char:6\n+ for i,line in x:\n+      ~\nMissing argument in parameter list.\n"
    error = "    + CategoryInfo          : ParserError: (:) [], ParentContainsErrorRecordException\n"
    for dialect, status in (("powershell", "error"), ("bash", "ok")):
        call = replace(SHELL, dialect=dialect)
        [turn] = folded(asked(), call, Result(id="c1", at="40", status="ok", exit_code=0, output=said + error))
        assert turn.calls[0].status == status


def test_a_pull_request_that_a_command_opened_is_marked() -> None:
    call = Call(id="c1", at="20", name="Bash", kind="shell", command="gh pr create --fill")
    url = "https://github.com/ada/till/pull/12"
    [turn] = folded(asked(), call, Result(id="c1", at="40", status="ok", exit_code=0, output=f"Creating…\n{url}\n"))
    assert [(mark.kind, mark.detail) for mark in turn.marks] == [("pr", url)]
    [turn] = folded(asked(), call, Result(id="c1", at="40", status="error", exit_code=1, output=f"exists: {url}"))
    assert turn.marks == ()


@pytest.mark.parametrize("size", [100, 20_000, 20_020, 500_000])
def test_long_texts_keep_their_two_ends(size: int) -> None:
    words = "a" + "x" * (size - 2) + "z"
    [turn] = folded(Prompt(at="1", text=words, key=1))
    assert turn.prompt is not None
    kept = turn.prompt.text
    assert (kept[0], kept[-1], kept == words) == ("a", "z", size <= 20_020)
    assert len(kept) < 20_100


def test_a_builder_goes_on_from_turns_it_handed_out() -> None:
    events: list[Event] = [
        About(at="09", stream="s1"),
        asked(1),
        SHELL,
        spend(3),
        asked(2, "30"),
        Result(id="c1", at="40", status="ok", exit_code=0),
        spend(9),
        asked(1),
        Reply(at="41", text="a"),
    ]
    whole = TurnBuilder()
    for event in events:
        whole.take(event)
    for cut in range(len(events)):
        early = TurnBuilder()
        for event in events[:cut]:
            early.take(event)
        early.part("x")
        late = TurnBuilder(early.tally, early.turns())
        for event in events[cut:]:
            late.take(event)
        assert (late.turns(), late.part("x")) == (whole.turns(), whole.part("x"))
        assert [turn for n, turn in enumerate(late.turns()) if n not in late.changed] == [
            turn for n, turn in enumerate(early.turns()) if n not in late.changed
        ]


# --- what a file says of its stream -------------------------------------------------------------


def test_the_stream_of_a_file_is_the_one_most_of_it_came_under() -> None:
    old = stamped(user("One"), stream="old")
    part, _ = built(*old, *stamped(assistant("a"), user("Two"), assistant("b", id="m2"), stream="new", start=5))
    assert part.stream == "new"


def test_a_file_began_with_its_first_record_whatever_that_is() -> None:
    part, found = built(
        {"type": "queue-operation", "operation": "enqueue", "content": "Go"}, user("Go"), assistant("Going")
    )
    assert (part.began_at, found[0].at, part.ended_at) == (moment(0), moment(1), moment(2))


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([user("Mend the\n  till"), user("and more")], "Mend the till"),
        ([user("Mend"), {"type": "ai-title", "aiTitle": "Till"}], "Till"),
        ([assistant("hello")], ""),
    ],
)
def test_a_stream_without_a_title_is_called_by_its_first_words(records: list[dict[str, object]], title: str) -> None:
    part = built(*records)[0]
    assert (part.title or part.asked) == title


def test_versions_and_branches_are_kept_in_the_order_of_their_coming() -> None:
    records = [user("a", version="1.0.1"), user("b", version="2.0.0", gitBranch="fix"), user("c", version="1.0.1")]
    part, _ = built(*records)
    assert (part.versions, part.branches, part.branch) == (("1.0.1", "2.0.0"), ("main", "fix"), "main")


def test_a_shell_call_is_read_and_concluded() -> None:
    [turn] = turns(
        user("Go"),
        assistant(calling("t1", "Bash", command="ruff check . && pytest -q"), spent=usage(1, 1)),
        failure("t1", "Exit code 1\nAll checks passed!\n1 failed in 0.1s"),
        assistant(calling("t2", "Bash", command="rm -f x"), id="m2"),
        answer("t2", ""),
    )
    assert [(run.purpose, run.outcome, run.mutates) for call in turn.calls for run in call.runs] == [
        ("lint", "passed", False),
        ("test", "failed", False),
        (None, None, True),
    ]
