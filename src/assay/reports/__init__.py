"""Reports show values: to a person in the terminal or in a document, to a machine as JSON or CSV.

- `format`: numbers, times, names and lists as text; `sanitize_text` stands before every terminal
- `json`: what machines read
- `summary` and `rework`: what is said of a report, of a session, and of what became of its lines, in every format
- `score`: the terminal report of `assay score`; `markdown` and `spreadsheet`: the same to keep or to hand on
- `digest`: a report in a few lines, for a mail
- `comparison`: two groups of sessions beside each other; `promotions`: those before and since changes went in;
  `usage`: what agents used
- `advice`: habits that go with not landing, and sentences to paste
- `sessions`, `session`, `streams`: tables of many, and one with all that is known of it
- `session_screen`: one session or stream on a screen
- `audit`: a session as an audit shows it, and how far that is
- `judges`: how good each judge is
- `quality`, `quality_means`, `profiles`: how well sessions were run, and what that was judged by
- `egress`: what would leave this machine
- `doctor`: what was found, skipped and not understood; `store`: what is kept and where
- `evaluation`, `evaluation_files`: an evaluation in the terminal, and in files

Takes values of types, `scores`, `llm` (estimates) and `judges` (criteria); gives text, bytes and what Rich can print;
imports nothing else of ours, and never sees a store. What comes out of transcripts is hostile.
"""
