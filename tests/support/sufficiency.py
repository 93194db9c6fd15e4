"""Sufficiency: on a document reduced to its footprint, a query selects the same nodes.

One *round* is a random schema, two documents and many random queries, alone and in small sets whose
footprints are united, as in a chunk. ``python -m tests.support.sufficiency 1000`` runs rounds in
bulk.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

from lxml import etree

from extract.errors import QuerySyntaxError
from extract.preptool.footprints.footprint import Footprint, footprint
from extract.transtool.normalise import Normaliser
from extract.transtool.prefixes import Prefixes
from extract.xpath.check import parse_checked
from extract.xpath.parser import parse
from tests.support.equivalence import LIMITS, canonical
from tests.support.generate import oracle
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick, sample
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.projector import Projection


class Insufficient(AssertionError):
    """A footprint that lacks something its query looks at."""


class ProjectedTree(oracle.Tree):
    """A projection whose nodes have the ranks that they have in the whole document."""

    def __init__(self, projection: Projection, whole: oracle.Tree) -> None:
        self.tree = projection.tree
        self.rank = {new: whole.rank[old] for new, old in projection.origin.items()}


def check(
    tree: oracle.Tree, branches: list[str], wants: Footprint, namespaces: dict[str, str]
) -> int:
    """Compares the branches on a tree and on its projection; how many nodes were kept."""
    projected = ProjectedTree(Projection(tree.tree, wants, namespaces), tree)
    for xpath in branches:
        expected = canonical(oracle.answer(tree, xpath, namespaces))
        found = canonical(oracle.answer(projected, xpath, namespaces))
        if expected != found:
            reduced = etree.tostring(projected.tree, encoding="unicode")
            raise Insufficient(
                f"branch:   {xpath}\nwants:    {footprint(parse(xpath)).needs()}\n"
                f"expected: {expected}\nfound:    {found}\nreduced:  {reduced}"
            )
    return len(projected)


def round_of(rng: Random, queries: int) -> Counter[str]:
    """One random schema, its documents and queries, compared."""
    generated = random_schema(rng)
    schema = generated.load()
    documents, writer = Documents(schema), Queries(schema)
    normaliser = Normaliser(schema, Prefixes(schema.prefixes), pick(rng, LIMITS))
    branches: list[tuple[str, Footprint]] = []
    counts: Counter[str] = Counter()
    for _ in range(queries):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        try:
            expr = parse_checked(xpath, writer.namespaces)
        except QuerySyntaxError:
            continue
        form = normaliser.normalise(normaliser.prefixes.bind(expr, writer.namespaces))
        for part in form.branches[:3]:
            wants = footprint(parse(part.xpath))
            counts["whole document"] += bool(wants.whole)
            if not wants.whole:
                branches.append((part.xpath, wants))
    namespaces = normaliser.prefixes.table
    for _ in range(2):
        options = Options(size=between(rng, 5, 60), strict=chance(rng, 50), odd=between(rng, 0, 20))
        tree = oracle.parse(documents.document(rng, options))
        for branch in branches:
            alone = chance(rng, 80)
            group = [branch] if alone else sample(rng, branches, min(4, len(branches)))
            united = Footprint()
            for _, wants in group:
                united |= wants
            kept = check(tree, [xpath for xpath, _ in group], united, namespaces)
            counts["comparisons"] += len(group)
            counts["nodes kept"] += kept
            counts["nodes in all"] += len(tree)
    return counts


def main() -> None:
    """Runs rounds from consecutive seeds and prints what was compared."""
    rounds, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    total: Counter[str] = Counter()
    for seed in range(start, start + rounds):
        try:
            total += round_of(Random(seed), 60)
        except Insufficient as error:
            print(f"seed {seed}\n{error}")
            raise SystemExit(1) from None
    print(f"no difference: {dict(total)}")


if __name__ == "__main__":
    main()
