"""The judge that asks a model: the same four jobs as the offline one, under checks that no model can move.

- `judge`: makes the questions it wants asked and reads the answers it is given; it does no I/O;
- `prompt_files`: the prompts in `prompts`, each with its version, filled from `judges/criteria.toml` and our facts;
- `replies`: what each job must answer, as a type and a JSON Schema; a reply is read as a whole or not at all;
- `verdicts`: from a reply about the outcome to a vote, and from votes to a judgement;
- `suspicious`: words of a transcript that speak to the judge, which are no evidence;
- `quality`: the judge of a session's quality by a profile;
- `trial`: the judge of an evaluation's trials by a rubric.
"""

from assay.judges.model.judge import ModelJudge, check_reply, versions

__all__ = ["ModelJudge", "check_reply", "versions"]
