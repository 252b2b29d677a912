"""Events to turns, turns to streams, streams to segments and sessions, and what several stages need to read them.

- `turns`: folds the events of one file into turns;
- `streams`: joins the files of a stream, and drops copies;
- `boundaries`: cuts a stream into segments;
- `links`: puts segments together to sessions; `progress`: which of them are still going on;
- `written_lines`: the lines a session wrote and removed;
- `chunks`: cuts a large session into chunks;
- `endings`: how a run of turns ends;
- `calls`: questions that several facts and judges ask of tool calls;
- `paths`, `kinds_of_files`, `text`: paths, files that hold code, shortened text;
- `shell`: reads shell commands; `speech`: what people and agents say; `redaction`: takes secrets out;
  `rendering`: a session as a judge reads it; `rework`: what became of lines.

Takes `assay.types` events; gives turns, streams, segments and sessions; imports clock, types, config and resources.
"""

VERSION = 9
"""Raised when turns are folded, or shell commands read, in another way: files are then read again."""
