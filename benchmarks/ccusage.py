"""The native build of ccusage, fetched from npm into `.cache/`.

`ccusage` itself is a small script that starts a binary from a package per platform. We fetch that
package alone and start the binary directly, so that no Node start-up is in the figures.
"""

import json
import platform
import subprocess
import sys
from collections import Counter
from pathlib import Path

CACHE = Path(__file__).parent / ".cache"
VERSION = "20.0.24"


def binary(version: str) -> Path | None:
    """The program, fetched if need be; None when npm or the package is missing."""
    arch = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"@ccusage/ccusage-{sys.platform}-{arch}"
    home = CACHE / f"ccusage-{version}"
    program = home / "node_modules" / package / "bin" / "ccusage"
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        fetch = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), f"{package}@{version}"]
        try:
            subprocess.run(fetch, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"ccusage {version} cannot be fetched: {error}", file=sys.stderr)
            return None
        program.chmod(0o755)
    return program


def command(program: Path, single: bool) -> list[str]:
    """Both agents in one invocation, with the prices it carries instead of the network."""
    argv = [str(program), "daily", "--offline", "--json", "--by-agent"]
    return [*argv, "--single-thread"] if single else argv


def environment(root: Path) -> dict[str, str]:
    """Where it looks; every other agent it knows lies below HOME, which is empty."""
    return {"CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex"), "TZ": "UTC"}


def output_tokens(reply: bytes) -> Counter[str]:
    """Output tokens by agent."""
    tokens: Counter[str] = Counter()
    for day in json.loads(reply)["daily"]:
        for part in day["agents"]:
            tokens[part["agent"]] += part["outputTokens"]
    return tokens
