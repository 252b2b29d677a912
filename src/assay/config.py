"""Which settings hold: flags, else `ASSAY_*` in the environment, else the project's `assay.toml`, else the user's.

Every key is a field of `Config`, and its description is what an error message asks for.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct
from platformdirs import user_config_path, user_data_path

from assay.errors import BadInput

NAME = "assay.toml"
LOCALTIME = "/etc/localtime"
PLAIN = re.compile(r"[\w.-]{1,60}", re.ASCII)
MOST_SHOWN = 60
LISTS = ("rework.repos",)
"""Keys with several values; a variable names them one after the other, like PATH."""


class Boundaries(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where sessions begin, and when two are one."""

    commit: Annotated[
        Literal["confirm", "hard", "off"],
        Meta(description='"confirm", "hard" or "off"'),
    ] = "confirm"
    merge_minutes: Annotated[
        float,
        Meta(ge=0, le=10_080, description="a number of minutes, 0 to 10080 (a week)"),
    ] = 10.0
    merge_overlap: Annotated[
        float,
        Meta(gt=0, le=1, description="a share of files above 0 and up to 1"),
    ] = 0.5


class Rework(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When later work has replaced a session's lines, and where its commits are looked for."""

    days: Annotated[
        float,
        Meta(gt=0, le=365, description="a number of days above 0 and up to 365"),
    ] = 14.0
    min_lines: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="a number of lines, 1 or more"),
    ] = 10
    share: Annotated[
        float,
        Meta(gt=0, le=1, description="a share of lines above 0 and up to 1"),
    ] = 0.5
    repos: Annotated[tuple[str, ...], Meta(description="a list of folders with a git repository")] = ()
    """Looked at before the folder in which a session was run."""


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model a judge asks, and how."""

    name: Annotated[str, Meta(description="a model's name as its service has it")] = ""
    """Empty: the backend's own choice."""
    url: Annotated[str, Meta(description="the address of an endpoint such as http://127.0.0.1:11434/v1")] = ""
    """Empty: the service's own."""
    tokens: Annotated[int, Meta(ge=500, le=1_000_000, description="a number of tokens, 500 to 1000000")] = 24_000
    """How much of a session a judge is shown."""
    votes: Annotated[int, Meta(ge=1, le=15, description="a number of votes, 1 to 15")] = 1
    """How often the outcome is asked for; most votes decide."""
    at_once: Annotated[int, Meta(ge=1, le=64, description="a number of calls at once, 1 to 64")] = 4
    timeout_s: Annotated[float, Meta(gt=0, le=3_600, description="seconds above 0 and up to 3600")] = 120.0
    """For one call."""
    tries: Annotated[int, Meta(ge=1, le=20, description="a number of tries, 1 to 20")] = 5
    """How often a busy service is asked the same."""
    max_cost: Annotated[float | None, Meta(description="a number of US dollars, 0 or more")] = None
    """Spent at most in one run; `None`: no limit."""
    input_usd: Annotated[float | None, Meta(description="US dollars for a million input tokens, 0 or more")] = None
    output_usd: Annotated[float | None, Meta(description="US dollars for a million output tokens, 0 or more")] = None
    """Prices of a model that is not in the price list."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting."""

    store: Annotated[str, Meta(description="a file path or a sqlite:/// URL")] = ""
    timezone: Annotated[str, Meta(description="an IANA name such as Europe/Berlin")] = ""
    """Empty: the machine's own."""
    judge: Annotated[str, Meta(min_length=1, description="the name of a judge such as offline")] = "offline"
    as_of: Annotated[str, Meta(description="a day (2026-11-01) or a time")] = ""
    """The present of the report; empty: now."""
    boundaries: Boundaries = Boundaries()
    rework: Rework = Rework()
    model: Model = Model()


def load(env: Mapping[str, str], cwd: Path, **flags: object) -> Config:
    """The settings that hold in a folder; a flag that is `None` was not given."""
    found: dict[str, object] = {}
    for path in config_files(env, cwd):
        found |= read(path)
    for name in keys():
        if value := env.get(variable := f"ASSAY_{flat(name).upper()}"):
            several = value.split(os.pathsep) if name in LISTS else value
            found[name] = checked(name, several, f"{variable} = {shown(value)}", strict=False)
    known = {flat(name): name for name in keys()}
    for flag, given in flags.items():
        if given is not None:
            found[known[flag]] = checked(known[flag], given, f"--{flag.replace('_', '-')} {shown(given)}")
    return msgspec.convert(nested(found), Config)


def config_files(env: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    """The files that hold here, the user's first."""
    chosen = env.get("ASSAY_CONFIG")
    user = Path(chosen).absolute() if chosen else user_config_path("assay") / NAME
    if chosen or os.path.isfile(user):
        yield user
    near = (folder / NAME for folder in (cwd.absolute(), *cwd.absolute().parents))
    project = next((path for path in near if os.path.isfile(path)), None)
    if project and os.path.realpath(project) != os.path.realpath(user):
        yield project


def read(path: Path) -> dict[str, object]:
    """What a file sets, by dotted name."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except RecursionError:
        raise BadInput(f"{path}: is nested too deeply to be a config file") from None
    except ValueError as error:  # a fault of its grammar, or a number of thousands of digits
        raise BadInput(f"{path}: is no valid TOML: {error}") from None
    found = {
        name: checked(name, value, f"{path}: {name} = {shown(value)}") for name, value in spread(given, f"{path}: ")
    }
    if store := found.get("store"):
        found["store"] = beside(path, str(store))
    if repos := found.get("rework.repos"):
        found["rework.repos"] = tuple(beside(path, one) for one in cast(tuple[str, ...], repos))
    return found


def beside(path: Path, named: str) -> str:
    """A place as a file names it: a relative path is meant from that file's folder."""
    return named if "://" in named or named.startswith("~") else str(path.parent / named)


def spread(given: Mapping[str, object], where: str, within: str = "") -> Iterator[tuple[str, object]]:
    """Dotted names and values; an unknown key is an error that suggests the closest known one."""
    for key, value in given.items():
        name = f"{within}{key}"
        if name in keys():
            yield name, value
        elif name in sections() and isinstance(value, dict):
            yield from spread(value, where, f"{name}.")
        elif name in sections():
            inside = ", ".join(one.removeprefix(f"{name}.") for one in keys() if one.startswith(f"{name}."))
            raise BadInput(f"{where}{name} = {shown(value)}: give a table [{name}] with any of {inside}")
        else:
            raise BadInput(f"{where}{unknown(name)}")


def unknown(name: str) -> str:
    """That a key is not known, and which one may have been meant."""
    by_end = {known.rpartition(".")[2]: known for known in keys()} | {known: known for known in (*keys(), *sections())}
    close = get_close_matches(name, by_end, n=1) or get_close_matches(name.rpartition(".")[2], by_end, n=1)
    meant = f"did you mean {by_end[close[0]]}? " if close else ""
    said = name if PLAIN.fullmatch(name) else shown(name)
    return f"{said} is not a known key; {meant}known: {', '.join(keys())}"


def checked(name: str, value: object, what: str, *, strict: bool = True) -> object:
    """A value of the type its key asks for; strings from the environment may stand for numbers."""
    wanted = keys()[name]
    try:
        found: object = msgspec.convert(value, wanted, strict=strict)
    except msgspec.ValidationError:
        allowed = next(meta.description for meta in wanted.__metadata__ if isinstance(meta, Meta))
        raise BadInput(f"{what}: give {allowed}") from None
    if name == "timezone" and found and zone_named(str(found)) is None:
        raise BadInput(f"{what}: no such time zone; give an IANA name such as Europe/Berlin")
    return found


@cache
def keys() -> dict[str, Any]:
    """The type of every setting, by dotted name."""
    return dict(keys_of(Config))


def sections() -> set[str]:
    """Names of the tables in which keys stand."""
    return {name.rpartition(".")[0] for name in keys()} - {""}


def keys_of(struct: type[Struct], within: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and types of the fields, those of sections included."""
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            yield from keys_of(field.type, f"{within}{field.name}.")
        else:
            yield f"{within}{field.name}", field.type


def flat(name: str) -> str:
    return name.replace(".", "_")


def nested(found: Mapping[str, object]) -> dict[str, Any]:
    """Values by dotted name, as tables in tables."""
    tables: dict[str, Any] = {}
    for name, value in found.items():
        *path, key = name.split(".")
        table = tables
        for section in path:
            table = table.setdefault(section, {})
        table[key] = value
    return tables


def shown(value: object) -> str:
    """A value for a message: on one line, never long."""
    said = repr(value)
    return said if len(said) <= MOST_SHOWN else f"{said[:MOST_SHOWN]}…"


def store_url(given: str | None, env: Mapping[str, str]) -> str:
    """The store to use: a path or `sqlite:///` URL that was given (`Config.store` too), else the user's own."""
    chosen = given or env.get("ASSAY_STORE") or str(user_data_path("assay") / "assay.db")
    if chosen.startswith("sqlite:///"):
        chosen = chosen.removeprefix("sqlite:///")
    elif "://" in chosen:
        raise BadInput(f"--store {chosen}: only a file path or sqlite:/// is known to this version")
    try:
        path = Path(chosen).expanduser()
    except RuntimeError as error:
        raise BadInput(f"--store {chosen}: {error}") from None
    if path.is_dir():
        raise BadInput(f"--store {chosen}: is a folder; give the path of a file in it, such as {path / 'assay.db'}")
    return f"sqlite:///{os.path.abspath(path)}"


# --- time zones -----------------------------------------------------------------------------------


class Local(tzinfo):
    """The clock of this machine, for one whose zone has no name we can find."""

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        return here(at).utcoffset() if at else None

    def dst(self, at: datetime | None) -> timedelta | None:  # noqa: ARG002 (nobody asks, but a tzinfo has it)
        return None

    def tzname(self, at: datetime | None) -> str | None:
        return here(at).tzname() if at else None

    def fromutc(self, at: datetime) -> datetime:
        local = here(at.replace(tzinfo=UTC))
        first = local.replace(tzinfo=self, fold=0)
        return first if first.utcoffset() == local.utcoffset() else first.replace(fold=1)


def here(at: datetime) -> datetime:
    """A time on this machine's clock; one that the system can't reckon with is taken as UTC."""
    plain = at.replace(tzinfo=None) if isinstance(at.tzinfo, Local) else at
    try:
        return plain.astimezone()
    except (OverflowError, OSError, ValueError):
        return plain.replace(tzinfo=UTC)


def zone(config: Config, env: Mapping[str, str] = os.environ) -> tzinfo:
    """The time zone in which days begin."""
    return zone_named(config.timezone) or local_zone(env)


def local_zone(env: Mapping[str, str]) -> tzinfo:
    """The machine's own: by the name that `TZ` or /etc/localtime has for it, else by its clock."""
    name = env.get("TZ", "").removeprefix(":") or os.path.realpath(LOCALTIME)
    return zone_named(name.rpartition("zoneinfo/")[2]) or Local()


def zone_named(name: str) -> ZoneInfo | None:
    """The zone of an IANA name, or `None`."""
    try:
        return ZoneInfo(name) if name else None
    except (LookupError, ValueError, OSError):  # not there; a path; a folder of zones
        return None
