"""The command line: a file per command, each of which parses, calls and prints."""

from assay.cli.main import main

__all__ = ["main"]
