"""The time zone in which days begin."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from assay.config.settings import Config

LOCALTIME = "/etc/localtime"


class LocalClock(tzinfo):
    """The clock of this machine, for one whose zone has no name we can find."""

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        return to_local_time(at).utcoffset() if at else None

    def dst(self, at: datetime | None) -> timedelta | None:  # noqa: ARG002 (nobody asks, but a tzinfo has it)
        return None

    def tzname(self, at: datetime | None) -> str | None:
        return to_local_time(at).tzname() if at else None

    def fromutc(self, at: datetime) -> datetime:
        local = to_local_time(at.replace(tzinfo=UTC))
        first = local.replace(tzinfo=self, fold=0)
        return first if first.utcoffset() == local.utcoffset() else first.replace(fold=1)


def to_local_time(at: datetime) -> datetime:
    """A time on this machine's clock; one that the system can't reckon with is taken as UTC."""
    plain = at.replace(tzinfo=None) if isinstance(at.tzinfo, LocalClock) else at
    try:
        return plain.astimezone()
    except (OverflowError, OSError, ValueError):
        return plain.replace(tzinfo=UTC)


def pick_zone(config: Config, env: Mapping[str, str] = os.environ) -> tzinfo:
    """The time zone in which days begin."""
    return find_zone(config.timezone) or find_local_zone(env)


def find_local_zone(env: Mapping[str, str]) -> tzinfo:
    """The machine's own: by the name that `TZ` or /etc/localtime has for it, else by its clock."""
    name = env.get("TZ", "").removeprefix(":") or os.path.realpath(LOCALTIME)
    return find_zone(name.rpartition("zoneinfo/")[2]) or LocalClock()


def find_zone(name: str) -> ZoneInfo | None:
    """The zone of an IANA name, or `None`."""
    try:
        return ZoneInfo(name) if name else None
    except (LookupError, ValueError, OSError):  # not there; a path; a folder of zones
        return None
