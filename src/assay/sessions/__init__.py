"""Events to turns, turns to streams, and what several stages need to read them.

`turns` folds the events of one file; `join` puts the files of a stream together and drops copies;
`shell` reads shell commands; `text` shortens.

Takes `assay.types` events; gives turns and streams; imports types and errors only.
"""

VERSION = 4
"""Raised when turns are folded, or shell commands read, in another way: files are then read again."""
