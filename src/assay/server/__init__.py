"""The server: telemetry comes in, and what a store holds is read, over HTTP, by whoever has a key to it.

- `settings`: where it listens, and its limits; `keys`: making, hashing and revoking keys
- `connections`: slow clients are cut off, and stopping loses nothing; `guard`: the door, which every request passes
- `people`: whether people are told apart, one rule for all answers
- `access`: who comes in, by name, page and key; `tenants`: each one's own store; `limits`: sizes, times and rates
- `receiver`: telemetry from bytes to records; `writer`: many requests in one transaction
- `hall`: what all share, and chores such as retention; `app`: every route, of which `api/` has the handlers
- `pages/`: what a browser is shown, by the same access and the same reading
- `turns`: turns of sessions that somebody is reading; `qualities`: how well they were run, looked at a few at a time
- `looking`: which sessions a list on a page means, looked for no longer than people wait
- `reading`: the one place where the API asks the pipeline; `documents`: what it answers; `seals`: cursors and tags
- `threads`: handlers that wait for a store; `replies`: refusals, and OTLP's own replies
- `workers`: those who judge what came in, here or beside it; `work_queue`: the same, handed out by PostgreSQL
- `figures`: what it counts of itself; `checkup`: may it start?

Takes requests; gives what is stored, and answers; the rooms it imports stand in
`tests/test_architecture.py`. Litestar and uvicorn are
an extra, imported by the command that serves.
"""
