"""Quality profiles: one TOML file says what is asked, how it is weighed, and what becomes of what is missing.

The judge's criteria, the schema of its reply, the score configs for Langfuse and the overall quality all derive from
that file. Shipped ones stand here; a person's own in a folder `profiles` beside `assay.toml`, or anywhere, by path.
"""

from assay.scores.profiles.deriving import (
    OVERALL,
    Overall,
    ScoreConfig,
    configs,
    overall,
    prompt_text,
    schema,
    share,
    version,
)
from assay.scores.profiles.loading import SHIPPED, Found, folders, listed, load, read

__all__ = [
    "OVERALL",
    "SHIPPED",
    "Found",
    "Overall",
    "ScoreConfig",
    "configs",
    "folders",
    "listed",
    "load",
    "overall",
    "prompt_text",
    "read",
    "schema",
    "share",
    "version",
]
