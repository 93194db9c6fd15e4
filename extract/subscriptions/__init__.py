"""Subscriptions: the queries that users register, and the files they come in.

Usage:
    >>> queries = Subscriptions.of({"big": "//order[total > 1000]"})
    >>> [(one.id, one.xpath) for one in queries]
    [('big', '//order[total > 1000]')]

    From a file: ``Subscriptions.load("queries.tsv")``. It is UTF-8 text with one query a line, as
    ``id<TAB>xpath`` or just ``xpath`` (then the id is the line number)::

        # empty lines and comments are skipped
        #! ns po=urn:example:orders
        big<TAB>//po:order[po:total > 1000]
        //po:order/po:customer
        #! xpath 2.0
        late<TAB>//po:order[xs:date(po:due) < current-date()]

    or JSON lines, ``{"id": "big", "xpath": "//a", "namespaces": {"p": "urn:x"}, "weight": 2.5,
    "version": "3.1"}``, of which only ``xpath`` is required. Other keys, such as ``"owner"`` or
    ``"tags"``, are `Subscription.metadata`, with any JSON value. Either may be
    gzipped. A line whose first tab is inside a string of its query has no id.

Which to use:
    Lines of text for people. JSON lines where queries have weights, metadata, or prefixes or a
    version of their own. Queries are XPath 1.0 unless a ``#! xpath`` line above, or their
    ``version``, says 2.0, 3.0 or 3.1; those are slower, for elementpath evaluates them on whole
    documents. `templates` finds the shapes that many queries share, and the constants of each;
    `Subscriptions.blocks` gives the queries of a file as columns.

Always holds:
    Ids are unique. Prefixes mean what the query's own ``namespaces`` say, else the ``#! ns`` lines
    above it, else the caller (``--ns``). XPaths are not parsed here: a broken one is rejected
    later, alone, and does not keep the others from loading. Lines are read, and templates looked
    up, in C where that was compiled, with the same outcome.

To add one more:
    A key of JSON lines or a ``#!`` line is read in `reader`, and a field of `model.Subscription`;
    a key is also one of `metadata.OWN_KEYS`, so that it is not taken for metadata.
"""

from extract.subscriptions.model import Subscription, Subscriptions

__all__ = ["Subscription", "Subscriptions"]
