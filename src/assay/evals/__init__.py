"""Is the new configuration better, and may it go in?

Takes trials of two arms, gives a `Comparison`; `types` holds all the values. The arithmetic is pure: `compare` picks
the rule, `seed_rule` and `tested_rule` decide, `guard` asks for fresh trials, `planner` speaks before the first one.
Nothing here is imported before it is needed: NumPy takes its time to start.
"""
