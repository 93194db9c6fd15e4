"""The push engine in C: nodes of a document in, numbers of the queries that match out.

Usage:
    Nothing here is imported from Python: ``_push.pyx``, one folder up, is the bridge, and
    `extract.filtertool.matchers.push.engine` the class on top of it.

Which file:
    ``push.h`` says at its top what each of the C files does, and what the words mean (template,
    clause, anchor, slot, row, posting); ``c_push.pxd`` declares for Cython what the bridge calls.

Always holds:
    Queries do not change while documents are matched: several machines, one for each thread, read
    one registry at a time. No code here knows of Python, and none allocates without a bound.

To add a file:
    A line in ``push.h`` and its name in ``setup.py``. ``tests/filtertool/matchers/push`` compares
    all of it with libxml2.
"""
