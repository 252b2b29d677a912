"""The judge that asks a model: a question for a stream's topics, one for a session, under checks that none can move.

- `judge`: dialogues that yield questions and are sent answers; it does no I/O;
- `prompt_files`: the prompts in `prompts`, each with its version, filled from `judges/criteria.toml` and our facts;
- `session_facts`: what we counted ourselves, as a model is told it;
- `replies`: what each job must answer, as a type and a JSON Schema; a reply is read as a whole or not at all;
- `verdicts`: from a reply about a session to a vote, and from votes to a judgement;
- `suspicious`: words of a transcript that speak to the judge, which are no evidence;
- `quality`: the judge of a session's quality by a profile;
- `trial`: the judge of an evaluation's trials by a rubric.
"""

from assay.judges.model.judge import ModelJudge, NoAnswer, check_reply, versions

__all__ = ["ModelJudge", "NoAnswer", "check_reply", "versions"]
