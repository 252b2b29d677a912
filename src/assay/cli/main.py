"""`assay`: the way in. Nothing is imported here that `assay --version` does not need."""

import gc
import sys
from importlib import import_module

from assay import __version__


def main() -> None:
    """Run the command that was asked for."""
    if sys.argv[1:] == ["--version"]:
        print(f"assay {__version__}")
        return
    gc.set_threshold(100_000, 20, 20)  # a command makes much that stays: looking for garbage so often is for nothing
    try:
        import_module("assay.cli.program").run()
    finally:
        gc.freeze()  # all of it goes with the process: looking through it once more took a tenth of a second
