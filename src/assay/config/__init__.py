"""Settings: what they are (`settings`), which of them hold (`loading`), and when a day begins (`zones`).

Takes files, the environment and flags; gives a `Config`; imports errors.
"""

from assay.config.loading import config_files, is_projects, keys, load, shown, stricter
from assay.config.settings import Boundaries, Config, Model, Redaction, Rework, Tenant
from assay.config.zones import Local, local_zone, zone

__all__ = [
    "Boundaries",
    "Config",
    "Local",
    "Model",
    "Redaction",
    "Rework",
    "Tenant",
    "config_files",
    "is_projects",
    "keys",
    "load",
    "local_zone",
    "shown",
    "stricter",
    "zone",
]
