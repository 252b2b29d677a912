"""Checks of the house's shape: each takes the source of every module by its name, and lists what breaks the rule."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

PKG = "assay"
Sources = Mapping[str, str]
"""Source text by dotted name; a package is called like its folder."""
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
RUNS = frozenset("run Popen call check_call check_output which system popen execvp execvpe execlp spawnvp".split())
IRREGULAR = frozenset(
    """told kept found said made given left sent seen shown known done gone held built bought thought worn torn born
    laid paid met lost begun drawn grown flown written taken broken chosen spoken hidden caught taught sought brought
    fed led fled felt dealt meant slept spent lent bent won hung stood understood sold stuck struck swept sworn thrown
    woken fallen forgotten gotten eaten driven ridden risen frozen stolen swum sung sunk heard proven beaten sewn
    mistaken withdrawn withheld undone redone rebuilt remade retold""".split()
)
VERBS_IN_ED = frozenset("need feed speed seed embed shed bleed exceed proceed succeed breed weed heed sed".split())
"""Words that end like participles and are none."""


def parse(sources: Sources) -> dict[str, ast.Module]:
    return {module: parse_text(text) for module, text in sources.items()}


@cache
def parse_text(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def list_nodes(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a tree, walked once for all rules."""
    return list(ast.walk(tree))


def list_imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all that is imported anywhere in a tree; a dot for a relative import."""
    for node in list_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ("." if node.level else f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def name_room(module: str) -> str:
    """The room of a module: the part behind the package's name."""
    return [*module.split("."), ""][1]


def find_forbidden_imports(sources: Sources, allowed: Mapping[str, str]) -> list[str]:
    """Imports of a room that the table does not allow; a room that is not in the table may import nothing."""
    found = set()
    for module, tree in parse(sources).items():
        may = {name_room(module), *allowed.get(name_room(module), "").split(), "__version__"}
        for to in list_imports(tree):
            if to.startswith(f"{PKG}.") and name_room(module) and may.isdisjoint({name_room(to), "*"}):
                found.add(f"{module} imports {to}")
    return sorted(found)


def find_double_classes(sources: Sources, contracts: Mapping[str, Iterable[str]]) -> list[str]:
    """Class names that stand in several modules; the plug-ins of a room may all have those of its contract."""
    homes: dict[str, set[str]] = defaultdict(set)
    for module, tree in parse(sources).items():
        for node in list_nodes(tree):
            if isinstance(node, ast.ClassDef):
                room = next((r for r, names in contracts.items() if node.name in names and is_in(module, r)), module)
                homes[node.name].add(room)
    return sorted(f"{name}: {', '.join(sorted(there))}" for name, there in homes.items() if len(there) > 1)


def is_in(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def is_participle(name: str) -> bool:
    """Whether a function's name begins with a participle instead of a verb."""
    word = name.lstrip("_").split("_")[0]
    return word in IRREGULAR or (word.endswith("ed") and word not in VERBS_IN_ED)


def find_participles(sources: Sources) -> list[str]:
    """Functions and methods, properties apart, whose name begins with a participle."""
    return sorted(
        f"{module}:{node.name}"
        for module, tree in parse(sources).items()
        for node in list_nodes(tree)
        if isinstance(node, FUNCTION) and is_participle(node.name) and not is_property(node)
    )


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = [getattr(one, "attr", getattr(one, "id", "")) for one in node.decorator_list]
    return any(name in ("property", "cached_property", "setter") for name in names)


def find_unnamed_modules(sources: Sources, plugin_rooms: Iterable[str]) -> list[str]:
    """Modules that the docstring of their room does not name in backticks; a plug-in is found by its file alone."""
    trees, found = parse(sources), []
    for module in sources:
        room, _, name = module.rpartition(".")
        if room in ("", PKG) or room in plugin_rooms or any(is_in(room, f"{one}.versions") for one in plugin_rooms):
            continue
        spans = re.findall(r"`([^`]*)`", ast.get_docstring(trees[room]) or "")
        if not any(name in re.split(r"[^\w]+", span) for span in spans):
            found.append(module)
    return sorted(found)


def find_users(sources: Sources, *imported: str) -> set[str]:
    """Modules that import any of these names, or what is below them."""
    return {
        module
        for module, tree in parse(sources).items()
        if any(is_in(to, name) for to in list_imports(tree) for name in imported)
    }


def find_callers(sources: Sources, *dotted: str) -> set[str]:
    """Modules that say `a.b` for one of these dotted names."""
    return {
        module
        for module, tree in parse(sources).items()
        for node in list_nodes(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in dotted
    }


def find_git_runners(sources: Sources) -> set[str]:
    """Modules that look git up, start it, or begin a command with it."""
    return {module for module, tree in parse(sources).items() if any(map(runs_git, list_nodes(tree)))}


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
