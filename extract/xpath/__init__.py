"""XPath 1.0: text to frozen values and back, judged as libxml2 judges it.

Usage:
    >>> from extract.xpath.parser import parse
    >>> path = parse("//order[ total>10 ]/@id")
    >>> str(path), path.steps[-1].axis
    ('//order[total > 10]/@id', 'attribute')

Which to use:
    `parser` for the grammar alone; `check` for the grammar and that evaluation cannot fail, which
    is what registered queries get. Both raise `extract.errors.QuerySyntaxError` with a caret under
    the place and a hint (`hints`). `ast` has the nodes, named after the XPath specification;
    `traverse` walks through them and changes them; `types` says what an expression gives and
    whether a predicate counts positions; `functions` which functions there are. `parameters` says
    which literals are parameters of the shape of a query, and `tokens` makes a key of a text, by
    which its shape is found without parsing; `numbers` converts as libxml2 does. `native` finds
    what of this was compiled. `later` stands apart: XPath 2.0 and later, as elementpath parses it.

Always holds:
    What ``etree.XPath`` compiles parses, and nothing else does; only sizes are limited further (see
    `parser`). ``parse(str(node)) == node``, and libxml2 gives the same answer to both texts. Nodes
    are values: immutable, hashable, picklable, shared. Nothing here needs lxml.

To add one more:
    A function is a row in `functions`, if lxml can call it. A hint is a row or a line in `hints`,
    with its example in ``tests/fixtures/xpath/errors.txt``. The kinds of nodes are complete; each
    has its place in ``children`` and ``rebuild`` of `traverse` and in ``_strength`` of `ast`. What
    libxml2 reads otherwise than the parser goes into ``tests/fixtures/xpath/corpus.txt``.
"""
