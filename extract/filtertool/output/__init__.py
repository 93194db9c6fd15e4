"""Output: where rows go.

`directory` is a directory of results, whole or not there. `writers` opens a writer by format:
`parquet`, `jsonl`, `delimited` (CSV and TSV) or `xml`; `arrow` has the columns of the contract.

To add a format: a class with the methods of `writers.Writer`, and a name in `writers.Format`.
"""
