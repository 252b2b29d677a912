"""Scores: what facts and judgements add up to.

- `prism`: the score with its interval, its waterfall and what does not count;
- `interval`: how sure a share is; `correction`: the score corrected by a person's audit (PPI++);
- `prediction`: where the truth lies without one; `audit`: who is drawn, how far that is, and both of these for them;
- `card`: how good a judge is, measured on other people's sessions and by the person's own audit;
- `measures`: what stands beside it: pace, time, prompts, tokens and money;
- `difference`: whether two shares differ, and what remains of that where many are tested;
- `breakdown`: the same score by slice (project, model, intent, week …) and by window (the last 7 and 30 days);
- `comparison`: two groups of sessions beside each other; `promotion`: those before and since a change went in;
- `usage`: dollars, tokens and time, added up;
- `reasons`: why sessions did not crush, and what would have made them;
- `steps`: how far a session gets on the way to those that crushed, and why no further;
- `conditions`: which sessions a number counts;
- `advice`: which habits go with not landing;
- `survival`: how long lines stay;
- `tally`: sessions in numbers that add up, so that a report on many is the sum of parts;
- `report`: all of it in one value;
- `quality`: what judges say of a session's chunks, put together by a profile; `quality_means`: of many sessions;
- `profiles/`: what is asked of a session's quality and how it is weighed.

Takes sessions; gives rows; imports `types errors resources config judges`. Pure: the order of sessions never matters,
and what nothing is known of is `None`, never 0.
"""
