"""What can go wrong, as a tree.

AssayError          anything Assay itself reports
├── BadInput        the person can mend it: one line, exit code 2
│   └── StoreError  the store can't be opened or written
├── JudgeError      a judge gave no answer: the session is ungraded, the run goes on
├── WorkerLost      a worker process was killed: what was done is kept
└── Stopped         the person asked to stop: what was done is kept, exit code 130

Every message says what, where, and what to do. Anything else that is raised is a bug of ours
and keeps its traceback.
"""


class AssayError(Exception):
    """Root of all that Assay reports on purpose."""

    exit_code = 2


class BadInput(AssayError):
    """Something the person gave can't be used."""


class StoreError(BadInput):
    """The store can't be opened, read or written."""


class JudgeError(AssayError):
    """A judge could not answer; the message says why, and becomes the reason of an ungraded session."""


class WorkerLost(AssayError):
    """A worker process died."""


class Stopped(AssayError):
    """Ctrl-C."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("stopped; what was read is kept, run the same command again to go on")
