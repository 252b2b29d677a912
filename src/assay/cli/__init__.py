"""The command line: a file per command, each of which parses, calls and prints.

- `main` is the way in; `program` knows the commands and imports the one that is called; `trouble` says what went wrong.
- `asked_before` answers what would be the same again; `keeping` keeps it for that, and `recording` notes it.
- `options`: every option once, and a command made of the fields of its request.
- `settings`: the settings that hold, with what options override; `consent`: the person's yes before a model is asked.
- `terminal`: what answers are drawn on, and the pager; `symbols`: words for terminals without signs.
- `changes`: changes of an agent's settings, shown first; `plugin`, `statusline` with `door` (its fast way in), `watch`,
  `mcp`, `codex`.
- `answer`: from a request to a report; `progress`: the bar; `output`: JSON to stdout, reports to files.
- Commands: `score`, `report`, `open`, `sessions`, `show`, `streams`, `quality`, `compare`, `usage`, `advise`,
  `egress`, `doctor`, `demo`, `session`, `audit`, `judges`, `profiles`, `skill`, `init`, `store`, `completion`,
  `keys`, `serve`, `work`, `ship`, `export`, `import`, `langfuse` with `langfuse_traces`, `langfuse_options` and
  `langfuse_report`, and `eval` with `eval_init`, `eval_run`, `eval_replay` and `eval_promote`.

Takes arguments; gives text on stdout and an exit code; the rooms that it may import stand in
`tests/test_architecture.py`.
"""
