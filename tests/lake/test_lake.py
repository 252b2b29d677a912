"""A lake is what a store told: the same answers to the byte, the same files if nothing changed, never half of one."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.resources import EXAMPLES
from tests.conftest import Ran, environment, run
from tests.tables import each_row

SECRET = "ghp_" + "R4nd0mW0rds1nThisT0ken9876543210abcd"


class World:
    """Transcripts, a store, and a lake of it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.files, self.lake = top / "files", top / "lake"
        shutil.copytree(EXAMPLES / "claude-code", self.files)

    def ask(self, *words: object) -> Ran:
        names = {"HOME": str(self.top), "XDG_DATA_HOME": str(self.top / "data"), "TZ": "Europe/Berlin"}
        return run(*words, env=names, cwd=self.top)

    def export(self, *words: object) -> Ran:
        ran = self.ask("export", self.files, "-o", self.lake, *words)
        assert ran.code == 0, ran.err
        return ran

    def list_files(self) -> dict[str, tuple[int, bytes]]:
        """Every file of the lake: when it was written, and what it holds."""
        found = sorted(path for path in self.lake.rglob("*") if path.is_file() and path.name != ".lock")
        return {str(path.relative_to(self.lake)): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A lake of the examples, with quality and words, that nobody changes."""
    found = World(tmp_path_factory.mktemp("told"))
    found.export("--words", "--quality", "enhanced")
    return found


QUESTIONS = [
    "score --json",
    "score --json --since 2026-11-05",
    "score --json --until 2026-11-06",
    "score --json --project tide",
    "score --json --project tide --since 2026-11-05",
    "score --by week --by project --by model",
    "sessions --json",
    "sessions --json --limit 3",
    "sessions --json --not-crushed --sort tokens",
    "sessions --since 2026-11-06",
    "sessions --ledger",
]


@each_row("question", QUESTIONS)
def test_a_lake_answers_as_its_store_does(told: World, question: str):
    command, *options = question.split()
    from_store, from_lake = told.ask(command, told.files, *options), told.ask(command, told.lake, *options)
    assert from_lake.out == from_store.out
    assert (from_lake.code, from_lake.err) == (0, "")
    assert from_store.out


def test_a_selection_of_nothing_is_explained_as_of_a_store(told: World):
    asked = ["--project", "nowhere"]
    assert told.ask("score", told.lake, *asked).err == told.ask("score", told.files, *asked).err != ""


def test_a_persons_word_is_in_the_lake_once_it_is_exported_again(world: World):
    world.export("--no-turns")
    one = world.ask("sessions", world.lake, "--json").json["sessions"][0]
    assert world.ask("session", "mark", one["id"], "not", "--why", "it broke").code == 0
    before = world.ask("score", world.lake, "--json").out
    world.export("--no-turns")
    after = world.ask("score", world.lake, "--json").out
    assert after == world.ask("score", world.files, "--json").out != before


def test_the_same_export_again_leaves_the_same_files(told: World):
    before = told.list_files()
    again = told.export("--words", "--quality", "enhanced", "--json").json
    assert again["changed"] == []
    assert told.list_files() == before


def test_two_exports_of_the_same_are_the_same_files(world: World):
    world.export()
    first = world.list_files()
    shutil.rmtree(world.lake)
    world.export()
    assert {name: held for name, (_, held) in world.list_files().items()} == {
        name: held for name, (_, held) in first.items()
    }


def test_only_months_in_which_something_changed_are_written_anew(world: World):
    lines = next(world.files.rglob("*.jsonl")).read_text("utf-8")
    earlier = lines.replace("2026-11-", "2026-03-").replace('"uuid":"', '"uuid":"0').replace('Uuid":"', 'Uuid":"0')
    file = world.files / "earlier" / "11111111-2222-4333-8444-555555555555.jsonl"
    file.parent.mkdir()
    file.write_text(earlier.replace(json.loads(lines.splitlines()[-1])["sessionId"], file.stem), "utf-8")
    world.export()
    before = world.list_files()
    assert [name for name in before if "month=2026-03" in name]
    file.unlink()
    one = world.ask("sessions", world.files, "--json", "--since", "2026-11-01").json["sessions"][0]
    assert world.ask("session", "rename", one["id"], "another title").code == 0
    changed = world.export("--json").json["changed"]
    assert "sessions/month=2026-11" in changed
    assert not [name for name in changed if "2026-03" in name]
    same = [name for name in before if "month=2026-03" in name]
    assert {name: world.list_files()[name] for name in same} == {name: before[name] for name in same}


@pytest.mark.parametrize("after", [0.4, 0.8, 1.2])
def test_an_export_that_is_killed_goes_on_and_nobody_sees_half_of_it(world: World, after: float):
    world.export("--no-turns")
    before = world.ask("score", world.lake, "--json").out
    one = world.ask("sessions", world.lake, "--json").json["sessions"][0]
    world.ask("session", "mark", one["id"], "not")
    names = {"HOME": str(world.top), "XDG_DATA_HOME": str(world.top / "data"), "TZ": "Europe/Berlin"}
    words = [sys.executable, "-m", "assay", "export", str(world.files), "-o", str(world.lake), "--no-turns"]
    process = subprocess.Popen(words, env=environment(**names), cwd=world.top, start_new_session=True)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    meanwhile = world.ask("score", world.lake, "--json")
    wanted = world.ask("score", world.files, "--json").out
    assert meanwhile.out in (before, wanted) or "puts it right" in meanwhile.err
    world.export("--no-turns")
    assert world.ask("score", world.lake, "--json").out == wanted


def test_a_lake_whose_files_were_put_in_place_without_its_manifest_is_not_believed(world: World):
    world.export("--no-turns")
    manifest = (world.lake / "assay-lake.json").read_bytes()
    one = world.ask("sessions", world.lake, "--json").json["sessions"][0]
    world.ask("session", "mark", one["id"], "not")
    world.export("--no-turns")
    (world.lake / "assay-lake.json").write_bytes(manifest)
    ran = world.ask("score", world.lake)
    assert ran.code == 2
    assert "puts it right" in ran.err
    world.export("--no-turns")
    assert world.ask("score", world.lake, "--json").out == world.ask("score", world.files, "--json").out


# --- what leaves ------------------------------------------------------------------------------


def read_rows(world: World, table: str, column: str) -> list[object]:
    duckdb = pytest.importorskip("duckdb")
    files = str(world.lake / table / "*" / "*.parquet")
    return [value for (value,) in duckdb.sql(f"SELECT {column} FROM read_parquet('{files}')").fetchall()]


def plant(world: World) -> None:
    """Somebody's secret in a prompt, and so in a title."""
    for file in world.files.rglob("*.jsonl"):
        file.write_text(file.read_text("utf-8").replace('"content":"', f'"content":"my key is {SECRET} and '), "utf-8")


def test_turns_have_no_words_unless_they_are_asked_for(world: World):
    world.export()
    assert set(read_rows(world, "turns", "prompt")) == set(read_rows(world, "turns", "reply")) == {None}
    assert sum(filter(None, read_rows(world, "turns", "prompt_chars"))) > 100
    world.export("--words")
    assert [said for said in read_rows(world, "turns", "prompt") if said]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_nothing_secret_is_in_any_file(world: World, form: str):
    plant(world)
    world.export("--words", "--quality", "enhanced", "--format", form)
    if form == "parquet":
        said = " ".join(map(str, [*read_rows(world, "turns", "prompt"), *read_rows(world, "sessions", "body")]))
    else:
        said = " ".join(path.read_text("utf-8") for path in world.lake.rglob("*.jsonl"))
    assert "[redacted:github-token" in said
    assert SECRET not in said
    assert not [path for path in world.lake.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_every_table_has_rows(told: World):
    manifest = json.loads((told.lake / "assay-lake.json").read_text("utf-8"))
    rows = {table: sum(part["rows"] for part in parts.values()) for table, parts in manifest["tables"].items()}
    assert set(rows) == {"sessions", "judgements", "ledger", "streams", "turns", "quality"}
    assert all(rows.values())
    assert len(read_rows(told, "quality", "score")) == rows["quality"]


def test_lines_of_json_are_what_parquet_holds(told: World, world: World):
    world.export("--format", "jsonl")
    [file] = world.lake.glob("sessions/*/*.jsonl")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == read_rows(told, "sessions", "id")
    ran = world.ask("score", world.lake)
    assert ran.code == 2
    assert "JSON lines" in ran.err


# --- what can't be ----------------------------------------------------------------------------


def is_one_line(ran: Ran) -> bool:
    return ran.code == 2 and ran.err.startswith("assay: ") and ran.err.count("\n") == 1 and not ran.out


def test_a_damaged_file_is_told(world: World):
    world.export("--no-turns")
    [file] = world.lake.glob("sessions/*/*.parquet")
    held = file.read_bytes()
    for damaged in (b"", b"PAR1 and nothing else", held[: len(held) // 2], held[:200] + bytes(400) + held[600:]):
        file.write_bytes(damaged)
        assert is_one_line(world.ask("score", world.lake, "--json")) or damaged[:3] == held[:3]
    file.unlink()
    assert is_one_line(world.ask("score", world.lake))


MANIFESTS = {
    "of a later version": ('"format": 1', '"format": 99'),
    "that leads elsewhere": ('"month=', '"month=../../'),
    "with a table of somebody else's": ('"judgements"', '"../judgements"'),
    "of another kind": ('"assay-lake"', '"lake"'),
    "that is cut off": ("}", ""),
}


@pytest.mark.parametrize("which", MANIFESTS)
def test_a_manifest_that_is_no_good_is_told(told: World, tmp_path: Path, which: str):
    shutil.copytree(told.lake, tmp_path / "lake")
    manifest = tmp_path / "lake" / "assay-lake.json"
    manifest.write_text(manifest.read_text("utf-8").replace(*MANIFESTS[which]), "utf-8")
    ran = told.ask("score", tmp_path / "lake")
    assert is_one_line(ran)
    assert ("update Assay" in ran.err) == (which == "of a later version")


REFUSED = {
    "a folder of something else": ["export", "FILES", "-o", "FILES"],
    "a file": ["export", "FILES", "-o", "FILE"],
    "another form": ["export", "FILES", "-o", "LAKE", "--format", "jsonl"],
    "no such form": ["export", "FILES", "-o", "NEW", "--format", "csv"],
    "another judge": ["score", "LAKE", "--judge", "offline"],
    "another zone": ["score", "LAKE", "--timezone", "Asia/Tokyo"],
    "a lake and more": ["score", "LAKE", "FILES"],
    "words of a lake": ["sessions", "LAKE", "--search", "tide"],
    "a command that reads transcripts": ["usage", "LAKE"],
    "a run that is none": ["export", "FILES", "-o", "NEW", "--run", "FILES"],
    "no such profile": ["export", "FILES", "-o", "NEW", "--quality", "nobody"],
}


@each_row("which", REFUSED)
def test_what_cannot_be_is_refused_in_one_line(told: World, which: str):
    file = told.top / "plain.txt"
    file.write_text("words")
    places = {"FILES": told.files, "LAKE": told.lake, "FILE": file, "NEW": told.top / "new"}
    ran = told.ask(*(places.get(word, word) for word in REFUSED[which]))
    assert is_one_line(ran), ran
    assert not (told.top / "new").exists()


def test_a_folder_that_cannot_be_written_to_is_told(world: World):
    world.export("--no-turns")
    before = world.ask("score", world.lake, "--json").out
    one = world.ask("sessions", world.lake, "--json").json["sessions"][0]
    world.ask("session", "mark", one["id"], "not")
    (world.lake / ".next").write_text("in the way")
    ran = world.ask("export", world.files, "-o", world.lake, "--no-turns")
    assert is_one_line(ran)
    assert "the same command goes on" in ran.err
    assert world.ask("score", world.lake, "--json").out == before


@pytest.mark.parametrize("words", ["export FILES -o NEW", "score LAKE"])
def test_without_the_extra_it_is_said_what_to_install(told: World, tmp_path: Path, words: str):
    for package in ("pyarrow", "duckdb"):
        (tmp_path / f"{package}.py").write_text("raise ImportError('not here')")
    places = {"FILES": told.files, "LAKE": told.lake, "NEW": tmp_path / "new"}
    asked = [str(places.get(word, word)) for word in words.split()]
    env = environment(HOME=str(told.top), PYTHONPATH=str(tmp_path), XDG_DATA_HOME=str(told.top / "data"))
    ran = subprocess.run([sys.executable, "-m", "assay", *asked], env=env, capture_output=True, text=True, check=False)
    assert is_one_line(Ran(ran.returncode, ran.stdout, ran.stderr))
    assert "pip install 'assay[lake]'" in ran.stderr


def test_who_asks_no_lake_imports_nothing_of_it(told: World):
    asks = "import sys; sys.argv[1:] = ['score', sys.argv[1], '--json']; from assay.cli.main import main\n"
    asks += "try: main()\nfinally: print([n for n in sys.modules if n.startswith(BEGINS)], file=sys.stderr)"
    asks = asks.replace("BEGINS", "('duckdb', 'pyarrow', 'assay.lake')")
    env = environment(HOME=str(told.top), XDG_DATA_HOME=str(told.top / "other"))
    ran = subprocess.run(
        [sys.executable, "-c", asks, str(told.files)], env=env, capture_output=True, text=True, check=False
    )
    assert ran.stderr.splitlines()[-1] == "[]"
