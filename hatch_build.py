"""What the package is built with beside its source: the phrases, packed."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PHRASES = "src/assay/sessions/speech/phrases.py"


class PackPhrases(BuildHookInterface[Any]):
    """Packs the phrase tables, so that no process has to make tries of them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        phrases = runpy.run_path(str(Path(self.root) / PHRASES))
        phrases["PACKED"].write_bytes(phrases["pack_phrases"]())
        build_data["artifacts"].append(str(phrases["PACKED"].relative_to(self.root)))
