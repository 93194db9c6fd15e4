"""The matcher ``sql``: the database of the subscriptions matches.

Usage:
    ``extract run --scheme URL --matcher sql``. `stored_subscriptions` opens a database, its
    `joiner` takes batches of documents, and gives pairs of a document and a subscription;
    `extract.filtertool.sql_filter` makes rows of these.

Which module does what:
    `plan` says which templates values decide: `frames` makes of each what to read of a document,
    and `formulas` what must hold of it. `document_values` reads, in C; `value_columns` and
    `value_scan` make tables of the values, `statements` the SQL; `member_tables` and the engines
    beside it keep the constants and join.

Always holds:
    One statement for each shape of a formula, however many templates have it. Values and constants
    are rows of tables, and never in the text of a statement. What values do not decide is left to
    other matchers.

To add a kind of condition:
    It needs a case in `frames`, a formula, and a case in `statements`; and if it compares something
    new, a kind of column in ``core/values.c``.
"""
