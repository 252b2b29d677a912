"""Settings: which there are, which of them hold, and when a day begins.

- `settings`: every setting, with its default and what may stand for it
- `loading`: the values that hold, from files, the environment and flags
- `writing`: a person's choices as a file
- `zones`: the time zone in which days begin

Takes files, the environment and flags; gives a `Config`; imports errors.
"""

from assay.config.loading import (
    NAME,
    find_users_file,
    format_value,
    is_projects,
    list_config_files,
    list_keys,
    load,
    load_own_tenants,
    merge_tenant,
)
from assay.config.settings import Boundaries, Config, Model, Redaction, Rework, Ship, Tenant
from assay.config.writing import Choices, check_settings, render_settings
from assay.config.zones import LocalClock, find_local_zone, pick_zone

__all__ = [
    "NAME",
    "Boundaries",
    "Choices",
    "Config",
    "LocalClock",
    "Model",
    "Redaction",
    "Rework",
    "Ship",
    "Tenant",
    "check_settings",
    "find_local_zone",
    "find_users_file",
    "format_value",
    "is_projects",
    "list_config_files",
    "list_keys",
    "load",
    "load_own_tenants",
    "merge_tenant",
    "pick_zone",
    "render_settings",
]
