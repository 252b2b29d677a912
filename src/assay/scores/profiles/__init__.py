"""Quality profiles: one TOML file says what is asked, how it is weighed, and what becomes of what is missing.

`profile` finds and loads one, says what is wrong with it, and derives from it the judge's criteria, the schema of its
reply, the score configs for Langfuse and the overall quality. Shipped ones stand here; a person's own in a folder
`profiles` beside `assay.toml`, or anywhere, by path.
"""

from assay.scores.profiles.profile import (
    OVERALL,
    SHIPPED,
    OverallQuality,
    ProfileFile,
    ScoreDefinition,
    average_scores,
    build_reply_schema,
    hash_profile,
    list_folders,
    list_profiles,
    list_score_definitions,
    load_profile,
    load_profile_file,
    render_criteria,
    scale_score,
)

__all__ = [
    "OVERALL",
    "SHIPPED",
    "OverallQuality",
    "ProfileFile",
    "ScoreDefinition",
    "average_scores",
    "build_reply_schema",
    "hash_profile",
    "list_folders",
    "list_profiles",
    "list_score_definitions",
    "load_profile",
    "load_profile_file",
    "render_criteria",
    "scale_score",
]
