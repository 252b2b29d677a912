"""The trials of two arms become a verdict: pure arithmetic, no file and no clock.

- `compare` makes a comparison by the rule that was chosen, and checks one by making it again;
- `pairing` finds the trials of a task that may be compared;
- `composite` turns one trial into a number;
- `trial_scores` turns all trials of both arms into numbers that know no labels;
- `seed_rule` decides by one run per side, the published rule to the letter;
- `tested_rule` decides by a permutation test and a guard;
- `rule_result` is what either rule says;
- `permutation` estimates how often luck alone does as well;
- `sequential` looks after every two repeats, so that a run can stop early;
- `guard` judges tasks that look broken by fresh trials;
- `planner` says before the first trial what a suite can prove;
- `split` compares a configuration with itself, trials split at random;
- `seal` hashes trials and comparisons, so that a change shows;
- `gate` says whether a comparison's candidate may go in.

Takes `Trial`, `Design` and `Thresholds`; gives `Comparison` and `SuitePlan`. Imports types, errors and config.
"""
