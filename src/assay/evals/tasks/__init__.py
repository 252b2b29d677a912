"""What is run: tasks and configurations, as folders that anybody can read.

- `task` loads tasks from their folders;
- `harbor` reads task folders in Harbor's form;
- `config` loads an agent's configuration from a folder or from a git ref;
- `starter` writes a suite to begin with;
- `folders` hashes the files of a folder, and packs one into memory.

Takes paths; gives `Suite`, `Task` and `AgentConfig`. Imports `evals.checks`, git, types, files and errors.
"""
