"""`assay langfuse` as a person runs it, against a server of the tests' own."""

import json
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from assay.cli.langfuse import app
from assay.config import Config
from assay.errors import BadInput
from assay.pipeline.quality import count_turn_tokens, list_subjects
from assay.pipeline.scoring_run import Selection
from assay.stores import open_store
from assay.testing.claude_code import build_prompt, build_reply, build_result, write_lines
from assay.testing.claude_code import build_shell_call as ran
from assay.testing.langfuse import KEYS, FakeClock, Reply
from assay.testing.models import ErrorStatus
from assay.testing.models import ModelServer as Models
from assay.testing.observations import (
    build_bug_fix,
    build_call,
    build_hook_turn,
    build_long_port,
    build_native_turn,
    build_step,
    build_wordless,
)
from tests.conftest import command, environment, streams
from tests.conftest import run as assay
from tests.langfuse.conftest import environment as keys
from tests.langfuse.contract import CheckedServer

pytestmark = pytest.mark.long

ENHANCED = 7
"""Score configs of the profile."""
GRADED = {"goal_achievement", "tool_efficiency", "process_adherence", "output_quality", "overall_quality"}
"""What the offline judge has to say of a session that was mended."""
FACTS = {"assay_crushed": 1, "assay_goal_complete": 1, "assay_confidence": 0.9, "assay_intent": "bug_fix"}
TOKEN = "ghp_" + "9fK2mQ7xVb4TzR8sLw1YpN6cJd3HgE5aUo0X"


class Server(CheckedServer):
    """A stand-in on a port of its own that can be told what to do when scores arrive."""

    def __init__(self, version: str = "4.59.0", **more: Any) -> None:
        super().__init__(version, **more)
        self.posts = 0
        self.at_post: Callable[[int], None] = lambda _n: None

    def post_scores(self, body: Any) -> Reply:
        self.posts += 1
        self.at_post(self.posts)
        return super().post_scores(body)

    def sent(self) -> list[str]:
        """Ids of all scores that ever arrived, as often as they did."""
        return [one["id"] for method, path, _, body in self.log if is_write(method, path) for one in body]

    def rows(self, session: str = "") -> dict[str, Any]:
        """What is kept of a session, by name; two rows of one name are an error."""
        there = [row for row in self.scores.values() if "gone_at" not in row]
        kept = [row for row in there if not session or row["body"].get("sessionId") == session]
        names = [row["name"] for row in kept]
        assert len(names) == len(set(names)), names
        return {row["name"]: row["body"] for row in kept}


def is_write(method: str, path: str) -> bool:
    return method == "POST" and path == "/api/public/scores"


@pytest.fixture
def server() -> Iterator[Server]:
    standin = Server()
    running = standin.serve()
    standin.host = f"http://127.0.0.1:{running.server_port}"  # type: ignore[attr-defined]
    yield standin
    running.shutdown()
    running.server_close()
    assert standin.violations == []


def env_of(server: Server, **more: str) -> dict[str, str]:
    return environment(**(keys(server.host) | more))  # type: ignore[attr-defined]


OTHER = ("pk-lf-mill", "sk-lf-weft")
AS_OTHER = {"LANGFUSE_PUBLIC_KEY": OTHER[0], "LANGFUSE_SECRET_KEY": OTHER[1]}


def add_project(server: Server, project: str) -> Server:
    """Another project at the same address, with keys of its own."""
    server.others.append(Server(server.version, project=project, keys=OTHER))
    return cast(Server, server.others[-1])


def run(server: Server, *args: object, **more: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(arg) for arg in args], env=env_of(server, **more))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a command leaves quietly, the server of this test must not
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert KEYS[1] not in done.output
    return done.exit_code, done.output


class Here:
    """A person with a store and a folder for what is pulled."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.kept = ("--store", folder / "s.db")

    def score(self, *args: object, **env: str) -> tuple[int, str]:
        return run(self.server, "score", *args, *self.kept, "--into", self.folder / "pulled", **env)

    def push(self, *args: object) -> tuple[int, str]:
        return run(self.server, "push", *args, *self.kept)


@pytest.fixture
def here(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Here(server, tmp_path)


# --- status, setup, pull ----------------------------------------------------------------------------


def test_status_says_who_is_there_and_what_was_written(server, here):
    code, told = run(server, "status", *here.kept)
    assert code == 0
    assert "Langfuse 4.59.0" in told
    assert "project loom (proj1)" in told
    assert "0 scores written from this store" in told
    server.observations = build_bug_fix("a")
    here.score("a")
    found = json.loads(run(server, "status", *here.kept, "--json")[1])
    assert (found["writes"], found["written"]) == ("list", len(GRADED))
    assert found["last_written_at"]


def test_setup_creates_once_and_tells_what_is_in_the_way(server):
    wanted = ENHANCED + len(FACTS)
    assert run(server, "setup", "--dry-run")[1].count("would be created") == wanted
    assert server.configs == []
    assert run(server, "setup")[1].count(": created") == wanted
    assert run(server, "setup")[1].count(": there") == wanted
    server.configs[1] |= {"dataType": "BOOLEAN", "minValue": None, "maxValue": None}
    code, told = run(server, "setup")
    assert code == 2
    assert "left alone, it is BOOLEAN" in told


def test_pulled_sessions_are_streams(server, tmp_path):
    server.observations = [
        *build_hook_turn(1, "Why?", reply="So.", session="a"),
        *build_native_turn(2, "x", text=False),
    ]
    code, told = run(server, "pull", "a", "s1", "nobody", "--into", tmp_path / "pulled")
    assert code == 0
    assert told.splitlines()[:3] == [
        "a: 1 trace, 2 observations",
        "s1: 1 trace, 6 observations, without any text",
        "nobody: nothing there (yet)",
    ]
    found = streams(tmp_path / "pulled", "--store", tmp_path / "s.db")["streams"]
    assert sorted(one["id"].partition("@")[0] for one in found) == ["a", "s1"]
    again = json.loads(run(server, "pull", "--since", "2026-01-01", "--into", tmp_path / "pulled", "--json")[1])
    assert [one.get("is_changed") for one in again["pulled"]] == [False, False]


def test_a_session_that_fails_is_told_with_an_exit_code(server, tmp_path):
    server.planned = [(400, {}, {"message": "Invalid request data"})]
    code, told = run(server, "pull", "bad", "--into", tmp_path)
    assert code == 2
    assert "bad: GET 127.0.0.1" in told


@pytest.mark.parametrize("what", ["pull", "score"])
def test_without_sessions_it_asks_for_some(server, what):
    with pytest.raises(BadInput, match=f"say what to {what}.*--since 7d"):
        run(server, what)


# --- score ------------------------------------------------------------------------------------------


def test_a_session_is_pulled_judged_and_stored(server, here):
    server.observations = build_bug_fix("a")
    code, told = here.score("a")
    assert (code, "a: 5 stored, overall quality 0.8" in told) == (0, True)
    rows = server.rows("a")
    assert set(rows) == GRADED
    ids = {one["name"]: one["id"] for one in server.configs}
    assert {name: one["configId"] for name, one in rows.items()} == {name: ids[name] for name in GRADED}
    assert {row["timestamp"] for row in server.scores.values()} == {server.observations[0]["startTime"]}
    goal = rows["goal_achievement"]
    assert goal["value"] == "complete"
    assert goal["comment"].startswith("Completed by explicit evidence")
    assert goal["metadata"]["judge_version"]["quality"]
    cited = goal["metadata"]["evidence"][0]
    assert (cited["turn"], cited["quote"], cited["trace"]) == (2, "Perfect, that works, thanks", "a-turn2")
    assert cited["url"].endswith(f"/project/proj1/traces/a-turn2?observation={cited['observation']}")
    assert 0.5 < rows["overall_quality"]["value"] < 1


def test_json_names_every_score_and_what_became_of_it(server, here):
    server.observations = build_bug_fix("a")
    found = json.loads(here.score("a", "--json")[1])
    assert found["schema_version"] == 1
    (session,) = found["sessions"]
    assert {one["name"] for one in session["scores"]} == GRADED
    assert sorted(one["id"] for one in session["scores"]) == sorted(found["stored"])
    assert set(session["ungraded"]) == {"context_efficiency", "error_handling"}
    assert (found["project"], found["unchanged"], found["not_stored"]) == ("proj1", [], [])


def test_all_since_a_time_are_scored_in_one_write(server, here):
    server.observations = [*build_bug_fix("a"), *build_bug_fix("b", first=11), *build_bug_fix("c", first=21)]
    assert here.score("--since", "2026-11-01")[0] == 0
    assert server.posts == 1
    assert {row["body"]["sessionId"] for row in server.scores.values()} == {"a", "b", "c"}


def test_another_profile_stands_beside_the_first(server, here):
    server.observations = build_bug_fix("a")
    here.score("a")
    assert here.score("a", "--profile", "classic")[0] == 0
    rows = server.rows("a")
    assert rows["overall_quality"]["value"] != rows["overall_quality (classic)"]["value"]


def test_on_trace_also_writes_on_the_trace_in_which_it_begins(server, here):
    server.observations = build_bug_fix("a")
    here.score("a")
    code, told = here.score("a", "--on-trace")
    assert (code, "a: 5 there already, 5 stored" in told) == (0, True)
    traced = [row for row in server.scores.values() if row["body"].get("traceId")]
    assert {row["body"]["traceId"] for row in traced} == {"a-turn1"}
    assert {row["name"] for row in traced} == GRADED


def test_several_goals_of_one_session_have_scores_of_their_own(server, here):
    server.observations = build_bug_fix("a")
    here.score("a")
    first = set(server.sent())
    server.observations += mended_sea("a")
    assert here.score("a", "--on-trace")[0] == 0
    on_session = [row for row in server.scores.values() if row["body"].get("sessionId")]
    goals = [row["body"]["metadata"]["assay_session"] for row in on_session if row["name"] == "output_quality"]
    assert len(goals) == len(set(goals)) == 2
    assert {one for one, n in Counter(server.sent()).items() if n > 1} <= first
    assert first <= {row["id"] for row in server.scores.values()}
    traces = {row["body"]["traceId"] for row in server.scores.values() if row["body"].get("traceId")}
    assert traces == {"a-turn1", "a-turn7"}


def mended_sea(session: str) -> list[dict[str, Any]]:
    """Another goal, in the same session."""
    poem = {"file_path": "/loom/docs/sea.md", "content": "salt\nfoam\nwind\n" * 5}
    ask = "Now for something else: write a poem about the sea into docs/sea.md"
    rows = build_hook_turn(
        7, ask, build_step(build_call("p1", "Write", "ok", **poem)), reply="Written.", session=session
    )
    return rows + build_hook_turn(8, "Lovely, exactly what I wanted, thanks", reply="Gladly.", session=session)


# --- exactly once -----------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["the same store", "another store"])
def test_written_twice_on_two_days_there_is_one_row_and_nothing_is_sent_again(server, here, store):
    server.time = FakeClock()
    server.observations = build_bug_fix("a")
    assert here.score("a")[0] == 0
    before, rows = server.sent(), dict(server.scores)
    server.time.sleep(40 * 86_400)
    server.forget_events()
    if store == "another store":
        here.kept = ("--store", here.folder / "other.db")
    code, told = here.score("a")
    assert (code, "a: 5 there already" in told) == (0, True)
    assert (server.sent(), server.scores) == (before, rows)


def test_what_changed_is_written_over_the_row_of_another_day(server, here):
    server.time = FakeClock()
    server.observations = build_bug_fix("a")
    here.score("a")
    server.time.sleep(40 * 86_400)
    server.forget_events()
    server.observations += build_hook_turn(9, "It fails again. Forget it, I do it myself", reply="Sorry.", session="a")
    code, told = here.score("a")
    assert (code, "stored" in told) == (0, True)
    assert server.rows("a")["goal_achievement"]["value"] != "complete"


def test_two_projects_on_one_host_keep_their_words_and_scores_apart(server, here):
    other = add_project(server, "proj2")
    server.observations = build_bug_fix("a")
    other.observations = build_hook_turn(1, "Dye the felt crimson please", *MENDED, reply="It is crimson.", session="a")
    for keys_of in ({}, AS_OTHER, {}):
        assert here.score("a", **keys_of)[0] == 0
    assert "crimson" not in json.dumps([row["body"] for row in server.scores.values()])
    assert "selvedge" not in json.dumps([row["body"] for row in other.scores.values()])
    assert "crimson" in json.dumps([row["body"] for row in other.scores.values()])
    files = sorted((here.folder / "pulled").rglob("*.jsonl"))
    assert [path.parent.name for path in files] == ["proj1", "proj2"]
    assert ["crimson" in path.read_text() for path in files] == [False, True]


def test_push_writes_nothing_of_one_project_into_another(server, here):
    other = add_project(server, "proj2")
    server.observations, other.observations = build_bug_fix("a"), build_bug_fix("a")
    run(server, "pull", "a", "--into", here.folder / "pulled")
    code, told = run(server, "push", here.folder / "pulled", *here.kept, **AS_OTHER)
    assert (code, other.scores) == (0, {})
    assert "pulled from another project" in told


MENDED = [
    build_step(build_call("m1", "Edit", "ok", file_path="/mill/felt.py", old_string="blue", new_string="crimson")),
    build_step(build_call("m2", "Bash", "4 passed in 0.1s", command="pytest -q")),
]


def test_what_was_deleted_in_langfuse_is_written_again_only_when_asked(server, here):
    server.observations = build_bug_fix("a")
    here.score("a")
    server.scores.clear()
    assert "5 there already" in here.score("a")[1]
    assert server.rows() == {}
    assert "5 stored" in here.score("a", "--recheck")[1]
    assert set(server.rows("a")) == GRADED


def started(server: Server, here: Here, *args: object) -> subprocess.Popen[bytes]:
    words = command("langfuse", "score", *args, *here.kept, "--into", here.folder / "pulled")
    return subprocess.Popen(words, env=env_of(server), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_in_the_middle_only_the_rest_is_sent(server, here):
    names = "abcdefghi"  # three portions
    server.observations = [row for n, name in enumerate(names) for row in build_bug_fix(name, first=10 * n + 1)]
    victim, gone = started(server, here, *names), threading.Event()

    def kill(n: int) -> None:
        if n == 2:  # the second portion has arrived, and nothing is read back yet
            victim.kill()
            gone.wait(30)

    server.at_post = kill
    victim.communicate(timeout=60)
    gone.set()
    assert victim.returncode != 0
    server.at_post = lambda _n: None
    with server.lock:  # it still works on what arrived
        stored = {row["id"] for row in server.scores.values()}
    assert len(stored) == 30
    before = len(server.sent())
    assert here.score(*names)[0] == 0
    again = server.sent()[before:]
    assert not stored & set(again)
    assert len(again) == len(set(again)) == 5 * len(names) - len(stored)
    assert all(set(server.rows(name)) == GRADED for name in names)


@pytest.mark.parametrize("store", ["the same store", "a store each"])
def test_two_processes_at_once_leave_one_row_for_each_dimension(server, here, tmp_path, store):
    server.observations = [*build_bug_fix("a"), *build_bug_fix("b", first=11)]
    other = here if store == "the same store" else Here(server, tmp_path / "other")
    (tmp_path / "other").mkdir(exist_ok=True)
    both = [started(server, one, "a", "b") for one in (here, other)]
    told = [one.communicate(timeout=90) for one in both]
    assert [one.returncode for one in both] == [0, 0], told
    assert set(server.rows("a")) == set(server.rows("b")) == GRADED
    active = [one["name"] for one in server.configs if not one["isArchived"]]
    assert len(active) == len(set(active)) == ENHANCED


# --- what is not stored -----------------------------------------------------------------------------


def test_a_score_that_the_server_drops_is_told_and_sent_at_the_next_time(server, here):
    server.observations = build_bug_fix("a")
    server.dropped = {"tool_efficiency"}
    code, told = here.score("a", "--wait", "0.2")
    assert code == 2
    assert "a: tool_efficiency not stored: the server took it, but it could not be read back" in told
    assert set(server.rows("a")) == GRADED - {"tool_efficiency"}
    server.dropped = set()
    before = len(server.sent())
    assert here.score("a")[0] == 0
    assert len(server.sent()) - before == 1
    assert set(server.rows("a")) == GRADED


def test_a_config_of_another_kind_is_left_alone_and_its_score_is_not_sent(server, here):
    run(server, "setup")
    config = next(one for one in server.configs if one["name"] == "tool_efficiency")
    config["maxValue"] = 100
    server.observations = build_bug_fix("a")
    code, told = here.score("a")
    assert code == 2
    assert "a: tool_efficiency not stored: its score config is of another kind: it is NUMERIC (0 to 100)" in told
    assert set(server.rows("a")) == GRADED - {"tool_efficiency"}
    assert config["maxValue"] == 100


def test_a_session_that_is_not_there_is_told_and_the_others_are_scored(server, here):
    server.observations = build_bug_fix("a")
    code, told = here.score("nobody", "a")
    assert code == 2
    assert "nobody: nothing there (yet)" in told
    assert set(server.rows("a")) == GRADED
    assert here.score("nobody")[0] == 2


def test_a_choice_that_fits_no_session_is_told_and_is_no_failure(server, here):
    server.observations = build_bug_fix("a")
    code, told = here.score("--tag", "nobody")
    assert (code, told.strip()) == (0, "no session is like that; nothing to write")


def test_an_address_that_is_none_is_named_by_its_variable(server):
    with pytest.raises(BadInput, match="LANGFUSE_HOST: 'loom' is no address"):
        run(server, "status", LANGFUSE_HOST="loom")


@pytest.mark.parametrize("judge", ["offline", "anthropic"])
def test_without_anybodys_words_there_is_insufficient_evidence_and_no_failure(server, here, judge):
    server.observations = build_wordless("mute")
    with Models(lambda _job, _text: {}) as models:
        asks = ("--judge", judge, "--model-url", models.url, "--yes")
        code, told = here.score("mute", *asks, ANTHROPIC_API_KEY="none")
        assert models.calls == []
    assert code == 0
    assert "mute: insufficient evidence: the session has no words to judge" in told
    assert server.scores == {}


def test_a_dry_run_writes_nothing_anywhere(server, here):
    server.observations = build_bug_fix("a")
    code, told = here.score("a", "--dry-run")
    assert (code, "a: 5 would be written" in told) == (0, True)
    assert [method for method, _, _, _ in server.log if method != "GET"] == []
    assert "0 scores written" in run(server, "status", *here.kept)[1]


# --- whose words ------------------------------------------------------------------------------------

OPTED_OUT = '[tenants.mill]\nprojects = ["/home/ada/mill"]\nopt_out = true\n'


def test_an_opted_out_tenants_session_is_never_written(server, here):
    Path("assay.toml").write_text(OPTED_OUT)
    server.observations = [*build_bug_fix("mine"), *build_bug_fix("theirs", cwd="/home/ada/mill/wheel")]
    code, told = here.score("mine", "theirs", "--on-trace")
    assert (code, "theirs: nothing of its tenant leaves: opted out" in told) == (0, True)
    assert here.push(here.folder / "pulled", "--all")[0] == 0
    assert {row["body"].get("sessionId", "mine") for row in server.scores.values()} == {"mine"}
    assert not [body for method, _, _, body in server.log if method == "POST" and "theirs" in json.dumps(body)]


def test_a_small_session_of_theirs_is_not_written_either(server, here):
    Path("assay.toml").write_text(OPTED_OUT)
    server.observations = build_hook_turn(1, "What is a heddle?", reply="A loop of wire.", session="small")
    for row in server.observations:
        row["metadata"] |= {"cwd": "/home/ada/mill"}
    assert "nothing of its tenant leaves" in here.score("small")[1]
    assert server.scores == {}


def graded(profile_reply: Callable[[str], dict[str, Any]]) -> Callable[[str, str], Any]:
    return lambda job, text: profile_reply(text) if job == "quality" else ErrorStatus(500)


def saying(quote: str, rationale: str = "Seen.") -> Callable[[str], dict[str, Any]]:
    """A model that gives every dimension the same, on words of the first turn."""
    categories = ("goal_achievement", "error_handling")
    numbers = ("tool_efficiency", "process_adherence", "context_efficiency", "output_quality")
    cited = {"evidence": [{"turn": 1, "quote": quote}], "rationale": rationale}
    answer = {name: cited | {"score": 2} for name in categories} | {name: cited | {"score": 0.5} for name in numbers}
    return lambda _text: answer


def test_words_are_redacted_on_their_way_out_whoever_says_them(server, here):
    server.observations = build_bug_fix("a")
    leak = saying("Why does test_selvedge", f"It printed {TOKEN} twice.")
    with Models(graded(leak)) as models:
        asks = ("--judge", "anthropic", "--model-url", models.url, "--yes")
        assert here.score("a", *asks, ANTHROPIC_API_KEY="none")[0] == 0
    comment = server.rows("a")["tool_efficiency"]["comment"]
    assert comment == "It printed [redacted:github-token] twice."
    assert TOKEN not in json.dumps([body for _, _, _, body in server.log])


# --- by a model -------------------------------------------------------------------------------------


def by_model(models: Models, *more: object) -> tuple[object, ...]:
    return ("--judge", "anthropic", "--model-url", models.url, *more)


@pytest.mark.parametrize("judge", ["offline", "anthropic"])
def test_a_session_of_a_hundred_traces_is_chunked_judged_and_stored(server, here, judge):
    server.observations = build_long_port("long", traces=110)
    with Models(graded(saying("Port row"))) as models:
        asks = by_model(models, "--yes") if judge == "anthropic" else ()
        code, told = here.score("long", *asks, "--json", ANTHROPIC_API_KEY="none")
        questions = [one.text for one in models.calls if one.job == "quality"]
    assert code == 0, told
    found = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    assert len(found["stored"]) == ENHANCED
    rows = server.rows("long")
    if judge == "anthropic":
        assert len(questions) >= 5
        assert sum(len(one) for one in questions) / 4 >= 300_000
        assert all("Port row 1 of the loom" in one for one in questions)
        assert rows["overall_quality"]["value"] == pytest.approx(0.4 * 2 / 3 + 0.6 * 0.5)
        assert f"Mean of {len(questions)} of {len(questions)} chunks" in rows["tool_efficiency"]["comment"]
    assert {name: one["metadata"]["judge"] for name, one in rows.items()} == dict.fromkeys(rows, judge)
    with closing(open_store(f"sqlite:///{here.folder / 's.db'}")) as store:
        (subject,) = list_subjects(store, Config(), None, Selection())
        turns = subject.read()
    assert len(turns) == 110
    assert sum(map(count_turn_tokens, turns)) >= 300_000


def test_without_a_yes_no_model_is_asked_and_nothing_is_written(server, here):
    server.observations = build_bug_fix("a")
    with Models(graded(saying("Why"))) as models:
        with pytest.raises(BadInput, match="Add --yes"):
            here.score("a", *by_model(models), ANTHROPIC_API_KEY="none")
        code, told = here.score("a", *by_model(models, "--dry-run"), ANTHROPIC_API_KEY="none")
        assert models.calls == []
    assert (code, "this would ask" in told) == (0, True)
    assert server.scores == {}


def test_a_model_that_is_away_does_not_turn_its_scores_into_the_offline_judges(server, here):
    server.observations = build_bug_fix("a")
    with Models(graded(saying("Why does test_selvedge"))) as models:
        assert here.score("a", *by_model(models, "--yes"), ANTHROPIC_API_KEY="none")[0] == 0
    before = dict(server.scores)
    server.observations += build_hook_turn(9, "And the hem?", reply="It is straight.", session="a")
    with Models(lambda _job, _text: ErrorStatus(401)) as models:
        code, told = here.score("a", *by_model(models, "--yes"), ANTHROPIC_API_KEY="none")
    assert code == 2
    assert "--judge offline scores it without a model" in told
    assert server.scores == before


# --- push -------------------------------------------------------------------------------------------


def local(folder: Path, stream: str = "s1", cwd: str = "/home/ada/loom") -> Path:
    """A transcript of a bug that was mended."""
    rows = [
        build_prompt(0, "Fix the failing test_selvedge in tests/test_loom.py", stream),
        ran(1, "pytest -q", stream),
        build_result(2, 1, "FAILED test_selvedge\n1 failed in 0.1s", stream),
        ran(3, "sed -i s/9/10/ loom.py", stream),
        build_result(4, 3, "", stream),
        ran(5, "pytest -q", stream),
        build_result(6, 5, "3 passed in 0.1s", stream),
        build_reply(7, "The selvedge was one thread short; all three tests pass now.", stream),
        build_prompt(60, "Perfect, that works, thanks", stream),
        build_reply(61, "You are welcome.", stream),
    ]
    return write_lines(folder / f"{stream}.jsonl", *(row | {"cwd": cwd} for row in rows))


def test_push_writes_what_the_score_says_of_sessions_that_langfuse_knows(server, here):
    local(here.folder / "in", "s1")
    local(here.folder / "in", "s2")
    server.observations = build_hook_turn(1, "Fix", reply="Done", session="s1")
    code, told = here.push(here.folder / "in")
    assert code == 0
    assert "s1: 4 stored" in told
    assert "s2: Langfuse has no such session; --all writes it all the same" in told
    rows = server.rows("s1")
    assert {name: one["value"] for name, one in rows.items()} == FACTS | {
        "assay_confidence": pytest.approx(FACTS["assay_confidence"], abs=0.1)
    }
    assert {row["timestamp"] for row in server.scores.values()} == {"2026-03-02T09:00:00.000Z"}
    assert {one["configId"] for one in rows.values()} == {one["id"] for one in server.configs}
    told_of = rows["assay_goal_complete"]["metadata"]
    assert {"turn": 2, "quote": "Perfect, that works, thanks"} in told_of["citations"]
    assert told_of["judge"] == "offline"
    assert rows["assay_crushed"]["comment"].startswith("The goal was reached.")


def test_push_writes_to_all_when_told_to_and_nothing_twice(server, here):
    local(here.folder / "in", "s2")
    code, told = here.push(here.folder / "in", "--all")
    assert (code, "s2: 4 stored" in told) == (0, True)
    before, looked = server.sent(), len(server.list_queries("v2/observations"))
    assert "s2: 4 there already" in here.push(here.folder / "in")[1]
    assert server.sent() == before
    assert len(server.list_queries("v2/observations")) == looked  # what has our scores is known
    assert json.loads(run(server, "status", *here.kept, "--json")[1])["written"] == 4


def test_push_of_ungraded_sessions_writes_nothing(server, here):
    write_lines(here.folder / "in" / "t.jsonl", build_prompt(0, "hello", "t"), build_reply(1, "hi", "t"))
    code, told = here.push(here.folder / "in", "--all", "--json")
    assert code == 0
    assert [one["why"] for one in json.loads(told)["left_out"]] == ["not graded: no goal"]
    assert server.scores == {}


def test_push_dry_run_and_choice(server, here):
    local(here.folder / "in", "s2")
    assert "s2: 4 would be written" in here.push(here.folder / "in", "--all", "--dry-run")[1]
    assert "nothing to write" in here.push(here.folder / "in", "--all", "--since", "2026-05-01")[1]
    assert "nothing to write" in here.push(here.folder / "in", "--all", "--project", "mill")[1]
    assert [method for method, _, _, _ in server.log if method != "GET"] == [] or server.scores == {}


def test_push_of_a_server_that_fails_is_told(server, here):
    local(here.folder / "in", "s2")
    run(server, "setup")
    answers = iter([(400, {}, {"message": "Invalid request data"})])
    server.list_observations = lambda _query: next(answers)  # type: ignore[method-assign]
    code, told = here.push(here.folder / "in")
    assert code == 2
    assert "s2: GET 127.0.0.1" in told


def test_a_session_here_and_in_langfuse_counts_once(server, here):
    local(here.folder / "both", "s1")
    server.observations = build_bug_fix("s1") + build_bug_fix("s2", first=51)
    run(server, "pull", "s1", "s2", "--into", here.folder / "both" / "pulled")
    found = assay("score", here.folder / "both", *here.kept, "--json").json
    own = [(one["agent"], [name.partition("@")[0] for name in one["streams"]]) for one in found["sessions"]]
    assert sorted(own) == [
        ("claude-code", ["s1"]),
        ("langfuse", ["s2"]),
    ]
    assert found["waterfall"]["streams"] == 2
    alone = assay("score", here.folder / "both" / "pulled", *here.kept, "--json").json
    assert len(alone["sessions"]) == 2
    assert here.score("s1")[0] == 0
    assert set(server.rows("s1")) == GRADED


# --- upload, forget, choose -------------------------------------------------------------------------


def test_transcripts_are_uploaded_pulled_and_scored_twice_with_the_same_rows(server, here, tmp_path):
    local(here.folder / "in", "s1")
    local(here.folder / "in", "s2")
    told, kept = [], []
    for _ in range(2):
        told.append(run(server, "upload", here.folder / "in", *here.kept, "--yes"))
        assert here.score("--since", "2020-01-01", "--recheck")[0] == 0
        kept.append({key: row["body"] for key, row in server.scores.items()})
    assert [code for code, _ in told] == [0, 0]
    assert "2 sessions: 4 traces sent" in told[0][1]
    assert "2 sessions: 4 traces there already" in told[1][1]
    assert kept[0] == kept[1] != {}
    assert {row["sessionId"] for row in server.observations} == {"s1", "s2"}


def test_nothing_is_uploaded_without_a_yes_nor_by_a_dry_run(server, here):
    local(here.folder / "in", "s1")
    with pytest.raises(BadInput, match="sends the words of 1 conversation, redacted, to 127"):
        run(server, "upload", here.folder / "in", *here.kept)
    assert "1 session: 2 traces would be sent" in run(server, "upload", here.folder / "in", *here.kept, "--dry-run")[1]
    assert server.observations == []


def test_a_secret_is_not_uploaded(server, here):
    lines = [build_prompt(1, f"use {TOKEN} please", sessionId="s1"), build_reply(2, f"I used {TOKEN}", sessionId="s1")]
    write_lines(here.folder / "in" / "s1.jsonl", *lines)
    run(server, "upload", here.folder / "in", *here.kept, "--yes")
    sent = json.dumps(server.observations)
    assert (TOKEN in sent, "[redacted:github-token]" in sent) == (False, True)


def test_of_a_conversation_of_several_tenants_only_those_turns_leave_that_may(server, here):
    Path("assay.toml").write_text(OPTED_OUT)
    lines = [
        record
        for n, cwd in enumerate(("/home/ada/loom", "/home/ada/mill", "/home/ada/loom"))
        for record in (
            build_prompt(10 * n, f"Mend it in {cwd[-4:]}", sessionId="s1", cwd=cwd),
            build_reply(10 * n + 1, f"Mended {cwd[-4:]}", sessionId="s1", cwd=cwd),
        )
    ]
    write_lines(here.folder / "in" / "s1.jsonl", *lines)
    told = run(server, "upload", here.folder / "in", *here.kept, "--yes")[1]
    assert "1 session: 2 traces sent" in told
    assert "mill" not in json.dumps(server.observations)


def test_forgotten_scores_are_gone_and_so_is_what_was_pulled(server, here, tmp_path):
    server.observations = build_bug_fix("a") + build_bug_fix("b", first=51)
    data = {"XDG_DATA_HOME": str(tmp_path / "data")}
    run(server, "score", "a", "b", *here.kept, **data)
    assert "5 scores would be taken out" in run(server, "forget", "a", "--dry-run", *here.kept, **data)[1]
    with pytest.raises(BadInput, match="this deletes 5 scores"):
        run(server, "forget", "a", *here.kept, **data)
    assert "5 scores taken out" in run(server, "forget", "a", "--yes", *here.kept, **data)[1]
    assert (set(server.rows("a")), set(server.rows("b"))) == (set(), GRADED)
    assert [path.name for path in (tmp_path / "data").rglob("*.jsonl")] == ["b.jsonl"]
    with closing(open_store(f"sqlite:///{here.kept[1]}")) as store:
        assert (store.measure().streams, store.measure().forgotten) == (2, 1)
    other = tmp_path / "other.db"
    assert "5 scores taken out" in run(server, "forget", "b", "--yes", "--store", other, **data)[1]
    assert server.rows("b") == {}


def test_forget_wants_to_know_what(server, here):
    with pytest.raises(BadInput, match="--everything"):
        run(server, "forget", *here.kept)


def test_scores_stand_in_the_environment_of_their_session(server, here):
    server.observations = [row | {"environment": "staging"} for row in build_bug_fix("a")]
    server.observations += build_bug_fix("b", first=51)
    assert here.score("--environment", "staging")[0] == 0
    assert {row["body"]["environment"] for row in server.scores.values()} == {"staging"}
    assert {row["body"]["sessionId"] for row in server.scores.values()} == {"a"}
    assay("score", here.folder / "pulled", *here.kept)
    run(server, "push", here.folder / "pulled", *here.kept)
    assert {row["body"]["environment"] for row in server.scores.values()} == {"staging"}


def test_a_trace_without_a_session_is_scored_on_the_trace(server, here):
    server.observations = [row | {"sessionId": "", "traceId": "t9"} for row in build_bug_fix("a")]
    assert here.score("--traces", "--since", "2020-01-01")[0] == 0
    assert {row["body"].get("traceId") for row in server.scores.values()} == {"t9"}
    assert set(server.rows()) == GRADED


def test_scores_on_a_trace_are_kept_up_to_date(server, here):
    server.observations = build_bug_fix("a")
    here.score("a", "--on-trace")
    code, told = here.score("a")
    assert (code, "a: 10 there already" in told) == (0, True)
