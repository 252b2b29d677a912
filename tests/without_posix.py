"""Runs `assay` as if this system were none of the POSIX kind: without what Python lacks on Windows.

Not Windows itself: paths, `os.name` and the rules for open files are still those of the machine that runs it.
"""

import importlib
import os
import signal
import sys

MODULES = ("fcntl", "grp", "pwd", "readline", "resource", "termios", "tty")
OF_OS = (
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fork forkpty getgid geteuid getegid getuid getpgid "
    "getpgrp killpg mkfifo openpty pread pwrite register_at_fork setpgid setsid sync sysconf tcgetpgrp uname wait4 "
    "waitid WNOHANG"
).split()
OF_SIGNAL = ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGCHLD", "pthread_sigmask", "setitimer")


OTHERS = (
    "asyncio multiprocessing.pool subprocess tempfile uuid alembic.command httpx numpy platformdirs.unix sqlalchemy"
).split()
"""Packages of others know the system they are on by its name: they are imported as they are here."""


def hide() -> None:
    """Take away what is not everywhere."""
    for name in OTHERS:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for holder, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            if hasattr(holder, name):
                delattr(holder, name)
    importlib.import_module("assay.cli.asked_before").is_asked = lambda: False  # as on Windows, by `os.name`


if __name__ == "__main__":
    hide()
    from assay.cli.main import main

    sys.exit(main())
