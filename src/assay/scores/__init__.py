"""Scores: what facts and judgements add up to.

`prism` is the number with its interval, waterfall and exclusions; `measures` stand beside it; `slices` and `windows`
are the same number over fewer sessions; `reasons` say why sessions did not crush; `survival` is how long lines stay;
`report` puts all of it together.

Takes sessions; gives rows; imports types and the floors of `judges.criteria`. Pure: the order of sessions
never matters, and what nothing is known of is `None`, never 0.
"""
