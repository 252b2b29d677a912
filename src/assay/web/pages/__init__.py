"""A file for each page: values in, a `Page` of the frame out.

- `audit`: sessions drawn at random, one at a time, and the interval that shrinks
- `advise`: prompts and habits; `quality`: how well sessions were run; `rework`: how long lines stay
- `compare`: two windows or slices; `team`: shares by group; `judges`: how good each is; `privacy`: what left
- `evaluations`: the list; `evaluation`: one of them, also as a file
- `entrance`: logging in, and what is said where a page is refused
- `overview`: the score and all that stands beside it; `live`: what goes on now
- `sessions`: the list, its filters and search; `session`: one of them, with `deeds`: what a person may say of it
"""
