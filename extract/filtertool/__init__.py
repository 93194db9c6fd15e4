"""FILTERTOOL: evaluates each chunk's own queries, in this process or spread over Spark.

Not implemented yet: this package only holds the place.

Comes in:
    Chunks with their query sets, and the name of a matcher.

Goes out:
    Matches: one row for each document, query and node; and one row for each document or query that
    was rejected, with the reason.

Always holds:
    The rows of a query are the nodes that libxml2 selects on the whole document, in document order,
    without duplicates, whichever matcher or engine ran. A failure is a row, not an exception. Only
    the modules here whose name starts with ``spark`` import pyspark.
"""
