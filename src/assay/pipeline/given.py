"""What a person gives, made exact: paths, times, a project."""

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from msgspec.structs import replace

from assay.config import Config, zone
from assay.errors import BadInput
from assay.pipeline.discover import Found, discover, usual_roots

AGO = re.compile(r"(\d+)([hdw])")
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def find_transcripts(paths: Sequence[Path] | None) -> Found:
    """What lies at the paths; without any, where the agents keep transcripts."""
    return discover(paths) if paths else usual()


def usual_places() -> list[Path]:
    """Folders in which the agents keep transcripts."""
    return [root for roots in usual_roots(os.environ, Path.home()).values() for root in roots]


def usual() -> Found:
    """What lies in the usual places; those that vanished count too, for what was read of them is kept."""
    places = usual_places()
    found = discover([place for place in places if place.exists()])
    missing = tuple(os.path.realpath(place) for place in places if not place.exists())
    return replace(found, roots=(*found.roots, *missing))


def explain_no_transcripts() -> str:
    """Where transcripts were looked for in vain, and what to do."""
    looked = "\n  ".join(str(place) for place in usual_places())
    return (
        f"no transcripts found; looked in\n  {looked}\n"
        "give the folder that has them, or try `assay demo` for bundled examples"
    )


def moment(given: str | None, option: str, here: tzinfo | None = None) -> str:
    """A day, a time or "7d" ago, as records write it; a day begins as in the zone, or on this machine."""
    if not given:
        return ""
    ago = AGO.fullmatch(given.strip())
    try:
        if ago:
            when = datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        else:
            said = datetime.fromisoformat(given.strip())
            when = (said.replace(tzinfo=here) if here and said.tzinfo is None else said).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{option} {given!r}: give a day (2026-11-01), a time, or how long ago (12h, 7d, 4w)") from None
    return when.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def present(config: Config) -> datetime:
    """The time a report is about: the one that is set, else now."""
    said = moment(config.as_of, "--as-of", zone(config))
    return datetime.fromisoformat(said) if said else datetime.now(UTC)


def project(given: str | None) -> str:
    """A part of a folder's path; a path that exists stands for itself."""
    if given and (given in (".", "..") or "/" in given) and Path(given).expanduser().is_dir():
        return os.path.realpath(Path(given).expanduser())
    return given or ""
