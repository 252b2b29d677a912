"""Which settings hold: flags, else `ASSAY_*` in the environment, else the project's `assay.toml`, else the user's.

Every key is a field of `Config`, and its description is what an error message asks for.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct
from platformdirs import user_config_path

from assay.config.settings import Config, Tenant
from assay.config.zones import find_zone
from assay.errors import BadInput

NAME = "assay.toml"
PLAIN = re.compile(r"[\w.-]{1,60}", re.ASCII)
MOST_SHOWN = 60
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TENANTS = (
    "give tables [tenants.NAME] with any of projects, attributes, keys, opt_out, retention_days, judges, models, "
    "words, people"
)
LISTS = ("paths", "rework.repos")
"""Keys with several values; a variable names them one after the other, like PATH."""
OPTIONS = {
    "boundaries_commit": "--commit",
    "rework_repos": "--repo",
    "model_name": "--model",
    "model_votes": "--votes",
    "model_max_cost": "--max-cost",
}
"""Options that are not called like their key."""


def load(env: Mapping[str, str], cwd: Path, **flags: object) -> Config:
    """The settings that hold in a folder; a flag that is `None` was not given."""
    found: dict[str, object] = {}
    for path in list_config_files(env, cwd):
        there = load_file(path)
        if not is_users(path, env):
            check_project_file(there, path)
            there = keep_limits(there, found)
        there["tenants"] = merge_tenants(found.get("tenants"), there.get("tenants"))
        found |= there
    for name in list_keys():
        if name != "tenants" and (value := env.get(variable := f"ASSAY_{flatten_name(name).upper()}")):
            several = value.split(os.pathsep) if name in LISTS else value
            found[name] = check_value(name, several, f"{variable} = {format_value(value)}", strict=False)
    known = {flatten_name(name): name for name in list_keys()}
    for flag, given in flags.items():
        if given is not None:
            option = OPTIONS.get(flag, f"--{flag.replace('_', '-')}")
            found[known[flag]] = check_value(known[flag], given, f"{option} {format_value(given)}")
    return msgspec.convert(nest_values(found), Config)


def merge_tenants(before: object, there: object) -> dict[str, Tenant]:
    """The tenants of two files; where both name one, the stricter word holds."""
    first, then = cast(dict[str, Tenant], before or {}), cast(dict[str, Tenant], there or {})
    return first | {name: merge_tenant(first[name], one) if name in first else one for name, one in then.items()}


def merge_tenant(first: Tenant, then: Tenant) -> Tenant:
    """One tenant as two files have it: whatever either of them forbids is forbidden."""
    days = [one.retention_days for one in (first, then) if one.retention_days is not None]
    return Tenant(
        projects=(*first.projects, *then.projects),
        attributes=first.attributes or then.attributes,
        keys=(*first.keys, *then.keys),
        opt_out=first.opt_out or then.opt_out,
        retention_days=min(days, default=None),
        judges=intersect_lists(first.judges, then.judges),
        models=intersect_lists(first.models, then.models),
        words=first.words and then.words,
        people=first.people and then.people,
    )


def intersect_lists(first: tuple[str, ...] | None, then: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What two lists allow; `None` allows all."""
    if first is None or then is None:
        return then if first is None else first
    return tuple(one for one in first if one in then)


def check_project_file(there: Mapping[str, object], path: Path) -> None:
    """A project's file comes with a cloned repository: it chooses no address, store or repository elsewhere."""
    url, store, repos = str(there.get("model.url", "")), str(there.get("store", "")), there.get("rework.repos")
    if url and urlsplit(url).hostname not in LOOPBACK:
        raise BadInput(
            f"{path}: model.url = {format_value(url)}: a project's file may only name an address of this machine; "
            "set it in your own assay.toml, as ASSAY_MODEL_URL or with --model-url"
        )
    if store and not is_below(store, path.parent):
        raise BadInput(
            f"{path}: store = {format_value(store)}: a project's file may only name a store in its own folder; "
            "set it in your own assay.toml, as ASSAY_STORE or with --store"
        )
    for one in cast(tuple[str, ...], there.get("paths", ())):
        if not is_below(one, path.parent):
            raise BadInput(
                f"{path}: paths: {format_value(one)}: a project's file may only name transcripts in its own folder; "
                "set it in your own assay.toml, as ASSAY_PATHS, or give the folder to the command"
            )
    if there.get("engine", "processes") != "processes":
        raise BadInput(
            f"{path}: engine = {format_value(there['engine'])}: a project's file may not say on which machines "
            "transcripts are read; set it in your own assay.toml, as ASSAY_ENGINE or with --engine"
        )
    if any(name.startswith("ship.") for name in there):
        raise BadInput(
            f"{path}: [ship]: a project's file may not say where to and as whose anything is sent; "
            "set it in your own assay.toml, or as ASSAY_SHIP_TO"
        )
    if repos:
        raise BadInput(
            f"{path}: rework.repos = {format_value(repos)}: "
            "a project's file may not say in which repositories git is run; "
            "set it in your own assay.toml, as ASSAY_REWORK_REPOS or with --repo"
        )


def is_below(named: str, folder: Path) -> bool:
    """Whether a path lies in a folder, wherever links lead; a store that is no file lies nowhere."""
    if "://" in named.removeprefix("sqlite:///"):
        return False
    try:
        place = os.path.realpath(os.path.expanduser(named.removeprefix("sqlite:///")))
    except (OSError, ValueError):
        return False
    return Path(place).is_relative_to(os.path.realpath(folder))


def keep_limits(there: Mapping[str, object], users: Mapping[str, object]) -> dict[str, object]:
    """A project's settings, which take back no redaction and raise no limit of the person's own."""
    kept = dict(there)
    for name in ("redaction.email", "redaction.home", "redaction.hosts"):
        if users.get(name) is True:
            kept[name] = True
    limits = [cast(float, one["model.max_cost"]) for one in (users, there) if one.get("model.max_cost") is not None]
    return kept | ({"model.max_cost": min(limits)} if limits else {})


def is_projects(store: str, env: Mapping[str, str], cwd: Path) -> bool:
    """Whether a store is the one that the project's file names: it may have come with a clone, too."""
    return any(load_file(path).get("store") == store for path in list_config_files(env, cwd) if not is_users(path, env))


def load_own_tenants(env: Mapping[str, str]) -> dict[str, Tenant]:
    """The tenants of the user's own file: what a cloned repository says of them deletes nothing."""
    path = find_users_file(env)
    return cast(dict[str, Tenant], load_file(path).get("tenants") or {}) if os.path.isfile(path) else {}


def find_users_file(env: Mapping[str, str]) -> Path:
    chosen = env.get("ASSAY_CONFIG")
    return Path(chosen).absolute() if chosen else user_config_path("assay") / NAME


def is_users(path: Path, env: Mapping[str, str]) -> bool:
    return path == find_users_file(env)


def list_config_files(env: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    """The files that hold here, the user's first."""
    user = find_users_file(env)
    if env.get("ASSAY_CONFIG") or os.path.isfile(user):
        yield user
    near = (folder / NAME for folder in (cwd.absolute(), *cwd.absolute().parents))
    project = next((path for path in near if os.path.isfile(path)), None)
    if project and os.path.realpath(project) != os.path.realpath(user):
        yield project


def load_file(path: Path) -> dict[str, object]:
    """What a file sets, by dotted name."""
    try:
        return read_values(path.read_text("utf-8"), path)
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not UTF-8 text; save it as UTF-8") from None


def read_values(text: str, path: Path) -> dict[str, object]:
    """What the text of a file sets, by dotted name."""
    try:
        given = tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply to be a config file") from None
    except ValueError as error:  # a fault of its grammar, or a number of thousands of digits
        raise BadInput(f"{path}: is no valid TOML: {error}") from None
    found = {
        name: check_value(name, value, f"{path}: {name} = {format_value(value)}")
        for name, value in list_values(given, f"{path}: ")
    }
    if store := found.get("store"):
        found["store"] = resolve_store(path, str(store))
    for whose, tenant in cast(dict[str, Tenant], found.get("tenants", {})).items():
        projects = tuple(resolve_store(path, one) for one in tenant.projects)
        cast(dict[str, Tenant], found["tenants"])[whose] = msgspec.structs.replace(tenant, projects=projects)
    for name in LISTS:
        if named := found.get(name):
            found[name] = tuple(resolve_store(path, one) for one in cast(tuple[str, ...], named))
    return found


def resolve_store(path: Path, named: str) -> str:
    """A place as a file names it: a relative path is meant from that file's folder."""
    return named if "://" in named or named.startswith("~") else str(path.parent / named)


def list_values(given: Mapping[str, object], where: str, within: str = "") -> Iterator[tuple[str, object]]:
    """Dotted names and values; an unknown key is an error that suggests the closest known one."""
    for key, value in given.items():
        name = f"{within}{key}"
        if name in list_keys():
            yield name, value
        elif name in list_sections() and isinstance(value, dict):
            yield from list_values(value, where, f"{name}.")
        elif name in list_sections():
            inside = ", ".join(one.removeprefix(f"{name}.") for one in list_keys() if one.startswith(f"{name}."))
            raise BadInput(f"{where}{name} = {format_value(value)}: give a table [{name}] with any of {inside}")
        else:
            raise BadInput(f"{where}{explain_unknown_key(name)}")


def explain_unknown_key(name: str) -> str:
    """That a key is not known, and which one may have been meant."""
    by_end = {known.rpartition(".")[2]: known for known in list_keys()} | {
        known: known for known in (*list_keys(), *list_sections())
    }
    close = get_close_matches(name, by_end, n=1) or get_close_matches(name.rpartition(".")[2], by_end, n=1)
    meant = f"did you mean {by_end[close[0]]}? " if close else ""
    said = name if PLAIN.fullmatch(name) else format_value(name)
    return f"{said} is not a known key; {meant}known: {', '.join(list_keys())}"


def check_value(name: str, value: object, what: str, *, strict: bool = True) -> object:
    """A value of the type its key asks for; strings from the environment may stand for numbers."""
    wanted = list_keys()[name]
    try:
        found: object = msgspec.convert(value, wanted, strict=strict)
    except msgspec.ValidationError as error:
        if name == "tenants":
            raise BadInput(f"{what.partition(' = ')[0]}: {error}; {TENANTS}") from None
        allowed = next(meta.description for meta in wanted.__metadata__ if isinstance(meta, Meta))
        raise BadInput(f"{what}: give {allowed}") from None
    if name == "timezone" and found and find_zone(str(found)) is None:
        raise BadInput(f"{what}: no such time zone; give an IANA name such as Europe/Berlin")
    return found


@cache
def list_keys() -> dict[str, Any]:
    """The type of every setting, by dotted name."""
    return dict(list_keys_of(Config))


def list_sections() -> set[str]:
    """Names of the tables in which keys stand."""
    return {name.rpartition(".")[0] for name in list_keys()} - {""}


def list_keys_of(struct: type[Struct], within: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and types of the fields, those of sections included."""
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from list_keys_of(field.type, f"{within}{field.name}.")
        else:
            yield f"{within}{field.name}", field.type


def flatten_name(name: str) -> str:
    return name.replace(".", "_")


def nest_values(found: Mapping[str, object]) -> dict[str, Any]:
    """Values by dotted name, as tables in tables."""
    tables: dict[str, Any] = {}
    for name, value in found.items():
        *path, key = name.split(".")
        table = tables
        for section in path:
            table = table.setdefault(section, {})
        table[key] = value
    return tables


def format_value(value: object) -> str:
    """A value for a message: on one line, never long."""
    said = repr(value)
    return said if len(said) <= MOST_SHOWN else f"{said[:MOST_SHOWN]}…"
