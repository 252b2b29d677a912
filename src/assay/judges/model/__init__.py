"""The judge that asks a model: the same four jobs as the offline one, under checks that no model can move.

Prompts are the files in `prompts`, each with its version; `judges/criteria.toml` fills them. A reply is read as a whole
or not at all (`replies`, `checking`); quotes must stand where they say (`citing`); explicit evidence needs a ground in
our own facts (`grounds`); `verdicts` applies the floors and the failure signals and counts votes. Nothing here does
I/O: `ModelJudge` notes the questions it wants asked, and reads the answers it is given.
"""

from assay.judges.model.checking import check
from assay.judges.model.judge import ModelJudge, versions

__all__ = ["ModelJudge", "check", "versions"]
