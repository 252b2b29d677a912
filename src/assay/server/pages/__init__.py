"""Pages: what a browser asks for, a file for each subject; `assay.web` makes them.

- `refusals`: which addresses are pages, what headers they have, and what is shown instead of one
- `answers`: pages with entity tags, and what they know of who looks
- `entrance`: logging in and out, style and script
- `audit`: sessions drawn at random, and a person's answers
- `advise`, `quality`, `rework`, `compare`, `team`, `judges`, `privacy`, `evaluations`: a page each, called so
- `overview`: the score and all that stands beside it; `sessions`: the list; `live`: what goes on now
- `session`: one of them; `deeds`: what a person says of it there

Takes requests that the guard let in; gives HTML.
"""
