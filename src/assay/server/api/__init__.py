"""What is asked over HTTP, a file for each subject.

- `telemetry`: OTLP comes in; `health`: is it alive, is it ready, what does it count
- `reports`: score, trend, sessions, ledger and quality; `marks`: a person's word, audits, and words to delete
- `keys`: keys and the audit log; `evaluations`: runs of `assay eval`; `events`: what changes, as it does
- `conversations`: as they go on; `machines`: sessions that other machines ship
- `sources`: how complete transcripts, telemetry and Langfuse are
- `answers`: documents with entity tags, and what errors look like

Takes requests that the guard let in; gives documents.
"""
