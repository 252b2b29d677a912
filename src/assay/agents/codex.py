"""What Codex is told: where its telemetry goes, and which program hears of every turn that ended."""

from collections.abc import Mapping
from pathlib import Path

import tomlkit

from assay.agents.claude_code import find_plugin
from assay.agents.edits import SettingEdit
from assay.agents.toml_text import read_value
from assay.errors import BadInput

SCOPE = "codex"
EVENT = "CodexTurn"


def find_config(env: Mapping[str, str]) -> Path:
    """Codex's own settings."""
    folder = env.get("CODEX_HOME")
    return (Path(folder) if folder else Path(env.get("HOME") or Path.home()) / ".codex") / "config.toml"


def build_edits(base: str, server: str, *, words: bool) -> tuple[list[SettingEdit], list[str]]:
    """Everything that is set, given what the file says now; and what is left as it is, and why."""
    now = tomlkit.parse(base)
    edits, notes = [], []
    hook = ["sh", str(find_plugin() / "hooks" / "keep.sh"), EVENT]
    if read_value(now, ("notify",)) not in (None, hook):
        notes.append("notify: another program hears of turns already, and stays; rollouts are read all the same")
    else:
        edits.append(SettingEdit(path=("notify",), value=hook))
    if server:
        exporter = {"otlp-http": {"endpoint": f"{server}/v1/logs", "protocol": "json"}}
        if read_value(now, ("otel", "exporter")) not in (None, "none", exporter):
            raise BadInput("otel.exporter is set already; take it out first, or leave out --server")
        edits.append(SettingEdit(path=("otel", "exporter"), value=exporter))
        if words:
            edits.append(SettingEdit(path=("otel", "log_user_prompt"), value=True))
    return edits, notes
