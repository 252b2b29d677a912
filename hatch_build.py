"""What the package is built with beside its source: its phrases and tables, packed."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKERS = {"sessions/speech/phrases.py": "pack_phrases", "resources.py": "pack_tables"}


class PackTables(BuildHookInterface[Any]):
    """Packs phrases and tables, so that no process has to parse them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        for file, pack in PACKERS.items():
            module = runpy.run_path(str(Path(self.root) / "src" / "assay" / file))
            module["PACKED"].write_bytes(module[pack]())
            build_data["artifacts"].append(str(module["PACKED"].relative_to(self.root)))
