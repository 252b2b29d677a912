"""Streams: every text of every turn is cleaned, or none is left."""

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from assay import facts
from assay.sessions.redaction import RedactionOptions, Redactor, redact_secrets, silence_stream
from assay.types import Call, Edit, Mark, Part, Prompt, Reply, Run, Spend, Stream, Turn, Usage
from tests.judges.make_turns import QUICK, any_turns
from tests.sessions.redaction_secrets import made

SECRET = made("github-token", "ghp_<an36>", random.Random(1)).text
MARKER = "[redacted:github-token]"


def stream_of(text: str) -> Stream:
    """A stream with the same text wherever it has one."""
    call = Call(
        id="1", at="t1", name=text, kind="edit", target=text, command=text, output=text, status="error", exit_code=1,
        runs=(Run(program=text, purpose="test", paths=(text, text), folder=text, outcome="failed", new=b"12345678"),),
        edits=(Edit(path=text, added=3, removed=1, new=b"abcdefgh", text=text),),
    )  # fmt: skip
    turn = Turn(
        at="t0",
        ended_at="t2",
        prompt=Prompt(at="t0", text=text, key=1),
        replies=(Reply(at="t1", text=text),),
        calls=(call,),
        spends=(Spend(at="t1", key=2, model="m", usage=Usage(input=5)),),
        marks=(Mark(kind="pr", at="t1", detail=text), Mark(kind="rollback", at="t1", detail="2")),
    )
    about = Part(agent="a", stream="s", title=text, asked=text, branch=text, cwd="/work/app", branches=(text,))
    return Stream(id="s", agent="a", files=("/f",), about=about, turns=(turn, turn))


def strings(value: object) -> Iterator[str]:
    """Every string in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings(one)


def all_strings(stream: Stream) -> list[str]:
    return list(strings(msgspec.to_builtins(stream)))


def test_every_text_of_a_stream_is_cleaned():
    redactor = Redactor()
    found = redact_secrets(stream_of(f"a {SECRET} b"), redactor)
    assert found == stream_of(f"a {MARKER} b")
    assert redactor.found["github-token"] == sum("redacted" in one for one in all_strings(found))


def test_where_it_was_is_cleaned_too():
    stream = stream_of("x")
    stream = replace(stream, about=replace(stream.about, cwd="/home/ann/app"))
    assert redact_secrets(stream, Redactor(RedactionOptions(home=True))).about.cwd == "/home/[redacted:home]/app"


def test_a_stream_without_secrets_is_given_back_itself():
    stream = stream_of("nothing to see, token count 12")
    assert redact_secrets(stream, Redactor()) is stream


def test_a_turn_without_secrets_is_kept_itself():
    plain, other = stream_of("plain").turns[0], stream_of(SECRET).turns[0]
    stream = replace(stream_of("plain"), turns=(plain, other))
    found = redact_secrets(stream, Redactor())
    assert found.turns[0] is plain
    assert found.turns[1] == stream_of(MARKER).turns[0]


def test_a_value_is_found_before_the_place_that_gives_it_away():
    value = made("x", "<an32>", random.Random(2)).text
    first, second = stream_of(f"it is {value}").turns[0], stream_of(f"ACME_TOKEN={value}").turns[0]
    found = redact_secrets(replace(stream_of("x"), turns=(first, second)), Redactor())
    assert not [one for one in all_strings(found) if value in one]
    assert found.turns[0].prompt == replace(first.prompt, text="it is [redacted:generic-secret]")


@pytest.mark.parametrize("beside", ["password:", "token=", "example", "(", '"', "-----BEGIN RSA PRIVATE KEY-----"])
def test_texts_beside_each_other_are_read_apart(beside: str):
    stream = stream_of("x")
    turn = stream.turns[0]
    for texts in ((beside, f"ACME_TOKEN={SECRET[4:]}"), (f"ACME_TOKEN={SECRET[4:]}", beside)):
        replies = tuple(Reply(at="t", text=text) for text in texts)
        found = redact_secrets(replace(stream, turns=(replace(turn, replies=replies),)), Redactor())
        assert [one.text for one in found.turns[0].replies] == [Redactor().text(text) for text in texts]


def test_a_cleaned_stream_is_clean():
    once = redact_secrets(stream_of(f"PASSWORD={SECRET} x"), Redactor())
    assert redact_secrets(once, Redactor()) is once


# --- without words ----------------------------------------------------------------------------


def test_a_silent_stream_has_no_word_left():
    word = "Zanzibar"
    found = silence_stream(stream_of(f"{word} {SECRET} /{word}/{word}.py {word}"))
    assert not [one for one in all_strings(found) if word.lower() in one.lower() or SECRET in one]


def test_kinds_counts_times_outcomes_and_line_hashes_stay():
    found = silence_stream(stream_of("some words"))
    turn, old = found.turns[0], stream_of("some words").turns[0]
    assert turn.spends == old.spends
    assert (turn.at, turn.ended_at, turn.prompt.at, turn.prompt.key) == ("t0", "t2", "t0", 1)
    call = turn.calls[0]
    assert (call.kind, call.status, call.exit_code) == ("edit", "error", 1)
    assert [(one.added, one.removed, one.new) for one in call.edits] == [(3, 1, b"abcdefgh")]
    assert [(one.purpose, one.outcome, one.new, len(one.paths)) for one in call.runs] == [
        ("test", "failed", b"12345678", 2)
    ]
    assert turn.marks[1].detail == "2"
    assert found.about.cwd == "/work/app"


def test_the_same_file_has_the_same_stand_in_in_every_stream():
    def path(said: str, cwd: str) -> str:
        stream = stream_of(said)
        return silence_stream(replace(stream, about=replace(stream.about, cwd=cwd))).turns[0].calls[0].edits[0].path

    assert path("src/a.py", "/work/app") == path("/work/app/src/a.py", "/elsewhere")
    assert path("src/a.py", "/work/app") != path("src/b.py", "/work/app")
    assert path("src/a.py", "/work/app").endswith(".py")
    assert "." not in path("src/notes.zanzibar", "/work/app")


SAME = """
turns human_prompts lines_added lines_removed net_lines mutating_calls commit_runs reverts repeated_failures
longest_loop edits_after_failure tokens cost_usd active_s wall_s programming_languages checks
""".split()


@QUICK
@given(any_turns())
def test_facts_without_words_are_those_with_them(turns: list[Turn]):
    about = Part(agent="a", stream="s", cwd="/work/app")
    stream = Stream(id="s", agent="a", files=(), about=about, turns=tuple(turns))
    loud, still = (facts.flatten_facts(facts.establish_facts(one.turns)) for one in (stream, silence_stream(stream)))
    assert {name: still[name] for name in SAME if name in loud} == {name: loud[name] for name in SAME if name in loud}
