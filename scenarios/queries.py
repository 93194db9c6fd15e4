"""Queries made from a schema, as YFilter's generator does, where no real ones are at hand."""

from __future__ import annotations

from random import Random

from extract.schema.model import Schema, local_of
from extract.schema.places import Place


def random_queries(schema: Schema, count: int, filters: int = 0, seed: int = 1) -> list[str]:
    """Different linear XPaths up to six steps deep, ``*`` and ``//`` with probability 0.2 each.

    Args:
        schema: Where the names come from; must be without namespaces.
        count: How many; fewer if the schema does not have so many.
        filters: Nested path filters in each query.
        seed: The same seed gives the same queries.
    """
    rng = Random(seed)
    found: dict[str, None] = {}
    for _ in range(count * 20):
        if len(found) == count:
            break
        found[_query(rng, schema.places.document, filters)] = None
    return list(found)


def _query(rng: Random, place: Place, filters: int) -> str:
    text, last = "", rng.randrange(1, 7)
    at = sorted(rng.sample(range(last), min(filters, last)))
    for i in range(last):
        children = list(place.children.values())
        if not children:
            break
        deep = rng.random() < 0.2
        for _ in range(rng.randrange(3) if deep else 0):
            below = list(rng.choice(children).children.values())
            children = below or children
        place = rng.choice(children)
        text += ("//" if deep else "/") + ("*" if rng.random() < 0.2 else local_of(place.name))
        if i in at and place.children:
            text += f"[{_relative(rng, place)}]"
    return text


def _relative(rng: Random, place: Place) -> str:
    names: list[str] = []
    for _ in range(rng.randrange(1, 4)):
        if not place.children:
            break
        place = rng.choice(list(place.children.values()))
        names.append("*" if rng.random() < 0.2 else local_of(place.name))
    return "/".join(names)
