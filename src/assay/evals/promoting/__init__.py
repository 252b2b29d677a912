"""What follows from a verdict: a proven candidate goes in, and a session that did not land becomes a task.

- `promote` opens a pull request for a candidate;
- `verify` proves a run's comparison from its recorded trials;
- `files` finds the candidate's files, each exactly as it was tried;
- `branch` makes a branch of a remote without touching anybody's checkout;
- `note` says what is kept of it, for `assay compare --since-promotion`;
- `mine` writes a task for a session: its prompt, the commit it began at, checks from the later fix.

Takes a run's folder or a session; gives `Promotion`, `NotedPromotion` and `MinedTask`. Imports
`evals.running`, `evals.deciding`, git, and of the pipeline what finds a session and a repository.
"""
