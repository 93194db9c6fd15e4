"""XPath 1.0: text to frozen values and back, judged as libxml2 judges it.

Comes in:
    The text of one expression, and what its prefixes stand for.

Goes out:
    `extract.xpath.ast`, the expression as nodes named after the XPath specification, from
    `extract.xpath.parser` (the grammar) or `extract.xpath.check` (the grammar, and that evaluation
    cannot fail). `extract.xpath.types` says what an expression gives and whether a predicate counts
    positions, `extract.xpath.parameters` which literals are parameters of its shape; and
    `extract.xpath.tokens` makes a key of a text, by which its shape is found without parsing. Or an
    `extract.errors.QuerySyntaxError` with a caret under the place and a hint.

Always holds:
    What ``etree.XPath`` compiles parses, and nothing else does; only sizes are limited further (see
    `extract.xpath.parser`). ``parse(str(node)) == node``, and libxml2 gives the same answer to both
    texts. Nodes are values: immutable, hashable, picklable, shared. Nothing here needs lxml.
    `extract.xpath.later` stands apart: XPath 2.0 and later, as elementpath parses it.

To add one more:
    A function is a row in `extract.xpath.functions`, if lxml can call it. A hint is a row or a line
    in `extract.xpath.hints`, with its example in ``tests/fixtures/xpath/errors.txt``. The kinds of
    nodes are complete; each has its place in ``children``, ``rebuild`` and ``_strength`` of the
    AST. What libxml2 reads otherwise than the parser goes into ``tests/fixtures/xpath/corpus.txt``.
"""
