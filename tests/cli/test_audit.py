"""`assay audit` as a person uses it: sessions drawn at random, asked about one by one, kept at once."""

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.audit import split_words
from assay.errors import BadInput
from assay.scores.report import Report
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from tests.conftest import Ran, command, environment, is_one_line, run
from tests.plain_judge import install

ASKS = b"[q]uit: "
ROOT = Path(__file__).parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The judge of `tests.plain_judge`, for this process and those that it starts."""
    folder = tmp_path_factory.mktemp("plugin")
    install(monkeypatch, folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (folder, ROOT))))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Eight sessions of three turns each, a stream each."""
    for n in range(8):
        talk = [
            one
            for k in range(3)
            for one in (
                build_prompt(9000 * n + 10 * k, f"card fleece {n}, part {k}", f"s{n}"),
                build_reply(9000 * n + 10 * k + 1, f"Fleece {n} is carded, part {k} of it.", f"s{n}"),
            )
        ]
        write_lines(tmp_path / "in" / f"s{n}.jsonl", *talk)
    return tmp_path


@pytest.mark.parametrize("number", ["-1", "5.5", "1e3", "0", "1,000", "-0", "+1.5", "9999999", "1_0"])
def test_a_number_that_is_none_of_sessions_is_told_as_a_number(number: str):
    with pytest.raises(BadInput, match=re.escape(f"{number}: give one whole number of sessions, such as 40")):
        split_words([number])


def test_a_number_below_none_reaches_the_command_and_a_slip_is_no_path(top: Path):
    for given, told in (
        ("-1", "-1: give one whole number"),
        ("--statsu", "--statsu: no such option; `assay audit -h`"),
    ):
        ran = audit(top, given, top / "in")
        assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
        assert told in ran.err


def call(top: Path, *args: object) -> Ran:
    return run(*args, "--store", top / "s.db", cwd=top, env={"ASSAY_JUDGE": "plain"})


def audit(top: Path, *args: object) -> Ran:
    return call(top, "audit", *args)


def report(top: Path) -> Report:
    return assay.score(top / "in", store=top / "s.db", timezone="UTC", judge="plain")


def sessions(top: Path) -> dict[str, Any]:
    return {one.id: one for one in report(top).sessions}


class Terminal:
    """A terminal of 80 columns in which `assay audit` runs."""

    def __init__(self, top: Path, *args: object) -> None:
        self.screen, self.answered = b"", 0
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        env = environment(TERM="xterm", LANG="C.UTF-8", ASSAY_JUDGE="plain", PYTHONPATH=os.environ["PYTHONPATH"])
        del env["COLUMNS"]
        words = command("audit", *args, "--store", top / "s.db")
        self.process = subprocess.Popen(
            words, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=top, start_new_session=True
        )
        os.close(slave)

    def wait_for_question(self) -> str:
        """What stands on the screen when it asks, since it asked last."""
        return self.read_until(lambda: self.screen.count(ASKS) > self.answered)

    def read_until(self, is_there: Any) -> str:
        before, end = len(self.screen), time.monotonic() + 30
        while not is_there():
            assert time.monotonic() < end, self.screen
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.screen += os.read(self.master, 65536)
                except OSError:
                    break
        return ESCAPES.sub("", self.screen[before:].decode()).replace("\r\n", "\n")

    def answer(self, text: str) -> None:
        self.answered = self.screen.count(ASKS)
        os.write(self.master, text.encode())

    def finish(self) -> tuple[int, str]:
        said = self.read_until(lambda: False)
        os.close(self.master)
        return self.process.wait(30), said


def answer_all(top: Path, *answers: str, words: tuple[object, ...] = ("5", "in")) -> tuple[int, str, list[str]]:
    """Its exit code, its last words, and what it showed before each question."""
    terminal, shown = Terminal(top, *words), []
    for one in answers:
        shown.append(terminal.wait_for_question())
        terminal.answer(one)
    code, said = terminal.finish()
    return code, said, shown


def test_a_person_is_asked_one_by_one_may_stop_and_goes_on(top: Path):
    code, said, shown = answer_all(top, "l\n", "what\n", "not\n", "q\n")
    assert code == 0
    assert [re.findall(r"\d of 5(?= ─)", text) for text in shown] == [["1 of 5"], ["2 of 5"], [], ["3 of 5"]]
    assert "2 of 5 answered: 1 landed, 1 did not, 0 unclear; 8 sessions may be drawn." in said
    first = [re.search(r"fleece (\d)", text) for text in shown]
    code, said, more = answer_all(top, "u\n", "l\n", "l\n", words=("in",))
    assert code == 0
    assert "5 of 5 answered: 3 landed, 1 did not, 1 unclear" in said
    asked = [found[1] for text in [shown[0], shown[1], *more] if (found := re.search(r"fleece (\d)", text))]
    assert len(set(asked)) == 5
    assert first[3]
    assert first[3][1] == asked[2]
    assert sorted(str(one.marked.verdict) for one in sessions(top).values() if one.marked) == [
        "landed", "landed", "landed", "not", "unclear"
    ]  # fmt: skip


def test_a_session_is_shown_on_a_screen_without_the_judges_word(top: Path):
    _, _, [text] = answer_all(top, "q\n")
    drawn = text[text.index("1 of 5") :].splitlines()
    assert len(drawn) <= 22
    assert max(map(len, drawn)) <= 80
    assert [line.split()[0] for line in drawn if line.startswith(("asked", "ended", "last", "files"))] == [
        "asked", "files", "ended", "last"
    ]  # fmt: skip
    assert "2. card fleece" in text
    assert not re.search(r"crushed|explicit|likely|chance|confiden|✓|✗", text[text.index("1 of 5") :])


@pytest.mark.long
def test_ctrl_c_in_the_middle_keeps_what_was_said(top: Path):
    terminal = Terminal(top, "5", "in")
    terminal.wait_for_question()
    terminal.answer("n\n")
    terminal.wait_for_question()
    terminal.process.send_signal(signal.SIGINT)
    code, said = terminal.finish()
    assert code == 130
    assert "Traceback" not in said
    assert "Your answers are kept; the same command goes on." in said
    assert [one.marked.verdict for one in sessions(top).values() if one.marked] == ["not"]


@pytest.mark.long
def test_going_back_takes_the_last_answer_back(top: Path):
    code, said, shown = answer_all(top, "b\n", "l\n", "b\n", "n\n", "q\n")
    assert code == 0
    assert "1 of 5 answered: 0 landed, 1 did not" in said
    assert "This is the first one." in shown[1]


@pytest.mark.long
def test_going_back_after_a_pause_asks_about_the_last_one_again(top: Path):
    _, _, first = answer_all(top, "l\n", "n\n", "q\n")
    _, said, shown = answer_all(top, "b\n", "l\n", "q\n")
    assert [re.findall(r"\d of 5(?= ─)", text) for text in shown] == [["3 of 5"], ["2 of 5"], ["3 of 5"]]
    again = [re.search(r"fleece (\d)", text) for text in (first[1], shown[1])]
    assert again[0]
    assert again[1]
    assert again[0][1] == again[1][1]
    assert "2 of 5 answered: 2 landed, 0 did not" in said


@pytest.mark.long
def test_when_nothing_is_left_to_ask_it_says_so(top: Path):
    answer_all(top, "l\n", "n\n", words=("2", "in"))
    code, said, _ = answer_all(top, words=("2", "in"))
    assert (code, "nothing is left to ask of 2, all are answered; give a larger number" in said) == (0, True)


@pytest.mark.long
def test_the_end_of_the_input_is_to_quit(top: Path):
    code, said, _ = answer_all(top, "l\n", "\x04")
    assert (code, "1 of 5 answered" in said) == (0, True)


def test_when_all_are_answered_the_score_is_corrected(top: Path):
    code, said, _ = answer_all(top, *["l\n"] * 6, *["n\n"] * 2, words=("99", "in"))
    assert code == 0
    assert "8 of 8 answered: 6 landed, 2 did not, 0 unclear" in said
    assert "The score is corrected: 75, 95 % interval 41–93" in said
    shown = call(top, "score", "in").out
    assert shown.startswith("PRISM Score 75 · corrected by your audit of 8, 95 % interval 41–93 · raw 75")
    told = call(top, "score", "in", "--json").json
    assert (told["score"]["corrected"]["audited"], told["audit"]["answered"]) == (8, 8)
    assert audit(top, "--status", "--json", "in").json["corrected"] == told["score"]["corrected"]
    assert audit(top, "in", "--list").out.count("(audit)") == 8
    assert len(audit(top, "--list", "--json", "in").json["sessions"]) == 8


# --- where nobody can answer ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("5", "in"), "needs a terminal; --status, --list, --export and --import do without one"),
        (("5", "in", "--json"), "needs a terminal"),
        (("0", "in"), "0: give one whole number of sessions"),
        (("in", "5", "6"), "5 6: give one whole number"),
        (("9" * 5000,), "give one whole number"),
        (("-3",), "-3: give one whole number"),
        (("5", "in", "--status"), "take no number"),
        (("--status", "--list"), "give one of"),
        (("--export", "out.csv"), "--export out.csv: give a file that ends in .jsonl"),
        (("--export", "in"), "--export in: is a folder"),
        (("--export", "nowhere/out.jsonl"), "--export nowhere/out.jsonl: there is no folder"),
        (("--export", "out.jsonl", "--since", "7d"), "give no number, path, day"),
        (("--import", "in/s0.jsonl", "5"), "give no number"),
        (("--import", "in/s0.jsonl", "--json"), "or --json"),
        (("--import", "nothing.jsonl"), "is no file"),
        (("--export", "out.jsonl"), "there is no store"),
    ],
)
def test_what_cannot_be_done_is_told(top: Path, args: tuple[str, ...], why: str):
    ran = audit(top, *args)
    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err
    assert why == "No such option" or is_one_line(ran.err)


def test_a_status_makes_no_store(top: Path):
    for option in ("--status", "--list"):
        ran = audit(top, option, "in")
        assert (ran.code, "there is no store" in ran.err, is_one_line(ran.err)) == (2, True, True)
    assert not (top / "s.db").exists()


@pytest.mark.parametrize("option", ["--status", "--list"])
@pytest.mark.parametrize("narrow", [("--project", "nosuch"), ("--since", "2030-01-01")])
def test_where_no_session_is_selected_it_says_so(top: Path, option: str, narrow: tuple[str, str]):
    call(top, "score", "in")
    ran = audit(top, option, "in", *narrow)
    assert (ran.code, ran.out) == (2, "")
    assert f"none of 8 sessions fits {' '.join(narrow)}" in ran.err
    assert "audited yet" not in ran.err


def test_without_an_audit_the_status_says_how_to_begin(top: Path):
    call(top, "score", "in")
    assert "`assay audit 40` asks you" in audit(top, "--status", "in").out
    assert audit(top, "--status", "--json", "in").json["audit"] is None
    assert "`assay audit 40` asks you" in audit(top, "--list", "in").err


# --- handed on ----------------------------------------------------------------------------------


def test_marks_and_answers_are_handed_on_and_taken_in_once(top: Path):
    answer_all(top, *["l\n"] * 6, *["n\n"] * 2, words=("8", "in"))
    name = next(iter(sessions(top)))
    assert call(top, "session", "mark", name, "not", "--why", "no \x1b[31m AKIAQ3EGRIH4QOZ5PLNK").code == 0
    ran = audit(top, "--export", "out.jsonl")
    assert (ran.code, "wrote 9 verdicts to " in ran.err) == (0, True)
    lines = [json.loads(line) for line in (top / "out.jsonl").read_text().splitlines()]
    assert sorted(one["kind"] for one in lines) == ["audit"] * 8 + ["mark"]
    assert "AKIA" not in (top / "out.jsonl").read_text()
    before = {name: (one.marked.verdict, one.crushed) for name, one in sessions(top).items()}
    (top / "s.db").rename(top / "old.db")
    for n in range(2):
        ran = audit(top, "--import", "out.jsonl")
        assert (ran.code, f"took in {9 if not n else 0} verdicts, {9 if n else 0} were here already" in ran.err) == (
            0,
            True,
        )
    assert {name: (one.marked.verdict, one.crushed) for name, one in sessions(top).items()} == before
    assert report(top).score.corrected
    assert audit(top, "--export", "again.jsonl").code == 0
    assert (top / "again.jsonl").read_bytes() == (top / "out.jsonl").read_bytes()


def test_what_is_handed_on_holds_no_sign_that_a_terminal_obeys(top: Path):
    name = next(iter(sessions(top)))
    assert call(top, "session", "mark", name, "not", "--why", "a \u202e b \x1b[31m").code == 0
    audit(top, "--export", "out.jsonl")
    text = (top / "out.jsonl").read_text()
    assert (text.isprintable(), "\\u202e" in text) == (False, True)
    assert text.rstrip("\n").isprintable()
    assert json.loads(text)["why"] == "a \u202e b \x1b[31m"


def line_of(**more: object) -> str:
    plain = {"kind": "mark", "session": "0123456789ab", "verdict": "landed", "at": "2026-03-02T12:00:00+00:00"}
    return json.dumps(plain | more)


def test_lines_that_cannot_be_used_are_told_by_number_and_the_others_hold(top: Path):
    name = next(iter(sessions(top)))
    lines = [
        "{", line_of(session=name), "", line_of(verdict="great"), line_of(session="../../etc"), "\x00\xff",
        line_of(at="yesterday"), line_of(at="2026-03-02T12:00:00"), line_of(at="9999-01-01T00:00:00+00:00"),
        line_of(kind="audit", verdict="exclude"), line_of(why="x" * 501), "[" * 9000, line_of(), '"a"',
    ]  # fmt: skip
    (top / "in.jsonl").write_text("\n".join(lines))
    ran = audit(top, "--import", "in.jsonl")
    assert ran.code == 0
    assert "took in 2 verdicts, 0 were here already" in ran.err
    assert re.findall(r"line (\d+) was skipped", ran.err) == ["1", "4", "5", "6", "7", "8", "9", "10", "11", "12"]
    assert "1 more lines were skipped" in ran.err
    assert [one.marked.verdict for one in sessions(top).values() if one.marked] == ["landed"]
    assert "1 verdict on sessions that are not here" in call(top, "session", "marks").err


def test_what_is_wrong_with_a_line_is_told_in_plain_words(top: Path):
    wrong = {
        "{": "it is no JSON",
        "[1]": "it is no verdict, but some other JSON",
        line_of(verdict="great"): "it has a wrong `verdict`; give `landed`, `not`, `exclude` or `unclear`",
        line_of(session="XY"): "it has a wrong `session`; give the id of a session",
        line_of(turns="three"): "it has a wrong `turns`; give a number",
        line_of(at="yesterday"): "it has a wrong `at`; give a time with its zone",
        line_of(at="0001-01-01T00:00:00+14:00"): "it has a wrong `at`",
        line_of(verdict="unclear"): "a mark is `landed`, `not` or `exclude`",
        '{"kind": "mark"}': "it has no `session`; give the id",
    }
    (top / "in.jsonl").write_text("\n".join(wrong))
    ran = audit(top, "--import", "in.jsonl")
    told = re.findall(r"line \d was skipped: (.*)", ran.err)
    assert [line.startswith(why) for line, why in zip(told, wrong.values(), strict=True)] == [True] * len(wrong), told
    assert (ran.code, "not one line of it could be used" in ran.err) == (2, True)


def test_a_mark_of_order_before_the_first_line_is_no_part_of_it(top: Path):
    (top / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + line_of().encode())
    assert "took in 1 verdict" in audit(top, "--import", "in.jsonl").err


def test_an_unclear_answer_of_another_draw_is_no_mark(top: Path):
    answer_all(top, "l\n", "q\n")
    (top / "in.jsonl").write_text(line_of(kind="audit", verdict="unclear", seed="5eed"))
    ran = audit(top, "--import", "in.jsonl")
    assert (ran.code, "line 1 was skipped: an answer `unclear` that was drawn elsewhere" in ran.err) == (2, True)


def test_an_audit_by_another_draw_is_no_sample_here(top: Path):
    answer_all(top, "l\n", "q\n")
    other = [line_of(kind="audit", session=name, seed="5eed") for name in sessions(top)]
    (top / "in.jsonl").write_text("\n".join(other))
    ran = audit(top, "--import", "in.jsonl")
    assert "8 drawn elsewhere are kept as marks, and correct nothing" in ran.err
    found = report(top)
    assert (found.score.crushed, found.score.corrected, found.audit and found.audit.answered) == (8, None, 1)
