"""The prepare phase of the pipeline: from queries and a schema to a scheme.

It is apart from `extract.pipeline`, which has it too, because that imports all that filters: who
prepares pays for it with the first document.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from extract.limits import Limits
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.subscriptions.model import Subscriptions

if TYPE_CHECKING:
    from extract.preptool.costing.statistics import Sample
    from extract.preptool.query_tree import Weigh
    from extract.transtool.expansion import Expansion


class PreparationOptions(TypedDict, total=False):
    """How a scheme is made: the keyword arguments of `prepare`.

    Attributes:
        sample: Documents, or names of files. Sizes are estimated from them, and, where no schema is
            given, the schema is inferred from them.
        weights: How much a query counts: ``"one"``, the default, for each different query the same;
            ``"subscribers"`` for the weights of its subscribers; or a function of one's own.
        expansion: Bounds on the size of normal forms.
        workers: How many chunks of one document are evaluated at the same time: with 1, the
            default, the least work is sought, with more the least time for one document.
        progress: Called with the number of queries that were normalised since the last call.
        limits: How long and deep a query may be, and how many there may be.
        database: The URL of the database that the scheme goes into: queries may join its tables.
    """

    sample: Sequence[Sample]
    weights: Weigh | str
    expansion: Expansion | None
    workers: int
    progress: Callable[[int], object]
    limits: Limits | None
    database: str


def prepare(
    schema: Schema | Subscriptions | None,
    subscriptions: Subscriptions | None = None,
    chunks: int | Literal["auto"] = "auto",
    **options: Unpack[PreparationOptions],
) -> Scheme:
    """Decides how documents are cut, so that each chunk answers its share of the queries.

    ``prepare(schema, subscriptions)`` is for documents of a schema. The schema may be left out:
    ``prepare(subscriptions, sample=documents)`` infers it from the documents, or takes their
    internal DTD if all have the same, and ``scheme.schema.notes`` says which;
    ``prepare(subscriptions)`` takes any document, and leaves nothing out of it. Answers do not
    depend on the schema, only speed does.

    Args:
        schema: What documents look like; None or left out if that is not known.
        subscriptions: The queries. One that does not parse is recorded as rejected, one that can
            match nothing as unsatisfiable; the others go on.
        chunks: Into how many chunks, next to the potpourri; fewer if the queries give no more. With
            ``"auto"``, the default, into as many as a cost model finds best.
        **options: As `PreparationOptions` says: ``sample``, ``weights``, ``expansion``,
            ``workers``, ``progress``, ``limits`` and ``database``.

    Raises:
        SubscriptionsError: There are more subscriptions than there may be.
        SchemeError: ``chunks`` or ``workers`` is not at least 1, or there are no such weights.
        DocumentError: A sample cannot be read.

    >>> queries = Subscriptions.of({"1": "//b", "2": "/a/d"})
    >>> scheme = prepare(queries, sample=[b"<a><b/></a>"])
    >>> scheme.unsatisfiable[0].reason
    'a has no child d (at /a)'
    >>> prepare(queries).unsatisfiable
    ()
    """
    from extract.preptool.prepare import prepare as prepare_for

    known, queries = (None, schema) if subscriptions is None else (schema, subscriptions)
    if isinstance(known, Subscriptions) or not isinstance(queries, Subscriptions):
        raise TypeError("prepare takes a schema and subscriptions, or only subscriptions")
    if known is None:
        known = _schema_of(options.get("sample", ()), options.get("limits"))
    return prepare_for(known, queries, chunks, **options)


def _schema_of(sample: Sequence[Sample], limits: Limits | None) -> Schema:
    """The schema of sample documents; without any, that of any document."""
    if not sample:
        return Schema.none()
    from extract.chunktool.inference.default_schema import default_schema

    return default_schema(sample, limits)
