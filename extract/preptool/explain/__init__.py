"""Explanations: why a query is where it is, in words and as pictures.

`query_report` and `chunk_report` are the facts, from a scheme alone. `tree_picture` draws the query
tree (`tree_excerpt` chooses what fits), `query_picture` one query; `svg` and `labels` are what
pictures are made of. `spelling` suggests names that a query may have meant.
"""
