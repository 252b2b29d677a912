"""The shape of the house, as a test."""

import ast
import re
from pathlib import Path

import pytest

from tests.house import (
    FUNCTION,
    PKG,
    find_callers,
    find_double_classes,
    find_forbidden_imports,
    find_git_runners,
    find_participles,
    find_unnamed_modules,
    find_users,
    list_imports,
    list_nodes,
    parse_text,
)

SRC = Path(__file__).parents[1] / "src" / PKG
STREET = (
    "clock types errors files listing resources config plugins retry http llm sources sessions git facts judges "
    "scores telemetry stores langfuse reports lake pipeline agents evals web server cli testing"
).split()
ROOMS = [f"{PKG}.{room}." for room in ("sources", "facts", "stores", "evals.checks", "evals.runners")]
OUTSIDE = {PKG, f"{PKG}.__main__", f"{PKG}.__version__"}
TREES = {file: parse_text(file.read_text("utf-8")) for file in sorted(SRC.rglob("*.py"))}
MOST_FILE_LINES, MOST_FUNCTION_LINES = 500, 40

MAY_IMPORT = {
    "clock": "",
    "types": "",
    "errors": "",
    "files": "",
    "listing": "",
    "resources": "",
    "retry": "",
    "config": "errors",
    "plugins": "errors",
    "http": "errors retry",
    "llm": "types errors config retry",
    "sources": "types plugins",
    "sessions": "clock types config resources",
    "git": "errors sessions",
    "facts": "types resources plugins sessions",
    "judges": "types errors resources llm sessions facts",
    "scores": "types errors resources config judges",
    "telemetry": "types errors",
    "stores": "types errors files plugins llm sessions",
    "langfuse": "types errors files http sources scores stores",
    "reports": "types llm judges scores",
    "lake": "types errors files scores reports",
    "pipeline": "clock types errors files listing config plugins retry http llm sources sessions git facts judges "
    "scores telemetry stores langfuse reports lake",
    "agents": "types errors files config http sessions scores stores pipeline",
    "evals": "types errors files config plugins llm sessions git facts judges scores stores reports pipeline",
    "web": "types errors resources judges scores reports",
    "server": "types errors listing config telemetry scores stores reports pipeline evals web",
    "cli": "types errors files listing config llm sources sessions git scores stores langfuse reports lake pipeline "
    "agents evals server",
    "testing": "types http plugins llm sources sessions pipeline",
    "__main__": "cli",
}
"""What each room imports of the others; a new line here is a decision, to be said in its room's docstring."""
CONTRACTS = {
    "assay.sources": ["Record", "Reader"],
    "assay.facts": ["Fact"],
    "assay.evals.checks": ["Spec"],
}
"""Names of classes that every plug-in of a room has."""
PLUGIN_ROOMS = ["assay.sources", "assay.facts", "assay.evals.checks", "assay.evals.runners"]
"""Rooms in which a file's name is its registration: nobody has to list them."""
MIGRATIONS = "assay.stores.sql.migrations"
READS_OTHER_TOML = {
    "assay.judges.model.prompt_files",  # the head of a Markdown file
    "assay.sessions.speech.phrases",  # runs by itself when the package is built
    "assay.config.loading",  # files of a person's, from here on
    "assay.scores.profiles.profile",
    "assay.evals.tasks.task",
    "assay.evals.tasks.harbor",
}


def name(file: Path) -> str:
    return ".".join([PKG, *file.relative_to(SRC).with_suffix("").parts]).removesuffix(".__init__")


SOURCES = {name(file): file.read_text("utf-8") for file in TREES}
EDGES = [(name(file), to) for file, tree in TREES.items() for to in list_imports(tree)]
OURS = [(here, to) for here, to in EDGES if not {here, to} & OUTSIDE and to.startswith(f"{PKG}.")]


def broad(handler: ast.ExceptHandler) -> bool:
    """Whether a handler takes whatever comes."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or getattr(kind, "id", "") in ("Exception", "BaseException") for kind in kinds)


def test_the_package_is_found():
    assert len(TREES) > 20
    assert OURS


def test_imports_are_absolute():
    assert not [here for here, to in EDGES if to == "."]


@pytest.mark.parametrize("end", [0, 1], ids=["importing", "imported"])
def test_every_module_lives_on_the_street(end: int):
    assert not [edge for edge in OURS if edge[end].split(".")[1] not in STREET]


def test_imports_only_point_left():
    def place(module: str) -> int:
        return STREET.index(module.split(".")[1])

    known = [(here, to) for here, to in OURS if to.split(".")[1] in STREET and here.split(".")[1] in STREET]
    assert not [(here, to) for here, to in known if place(to) > place(here)]


def test_neighbours_in_a_room_do_not_know_each_other():
    def entry(module: str, room: str) -> str:
        return module.removeprefix(room).split(".")[0]

    pairs = [(a, b, room) for a, b in OURS for room in ROOMS if a.startswith(room) and b.startswith(room)]
    assert not [(a, b) for a, b, room in pairs if entry(a, room) != entry(b, room) and entry(b, room) != "contract"]


def test_stores_are_known_by_their_contract_alone():
    """Who imports a kind of store has no other kind any more; only a test of that kind may."""
    assert not [edge for edge in OURS if edge[1].startswith(f"{PKG}.stores.") and not is_of_contract(*edge)]


def is_of_contract(here: str, to: str) -> bool:
    kind = to.removeprefix(f"{PKG}.stores.").split(".")[0]
    return here.startswith(f"{PKG}.stores") or not (SRC / "stores" / kind).is_dir()


def test_files_stay_short():
    sizes = {name(file): len(file.read_text("utf-8").splitlines()) for file in TREES}
    assert not {file: size for file, size in sizes.items() if size > MOST_FILE_LINES}


def test_functions_stay_short():
    sizes = {
        f"{name(file)}.{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for file, tree in TREES.items()
        for node in list_nodes(tree)
        if isinstance(node, FUNCTION)
    }
    assert not {function: size for function, size in sizes.items() if size > MOST_FUNCTION_LINES}


def test_nothing_catches_whatever_comes():
    handlers = [
        (name(file), node.lineno, node)
        for file, tree in TREES.items()
        for node in list_nodes(tree)
        if isinstance(node, ast.ExceptHandler)
    ]
    assert not [(file, line) for file, line, handler in handlers if broad(handler)]


def test_no_import_of_ours_hides_in_a_function():
    hidden = [
        (name(file), to)
        for file, tree in TREES.items()
        for node in list_nodes(tree)
        if isinstance(node, FUNCTION)
        for to in list_imports(node)
        if to == "." or to.split(".")[0] == PKG
    ]
    assert not hidden


def test_git_is_run_in_one_module_alone():
    assert find_git_runners(SOURCES) == {"assay.git.runner"}


@pytest.mark.parametrize(
    "source",
    [
        'subprocess.run(["git", "log"])',
        'subprocess.Popen(("/usr/bin/git", *words))',
        'os.system("git status")',
        'shutil.which("git")',
        'await asyncio.create_subprocess_exec("git", "log")',
        'command = ["git", *words]',
        'subprocess.run(args="git log", shell=True)',
    ],
)
def test_a_second_way_to_git_would_be_seen(source: str):
    assert find_git_runners({"assay.loom": f"async def f():\n  {source}"}) == {"assay.loom"}


def test_only_the_command_line_prints():
    printing = [
        (name(file), node.lineno)
        for file, tree in TREES.items()
        for node in list_nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not [place for place in printing if not place[0].startswith(f"{PKG}.cli")]


def test_every_room_imports_only_what_its_row_allows():
    assert find_forbidden_imports(SOURCES, MAY_IMPORT) == []


def test_every_import_that_a_row_allows_is_made():
    made = {(here.split(".")[1], to.split(".")[1]) for here, to in OURS}
    listed = {(room, other) for room, others in MAY_IMPORT.items() for other in others.split() if room != "__main__"}
    assert sorted(listed - made) == []


def test_no_class_name_stands_twice():
    assert find_double_classes(SOURCES, CONTRACTS) == []


def test_no_function_begins_with_a_participle():
    assert find_participles(SOURCES) == []


def test_every_module_is_named_in_the_docstring_of_its_room():
    named = {module: text for module, text in SOURCES.items() if not module.startswith(f"{MIGRATIONS}.")}
    assert find_unnamed_modules(named, PLUGIN_ROOMS) == []


def test_tables_are_loaded_in_one_module_alone():
    assert find_users(SOURCES, "tomllib") - READS_OTHER_TOML == set()
    assert find_callers(SOURCES, "msgspec.toml.decode") - READS_OTHER_TOML == {"assay.resources"}


def test_files_are_replaced_in_one_module_alone():
    assert find_callers(SOURCES, "os.replace", "os.rename") == {"assay.files"}


def test_there_is_one_progress_bar():
    assert find_users(SOURCES, "rich.progress") == {"assay.cli.progress"}


def test_nothing_imports_the_fakes():
    assert {here for here, to in OURS if to.startswith("assay.testing")} == {
        module for module in SOURCES if module.startswith("assay.testing") and "from assay.testing" in SOURCES[module]
    }


# --- each check sees what is planted ----------------------------------------------------------

SOUND = {
    "assay": "",
    "assay.loom": '"""Weaving: `shuttle` carries thread."""',
    "assay.loom.shuttle": "from assay.yarn import spin\nclass Shuttle: pass\ndef carry_thread(): pass",
    "assay.yarn": "class Skein: pass\ndef spin(): pass",
    "assay.knots": '"""Knots, a file each."""',
    "assay.knots.reef": "class Fact: pass",
    "assay.knots.bowline": "class Fact: pass",
}
ROWS = {"loom": "yarn"}


def plant(module: str, text: str) -> dict[str, str]:
    return SOUND | {module: f"{SOUND.get(module, '')}\n{text}"}


def test_a_sound_package_passes_every_check():
    assert find_forbidden_imports(SOUND, ROWS) == []
    assert find_double_classes(SOUND, {"assay.knots": ["Fact"]}) == []
    assert find_participles(SOUND) == []
    assert find_unnamed_modules(SOUND, ["assay.knots"]) == []
    assert find_git_runners(SOUND) == find_users(SOUND, "rich.progress") == find_callers(SOUND, "os.replace") == set()


@pytest.mark.parametrize(
    "how", ["from assay.loom import shuttle", "import assay.loom.shuttle", "from assay import loom"]
)
def test_an_import_against_the_table_is_seen(how: str):
    [found] = find_forbidden_imports(plant("assay.yarn", f"def f():\n    {how}"), ROWS)
    assert found.startswith("assay.yarn imports assay.loom")


def test_a_room_without_a_row_may_import_nothing():
    assert find_forbidden_imports(plant("assay.web", "import assay.yarn"), ROWS) == ["assay.web imports assay.yarn"]


@pytest.mark.parametrize("module", ["assay.yarn", "assay.knots.reef"])
def test_a_class_name_that_stands_twice_is_seen(module: str):
    found = find_double_classes(plant(module, "def f():\n    class Shuttle: pass"), {"assay.knots": ["Fact"]})
    assert found == [f"Shuttle: {', '.join(sorted(['assay.loom.shuttle', module]))}"]


def test_the_name_of_a_contract_is_taken_outside_of_its_room_too():
    found = find_double_classes(plant("assay.yarn", "class Fact: pass"), {"assay.knots": ["Fact"]})
    assert found == ["Fact: assay.knots, assay.yarn"]


@pytest.mark.parametrize(
    "name", ["told", "kept_rows", "_found", "settled", "listed_all", "judged", "written_by", "__told", "known", "asked"]
)
@pytest.mark.parametrize("how", ["def {}(): pass", "async def {}(): pass", "class Loom:\n    def {}(self): pass"])
def test_a_participle_is_seen(name: str, how: str):
    assert find_participles(plant("assay.yarn", how.format(name))) == [f"assay.yarn:{name}"]


@pytest.mark.parametrize(
    "name", ["read", "cut_stream", "set_title", "need", "feed_loom", "split", "embed", "bound_share"]
)
def test_a_verb_is_no_participle(name: str):
    assert find_participles(plant("assay.yarn", f"def {name}(): pass")) == []


def test_a_property_may_be_called_like_a_state():
    assert find_participles(plant("assay.yarn", "class Loom:\n    @property\n    def known(self): pass")) == []


@pytest.mark.parametrize("module", ["assay.loom.heddle", "assay.loom.carries", "assay.loom.shuttle.bobbin"])
def test_a_module_that_nobody_names_is_seen(module: str):
    assert find_unnamed_modules(plant(module, ""), ["assay.knots"]) == [module]


def test_a_second_loader_bar_or_replacement_is_seen():
    assert find_users(plant("assay.yarn", "def f():\n    import tomllib"), "tomllib") == {"assay.yarn"}
    assert find_users(plant("assay.yarn", "from rich.progress import Progress"), "rich.progress") == {"assay.yarn"}
    assert find_callers(plant("assay.yarn", "import os\nos.replace(1, 2)"), "os.replace") == {"assay.yarn"}
    assert find_callers(plant("assay.yarn", "msgspec.toml.decode(b)"), "msgspec.toml.decode") == {"assay.yarn"}


def test_every_migration_follows_the_one_before_it():
    files = sorted((SRC / "stores/sql/migrations/versions").glob("[0-9]*.py"))
    wanted = [f"{n:04}" for n in range(1, len(files) + 1)]
    assert [file.name[:4] for file in files] == wanted
    said = [re.findall(r'^(?:down_)?revision = "?(\w+)"?', file.read_text("utf-8"), re.MULTILINE) for file in files]
    assert said == [[own, before] for own, before in zip(wanted, ["None", *wanted], strict=False)]
