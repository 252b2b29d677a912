"""Settings: where they come from, which one holds, and what is said of a bad one."""

import os
import pickle
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from assay.config import Boundaries, Config, LocalClock, Rework, Tenant, find_local_zone, list_keys, load, pick_zone
from assay.errors import BadInput
from assay.stores import pick_store_url

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with a config folder of their own, in which nothing is yet."""
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "till" / "src" / "deep"
    folder.mkdir(parents=True)
    return folder


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def complaint(path: Path, text: str | bytes) -> str:
    """What is said of a project's file, without its path."""
    file = write(path / "assay.toml", text)
    with pytest.raises(BadInput) as caught:
        load({}, path)
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith(f"{file}: ")
    return said.removeprefix(f"{file}: ")


# --- which one holds --------------------------------------------------------------------------------


def test_without_any_setting_the_defaults_hold(project: Path) -> None:
    assert load({}, project) == Config(
        store="",
        timezone="",
        judge="offline",
        as_of="",
        boundaries=Boundaries(commit="confirm", merge_minutes=10.0, merge_overlap=0.5),
        rework=Rework(days=14.0, min_lines=10, share=0.5, repos=()),
    )


def test_later_places_win_key_by_key(project: Path, tmp_path: Path) -> None:
    user = write(
        tmp_path / "me.toml",
        'judge = "one"\ntimezone = "Asia/Tokyo"\n[boundaries]\ncommit = "hard"\nmerge_minutes = 1\nmerge_overlap = 0.1',
    )
    write(tmp_path / "till/assay.toml", 'judge = "two"\n[boundaries]\ncommit = "off"\nmerge_minutes = 2')
    env = {"ASSAY_CONFIG": str(user), "ASSAY_JUDGE": "three", "ASSAY_BOUNDARIES_COMMIT": "confirm"}
    assert load(env, project, judge="four", timezone=None) == Config(
        judge="four",
        timezone="Asia/Tokyo",
        boundaries=Boundaries(commit="confirm", merge_minutes=2.0, merge_overlap=0.1),
    )


def test_the_nearest_file_of_the_project_holds_alone(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "till/assay.toml", 'judge = "far"\ntimezone = "Asia/Tokyo"')
    write(tmp_path / "till/src/assay.toml", 'judge = "near"')
    assert load({}, project) == Config(judge="near")


def test_the_users_file_lies_in_the_config_folder(home: Path, project: Path) -> None:
    write(home / "assay" / "assay.toml", 'judge = "mine"')
    assert load({}, project).judge == "mine"
    assert load({"ASSAY_CONFIG": ""}, project).judge == "mine"


def test_a_file_that_is_both_is_read_once(home: Path) -> None:
    file = write(home / "assay" / "assay.toml", 'store = "a.db"')
    assert load({}, file.parent).store == str(file.parent / "a.db")


@pytest.mark.parametrize(
    ("variable", "value", "name", "found"),
    [
        ("ASSAY_PATHS", f"/a{os.pathsep}~/b", "paths", ("/a", "~/b")),
        ("ASSAY_STORE", "x.db", "store", "x.db"),
        ("ASSAY_TIMEZONE", "Europe/Berlin", "timezone", "Europe/Berlin"),
        ("ASSAY_JUDGE", "claude-cli", "judge", "claude-cli"),
        ("ASSAY_FALLBACK", "offline", "fallback", "offline"),
        ("ASSAY_AS_OF", "2026-11-01", "as_of", "2026-11-01"),
        ("ASSAY_ENGINE", "ray://head:10001", "engine", "ray://head:10001"),
        ("ASSAY_COACH", "true", "coach", True),
        ("ASSAY_BOUNDARIES_COMMIT", "off", "boundaries.commit", "off"),
        ("ASSAY_BOUNDARIES_MERGE_MINUTES", "0", "boundaries.merge_minutes", 0.0),
        ("ASSAY_BOUNDARIES_MERGE_OVERLAP", "1", "boundaries.merge_overlap", 1.0),
        ("ASSAY_OUTCOME_FLOORS", "published", "outcome.floors", "published"),
        ("ASSAY_REWORK_DAYS", "7", "rework.days", 7.0),
        ("ASSAY_REWORK_MIN_LINES", "5", "rework.min_lines", 5),
        ("ASSAY_REWORK_SHARE", "0.4", "rework.share", 0.4),
        ("ASSAY_REWORK_REPOS", f"/a{os.pathsep}~/b", "rework.repos", ("/a", "~/b")),
        ("ASSAY_MODEL_NAME", "claude-haiku-4-5", "model.name", "claude-haiku-4-5"),
        ("ASSAY_MODEL_URL", "https://models.example", "model.url", "https://models.example"),
        ("ASSAY_MODEL_TOKENS", "9000", "model.tokens", 9000),
        ("ASSAY_MODEL_VOTES", "3", "model.votes", 3),
        ("ASSAY_MODEL_AT_ONCE", "2", "model.at_once", 2),
        ("ASSAY_MODEL_TIMEOUT_S", "30", "model.timeout_s", 30.0),
        ("ASSAY_MODEL_TRIES", "2", "model.tries", 2),
        ("ASSAY_MODEL_MAX_COST", "0.5", "model.max_cost", 0.5),
        ("ASSAY_MODEL_INPUT_USD", "1", "model.input_usd", 1.0),
        ("ASSAY_MODEL_OUTPUT_USD", "5", "model.output_usd", 5.0),
        ("ASSAY_REDACTION_EMAIL", "true", "redaction.email", True),
        ("ASSAY_REDACTION_HOME", "true", "redaction.home", True),
        ("ASSAY_REDACTION_HOSTS", "1", "redaction.hosts", True),
        ("ASSAY_EVAL_ALPHA", "0.05", "eval.alpha", 0.05),
        ("ASSAY_EVAL_MIN_GAIN", "0.1", "eval.min_gain", 0.1),
        ("ASSAY_EVAL_MIN_TASKS", "9", "eval.min_tasks", 9),
        ("ASSAY_EVAL_MIN_REPEATS", "4", "eval.min_repeats", 4),
        ("ASSAY_EVAL_MIN_COMPOSITE_GAIN", "0.2", "eval.min_composite_gain", 0.2),
        ("ASSAY_EVAL_REGRESSION_COMPOSITE_DROP", "0.1", "eval.regression_composite_drop", 0.1),
        ("ASSAY_EVAL_OBJECTIVE_DROP_IS_REGRESSION", "false", "eval.objective_drop_is_regression", False),
        ("ASSAY_SHIP_TO", "https://assay.example", "ship.to", "https://assay.example"),
        ("ASSAY_SHIP_PERSON", "ada", "ship.person", "ada"),
        ("ASSAY_SHIP_MACHINE", "loom-1", "ship.machine", "loom-1"),
        ("ASSAY_SHIP_WORDS", "true", "ship.words", True),
        ("ASSAY_SHIP_KEY_FILE", "~/key", "ship.key_file", "~/key"),
    ],
)
def test_every_key_has_a_variable_and_a_flag(
    project: Path, variable: str, value: str, name: str, found: object
) -> None:
    def at(config: Any) -> object:
        for part in name.split("."):
            config = getattr(config, part)
        return config

    assert at(load({variable: value}, project)) == found
    assert at(load({}, project, **{name.replace(".", "_"): found})) == found
    assert at(load({variable: ""}, project)) == at(Config())


def test_the_table_of_variables_is_whole() -> None:
    marks = test_every_key_has_a_variable_and_a_flag.pytestmark  # type: ignore[attr-defined]
    assert [*(row[2] for row in marks[0].args[1]), "tenants"] == list(list_keys())


def test_a_variable_that_is_no_setting_is_left_alone(project: Path) -> None:
    assert load({"ASSAY_PROMPT": "mend the till", "ASSAY_RESULT_DIR": "/x"}, project) == Config()


@pytest.mark.parametrize("value", [0, 10_080, 2.5])
def test_the_ends_of_a_range_are_in_it(project: Path, value: float) -> None:
    write(project / "assay.toml", f"boundaries = {{ merge_minutes = {value}, merge_overlap = 1 }}")
    assert load({}, project).boundaries == Boundaries(merge_minutes=value, merge_overlap=1.0)


def test_repositories_that_a_file_names_lie_beside_it(project: Path, home: Path) -> None:
    file = write(home / "mine.toml", '[rework]\nrepos = ["../till", "/srv/loom", "~/wheel"]')
    found = load({"ASSAY_CONFIG": str(file)}, project)
    assert found.rework.repos == (str(file.parent / "../till"), "/srv/loom", "~/wheel")


# --- models and tenants -----------------------------------------------------------------------------


def test_a_projects_file_may_not_send_words_to_an_address_of_its_choice(project: Path, home: Path) -> None:
    said = complaint(project, '[model]\nurl = "https://models.example"')
    assert said.startswith("model.url = 'https://models.example': a project's file may only name an address of this")
    write(project / "assay.toml", '[model]\nurl = "http://127.0.0.1:11434/v1"')
    assert load({}, project).model.url == "http://127.0.0.1:11434/v1"
    write(project / "assay.toml", "")
    mine = write(home / "mine.toml", '[model]\nurl = "https://models.example"')
    assert load({"ASSAY_CONFIG": str(mine)}, project).model.url == "https://models.example"


@pytest.mark.parametrize("named", ["fix/ledger", ".", "/srv/loom", "~/wheel"])
def test_a_projects_file_names_no_repositories(project: Path, named: str) -> None:
    said = complaint(project, f'[rework]\nrepos = ["{named}"]')
    assert said.startswith("rework.repos = (")
    assert said.endswith(
        "a project's file may not say in which repositories git is run; "
        "set it in your own assay.toml, as ASSAY_REWORK_REPOS or with --repo"
    )
    write(project / "assay.toml", "[rework]\nrepos = []")
    assert load({"ASSAY_REWORK_REPOS": named}, project).rework.repos == (named,)


@pytest.mark.parametrize("named", ["../elsewhere", "/srv/transcripts", "~/.claude/projects", "out", "out/deep"])
def test_a_projects_file_names_no_transcripts_elsewhere(project: Path, named: str) -> None:
    (project / "out").symlink_to("/var")
    said = complaint(project, f'paths = ["here", "{named}"]')
    assert said.startswith("paths: '")
    assert said.endswith(
        "a project's file may only name transcripts in its own folder; "
        "set it in your own assay.toml, as ASSAY_PATHS, or give the folder to the command"
    )
    write(project / "assay.toml", 'paths = ["here"]')
    assert load({}, project).paths == (str(project / "here"),)
    assert load({"ASSAY_PATHS": named}, project).paths == (named,)


def test_ones_own_file_names_transcripts_from_its_own_folder(project: Path, home: Path) -> None:
    mine = write(home / "mine.toml", 'paths = ["mine", "~/x", "/srv/all"]')
    assert load({"ASSAY_CONFIG": str(mine)}, project).paths == (str(home / "mine"), "~/x", "/srv/all")


@pytest.mark.parametrize(
    "named",
    [
        "../tool",
        "/var/a.db",
        "~/a.db",
        "sqlite:////var/a.db",
        "postgresql://elsewhere.example/a",
        "sub/../../a.db",
        "out/a.db",
        "way",
        ".",
        "a\\u0000b",
    ],
)
def test_a_projects_file_names_no_store_elsewhere(project: Path, named: str) -> None:
    (project / "out").symlink_to("/var")
    (project / "way").symlink_to("../tool")
    if named == ".":  # the very folder is none, which is told later
        write(project / "assay.toml", 'store = "."')
        with pytest.raises(BadInput, match="is a folder"):
            pick_store_url(load({}, project).store, {})
        return
    said = complaint(project, f'store = "{named}"')
    assert said.startswith("store = '")
    assert said.endswith(
        "a project's file may only name a store in its own folder; "
        "set it in your own assay.toml, as ASSAY_STORE or with --store"
    )


def test_a_projects_file_takes_back_no_redaction_and_raises_no_limit(project: Path, home: Path) -> None:
    mine = write(home / "mine.toml", "[redaction]\nemail = true\n[model]\nmax_cost = 2")
    write(project / "assay.toml", "[redaction]\nemail = false\nhome = true\n[model]\nmax_cost = 900")
    found = load({"ASSAY_CONFIG": str(mine)}, project)
    assert (found.redaction.email, found.redaction.home, found.model.max_cost) == (True, True, 2.0)
    write(project / "assay.toml", "[model]\nmax_cost = 1")
    assert load({"ASSAY_CONFIG": str(mine)}, project).model.max_cost == 1.0
    assert load({"ASSAY_CONFIG": str(mine), "ASSAY_MODEL_MAX_COST": "9"}, project).model.max_cost == 9.0


def test_what_one_file_forbids_a_tenant_the_other_cannot_allow(project: Path, home: Path) -> None:
    mine = write(
        home / "mine.toml",
        '[tenants.mill]\nprojects = ["/srv/mill"]\nopt_out = true\nretention_days = 30\njudges = ["openai"]',
    )
    file = write(
        project / "assay.toml",
        '[tenants.mill]\nprojects = ["here"]\nretention_days = 90\njudges = ["openai", "anthropic"]\n[tenants.inn]',
    )
    found = load({"ASSAY_CONFIG": str(mine)}, project).tenants
    assert list(found) == ["mill", "inn"]
    assert found["mill"] == Tenant(
        projects=("/srv/mill", str(file.parent / "here")), opt_out=True, retention_days=30.0, judges=("openai",)
    )


@pytest.mark.parametrize(
    "text",
    ["tenants = 3", "[tenants]\nmill = 1", "[tenants.mill]\nopt-out = true", "[tenants.mill]\nretention_days = 0"],
)
def test_a_tenant_that_is_none_is_told_what_one_has(project: Path, text: str) -> None:
    assert complaint(project, text).endswith("opt_out, retention_days, judges, models, words, people")


# --- where the store is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("kept/a.db", "{folder}/kept/a.db"),
        ("/var/a.db", "/var/a.db"),
        ("~/a.db", "~/a.db"),
        ("sqlite:////var/a.db", "sqlite:////var/a.db"),
    ],
)
def test_a_store_in_a_file_is_meant_from_that_files_folder(project: Path, home: Path, written: str, meant: str) -> None:
    mine = write(home / "mine.toml", f'store = "{written}"')
    assert load({"ASSAY_CONFIG": str(mine)}, project).store == meant.format(folder=home)


def test_a_projects_store_is_meant_from_its_folder(project: Path) -> None:
    write(project.parent / "assay.toml", 'store = "kept/a.db"')
    assert load({}, project).store == f"{project.parent}/kept/a.db"
    write(project.parent / "assay.toml", f'store = "{project.parent}/a.db"')
    assert load({}, project).store == f"{project.parent}/a.db"


def test_the_store_of_the_config_is_the_one_that_is_opened(project: Path) -> None:
    write(project / "assay.toml", 'store = "kept.db"')
    env = {"ASSAY_STORE": "/var/other.db"}
    assert pick_store_url(load({}, project).store, {}) == f"sqlite:///{project}/kept.db"
    assert pick_store_url(load(env, project).store, env) == "sqlite:////var/other.db"
    assert pick_store_url(load(env, project, store="/var/flag.db").store, env) == "sqlite:////var/flag.db"


# --- bad input --------------------------------------------------------------------------------------

KNOWN = f"known: {', '.join(list_keys())}"
MODE = 'give "confirm", "hard" or "off"'
MINUTES = "give a number of minutes, 0 to 10080 (a week)"
SHARE = "give a share of files above 0 and up to 1"
STORE = "give a file path, or a sqlite:/// or postgresql:// URL"
JUDGE = "give the name of a judge such as offline"
NO_ZONE = "no such time zone; give an IANA name such as Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("boundaries.comit = 1", f"boundaries.comit is not a known key; did you mean boundaries.commit? {KNOWN}"),
        ("merge_minutes = 3", f"merge_minutes is not a known key; did you mean boundaries.merge_minutes? {KNOWN}"),
        ('[boundary]\ncommit = "off"', f"boundary is not a known key; did you mean boundaries? {KNOWN}"),
        ('time-zone = "UTC"', f"time-zone is not a known key; did you mean timezone? {KNOWN}"),
        ("zzz = 1", f"zzz is not a known key; {KNOWN}"),
        ('"\\u001b[31m" = 1', f"'\\x1b[31m' is not a known key; {KNOWN}"),
        (
            "boundaries = 3",
            "boundaries = 3: give a table [boundaries] with any of commit, merge_minutes, merge_overlap",
        ),
        ('boundaries.commit = "soft"', f"boundaries.commit = 'soft': {MODE}"),
        ("boundaries.commit = true", f"boundaries.commit = True: {MODE}"),
        ("boundaries.merge_minutes = -0.1", f"boundaries.merge_minutes = -0.1: {MINUTES}"),
        ('boundaries.merge_minutes = "10"', f"boundaries.merge_minutes = '10': {MINUTES}"),
        ("boundaries.merge_minutes = inf", f"boundaries.merge_minutes = inf: {MINUTES}"),
        ("boundaries.merge_minutes = nan", f"boundaries.merge_minutes = nan: {MINUTES}"),
        ("boundaries.merge_overlap = 0", f"boundaries.merge_overlap = 0: {SHARE}"),
        ("boundaries.merge_overlap = 1.01", f"boundaries.merge_overlap = 1.01: {SHARE}"),
        ("boundaries.merge_overlap = 50", f"boundaries.merge_overlap = 50: {SHARE}"),
        ("store = 3", f"store = 3: {STORE}"),
        ("[store]\npath = 1", f"store = {{'path': 1}}: {STORE}"),
        ('judge = ""', f"judge = '': {JUDGE}"),
        ("judge = 1979-05-27", f"judge = datetime.date(1979, 5, 27): {JUDGE}"),
        ('timezone = "Mars/Base"', f"timezone = 'Mars/Base': {NO_ZONE}"),
        ('timezone = "../../etc/passwd"', f"timezone = '../../etc/passwd': {NO_ZONE}"),
        ('timezone = "Europe"', f"timezone = 'Europe': {NO_ZONE}"),
        ("timezone = 2", "timezone = 2: give an IANA name such as Europe/Berlin"),
        ('judge = "a"\njudge =\n', "is no valid TOML: Invalid value (at line 2, column 8)"),
        (b"judge = '\xff'", "is not UTF-8 text; save it as UTF-8"),
        ("a = " + "[" * 100_000, "is nested too deeply to be a config file"),
    ],
)
def test_a_bad_file_is_told_with_key_and_what_is_allowed(project: Path, text: str | bytes, said: str) -> None:
    assert complaint(project, text) == said


def test_a_number_of_thousands_of_digits_is_told(project: Path) -> None:
    assert complaint(project, f"judge = {'9' * 5000}").startswith("is no valid TOML: ")


def test_a_long_value_is_told_in_short(project: Path) -> None:
    assert len(complaint(project, f"store = [{'1, ' * 5000}]")) < 150


@pytest.mark.parametrize(
    ("env", "flags", "said"),
    [
        ({"ASSAY_TIMEZONE": "Mars/Base"}, {}, f"ASSAY_TIMEZONE = 'Mars/Base': {NO_ZONE}"),
        ({"ASSAY_BOUNDARIES_COMMIT": "soft"}, {}, f"ASSAY_BOUNDARIES_COMMIT = 'soft': {MODE}"),
        ({"ASSAY_BOUNDARIES_MERGE_MINUTES": "ten"}, {}, f"ASSAY_BOUNDARIES_MERGE_MINUTES = 'ten': {MINUTES}"),
        ({"ASSAY_BOUNDARIES_MERGE_OVERLAP": "nan"}, {}, f"ASSAY_BOUNDARIES_MERGE_OVERLAP = 'nan': {SHARE}"),
        ({}, {"timezone": "Mars/Base"}, f"--timezone 'Mars/Base': {NO_ZONE}"),
        ({}, {"boundaries_commit": "soft"}, f"--commit 'soft': {MODE}"),
    ],
)
def test_a_bad_variable_or_flag_is_told_by_its_name(project: Path, env: Any, flags: Any, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(env, project, **flags)
    assert str(caught.value) == said


def test_a_file_that_was_asked_for_must_be_there(project: Path, tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none.toml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(BadInput) as caught:
            load({"ASSAY_CONFIG": str(path)}, project)
        assert str(caught.value) == f"{path}: can't be read: {why}"


def test_a_folder_of_that_name_is_no_config(project: Path, tmp_path: Path) -> None:
    (project / "assay.toml").mkdir()
    write(tmp_path / "till/assay.toml", 'judge = "far"')
    assert load({}, project).judge == "far"


# --- time zones -------------------------------------------------------------------------------------


def test_the_zone_is_the_one_that_was_asked_for_else_the_machines() -> None:
    assert pick_zone(Config(timezone="Asia/Tokyo"), {"TZ": "Europe/Berlin"}) == ZoneInfo("Asia/Tokyo")
    assert pick_zone(Config(), {"TZ": "Europe/Berlin"}) == ZoneInfo("Europe/Berlin")
    assert pick_zone(Config()).utcoffset(datetime(2026, 3, 2)) is not None


@pytest.mark.parametrize(
    ("named", "key"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
    ],
)
def test_the_machines_zone_is_found_by_name(named: str, key: str) -> None:
    assert find_local_zone({"TZ": named}) == ZoneInfo(key)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose zone has rules but no name."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("clock")
def test_a_zone_without_a_name_goes_by_the_machines_clock() -> None:
    here, berlin = find_local_zone(os.environ), ZoneInfo("Europe/Berlin")
    assert isinstance(here, LocalClock)
    hour = datetime(2026, 1, 1, tzinfo=UTC)
    for n in range(365 * 24):
        moment = hour + timedelta(hours=n)
        ours, theirs = moment.astimezone(here), moment.astimezone(berlin)
        assert (ours.isoformat(), ours.tzname()) == (theirs.isoformat(), theirs.tzname())
        assert ours.astimezone(UTC) == moment


@pytest.mark.usefixtures("clock")
def test_the_machines_clock_can_be_sent_to_another_process_and_bears_any_year() -> None:
    here = pickle.loads(pickle.dumps(find_local_zone(os.environ)))
    assert datetime(2026, 7, 1, tzinfo=here).utcoffset() == timedelta(hours=2)
    assert datetime(1, 1, 1, tzinfo=here).utcoffset() is not None
    assert datetime.max.replace(tzinfo=here).utcoffset() is not None


# --- the docs ---------------------------------------------------------------------------------------


def test_every_key_is_documented_with_its_default_and_its_variable() -> None:
    rows = [line.split("|") for line in (ROOT / "docs/reference/config.md").read_text("utf-8").splitlines()]
    told = {row[1].strip(): [cell.strip() for cell in row[2:]] for row in rows if len(row) > 4}

    def default(name: str) -> str:
        value: Any = Config()
        for part in name.split("."):
            value = getattr(value, part)
        if isinstance(value, tuple):
            return f"`{list(value)}`"
        if value is None or isinstance(value, bool):
            return "none" if value is None else f"`{str(value).lower()}`"
        return f'`"{value}"`' if isinstance(value, str) else f"`{value:g}`"

    for name in set(list_keys()) - {"tenants"}:
        cells = told[f"`{name}`"]
        assert cells[0] == default(name), name
        assert cells[1] == f"`ASSAY_{name.replace('.', '_').upper()}`", name
        assert len(cells[2]) > 20, name
