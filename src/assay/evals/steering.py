"""Files by which a workspace steers the programs that check it: settings of test runners, modules that shadow others.

Those that an agent added are set aside where commands run. Checks that look at files see them all.
"""

import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from assay.evals.fingerprint import Listing

FILES = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.ini", ".pytest.ini", "pytest.toml",
    ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", ".env", ".npmrc", ".mocharc*", "jest.config.*",
    "vitest.config.*", ".rspec", "bunfig.toml", ".yarnrc.yml", ".pnpmfile.cjs", "babel.config.*", "entry_points.txt",
)  # fmt: skip
MODULES = frozenset(sys.stdlib_module_names) | {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"}
SUFFIXES = ("py", "pyc", "so")
SHOWN = 5


def added(before: Listing, after: Listing) -> list[str]:
    """What was not there at the start and steers programs."""
    new = [path for path in after if path not in before]
    return [path for path in new if is_setting(path) or is_shadow(path, is_link=after[path].startswith("link:"))]


def is_setting(path: str) -> bool:
    return fits(path, FILES)


def is_shadow(path: str, *, is_link: bool = False) -> bool:
    """Whether a program started in the workspace would load it in place of a module of its own."""
    parts = path.split("/")
    if len(parts) == 2 and parts[1].partition(".")[0] == "__init__":
        return parts[0] in MODULES
    module, _, rest = parts[0].partition(".")
    return len(parts) == 1 and module in MODULES and (is_link or rest.rpartition(".")[2] in SUFFIXES)


def fits(path: str, names: Iterable[str]) -> bool:
    """Whether a file is called so, wherever it lies."""
    return any(fnmatchcase(path.rpartition("/")[2], name) or path == name for name in names)


def told(aside: Sequence[str]) -> str:
    """What was set aside, for whoever wonders why a check fails."""
    if not aside:
        return ""
    more = f" and {len(aside) - SHOWN} more" if len(aside) > SHOWN else ""
    return f"set aside, for the agent added it: {', '.join(aside[:SHOWN])}{more}"
