"""The columnar matcher: many questions at once, as operations on columns of nodes.

Comes in:
    Questions, once; then units with their node tables, in batches as large as memory allows.

Goes out:
    The same answers as those of the lxml matcher, which is asked for whatever columns cannot say:
    questions with certain axes and functions (`accept.reason_against`), and documents in other
    encodings or with declarations of their own (`accept.reason_against_document`). Both are
    counted in the report.

How it goes:
    All branches are taken apart into spines, stems and tails (`spines`), their filters into one
    program (`program`). On a batch (`columns`) the program runs once (`sets` in C, `dense` in
    numpy), and what it gives is joined with the spines (`bulk`). Whatever is not of that form,
    positions, values and functions, is evaluated for all context nodes at once (`evaluator`).

Always holds:
    Equal parts of different questions are evaluated once for a batch. A question whose path no
    document of the batch has costs nothing. With and without C the answers are the same.
"""

from extract.filtertool.matchers.columnar.factory import ColumnarFactory, ColumnarMatcher

__all__ = ["ColumnarFactory", "ColumnarMatcher"]
