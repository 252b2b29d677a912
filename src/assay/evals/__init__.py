"""Is the new configuration better, and may it go in?

- `tasks` loads what is run: tasks, configurations, and hashes of their files;
- `sandbox` runs one command where it can do no harm, and ends all of it;
- `checks` has one module for each kind of objective check;
- `runners` has one module for each agent that can be evaluated;
- `running` runs trials, records them, and loads them again;
- `deciding` compares the trials of two arms and says whether the candidate may go in;
- `promoting` carries a proven candidate into a repository, and makes tasks of sessions that did not land.

Takes folders of tasks and two configurations; gives `types.evals` values and a folder for each run. Imports whatever
stands left of it. NumPy is imported when it is needed: it takes its time to start.
"""
