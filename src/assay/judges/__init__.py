"""Judges: what a session was after and whether it landed, each conclusion with its evidence.

A judge is a module or package here (or an entry point `assay.judges`), one per backend, with

- `versions()`: a short sha256 for each job, over all that decides its answers;
- `topic(stream)`: a `Gap` for every step from one prompt to the next;
- `language(turns)`: what the person writes in, what the code is written in;
- `rubric(turns)`: intent, the seven checks, grade, title, summary;
- `outcome(turns, intent, failures, after)`: was the goal completed, how sure, by what evidence;
  `after` is what the person said next in the same stream, in another session.

`formula` holds what no judge may decide for itself. Takes turns and facts; gives judgements; imports types,
errors, plugins, `sessions` and `facts`.
"""
