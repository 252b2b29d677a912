"""The command line as a whole: help, exit codes, one document on stdout, nothing hostile on a terminal."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from assay.cli import program
from assay.scores.breakdown import WAYS
from assay.testing.claude_code import (
    build_conversation,
    build_prompt,
    build_reply,
    build_result,
    build_shell_call,
    write_folder,
    write_lines,
)
from tests.conftest import become, command, environment, is_one_line, run, spawn, warm
from tests.tables import each_row

COMMANDS = {name: program.load_command(name) for name in program.COMMANDS}
NAMES = {
    (name, *inner) for name, one in COMMANDS.items() for inner in ([(n,) for n in getattr(one, "commands", ())] or [()])
}
"""Every command, those of a group behind its name."""
ESCAPE = re.compile(r"\x1b|\x9b")
HARMLESS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""Colours, the cursor and line wrap: what Rich itself writes."""
PAYLOADS = {
    "clear screen": "\x1b[2J",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\here",
    "C1": "\x9b31m",
    "bidi": "\u202egnp.exe\u2066",
    "backspace": "ab\x08\x08cd",
    "carriage return": "fine\rowned",
    "zero width": "\u200b\ufeff",
    "tags": "\U000e0041",
}
MARKUP = "[bold red]knit[/] [link=http://evil.example]purl[/link] :boom:"


def has_hostile(text: str) -> list[str]:
    """What of the payloads is left after Rich's own colours are taken away."""
    left = HARMLESS.sub("", text.replace("\r\n", "\n"))
    signs = ["\x1b", "\x9b", "\x07", "\x08", "\r", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041"]
    return [repr(sign) for sign in signs if sign in left]


# --- help and exit codes ----------------------------------------------------------------------


def test_help_names_every_command():
    ran = run("--help")
    assert ran.code == 0
    assert not [name for name in COMMANDS if name not in ran.out]


def test_a_command_that_is_not_there_suggests_the_closest():
    ran = run("scores")
    assert ran.code == 2
    assert "Did you mean 'score'" in ran.err


def test_the_last_session_of_nobody_is_no_id_that_is_missing(tmp_path: Path):
    run("score", env={"HOME": str(tmp_path)})  # finds nothing, and leaves an empty store
    ran = run("show", "last", env={"HOME": str(tmp_path)})
    assert ran.code == 2
    assert is_one_line(ran.err)
    assert "`assay score` reads yours" in ran.err


@pytest.mark.long
@each_row("name", sorted(NAMES), ids=" ".join)
def test_help_of_a_command_names_every_option(name: tuple[str, ...]):
    ran = run(*name, "--help")
    assert (ran.code, ran.err) == (0, "")
    one = COMMANDS[name[0]] if len(name) == 1 else COMMANDS[name[0]].commands[name[1]]
    shown = [param for param in one.params if not getattr(param, "hidden", False)]
    options = [opt for param in shown for opt in param.opts if opt.startswith("--")]
    assert options or name == ("profiles", "check")
    assert not [option for option in options if option not in ran.out]


@pytest.mark.long
@each_row("name", [(), *sorted(NAMES), ("eval",)], ids=" ".join)
def test_h_is_help_everywhere(name: tuple[str, ...]):
    assert run(*name, "-h") == run(*name, "--help")


def test_help_lists_commands_in_the_order_in_which_people_need_them():
    out = run("--help").out
    assert sorted(program.COMMANDS, key=lambda name: out.index(f"│ {name} ")) == [*program.COMMANDS]
    assert [*program.COMMANDS][:3] == ["demo", "score", "sessions"]


@each_row("name", sorted(COMMANDS))
def test_help_of_a_command_has_an_example(name: str):
    assert f"Example: `assay {name}" in run(name, "--help").out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_says_of_a_command_what_the_command_says_of_itself(name: str):
    assert program.COMMANDS[name] == COMMANDS[name].help


@pytest.mark.parametrize("words", ["--version", "--help"])
def test_what_every_command_needs_is_not_imported_for(words: str):
    code = f"import sys; from assay.cli.main import main; sys.argv = ['assay', {words!r}]\ntry: main()\n"
    code += "except SystemExit: pass\nslow = {'msgspec', 'sqlalchemy', 'httpx'}\n"
    code += "print([name for name in sys.modules if name.partition('.')[0] in slow])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout.endswith("[]\n")


def test_a_report_as_json_imports_nothing_that_draws(tmp_path: Path):
    write_lines(tmp_path / "s1.jsonl", *build_conversation("s1", 2))
    code = f"import sys; from assay.cli.main import main; sys.argv = ['assay', 'score', {str(tmp_path)!r}, '--json']\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "print([name for name in sys.modules if name.partition('.')[0] == 'rich'], file=sys.stderr)"
    variables = environment(HOME=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, check=True)
    assert len(json.loads(done.stdout)["sessions"]) == 1
    assert done.stderr == "[]\n"


def test_without_a_command_help_is_shown():
    assert "Usage" in run().out


def test_the_version_is_told():
    ran = spawn("--version")
    assert ran.code == 0
    assert re.fullmatch(r"assay \d+\.\d+\.\d+\S*\n", ran.out)


@pytest.mark.parametrize("args", [("nonsense",), ("streams", "--nonsense"), ("score", "--jobs", "-1"), ("show",)])
def test_a_wrong_use_exits_with_2(args: tuple[str, ...]):
    ran = run(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["score", "sessions", "streams"])
def test_a_home_without_transcripts_is_told(tmp_path: Path, name: str):
    ran = run(name, env={"HOME": str(tmp_path), "ASSAY_STORE": str(tmp_path / "s.db")})
    assert (ran.code, ran.out) == (2, "")
    assert str(tmp_path / ".claude" / "projects") in ran.err
    assert "assay demo" in ran.err


def test_the_store_may_be_named_by_the_environment(tmp_path: Path):
    folder = write_folder(tmp_path / "in", 1)
    assert run("streams", folder, "--json", env={"ASSAY_STORE": str(tmp_path / "env.db")}).code == 0
    assert (tmp_path / "env.db").exists()
    ran = run("streams", folder, "--store", "postgres://loom/yarn", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)


# --- what goes to stdout ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose transcripts hold, in every field that is shown, what a terminal might obey."""
    top = tmp_path_factory.mktemp("hostile")
    for n, (name, payload) in enumerate({**PAYLOADS, "markup": MARKUP}.items()):
        bad, stream = f"{payload}{name}", f"h{n}{payload}"
        more = {"cwd": f"/x/{bad}", "gitBranch": bad, "version": bad}
        call = {**build_shell_call(2, f"echo {bad}", stream), **more}
        call["message"]["content"][0]["name"] = bad
        title = {"type": "ai-title", "aiTitle": bad, "sessionId": stream} if n % 2 else b""
        odd = {"type": f"odd {bad}", "sessionId": stream}
        write_lines(
            top / "in" / f"{bad.replace('/', '')}.jsonl",
            build_prompt(1, bad, stream, **more), call, build_result(3, 2, bad, stream),
            build_reply(4, bad, stream, **more),
            title, odd, f"{bad} is no record",
        )  # fmt: skip
    os.utime(next((top / "in").iterdir()), (1, 1))
    (top / "in" / "\x1b[2Jempty.jsonl").write_bytes(b"")
    (top / "in" / "\x1b[2Jclosed").mkdir()
    assert run("score", top / "in", "--store", top / "s.db", "--json").code == 0  # no progress is shown after this
    return top


def on_terminal(*args: object, **env: str) -> str:
    """What a person at a terminal is sent, stderr included."""
    ours, theirs = pty.openpty()
    words, variables = [str(arg) for arg in args], environment(TERM="xterm-256color", **env)
    warm()
    process = get_context("fork").Process(target=become, args=(words, variables, (theirs, theirs)))
    process.start()
    os.close(theirs)
    found = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux: the other end was closed
            break
        if not piece:
            break
        found += piece
    os.close(ours)
    process.join(30)
    return found.decode()


LISTS = ["score", "sessions", "streams", "doctor"]


@pytest.mark.parametrize("name", LISTS)
def test_json_is_one_document_and_nothing_else(hostile: Path, name: str):
    ran = run(name, hostile / "in", "--store", hostile / "s.db", "--json")
    assert ran.err == ""
    assert ran.out.count("\n") == 1
    assert json.loads(ran.out)["schema_version"] == 1


@pytest.mark.parametrize(
    "args",
    [*([name] for name in LISTS), ["sessions", "--ledger"], *(["score", "--by", by] for by in WAYS)],
    ids=" ".join,
)
def test_a_list_sends_nothing_hostile_to_a_terminal(hostile: Path, args: list[str]):
    seen = on_terminal(*args, hostile / "in", "--store", hostile / "s.db")
    assert has_hostile(seen) == []
    assert "http://evil.example\x1b" not in seen


def test_a_path_given_sends_nothing_hostile_to_a_terminal(hostile: Path):
    bad = hostile / "in" / "\x1b[2Jempty.jsonl"
    assert has_hostile(on_terminal("doctor", bad, "--store", hostile / "\x1b]0;x\x07.db")) == []
    assert has_hostile(on_terminal("streams", hostile / "\x1b]0;owned\x07nowhere", "--store", hostile / "s.db")) == []


def test_a_file_that_cannot_be_opened_sends_nothing_hostile_to_a_terminal(hostile: Path):
    folder = hostile / "gone"
    write_lines(folder / "ok.jsonl", build_prompt(1, stream="ok"))
    (folder / "\x1b]0;owned\x07.jsonl").symlink_to("\x1b]0;owned\x07.jsonl")
    run("doctor", folder, "--store", hostile / "gone.db")  # so that no progress is shown
    assert has_hostile(on_terminal("doctor", folder, "--store", hostile / "gone.db")) == []


@pytest.mark.parametrize("n", range(len(PAYLOADS) + 1))
def test_a_stream_sends_nothing_hostile_to_a_terminal(hostile: Path, n: int):
    assert has_hostile(on_terminal("show", f"h{n}", "--store", hostile / "s.db")) == []


def test_a_session_sends_nothing_hostile_to_a_terminal(hostile: Path):
    listed = run("sessions", hostile / "in", "--store", hostile / "s.db", "--json").json["sessions"]
    assert len(listed) == len(PAYLOADS) + 1
    for one in listed:
        seen = on_terminal("show", one["id"], "--store", hostile / "s.db")
        assert "Transcript" in seen
        assert has_hostile(seen) == []


def test_an_ambiguous_id_sends_nothing_hostile_to_a_terminal(hostile: Path):
    seen = on_terminal("show", "h", "--store", hostile / "s.db")
    assert "streams begin with" in seen
    assert has_hostile(seen) == []


def test_a_choice_that_fits_nothing_sends_nothing_hostile_to_a_terminal(hostile: Path):
    seen = on_terminal("score", hostile / "in", "--store", hostile / "s.db", "--project", "\x1b]0;absent\x07")
    assert "fits --project" in seen
    assert has_hostile(seen) == []


def test_markup_in_a_transcript_is_shown_as_it_was_written(hostile: Path):
    stream = f"h{len(PAYLOADS)}"
    shown = run("show", stream, "--store", hostile / "s.db").out
    assert f"{MARKUP}markup" in shown
    for name in ("streams", "sessions", "score"):
        ran = run(name, hostile / "in", "--store", hostile / "s.db", env={"COLUMNS": "400"})
        assert "[bold red]knit[/]" in ran.out, name


@pytest.mark.parametrize("args", [*((name, "in") for name in LISTS), ("show", "h0")], ids=lambda args: args[0])
def test_pipes_and_no_color_get_no_escape_codes(hostile: Path, args: tuple[str, ...]):
    piped = run(*args, "--store", hostile / "s.db", cwd=hostile)
    assert piped.code == 0
    assert not ESCAPE.search(piped.out + piped.err)
    plain = on_terminal(args[0], *[hostile / "in" if arg == "in" else arg for arg in args[1:]],
                        "--store", hostile / "s.db", NO_COLOR="1")  # fmt: skip
    assert not [code for code in re.findall(r"\x1b\[([0-9;]*)m", plain) if re.search(r"\b[34]\d\b", code)]


@pytest.mark.parametrize("flag", [[], ["--json"]], ids=["table", "json"])
def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path, flag: list[str]):
    folder = write_folder(tmp_path / "in", 3)
    reads, writes = os.pipe()
    os.close(reads)  # `head` that is gone before the first byte: no race about who is faster
    args = command("score", folder, "--store", tmp_path / "s.db", *flag)
    done = subprocess.run(args, stdout=writes, stderr=subprocess.PIPE, env=environment(), timeout=60, check=False)
    os.close(writes)
    assert done.stderr == b""
    assert done.returncode in (0, -signal.SIGPIPE)


@pytest.mark.parametrize("flag", [[], ["--json"]], ids=["table", "json"])
def test_output_that_cannot_be_written_is_told(tmp_path: Path, flag: list[str]):
    folder = write_folder(tmp_path / "in", 3)
    with Path("/dev/full").open("wb") as full:
        args = command("score", folder, "--store", tmp_path / "s.db", *flag)
        done = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=60, check=False)
    assert done.returncode == 2
    assert is_one_line(done.stderr.decode())


@pytest.mark.parametrize("variables", [{"LC_ALL": "C", "LANG": "C"}, {"PYTHONIOENCODING": "ascii"}], ids=["C", "ascii"])
def test_a_terminal_that_knows_only_ascii_is_served(hostile: Path, variables: dict[str, str]):
    for name in ("streams", "score"):
        ran = spawn(name, hostile / "in", "--store", hostile / "s.db", env=variables)
        assert (ran.code, ran.err) == (0, ""), name


def test_the_demo_needs_nothing_and_keeps_nothing(tmp_path: Path):
    env = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    found = run("demo", "--json", env=env).json
    assert found["score"]["counted"] > 0
    assert found["skipped"] == {"files": 0, "lines": 0, "reasons": {}}
    shown = run("demo", found["sessions"][0]["id"], env=env)
    assert found["sessions"][0]["title"] in " ".join(shown.out.split())
    assert list(tmp_path.iterdir()) == []


def test_the_demo_names_itself_where_no_example_has_the_id():
    ran = run("demo", "zzz")
    assert ran.code == 2
    assert "`assay demo` lists them" in ran.err


def test_the_demo_reads_no_settings_of_yours(tmp_path: Path):
    (tmp_path / "assay.toml").write_text("judge = 'nobody'\nnonsense = 1\n")
    ran = run("demo", env={"ASSAY_JUDGE": "nobody", "ASSAY_STORE": str(tmp_path / "s.db")}, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "PRISM Score" in ran.out
    assert "`assay score` scores your own" in ran.out
    assert not (tmp_path / "s.db").exists()


def test_conversations_of_other_people_are_not_listed(tmp_path: Path):
    write_lines(tmp_path / "a" / "x.jsonl", *build_conversation("mine"))
    write_lines(tmp_path / "ab" / "x.jsonl", *build_conversation("theirs"))
    run("streams", tmp_path, "--store", tmp_path / "s.db", "--json")
    listed = run("streams", tmp_path / "a", "--store", tmp_path / "s.db", "--json").json
    assert [one["id"] for one in listed["streams"]] == ["mine"]
    assert listed["lines"]["total"] == 8
