"""Explanations: why a query is where it is, in words and as pictures.

Usage:
    ``extract explain --scheme scheme.json [QUERY] [--svg FILE]``; from Python, `query_report` and
    `chunk_report` give the facts as values and as text.

Which module:
    `query_report` and `chunk_report` are the facts, from a scheme alone. `tree_picture` draws the
    query tree (`tree_excerpt` chooses what fits), `query_picture` one query; `svg` and `labels` are
    what pictures are made of. `spelling` suggests names that a query may have meant.

Always holds:
    Nothing is computed that the scheme does not say: an explanation is true for the file that it is
    made from. Pictures need neither network nor fonts.

To add a fact:
    A field of a report, which ``--json`` then prints, and its sentence where the report becomes
    text (``QueryReport.__str__``, ``chunk_rows``).
"""
