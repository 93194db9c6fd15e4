"""The columnar matcher: answers many questions at once, by operations on columns of nodes.

Comes in:
    Questions, once; then units with their node tables, in batches as large as memory allows.

Goes out:
    The same answers as the lxml matcher's. That matcher also answers what columns cannot: questions
    with certain axes and functions (`accept.reason_against`), and documents in other encodings or
    with declarations of their own (`accept.reason_against_document`). The report counts both.

How it goes:
    All branches are split into spines, stems and tails (`spines`), their filters compiled into one
    program (`program`). The program runs once per batch (`columns`; `sets` in C, `dense` in numpy),
    and its rows are joined with the spines (`bulk`). Expressions of other forms, such as positions,
    values and functions, are evaluated for all context nodes at once (`evaluator`).

Always holds:
    Equal parts of different questions are evaluated once for a batch. A question whose path occurs
    in no document of the batch costs nothing. With and without C the answers are the same.
"""

from extract.filtertool.matchers.columnar.factory import ColumnarFactory, ColumnarMatcher

__all__ = ["ColumnarFactory", "ColumnarMatcher"]
