"""Reports show values: to a person in the terminal, to a machine as JSON.

Takes `assay.types` values; gives text; never sees a store. What comes out of transcripts is hostile:
`safe` stands before every terminal.
"""
