"""Answers to the queries of a scheme from the reference projection of each chunk."""

from __future__ import annotations

from extract.preptool.footprints.footprint import Footprint, Pattern
from extract.scheme.model import Chunk, Scheme
from extract.xpath.ast import LocationPath
from extract.xpath.functions import Type
from extract.xpath.parser import parse
from tests.support.equivalence import canonical
from tests.support.generate import oracle
from tests.support.projector import Projection
from tests.support.sufficiency import ProjectedTree


def kept_by(chunk: Chunk) -> Footprint:
    """What a chunk keeps of a document, for the reference projector."""
    if chunk.whole:
        return Footprint(whole=chunk.whole[0])
    return Footprint(frozenset([(_pattern(want.path), want.need) for want in chunk.wants]))


def _pattern(path: str) -> Pattern:
    steps = parse(path)
    assert isinstance(steps, LocationPath)
    return steps.steps


def answers(scheme: Scheme, whole: oracle.Tree) -> dict[str, oracle.Answer]:
    """What each subscription selects, put together from the chunks."""
    namespaces = dict(scheme.namespaces)
    trees: dict[int, oracle.Tree] = {}
    for chunk in scheme.every_chunk:
        projection = Projection(whole.tree, kept_by(chunk), namespaces)
        tree = whole if chunk.whole else ProjectedTree(projection, whole)
        for number in chunk.branches:
            assert trees.setdefault(number, tree) is tree
    out: dict[str, oracle.Answer] = {}
    for query in scheme.queries:
        pairs = zip(scheme.forms[query.form].branches, query.xpaths, strict=True)
        parts = [oracle.answer(trees[number], xpath, namespaces) for number, xpath in pairs]
        found = parts[0]
        if query.type is Type.NODES and all(part[0] == "nodes" for part in parts):
            found = ("nodes", *{node for part in parts for node in part[1:]})
        out |= {one.id: canonical(found) for one in query.subscribers}
    return out | {one.subscriber.id: ("nodes",) for one in scheme.unsatisfiable}
