"""Hypothesis strategies over the generators.

Hypothesis draws the sizes and a seed for each part, not every single draw of a generator: measured
on planted errors, that finds and shrinks faster (5 to 20 seconds, where recording every draw gave
up after a minute with larger cases), and an example costs no more than in a bulk run. For the last
step, `tests.support.generate.cases.smallest` cuts down the document.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from hypothesis import strategies as st

from tests.support.generate import schemas
from tests.support.generate.cases import Case
from tests.support.generate.documents import Documents, Options
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import GeneratedSchema


def sources() -> st.SearchStrategy[Random]:
    """Sources of randomness for a generator."""
    return st.builds(Random, st.integers(0, 2**32 - 1))


def recorded_sources() -> st.SearchStrategy[Random]:
    """The same, but every draw is Hypothesis's own and shrinks: slow, for a small generator."""
    return st.randoms(use_true_random=False)


def generated_schemas(
    kind: Literal["dtd", "xsd"] | None = None,
) -> st.SearchStrategy[GeneratedSchema]:
    """Schemas of a kind, by default either."""
    makers = {"dtd": [schemas.dtd], "xsd": [schemas.xsd]}.get(
        kind or "", [schemas.dtd, schemas.xsd]
    )
    return st.builds(
        lambda make, rng, elements: make(rng, elements),
        st.sampled_from(makers),
        sources(),
        st.integers(*schemas.SIZES),
    )


@st.composite
def cases(
    draw: st.DrawFn,
    profile: str | None = None,
    largest: int = 30,
    strict: bool | None = None,
) -> Case:
    """A schema, a document of it and a query.

    Args:
        draw: Given by Hypothesis.
        profile: Of the query, a key of `PROFILES`; by default any.
        largest: The most elements to aim at in a document.
        strict: Whether the document is valid or only edge-conforming; by default either.
    """
    schema = draw(generated_schemas())
    model = schema.load()
    options = Options(
        size=draw(st.integers(1, largest)),
        odd=draw(st.sampled_from((0, 10, 30))),
        strict=draw(st.booleans()) if strict is None else strict,
    )
    document = Documents(model).document(draw(sources()), options)
    queries = Queries(model)
    query = queries.query(draw(sources()), profile or draw(st.sampled_from(list(PROFILES))))
    return Case(schema, model, document, query, queries.namespaces, options.strict)
