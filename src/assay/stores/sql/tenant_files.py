"""Tenants of a store in a file: each has a file of its own, so that no query can reach into another's."""

import re
from pathlib import Path
from typing import Final

from assay.errors import BadInput

OWN: Final = "own"
"""The tenant of a store that nobody shares."""
TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def check_tenant(name: str, given: str = "tenant ") -> str:
    """The name of a tenant, if it can be one; it becomes part of paths and names in a database."""
    if not TENANT.fullmatch(name):
        raise BadInput(
            f"{given}{name[:60]}: a tenant's name has up to 40 small letters, digits, - and _, "
            "and begins with a letter or digit"
        )
    return name


def place_tenant(main: Path, tenant: str) -> Path:
    """The file of a tenant: the main one for `own`, else one in the folder beside it."""
    check_tenant(tenant)
    return main if tenant == OWN else find_folder(main) / f"{tenant}.db"


def list_tenants(main: Path) -> list[str]:
    """Names of the tenants that have a file."""
    named = [path.stem for path in find_folder(main).glob("*.db") if TENANT.fullmatch(path.stem)]
    return sorted([*([OWN] if main.exists() else []), *named])


def find_folder(main: Path) -> Path:
    return main.with_name(f"{main.name}.tenants")
