"""The street as code: files are found, read, folded into turns, given facts and kept; streams are cut, judged, scored.

`discover` finds files, `lines` and `decode` take them apart, `digest` reads one, `work` is what a worker
process does, `pool` spreads it, `scan` wires it all and owns every write to the store. `judging` is what a worker does
with a stream, `score` is the street itself, `lookup` finds sessions by id, `correcting` is a person's word on it, `api` both for Python.

Takes paths; gives what changed, or a report; imports everything to its left. Only here, in `http` and in `llm`
does anything wait, retry or run at the same time.
"""
