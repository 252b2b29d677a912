"""Shell commands of a transcript: what they run, what that is for, what it writes, how it went.

- `runs`: text to runs, the way in;
- `bash`, `powershell`: text to simple commands;
- `commands`: a simple command, its words, and the lines it writes;
- `wrappers`: the command behind `sudo`, `npx`, `bash -c`;
- `rules`: tables of programs and tasks, and the effect of a command;
- `programs`: programs whose flags decide;
- `outcomes`: how runs went.

Takes the text of a command, and later its exit code and output; gives `Run`s. Imports only `types`.
"""

from assay.sessions.shell.outcomes import conclude_runs, find_commit_ids
from assay.sessions.shell.runs import list_commands_for, read_command

__all__ = ["conclude_runs", "find_commit_ids", "list_commands_for", "read_command"]
