"""Output: where rows go.

Usage:
    with result_directory("results") as partial:
        writer = open_writer(partial, "parquet", ids, "nodes")
        writer.write(outcome.document, outcome.findings)

When to use which:
    `directory` for a directory of results that is complete or not there. `writers` opens a writer
    by format: `parquet`, the default, for programs and for many rows; `jsonl` for people and pipes;
    `delimited` (CSV and TSV) for spreadsheets and shells; `xml` for one document for each
    subscription. `arrow` has the columns that all formats share, `joined` those of metadata.

Always holds:
    Every format has the same rows in the same order. Until everything is written, the directory has
    a hidden name, and results of an earlier run stay where they are.

To add a format:
    A class with the methods of `writers.Writer`, and its name in `writers.Format` and
    `writers.open_writer`.
"""
