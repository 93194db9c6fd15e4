"""Queries that differ from a query in their constants alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from extract.errors import QuerySyntaxError
from extract.xpath.check import parse_checked
from extract.xpath.parameters import parameter_types, shape_of, with_constants
from tests.support.generate.draw import pick

# Texts of which some are prefixes of others, and which quotes and brackets order in every way;
# values of the generated documents; and no numbers to libxml2.
STRINGS = ("", "a", "ab", "a!", "a'", 'a"', "b", "1", "]", "$string1", "é", "a b", "x", "y", "2")
NUMBERS = ("1", "10", "1.5", ".5", "2", "1e", "1e+5", "01", "3", "0")


def siblings(rng: Random, xpath: str, namespaces: Mapping[str, str], count: int) -> Sequence[str]:
    """So many queries with other constants; none if the query has none, or does not parse."""
    try:
        shape = shape_of(parse_checked(xpath, namespaces)).expression
    except QuerySyntaxError:
        return []
    types = parameter_types(shape)
    texts = []
    for _ in range(count if types else 0):
        constants = [pick(rng, STRINGS if kind == "string" else NUMBERS) for kind in types]
        texts.append(str(with_constants(shape, constants)))
    return texts
