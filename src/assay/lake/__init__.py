"""A lake: sessions as they were told, in files that anybody can query, and answers from them.

- `tables`: what a lake holds, a class for each table and a line for each column: the schema that is published
- `rows`: sessions, ledger, turns, quality and trials as rows of these tables
- `partitions`: months of a table as files, each replaced as a whole, and the manifest that says what there is
- `parquet`: rows as Parquet, some at a time; `columns`: what it is stored as
- `query`: questions to a lake, answered by DuckDB
- `sums`: the tally of sessions, and all else that a report counts, by sums of columns

Takes values of `assay.types` and `scores`; gives files, rows and tallies; imports types, errors, files and scores.
pyarrow and duckdb come with the extra `assay[lake]`, and are imported by whoever writes or asks, never before.
"""
