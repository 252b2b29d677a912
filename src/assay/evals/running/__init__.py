"""Trials, from the plan to what is on disk.

- `plan` makes sure that everything is there before anything is spent;
- `run` runs trials in their order, and goes on where a run was interrupted;
- `trial` runs one trial: workspace, agent, checks, record;
- `task_checks` runs the checks of a task, on what an agent left or without any agent;
- `transcript` reads what an agent's transcripts tell: turns, cost, instructions;
- `judge` asks a model how well a task's rubric is met;
- `run_folder` says where a run keeps what;
- `lock` pins what a run was begun with;
- `ledger` lists the records of a run, so that a change shows;
- `recorded_run` loads a run that has ended, and scores its trials again;
- `evaluation` runs, compares, runs what the comparison wants, and tells all of it for reports.

Takes a `Suite` and two `AgentConfig`; gives a run's folder and an `Evaluation`. Imports the other rooms of `evals` but
`promoting`, and of the project what reads transcripts and asks models.
"""
