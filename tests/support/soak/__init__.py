"""Does it stay as it was after hours? ``make soak``, ``python -m tests.support.soak --minutes 60``.

The same work again and again, by `extract run` in a loop and by a stream on Spark, with a look at
memory, file handles and processor time after each round. A verdict says whether they stay flat.
"""
