"""The street: transcripts are found, read, cut, judged, linked, followed, counted, and told.

`score` is all of it on one page. What it calls, in order:
- `inputs`: what a person gives, made exact: files, times, a project
- `records`: a file's bytes as lines and records; `read_file`: one file as turns, from where it was left
- `packed_files`: files that are one document, opened so that nothing in them can harm
- `remote_files`: what lies in an object store; `bundles`: what archives and tables hold; `read_object`: one such object
- `scan_worker`: what a process does with a file; `scan`: all files into the store; `changed_folders`: which are new;
  `pool`: the processes; `cluster`: the same on many machines
- `telemetry`: conversations that agents' OpenTelemetry told of, as files
- `spool`: what an agent's hooks kept, taken in once
- `privacy`: the one way from kept turns to anybody: whose words they are, redacted or withheld
- `retention`: what nobody may keep any longer leaves the store
- `judge_stream`: what a process does with a stream; `judgement`: facts and judgements of some turns
- `models`: a model's answers, from the store or anew; `cost`: what they cost
- `verdicts`: a person's word on how sessions ended, put on them
- `scoring_run`: one scoring of a store, step by step; `judged_sessions`: what was judged, made sessions of
- `rework`: what became of lines; `repositories`: where; `projects`: which folders are one project
- `telling`: sessions told and kept, where something changed; `neighbourhoods`: which streams are told together;
  `same_sessions`: which of them stay as they are kept
- `kept_report`: what a report takes from rows that were kept; `standing_report`: the whole of it, where nothing
  changed; `lasting`: how long what was printed of it holds

And what is built on it: `api` (for Python), `lookup` (sessions by id), `places` (where they are kept), `search` (by
words), `corrections` (a person's word on them), `audit` (sessions drawn at random), `verdict_lines` (what people
said, to hand on and take in), `graded_runs` (what benchmarks said of runs), `usage` (what it took), `promotions` (what
became of changes that went in), `sides` (what is
compared), `quality` (how well they were run),
`habits` (the same, for advice), `glance` (the week and the day in short),
`egress` (what would be sent), `doctor` (what may be amiss), `sources_compared` (what
several sources tell of one conversation), `working` (what a worker does with a store), `live` (conversations as they
go on), `store_care` (a store moved, backed up, old words forgotten), `langfuse_scores` (what is written to a Langfuse
project), `langfuse_upload` (transcripts sent there), `shipping` (sessions sent to a server), `shipped` (what came in
there), `sent` (a session on its way), `export` (all sessions as a lake), `lake_report` (a report on one).

Takes paths; gives what changed, or a report; imports everything to its left. Only here, in `http` and in `llm`
does anything wait, retry or run at the same time.
"""
