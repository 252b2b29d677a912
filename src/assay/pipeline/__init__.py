"""The street: transcripts are found, read, cut, judged, linked, followed, counted, and told.

`score` is all of it on one page. What it calls, in order:
- `inputs`: what a person gives, made exact: files, times, a project
- `records`: a file's bytes as lines and records; `read_file`: one file as turns, from where it was left
- `scan_worker`: what a process does with a file; `scan`: all files into the store; `pool`: the processes
- `privacy`: the one way from kept turns to anybody: whose words they are, redacted or withheld
- `retention`: what nobody may keep any longer leaves the store
- `judge_stream`: what a process does with a stream; `judgement`: facts and judgements of some turns
- `models`: a model's answers, from the store or anew; `cost`: what they cost
- `verdicts`: a person's word on how sessions ended, put on them
- `scoring_run`: one scoring of a store, step by step
- `rework`: what became of lines; `repositories`: where; `projects`: which folders are one project

And what is built on it: `api` (for Python), `lookup` (sessions by id), `search` (by words), `corrections` (a person's
word on them), `audit` (sessions drawn at random), `verdict_lines` (what people said, to hand on and take in), `usage`
(what it took), `sides` (what is compared), `quality` (how well they were run), `habits` (the same, for advice),
`egress` (what would be sent), `doctor` (what may be amiss), `store_care` (a store moved, backed up, old words
forgotten), `langfuse_scores` (what is written to a Langfuse project), `langfuse_upload` (transcripts sent there).

Takes paths; gives what changed, or a report; imports everything to its left. Only here, in `http` and in `llm`
does anything wait, retry or run at the same time.
"""
