"""Each fact on turns so small that the answer can be seen."""

import msgspec
import pytest

from assay import facts
from assay.facts import attempts, checks, conversation, edits, git, languages, substance, time, tools
from assay.facts import turns as turns_fact
from assay.types import (
    Call,
    CallStatus,
    Edit,
    Mark,
    MarkKind,
    Outcome,
    Prompt,
    PromptKind,
    Purpose,
    Reply,
    Run,
    Spend,
    Turn,
    Usage,
)
from tests.tables import each_row


def asked(n: int = 1, kind: PromptKind = "typed", images: int = 0) -> Prompt:
    return Prompt(at="", text=f"p{n}", key=n, kind=kind, images=images)


def edited(path: str = "a.py", added: int = 1, removed: int = 0, status: CallStatus = "ok") -> Call:
    made = (Edit(path=path, added=added, removed=removed),)
    return Call(id="", at="", name="Edit", kind="edit", target=path, status=status, edits=made)


def ran(
    purpose: Purpose | None = None,
    outcome: Outcome | None = None,
    status: CallStatus = "ok",
    command: str = "x",
    mutates: bool = False,
    paths: tuple[str, ...] = (),
) -> Call:
    run = Run(program="x", purpose=purpose, outcome=outcome, mutates=mutates, paths=paths)
    return Call(id="", at="", name="Bash", kind="shell", command=command, status=status, runs=(run,))


def doing(*calls: Call) -> list[Turn]:
    return [Turn(prompt=asked(), calls=calls)]


# --- all together -------------------------------------------------------------------------------


def test_no_turns_have_every_fact_and_no_number_out_of_nothing() -> None:
    flat = msgspec.json.decode(facts.to_json(facts.establish_facts([])))
    assert (flat["wall_s"], flat["active_s"], flat["continues"]) == (None, None, None)
    assert (flat["turns"], flat["cost_usd"], flat["substance"], flat["checks"]) == (0, 0.0, False, {})


def test_no_two_facts_share_a_field() -> None:
    names = [name for fact in facts.establish_facts([]).values() for name in fact.__struct_fields__]
    assert len(names) == len(set(names))


def test_the_version_names_every_fact() -> None:
    assert [part.split("@")[0] for part in facts.build_version().split(",")] == sorted(facts.establish_facts([]))


# --- turns and conversation ---------------------------------------------------------------------


def test_turns_are_counted_by_their_prompts() -> None:
    found = turns_fact.fact(
        [
            Turn(replies=(Reply(at="", text="hello"),)),
            Turn(prompt=asked(1, images=2), replies=(Reply(at="", text="a"), Reply(at="", text="b"))),
            Turn(prompt=asked(2, "queued")),
        ]
    )
    assert found == turns_fact.Turns(turns=2, queued_prompts=1, replies=3, images=2)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("interrupt", "interruptions"),
        ("compact", "compactions"),
        ("api_error", "api_errors"),
        ("retry", "api_retries"),
        ("rollback", "rollbacks"),
    ],
)
def test_what_befell_the_conversation_is_counted(kind: MarkKind, field: str) -> None:
    mark = Mark(kind=kind, at="")
    found = conversation.fact([Turn(marks=(mark,)), Turn(marks=(mark, mark))])
    assert getattr(found, field) == 3
    fields = ("interruptions", "compactions", "api_errors", "api_retries", "rollbacks")
    assert sum(getattr(found, each) for each in fields) == 3


@pytest.mark.parametrize(
    ("first", "second", "begins"),
    [([], [], False), (["clear"], [], True), ([], ["clear"], False), (["compact", "clear"], [], True)],
)
def test_a_stream_begins_with_clear_only_at_its_head(
    first: list[MarkKind], second: list[MarkKind], begins: bool
) -> None:
    made = [Turn(prompt=asked(), marks=tuple(Mark(kind=kind, at="") for kind in kinds)) for kinds in (first, second)]
    assert conversation.fact(made).begins_with_clear is begins


def test_a_stream_that_an_accepted_plan_opened_continues_another() -> None:
    plan = Prompt(at="", text="Do it", key=1, kind="plan", previous="old")
    assert conversation.fact([Turn(prompt=plan), Turn(prompt=asked(2))]).continues == "old"
    assert conversation.fact([Turn(prompt=asked(2)), Turn(prompt=plan)]).continues is None


# --- substance ----------------------------------------------------------------------------------


@each_row(
    ("made", "is_substance", "mutating"),
    [
        ([], False, 0),
        ([Turn(prompt=asked(n)) for n in range(2)], False, 0),
        ([Turn(prompt=asked(n)) for n in range(3)], True, 0),
        ([Turn(prompt=asked(n)) for n in range(2)] + [Turn(replies=(Reply(at="", text="a"),))], False, 0),
        (doing(ran(mutates=False)), False, 0),
        (doing(ran(mutates=True)), True, 1),
        (doing(ran(mutates=True, status="error")), True, 1),
        (doing(ran(mutates=True, status="interrupted")), True, 1),
        (doing(ran(mutates=True, status="rejected")), False, 0),
        (doing(ran(mutates=True, status="denied")), False, 0),
        (doing(ran(mutates=True, status="open")), False, 0),
        (doing(edited(added=1)), True, 1),
        (doing(edited(added=100, status="error")), False, 0),
        (doing(edited(added=100, status="rejected")), False, 0),
        (doing(edited(added=100, status="open")), False, 0),
    ],
)
def test_substance_is_three_turns_or_ten_net_lines_or_one_change(
    made: list[Turn], is_substance: bool, mutating: int
) -> None:
    assert substance.fact(made) == substance.Substance(mutating_calls=mutating, substance=is_substance)


@each_row(
    ("reply", "is_substance"),
    [
        ("word " * 40, True),
        ("word " * 39, False),
        ("答" * 80, True),
        ("答" * 78, False),
        ("Let me look at it first. " * 10 + "Now I will look at it:", False),
    ],
    ids=lambda value: str(value)[:8],
)
def test_a_question_answered_in_one_turn_has_substance(reply: str, is_substance: bool) -> None:
    turn = Turn(prompt=asked(), replies=(Reply(at="", text=reply),))
    assert substance.fact([turn]).substance is is_substance


def test_an_answer_that_nobody_asked_for_has_no_substance() -> None:
    assert not substance.fact([Turn(replies=(Reply(at="", text="word " * 40),))]).substance


def test_a_request_that_ended_in_an_api_error_has_substance() -> None:
    assert substance.fact([Turn(prompt=asked(), marks=(Mark(kind="api_error", at=""),))]).substance


@pytest.mark.parametrize(
    ("added", "removed", "is_substance"), [(9, 0, False), (10, 0, True), (11, 0, True), (19, 10, False), (20, 10, True)]
)
def test_net_lines_count_even_where_the_call_is_not_an_edit_tools(added: int, removed: int, is_substance: bool) -> None:
    call = Call(
        id="", at="", name="mcp", kind="mcp", status="ok", edits=(Edit(path="a", added=added, removed=removed),)
    )
    assert substance.fact(doing(call)).substance is is_substance


# --- edits and languages ------------------------------------------------------------------------


def test_lines_are_summed_by_file_and_written_files_are_listed() -> None:
    made = doing(
        edited("b.py", 3, 1),
        edited("a.py", 2, 5),
        edited("b.py", 4, 0),
        edited("never.py", 9, 9, "error"),
        ran(mutates=True, paths=("c.txt", "a.py")),
        ran(mutates=True, paths=("d.txt",), status="rejected"),
    )
    assert edits.fact(made) == edits.Edits(
        lines_added=9,
        lines_removed=6,
        net_lines=3,
        files=["a.py", "b.py", "c.txt"],
        lines_by_file={"a.py": (2, 5), "b.py": (7, 1)},
    )


@each_row(
    ("path", "language"),
    [
        ("/till/a.py", "Python"),
        ("a.PY", "Python"),
        ("n.ipynb", "Python"),
        ("a.tsx", "TypeScript"),
        (r"C:\till\a.cs", "C#"),
        ("Makefile", "Make"),
        ("/x/Dockerfile", "Docker"),
        ("Gemfile", "Ruby"),
        ("a.test.js", "JavaScript"),
        ("价.go", "Go"),
        ("LICENSE", None),
        ("a.unheard", None),
        (".py/readme", None),
        (".bashrc", None),
        ("", None),
    ],
)
def test_a_files_name_tells_its_language(path: str, language: str | None) -> None:
    assert languages.find_language(path) == language


def test_languages_come_by_lines_added() -> None:
    made = doing(
        edited("a.py", 2), edited("a.go", 5), edited("b.py", 1), edited("c.rs", 3), edited("d.js", 9, 0, "error")
    )
    assert list(languages.fact(made).programming_languages.items()) == [("Go", 5), ("Python", 3), ("Rust", 3)]


# --- checks -------------------------------------------------------------------------------------

TEST_OK, TEST_BAD, TEST_DARK = ran("test", "passed"), ran("test", "failed", "error"), ran("test", None)


@each_row(
    ("calls", "expected"),
    [
        ([TEST_OK], checks.CheckRuns(passed=1, last="passed")),
        ([TEST_OK, TEST_BAD], checks.CheckRuns(passed=1, failed=1, last="failed")),
        ([TEST_BAD, TEST_DARK], checks.CheckRuns(failed=1, unknown=1, last=None)),
        ([TEST_OK, edited()], checks.CheckRuns(passed=1, last="passed", is_stale=True)),
        ([edited(), TEST_OK], checks.CheckRuns(passed=1, last="passed")),
        ([edited(), TEST_OK, edited(), TEST_OK], checks.CheckRuns(passed=2, last="passed")),
        ([TEST_OK, edited(status="error")], checks.CheckRuns(passed=1, last="passed")),
        ([TEST_OK, edited(status="rejected")], checks.CheckRuns(passed=1, last="passed")),
        (
            [TEST_OK, edited(), ran("test", "passed", "rejected")],
            checks.CheckRuns(passed=1, last="passed", is_stale=True),
        ),
        ([TEST_OK, ran("test", None, "open")], checks.CheckRuns(passed=1, last="passed")),
    ],
)
def test_the_last_run_is_stale_when_an_edit_came_after_it(calls: list[Call], expected: checks.CheckRuns) -> None:
    assert checks.fact(doing(*calls)).checks == {"test": expected}


def test_runs_are_told_apart_by_purpose_over_all_turns() -> None:
    made = [
        *doing(ran("lint", "failed", "error"), TEST_OK),
        *doing(edited(), ran("lint", "passed"), ran("commit", "passed")),
    ]
    assert checks.fact(made).checks == {
        "lint": checks.CheckRuns(passed=1, failed=1, last="passed"),
        "test": checks.CheckRuns(passed=1, last="passed", is_stale=True),
    }


def test_a_stream_without_runs_has_no_checks() -> None:
    assert checks.fact(doing(ran(), edited())).checks == {}


# --- attempts -----------------------------------------------------------------------------------

BAD, OTHER, FINE = ran(command="make a", status="error"), ran(command="make b", status="error"), ran(command="make a")


@each_row(
    ("calls", "repeated", "longest", "after"),
    [
        ([], 0, 0, 0),
        ([FINE, FINE], 0, 0, 0),
        ([BAD], 0, 1, 0),
        ([BAD, BAD, BAD], 2, 3, 0),
        ([BAD, OTHER, BAD, OTHER], 2, 2, 0),
        ([BAD, FINE, BAD], 0, 1, 0),
        ([BAD, ran(command="make  \n a", status="error")], 1, 2, 0),
        ([BAD, ran(command="make a", status="rejected"), BAD], 1, 2, 0),
        ([ran("test", "failed", command="make a"), ran("test", "failed", command="make a")], 1, 2, 0),
        ([BAD, edited(), BAD, edited(), BAD], 2, 3, 2),
        ([BAD, edited(), edited(), BAD], 1, 2, 1),
        ([edited("a"), BAD, edited("b"), BAD, edited("a"), BAD], 2, 3, 2),
        ([edited(), FINE, edited(), FINE], 0, 0, 0),
        ([edited(status="error"), edited(status="error")], 1, 2, 0),
        ([Call(id="", at="", name="Read", kind="read", target="a", status="error")] * 3, 0, 0, 0),
    ],
)
def test_attempts_that_fail_again_are_counted(calls: list[Call], repeated: int, longest: int, after: int) -> None:
    found = attempts.fact(doing(*calls))
    assert (found.repeated_failures, found.longest_loop, found.edits_after_failure) == (repeated, longest, after)


# --- git ----------------------------------------------------------------------------------------


def committed(*ids: str, status: CallStatus = "ok", outcome: Outcome | None = "passed") -> Call:
    return msgspec.structs.replace(ran("commit", outcome, status), commits=ids)


@pytest.mark.parametrize(
    ("calls", "commits", "commit_runs"),
    [
        ([committed("a1"), committed("b2")], ["a1", "b2"], 2),
        ([committed("a1"), committed("a1")], ["a1"], 2),
        ([committed()], [], 1),
        ([committed(outcome=None)], [], 1),
        ([committed(status="error", outcome="failed")], [], 0),
        ([committed("a1", status="rejected")], [], 0),
        ([committed(status="open", outcome=None)], [], 0),
    ],
)
def test_commits_are_known_by_id_and_counted_once(calls: list[Call], commits: list[str], commit_runs: int) -> None:
    found = git.fact(doing(*calls))
    assert (found.commits, found.commit_runs) == (commits, commit_runs)


def test_what_was_pushed_and_taken_back_is_counted() -> None:
    made = doing(
        ran("push", "passed"), ran("push", "failed", "error"), ran("revert"), ran("restore"), ran("reset", "failed")
    )
    assert (git.fact(made).pushes, git.fact(made).reverts) == (1, 2)


def test_a_pull_request_that_is_told_often_is_one() -> None:
    one, two = (Mark(kind="pr", at="", detail=f"https://example.org/o/r/pull/{n}") for n in (1, 2))
    later = Mark(kind="pr", at="later", detail=one.detail)
    assert git.fact([Turn(marks=(one, two)), Turn(marks=(later,))]).pull_requests == [one.detail, two.detail]


# --- time ---------------------------------------------------------------------------------------


def said(*minutes: float) -> list[Turn]:
    stamps = [f"2026-03-02T09:{int(m):02}:{round(m % 1 * 60):02}.000Z" for m in minutes]
    return [Turn(at=stamps[0], ended_at=stamps[-1], replies=tuple(Reply(at=at, text="") for at in stamps))]


@each_row(
    ("made", "wall_s", "active_s"),
    [
        ([], None, None),
        ([Turn(prompt=asked())], None, None),
        ([Turn(at="soon", ended_at="later")], None, None),
        (said(3), 0.0, 0.0),
        (said(0, 1, 2.5), 150.0, 150.0),
        (said(0, 5), 300.0, 300.0),
        (said(0, 1, 31, 32), 1920.0, 60.0 + 300.0 + 60.0),
        (said(4, 0, 2), 240.0, 240.0),
        ([*said(0), Turn(), *said(2)], 120.0, 120.0),
        ([Turn(at="2026-03-02T09:00:00Z", ended_at="2026-03-02T10:01:00+01:00")], 60.0, 60.0),
    ],
)
def test_pauses_over_five_minutes_count_as_five(made: list[Turn], wall_s: float | None, active_s: float | None) -> None:
    assert time.fact(made) == time.Time(wall_s=wall_s, active_s=active_s)


def test_calls_and_tokens_tell_the_time_too() -> None:
    call = Call(id="", at="2026-03-02T09:00:00Z", name="x", ended_at="2026-03-02T09:01:00Z")
    spend = Spend(at="2026-03-02T09:03:00Z", key=1, model="m", usage=Usage())
    assert time.fact([Turn(calls=(call,), spends=(spend,))]).wall_s == 180.0


# --- tools --------------------------------------------------------------------------------------


def test_calls_are_counted_by_kind_and_by_how_they_ended() -> None:
    statuses: tuple[CallStatus, ...] = ("ok", "error", "rejected", "denied", "open", "interrupted", "error")
    made = doing(*(ran(status=status) for status in statuses), edited())
    assert tools.fact(made) == tools.Tools(
        tool_calls=8,
        calls_by_kind={"edit": 1, "shell": 7},
        tool_errors=2,
        rejections=1,
        denials=1,
        unanswered_calls=1,
        agents=0,
    )


def test_sub_agents_are_counted_by_what_they_did_or_spent() -> None:
    call = msgspec.structs.replace(ran(), by="a1")
    spends = tuple(Spend(at="", key=n, model="m", usage=Usage(), by=by) for n, by in enumerate(("a1", "a2", "")))
    assert tools.fact([Turn(calls=(call,), spends=spends)]).agents == 2


@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (("a.py",), ["/till/src/a.py"]),
        (("./src/a.py",), ["/till/src/a.py"]),
        (("b.py",), ["/till/src/a.py", "b.py"]),
        (("/till/c.py",), ["/till/c.py", "/till/src/a.py"]),
        ((".", "..", "*.js", "src/{a,b}.py"), ["/till/src/a.py"]),
    ],
)
def test_a_file_is_named_once_however_commands_say_it(paths: tuple[str, ...], files: list[str]) -> None:
    command = Call(
        id="s", at="1", name="Bash", kind="shell", status="ok", runs=(Run(program="touch", mutates=True, paths=paths),)
    )
    assert edits.fact([Turn(calls=(edited("/till/src/a.py"), command))]).files == files


# --- what was taken back ------------------------------------------------------------------------


@each_row(
    ("text", "reverts"),
    [
        ("round the sums", 1),
        ("reset the branch to origin/main", 0),
        ("git reset --hard してください", 0),
        ("revert the last commit", 0),
        ("> reset it\nround the sums", 1),
    ],
)
def test_a_git_command_that_was_the_task_takes_nothing_back(text: str, reverts: int) -> None:
    turn = Turn(prompt=Prompt(at="", text=text, key=1), calls=(ran("reset", command="git reset --hard"),))
    assert git.fact([turn]).reverts == reverts
