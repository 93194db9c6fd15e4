"""Explanations: the chunks of a query with the reasons, in words and as pictures.

`query_report` and `chunk_report` are the facts, from a scheme alone. `tree_picture` draws the query
tree (`tree_excerpt` chooses what fits), `query_picture` one query; `svg` and `labels` are the parts
of pictures. `spelling` suggests corrections for the names in a query.
"""
