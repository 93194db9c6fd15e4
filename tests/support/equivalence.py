"""Oracle 1: a query and its normal form select the same nodes on every conforming document.

One *round* is a random schema, a few random documents with its edges, and many random queries. The
same code runs under Hypothesis, for shrinking, and from seeds in bulk: ``python -m
tests.support.equivalence 1000``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from random import Random

from extract.errors import QuerySyntaxError
from extract.schema.conformance import first_violation
from extract.transtool.expansion import Expansion
from extract.transtool.normalise import NormalForm, Normaliser
from extract.transtool.prefixes import Prefixes
from extract.xpath.check import parse_checked
from extract.xpath.functions import Type
from tests.support.generate import oracle
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema

# Small limits too, so that narrowing past them is tried as often as expansion.
LIMITS = (
    Expansion(),
    Expansion(branches=4),
    Expansion(branches=1, filter_branches=1),
    Expansion(size=60),
)


class Different(AssertionError):
    """A normal form that does not select what the query selects."""


def normal_answer(
    tree: oracle.Tree, form: NormalForm, namespaces: Mapping[str, str]
) -> oracle.Answer:
    """What a normal form selects: the union of what its branches select."""
    answers = [oracle.answer(tree, part.xpath, namespaces) for part in form.branches]
    if form.type is not Type.NODES:
        return answers[0]
    nodes: set[oracle.Answer] = set()
    for found in answers:
        if found[0] != "nodes":
            return found
        nodes.update(found[1:])
    return ("nodes", *sorted(nodes, key=repr))


def canonical(answer: oracle.Answer) -> oracle.Answer:
    """An answer whose nodes are in an order that does not depend on who found them."""
    if answer[0] != "nodes":
        return answer
    return ("nodes", *sorted(set(answer[1:]), key=repr))


def compare(
    normaliser: Normaliser,
    trees: list[oracle.Tree],
    xpath: str,
    namespaces: Mapping[str, str],
) -> str:
    """Compares one query with its normal form on the trees; how it went, in a word."""
    try:
        expr = parse_checked(xpath, namespaces)
    except QuerySyntaxError:
        return "rejected"
    form = normaliser.normalise(normaliser.prefixes.bind(expr, namespaces))
    table = normaliser.prefixes.table
    for i, tree in enumerate(trees):
        expected = canonical(oracle.answer(tree, xpath, namespaces))
        if form.branches:
            found = canonical(normal_answer(tree, form, table))
        else:
            found = ("nodes",)
        if expected != found:
            raise Different(
                f"query:    {xpath}\nnormal:   {form.xpath}\nrules:    {form.rules}\n"
                f"document: {i}\nexpected: {expected}\nfound:    {found}"
            )
    if not form.branches:
        return "unsatisfiable"
    return "kept" if any(p.reason for p in form.branches) else "settled"


def round_of(rng: Random, queries: int) -> Counter[str]:
    """One random schema, its documents and queries, compared."""
    generated = random_schema(rng)
    schema = generated.load()
    documents = Documents(schema)
    texts = [
        documents.document(
            rng,
            Options(size=between(rng, 5, 60), strict=chance(rng, 40), odd=between(rng, 0, 20)),
        )
        for _ in range(3)
    ]
    trees = [oracle.parse(text) for text in texts]
    for text, tree in zip(texts, trees, strict=True):
        violation = first_violation(schema, tree.tree)
        assert violation is None, f"{violation}\n{text.decode()}\n{generated.text}"
    writer = Queries(schema)
    normaliser = Normaliser(schema, Prefixes(schema.prefixes), pick(rng, LIMITS))
    counts: Counter[str] = Counter()
    for _ in range(queries):
        xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
        try:
            counts[compare(normaliser, trees, xpath, writer.namespaces)] += len(trees)
        except Different as error:
            shown = "\n\n".join(t.decode() for t in texts)
            raise Different(f"{error}\n\n{generated.text}\n\n{shown}") from None
    return counts


def main() -> None:
    """Runs rounds from consecutive seeds and prints what was compared."""
    rounds, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    total: Counter[str] = Counter()
    for seed in range(start, start + rounds):
        try:
            total += round_of(Random(seed), 100)
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}\n{error}")
            raise SystemExit(1) from error
    print(f"{total.total()} comparisons without a difference: {dict(total)}")


if __name__ == "__main__":
    main()
