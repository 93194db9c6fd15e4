"""Explains why a path cannot match: the first edge that the schema lacks, as a sentence."""

from __future__ import annotations

from extract.schema.places import Place
from extract.transtool.knowledge import Knowledge
from extract.xpath.ast import Expr, LocationPath, Step
from extract.xpath.types import is_positional

_BELOW = {
    "child": "has no child",
    "attribute": "has no attribute",
    "descendant": "has nothing below it called",
    "descendant-or-self": "neither is nor has below it",
    "self": "is not",
}

_ANYWHERE = {"child": "has a child", "attribute": "has an attribute"}


def why_dead(know: Knowledge, place: Place, steps: tuple[Step, ...]) -> str:
    """Returns the missing edge that keeps a relative path from matching at a place.

    Follows the path as long as the schema has its edges, then names the missing one.
    """
    step, element = steps[0], _name(know, place)
    if step.axis not in _BELOW:
        return f"nothing in the schema is {step.axis} of {element} and called {step.test}"
    candidates = know.matching(step.test) & _reached(know, place, step)
    if not candidates:
        return f"{element} {_BELOW[step.axis]} {step.test}"
    if _is_wild(step) and len(steps) > 1 and steps[1].axis in _ANYWHERE:
        where = "in the document" if not place.name else f"below {element}"
        return f"nothing {where} {_ANYWHERE[steps[1].axis]} {steps[1].test}"
    for candidate in know.places.members(candidates):
        for predicate in step.predicates:
            if not is_positional(predicate) and not know.possible(predicate) & candidate.bit:
                why = _why(know, candidate, predicate)
                return f"{_name(know, candidate)}[{predicate}] cannot be: {why}"
        if len(steps) > 1 and not know.live(steps[1:]) & candidate.bit:
            return why_dead(know, candidate, steps[1:])
    return f"{element} {_BELOW[step.axis]} {step.test} that fits"


def _why(know: Knowledge, place: Place, predicate: Expr) -> str:
    if isinstance(predicate, LocationPath):
        start = know.places.document if predicate.absolute else place
        return why_dead(know, start, predicate.steps)
    return "the schema has no such nodes there"


def _is_wild(step: Step) -> bool:
    return step.axis.startswith("descendant") and str(step.test) in ("*", "node()")


def _reached(know: Knowledge, place: Place, step: Step) -> int:
    if step.axis == "child":
        return place.child_bits
    if step.axis == "attribute":
        return 0
    if step.axis == "self":
        return place.bit
    return place.reach | (place.bit if step.axis == "descendant-or-self" else 0)


def _name(know: Knowledge, place: Place) -> str:
    if place.unknown:
        return "an element that the schema leaves open"
    return str(know.prefixes.test(place.name)) if place.name else "the document"
