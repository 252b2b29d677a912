"""The documentation as a site: pages of `docs/`, and the reference that is made from the code.

`gather` brings all pages together, as Markdown; `links` has their links lead to each other; `commands`, `schemas`,
`http_api`, `python_api` and `judge_card` read the code; `listings` are pages that list others;
`build` makes HTML of them.
"""
