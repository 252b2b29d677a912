"""What can go wrong, as a tree.

AssayError          anything Assay itself reports
├── BadInput        the person can mend it: one line, exit code 2
│   └── StoreError  the store can't be opened or written
├── JudgeError      a judge gave no answer: the session is ungraded, the run goes on
├── ModelError      a model gave no answer
│   ├── ModelBusy         it may answer later: try again
│   ├── ModelRefused      it won't answer this: the session is ungraded
│   └── ModelUnavailable  it answers nobody: no key, no program, no such model, no way there
├── InvalidRun      what an evaluation rests on can't be trusted: exit code 4
├── WorkerLost      a worker process was killed: what was done is kept
└── RunStopped      the person asked to stop: what was done is kept, exit code 130

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


class ModelError(AssayError):
    """A model gave no answer; the message says why, in a sentence that can stand in a report."""


class ModelBusy(ModelError):
    """Too many requests, overloaded, timed out, or the line went dead: the same request may be answered later."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s
        """How long the service asks to wait, where it says so."""


class ModelRefused(ModelError):
    """This request is not answered, however often it is asked: too long, declined, cut off, malformed."""


class ModelUnavailable(ModelError):
    """No request is answered: what was asked for is not set up, or can't be reached."""


class InvalidRun(AssayError):
    """What an evaluation rests on can't be trusted."""

    exit_code = 4


class WorkerLost(AssayError):
    """A worker process died."""


class RunStopped(AssayError):
    """Ctrl-C."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("stopped; what was read is kept, run the same command again to go on")
