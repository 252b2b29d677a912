"""What Claude Code is told: where the plugin is, where its telemetry goes, and what its status line runs."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.agents.edits import SettingEdit
from assay.agents.installation import FilePlan, read_settings, write_settings
from assay.agents.json_text import read_value, remove_value
from assay.errors import BadInput
from assay.files import find_state_folder, write_atomically

SCOPES = ("user", "project", "local")
MARKETPLACE, PLUGIN = "assay", "assay@assay"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
WORDS = ("OTEL_LOG_USER_PROMPTS", "OTEL_LOG_TOOL_DETAILS")
TOLD_HOOKS = (
    "SessionStart", "UserPromptSubmit", "PostToolUse", "SubagentStop", "Stop", "SessionEnd",
)  # fmt: skip
"""Events that every version knows; what a version does not know is left to the plugin."""
EARLIER = "statusline-before"


class InstallOptions(Struct, frozen=True, kw_only=True):
    """What is to be installed."""

    as_hooks: bool = False
    """Hooks in the settings themselves, for versions without plugins."""
    server: str = ""
    words: bool = False
    has_key: bool = False
    statusline: bool = False


def find_plugin() -> Path:
    """The folder of the plugin, as it was installed with this package."""
    return Path(str(files("assay"))) / "plugin"


def find_config_folder(env: Mapping[str, str]) -> Path:
    """Where Claude Code keeps what is a person's own."""
    first = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    return Path(first).expanduser() if first else Path(env.get("HOME") or Path.home()) / ".claude"


def find_settings(scope: str, env: Mapping[str, str], here: Path) -> Path:
    """The settings file of a scope."""
    if scope == "user":
        return find_config_folder(env) / "settings.json"
    return here / ".claude" / ("settings.json" if scope == "project" else "settings.local.json")


def find_command(*words: str) -> str:
    """How this very `assay` is run from elsewhere."""
    beside = Path(sys.executable).parent / "assay"
    program = [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "assay"]
    return shlex.join([*program, *words])


def build_edits(options: InstallOptions, now: str, env: Mapping[str, str]) -> list[SettingEdit]:
    """Everything that is set in a settings file, given what it says now."""
    edits = list(build_hooks() if options.as_hooks else build_plugin())
    if options.server:
        edits += build_telemetry(options, now, env)
    if options.statusline:
        line = {"type": "command", "command": find_command("statusline")}
        edits.append(SettingEdit(path=("statusLine",), value=line))
    return edits


def build_plugin() -> list[SettingEdit]:
    source = {"source": {"source": "directory", "path": str(find_plugin())}}
    return [
        SettingEdit(path=("extraKnownMarketplaces", MARKETPLACE), value=source),
        SettingEdit(path=("enabledPlugins", PLUGIN), value=True),
    ]


def build_hooks() -> list[SettingEdit]:
    script = shlex.quote(str(find_plugin() / "hooks" / "keep.sh"))
    return [
        SettingEdit(
            path=("hooks", name),
            value={"hooks": [{"type": "command", "command": f"sh {script} {name}", "timeout": 5}]},
            is_item=True,
        )
        for name in TOLD_HOOKS
    ]


def build_telemetry(options: InstallOptions, now: str, env: Mapping[str, str]) -> list[SettingEdit]:
    """The variables by which telemetry goes to a server; refused where it goes elsewhere already."""
    there = read_value(now, ("env", ENDPOINT)) if now else None
    if there not in (None, options.server):
        raise BadInput(f"env.{ENDPOINT} is set to another address already; take it out first, or leave out --server")
    values = {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
        ENDPOINT: options.server,
        **dict.fromkeys(WORDS if options.words else (), "1"),
    }
    edits = [SettingEdit(path=("env", name), value=value) for name, value in values.items()]
    if options.has_key:  # a key stands in no settings file: a script reads it
        helper = str(find_state_folder(env) / "headers")
        edits.append(SettingEdit(path=("otelHeadersHelper",), value=helper))
    return edits


def is_installed(text: str | None) -> bool:
    """Whether settings have the plugin switched on, or its hooks."""
    if text is None:
        return False
    hooks: Any = read_value(text, ("hooks", "SessionEnd")) or []
    return read_value(text, ("enabledPlugins", PLUGIN)) is True or any("keep.sh" in str(one) for one in hooks)


# --- the status line that was there ---------------------------------------------------------------


def save_earlier_statusline(plan: FilePlan, env: Mapping[str, str]) -> None:
    """Keep the command of the status line that ours takes the place of: it is run before ours."""
    made = next((one for one in plan.changed.edits if one.path == ("statusLine",)), None) if plan.changed else None
    before = made.was.get("command") if made and isinstance(made.was, dict) else None
    if isinstance(before, str) and before:
        write_atomically(find_state_folder(env) / EARLIER, before.encode())
    elif made:
        drop_earlier_statusline(env)


def drop_earlier_statusline(env: Mapping[str, str]) -> None:
    with suppress(OSError):
        (find_state_folder(env) / EARLIER).unlink()


# --- what Claude Code itself notes of a plugin ----------------------------------------------------


def forget_plugin(env: Mapping[str, str]) -> list[str]:
    """Take the plugin out of Claude Code's own lists, with its copies of it; gives what was changed."""
    folder = find_config_folder(env) / "plugins"
    changed = []
    for name, path in (("known_marketplaces.json", (MARKETPLACE,)), ("installed_plugins.json", ("plugins", PLUGIN))):
        with suppress(BadInput, ValueError):  # a list of another shape is its owner's
            text = read_settings(folder / name)
            if text and read_value(text, path) is not None:
                write_settings(FilePlan(path=folder / name, now=text, then=remove_value(text, path)))
                changed.append(str(folder / name))
    for copy in (folder / "cache" / MARKETPLACE, folder / "data" / f"{MARKETPLACE}-{MARKETPLACE}"):
        if copy.is_dir() and not copy.is_symlink():
            shutil.rmtree(copy, ignore_errors=True)
            changed.append(str(copy))
    return changed
