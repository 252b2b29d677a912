"""The real agents, fetched once and kept: what `tests/llm/real.py` does for Claude Code, for Codex too."""

import os
import shutil
from pathlib import Path

from tests.llm.real import claude_code, fetched, missing, run

CODEX = "@openai/codex@0.166.0"


def codex() -> Path:
    """The folder in which a real `codex` lies."""

    def fetch(folder: Path) -> None:
        if shutil.which("npm") is None:
            if shutil.which("apt-get") is None or os.geteuid():
                missing("npm is not installed")
            run("apt-get", "update", "-q")
            run("apt-get", "install", "-qy", "--no-install-recommends", "nodejs", "npm")
        run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), CODEX)

    return fetched("codex-0.166.0", fetch) / "node_modules" / ".bin"


FOLDERS = {"claude-code": claude_code, "codex": codex}
