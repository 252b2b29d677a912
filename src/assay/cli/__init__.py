"""The command line: a file per command, each of which parses, calls and prints.

`main` is the way in, `program` knows the commands and imports the one that is called, `trouble` says what went wrong.
"""
