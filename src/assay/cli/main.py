"""`assay`: the way in. Nothing is imported here that `assay --version` and the status line do not need."""

import gc
import sys
from importlib import import_module

from assay import __version__

ASKED_AGAIN = ("score", "sessions", "show")
"""Commands that may have been asked before."""


def answer_again() -> bool:
    """Answer what was asked before, if it would be the same; whether that was done."""
    try:
        before = import_module("assay.cli.asked_before")
        answer = before.find_answer() if before.is_asked() else None
        if answer is not None:
            before.print_answer(answer)
    except KeyboardInterrupt:
        stopped = import_module("assay.errors").RunStopped
        print(f"assay: {stopped()}", file=sys.stderr)
        sys.exit(stopped.exit_code)
    except OSError as error:
        import_module("assay.cli.program").leave_unwritten(error)
    return answer is not None


def main() -> None:
    """Run the command that was asked for."""
    if sys.argv[1:] == ["--version"]:
        print(f"assay {__version__}")
        return
    if sys.argv[1:] == ["statusline"]:
        import_module("assay.cli.door").print_line()
        return
    if sys.argv[1:2] and sys.argv[1] in ASKED_AGAIN:
        gc.disable()  # many small values are made, and then it is over
        if answer_again():
            return
        gc.enable()
    gc.set_threshold(100_000, 20, 20)  # a command makes much that stays: looking for garbage so often is for nothing
    try:
        import_module("assay.cli.program").run()
    finally:
        gc.freeze()  # all of it goes with the process: looking through it once more took a tenth of a second
