"""What places know of attributes, all at once and one by one."""

from __future__ import annotations

import pytest

from extract.schema.model import Attribute, Declaration, Schema, Wildcard


@pytest.mark.parametrize("name", ["x", "y", "zzz", "{urn:a}x", "{urn:b}x"])
def test_the_places_with_an_attribute_are_those_that_have_it(name: str) -> None:
    some = Wildcard(frozenset({"urn:a"}), negated=False)
    declarations = (
        Declaration(0, "r", children=(1, 2, 3), attributes=(Attribute("x"),)),
        Declaration(1, "a", attributes=(Attribute("x"), Attribute("y"))),
        Declaration(2, "b", attribute_wildcards=(some,)),
        Declaration(3, "c", children=(0,), attribute_wildcards=(some, Wildcard())),
    )
    places = Schema("memory", "xsd", declarations, roots=(0,)).places
    one_by_one = sum(place.bit for place in places.all if place.has_attribute(name))
    assert places.with_attribute(name) == one_by_one


def test_what_is_above_a_place_is_what_reaches_it() -> None:
    declarations = (
        Declaration(0, "r", children=(1, 3)),
        Declaration(1, "a", children=(2,)),
        Declaration(2, "b", children=(1, 3)),
        Declaration(3, "c"),
    )
    places = Schema("memory", "dtd", declarations, roots=(0,)).places
    for place in places.all:
        above = sum(one.bit for one in places.all if one.reach & place.bit)
        assert places.ancestors(place.bit) == above
