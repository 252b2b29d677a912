"""Finds the plug-ins of a room such as `facts`: our own files first, then entry points of other packages."""

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, distributions
from types import ModuleType

from assay.errors import BadInput


@cache
def list_entry_points() -> tuple[EntryPoint, ...]:
    """What installed packages offer to our rooms: looked through once for all of them, for it takes a while."""
    points = (point for package in distributions() for point in package.entry_points)
    return tuple(point for point in points if point.group.startswith("assay."))


@cache
def list_names(kind: str) -> tuple[str, ...]:
    """Names of all plug-ins of a room, sorted."""
    room = importlib.import_module(f"assay.{kind}")
    ours = {module.name for module in pkgutil.iter_modules(room.__path__)}
    return tuple(sorted(ours | {point.name for point in list_entry_points() if point.group == f"assay.{kind}"}))


@cache
def load_module(kind: str, name: str) -> ModuleType:
    """The module `name` of the room `kind`, ours or a plugin's."""
    room = importlib.import_module(f"assay.{kind}")
    if any(module.name == name for module in pkgutil.iter_modules(room.__path__)):
        return importlib.import_module(f"assay.{kind}.{name}")
    for point in list_entry_points():
        if (point.group, point.name) == (f"assay.{kind}", name):
            module: ModuleType = point.load()
            return module
    raise BadInput(f"no {kind} called {name!r}; there are: {', '.join(list_names(kind))}")


def forget_plugins() -> None:
    """Look for plug-ins anew: for tests, which install some while they run."""
    for cached in (list_entry_points, list_names, load_module):
        cached.cache_clear()
