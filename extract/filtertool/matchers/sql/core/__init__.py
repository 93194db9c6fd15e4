"""The part in C of the matcher ``sql``: documents in, columns of values that queries compare out.

Usage:
    `extract.filtertool.matchers.sql.value_scan` compiles frames and reads documents.

Always holds:
    Paths are evaluated by the push engine's code (``evaluate.c``, ``document.c``), so that values
    and numbers are the same everywhere. A document that cannot be read leaves no rows.

To add a kind of column:
    ``values.h`` has the words of frames, ``values.c`` what each kind puts into a row.
"""
