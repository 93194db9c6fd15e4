"""The columnar matcher: many questions at once, as operations on columns of nodes.

Comes in:
    Questions, once; then units with their node tables, in batches as large as memory allows. A
    question may stand for a million queries that differ in their constants: these are columns, too.

Goes out:
    The same answers as those of the lxml matcher, which is asked for whatever columns cannot say:
    questions with certain axes and functions (`accept.reason_against`), and documents in other
    encodings or with declarations of their own (`accept.reason_against_document`). Both are
    counted in the report.

How it goes:
    `compiled` has the questions in the form in which they are answered. All branches without
    parameters are taken apart into spines, stems and tails (`spines`), their filters into one
    program (`program`). On a batch (`columns`) the program runs once (`sets` in C, `dense` in
    numpy), and what it gives is joined with the spines (`bulk`). Whatever is not of that form,
    positions, values and functions, is evaluated for all context nodes at once (`evaluator`).

    A question with constants is taken apart once (`anchors`): into nodes that are found without its
    parameters, conditions on pairs of such a node and a query, and what is selected from there. On
    a batch (`parametric`), the values of the nodes are looked up in indexes over the constants
    (`access`, `candidates`, `constant_columns`, `lexicon`). That gives candidates; what else they
    must meet is evaluated for all of them at once (`node_values`, `pair_evaluator`).

When to use it:
    For many queries or many documents; `auto` takes it there. It needs no parse: the node table of
    the scan is enough.

Always holds:
    Equal parts of different questions are evaluated once for a batch. A question whose path no
    document of the batch has costs nothing. No query with constants is an object, and none takes
    time of its own unless it is a candidate. With and without C the answers are the same.

To answer one more construct:
    Let `accept` take it, and evaluate it in `evaluator`, `functions` or `axes`; `pair_evaluator`
    inherits it for expressions with parameters. To find candidates by it, let `access` say what it
    implies. The contract suite and ``tests/filtertool/matchers/columnar`` compare with libxml2.
"""

from extract.filtertool.matchers.columnar.factory import ColumnarFactory, ColumnarMatcher

__all__ = ["ColumnarFactory", "ColumnarMatcher"]
