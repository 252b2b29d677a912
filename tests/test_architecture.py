"""The shape of the house, as a test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PKG = "assay"
SRC = Path(__file__).parents[1] / "src" / PKG
STREET = (
    "types errors files resources config plugins retry http llm sources sessions git facts judges scores "
    "stores langfuse reports pipeline evals web cli testing"
).split()
ROOMS = [f"{PKG}.{room}." for room in ("sources", "facts", "stores", "evals.checks", "evals.runners")]
OUTSIDE = {PKG, f"{PKG}.__main__", f"{PKG}.__version__"}
TREES = {file: ast.parse(file.read_text("utf-8")) for file in sorted(SRC.rglob("*.py"))}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
MOST_FILE_LINES, MOST_FUNCTION_LINES = 500, 40


def name(file: Path) -> str:
    return ".".join([PKG, *file.relative_to(SRC).with_suffix("").parts]).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all that is imported anywhere in a tree; a dot for a relative import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ("." if node.level else f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


EDGES = [(name(file), to) for file, tree in TREES.items() for to in imports(tree)]
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
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION)
    }
    assert not {function: size for function, size in sizes.items() if size > MOST_FUNCTION_LINES}


def test_nothing_catches_whatever_comes():
    handlers = [
        (name(file), node.lineno, node)
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
    ]
    assert not [(file, line) for file, line, handler in handlers if broad(handler)]


def test_no_import_of_ours_hides_in_a_function():
    hidden = [
        (name(file), to)
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION)
        for to in imports(node)
        if to == "." or to.split(".")[0] == PKG
    ]
    assert not hidden


RUNS = frozenset("run Popen call check_call check_output which system popen execvp execvpe execlp spawnvp".split())


def names_git(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and bool(re.fullmatch(r"(?:\S*/)?git(?:\s.*)?", node.value, re.DOTALL))
    )


def runs_git(node: ast.AST) -> bool:
    """Whether a node looks git up, starts it, or begins a command with it."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and names_git(node.elts[0])
    if not isinstance(node, ast.Call):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return (called in RUNS or called.startswith("create_subprocess")) and any(map(names_git, given))


def test_git_is_run_in_one_module_alone():
    assert {name(file) for file, tree in TREES.items() if any(map(runs_git, ast.walk(tree)))} == {f"{PKG}.git.runner"}


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
    assert any(map(runs_git, ast.walk(ast.parse(f"async def f():\n  {source}"))))


def test_only_the_command_line_prints():
    printing = [
        (name(file), node.lineno)
        for file, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not [place for place in printing if not place[0].startswith(f"{PKG}.cli")]
