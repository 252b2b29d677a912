"""Finds the plug-ins of a room such as `facts`: our own files first, then entry points of other packages."""

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from types import ModuleType

from assay.errors import BadInput


@cache
def load_entry_points() -> EntryPoints:
    """What other packages offer, to anybody: looked through once, for it takes a while."""
    return entry_points()


@cache
def list_names(kind: str) -> tuple[str, ...]:
    """Names of all plug-ins of a room, sorted."""
    room = importlib.import_module(f"assay.{kind}")
    ours = {module.name for module in pkgutil.iter_modules(room.__path__)}
    return tuple(sorted(ours | {point.name for point in load_entry_points().select(group=f"assay.{kind}")}))


@cache
def load_module(kind: str, name: str) -> ModuleType:
    """The module `name` of the room `kind`, ours or a plugin's."""
    room = importlib.import_module(f"assay.{kind}")
    if any(module.name == name for module in pkgutil.iter_modules(room.__path__)):
        return importlib.import_module(f"assay.{kind}.{name}")
    for point in load_entry_points().select(group=f"assay.{kind}", name=name):
        module: ModuleType = point.load()
        return module
    raise BadInput(f"no {kind} called {name!r}; there are: {', '.join(list_names(kind))}")
