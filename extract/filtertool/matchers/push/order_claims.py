"""Where the nodes of a path come in document order, so that nobody need sort them.

The paper on YFilter's message broker has five claims that say where duplicates and order need no
work. The engine's sets of nodes have no duplicates by construction: a step that looks far below
passes over what an earlier node of the set has covered (claims 1 to 3 are about work that is never
done). Elements and attributes are numbered in document order. What is left is text nodes, which are
numbered by element: those of an element come before those of elements inside of it.

* Claim 4: without ``//``, the elements of a path are not inside of each other.
* Claim 5, generalised from loops of a DTD to whatever a schema says: nor are they if an element of
  the last name cannot be below another one.

Both hold for documents that keep to the schema, and the engine takes no others.
"""

from __future__ import annotations

from collections.abc import Mapping

from extract.schema.model import Schema
from extract.xpath.ast import LocationPath, NameTest, Step


class OrderClaims:
    """Says for paths whether their nodes come in document order.

    Args:
        schema: The schema that documents keep to.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._nests: dict[str, bool] = {}

    def in_order(self, path: LocationPath, namespaces: Mapping[str, str]) -> bool:
        """Whether the text nodes that a path ends in come in document order.

        >>> from extract.xpath.parser import parse
        >>> claims = OrderClaims(Schema.none())
        >>> texts = "text()", "a/b/text()", ".//a/text()", "a//text()"
        >>> [claims.in_order(parse(text), {}) for text in texts]
        [True, True, False, False]
        """
        *above, last = path.steps or (Step("self", NameTest("*")),)
        if last.axis != "child":
            return False
        if all(step.axis in ("child", "self", "attribute") for step in above):
            return True
        test = above[-1].test
        if above[-1].axis not in ("child", "descendant") or not isinstance(test, NameTest):
            return False
        if test.local == "*":
            return False
        uri = namespaces[test.prefix] if test.prefix else ""
        return not self._may_nest(f"{{{uri}}}{test.local}" if uri else test.local)

    def _may_nest(self, name: str) -> bool:
        """Whether an element of this expanded name may be below another one."""
        known = self._nests.get(name)
        if known is None:
            places = self._schema.places
            own = places.by_name.get(name, 0)
            beyond = own | places.unknown.bit
            members = places.members(own)
            known = not own or any(place.reach & beyond for place in members)
            known = self._nests[name] = known or self._schema.kind == "none"
        return known
