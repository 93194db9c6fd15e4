"""Limits for documents, queries and answers: one set for every stage, engine and command.

Documents and queries come from unknown authors. What passes a limit is rejected, alone, with a
reason that names the limit and the option that raises it; everything else goes on. The
commands have an option for each field, made from what is said here, so that a limit has one name
everywhere: `Limits.depth` is ``--max-depth``. What each limit protects is in docs/security.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Literal

Group = Literal["document", "answer", "query"]

STEPS: Final = 1000
"""Steps of the push engine for a query, for each node of the document and step of the query.

A query that takes more on a document is answered by libxml2 there. This is a count: neither clocks
nor other queries have a part in it."""

RAISE: Final = "raise the limit if you trust the input"


class GivenUp(str):
    """Why a query was given up on a document: it took more time or memory than its limits allow.

    Any other reason that a query has no rows is a plain string.
    """

    __slots__ = ()


def _limit(
    default: Any,
    group: Group,
    passed: str,
    about: str,
    most: int | None = None,
    least: int | None = None,
) -> Any:
    """A limit.

    Args:
        default: Its usual value.
        group: What it is about: documents, answers, or queries when they are registered.
        passed: What is said of that which passes it; ``{}`` is the limit.
        about: What is said of it beside the option.
        most: What it can be at most; None for anything.
        least: What it can be at least; None for 0 of bytes and seconds, else 1.
    """
    if least is None:
        least = 0 if "bytes" in passed or isinstance(default, float) else 1
    metadata = {"group": group, "passed": passed, "about": about, "least": least, "most": most}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Limits:
    """How large, deep and costly documents, queries and answers may be.

    >>> Limits(depth=9).passed("depth")
    'more than 9 levels of nested elements (--max-depth)'
    """

    document_bytes: int = _limit(
        1 << 36,
        "document",
        "the document has more than {:,} bytes",
        "Bytes of a document, unpacked.",
    )
    depth: int = _limit(
        2_048,
        "document",
        "more than {:,} levels of nested elements",
        "How deep elements may be nested.",
        2_048,  # libxml2 gives up there, whatever it is told
    )
    token_bytes: int = _limit(
        10_000_000,
        "document",
        "more than {:,} bytes of one tag, comment or text",
        "Bytes of one tag, comment, processing instruction, text or document type.",
    )
    name_bytes: int = _limit(
        1_000_000,
        "document",
        "a name of more than {:,} bytes",
        "Bytes of the name of an element or attribute.",
    )
    attribute_bytes: int = _limit(
        10_000_000,
        "document",
        "an attribute of more than {:,} bytes",
        "Bytes of the value of an attribute, as written.",
    )
    attributes: int = _limit(
        10_000,
        "document",
        "more than {:,} attributes of one tag",
        "Attributes of one element, namespace declarations included.",
        32_767,  # see `extract.filtertool.matchers.node_refs.BITS`
    )
    entity_references: int = _limit(
        1_000_000,
        "document",
        "more than {:,} references to entities",
        "References to entities that the document declares.",
    )
    entity_bytes: int = _limit(
        10_000_000,
        "document",
        "its entities expand to more than {:,} bytes",
        "Bytes that the entities of a document may expand to.",
    )
    entity_ratio: int = _limit(
        100,
        "document",
        "its entities expand to more than {:,} times the bytes read so far",
        "How many times the bytes read so far entities may expand to.",
    )
    entity_free_bytes: int = _limit(
        1 << 20,
        "document",
        "its entities expand to more than {:,} bytes",
        "Bytes that entities may expand to whatever the ratio.",
    )
    gzip_ratio: int = _limit(
        400,
        "document",
        "it unpacks to more than {:,} times its size",
        "How many times its size a compressed document may unpack to; real XML stays far below.",
    )
    gzip_free_bytes: int = _limit(
        1 << 26,
        "document",
        "it unpacks to more than {:,} bytes",
        "Bytes that a compressed document may unpack to whatever the ratio.",
    )
    document_seconds: float = _limit(
        3600.0,
        "answer",
        "it took longer than {:g} s of processor time and was given up",
        "Processor time that `extract run` may take for one document.",
    )
    document_memory: int = _limit(
        1 << 33,
        "answer",
        "it took more than {:,} bytes of memory and was given up",
        "Bytes of memory that `extract run` may take for one document.",
    )
    whole_bytes: int = _limit(
        1 << 28,
        "answer",
        "documents are evaluated whole up to {:,} bytes",
        "Bytes of a document that has to be evaluated whole.",
    )
    value_bytes: int | None = _limit(
        1 << 24,
        "answer",
        "a value of more than {:,} bytes",
        "Bytes of a value; a longer one is left out, and its place is given.",
    )
    query_seconds: float = _limit(
        60.0,
        "answer",
        "it took longer than {:g} s and was given up",
        "How long a query that may take very long can take on a document.",
    )
    query_memory: int = _limit(
        1 << 32,
        "answer",
        "it took more than {:,} bytes of memory and was given up",
        "Bytes of memory that a query that may take very long can take on a document.",
    )
    query_rows: int = _limit(
        10_000_000,
        "answer",
        "it selects more than {:,} nodes",
        "Nodes that a query may select in one document.",
    )
    query_bytes: int = _limit(
        1 << 31,
        "answer",
        "it selects more than {:,} bytes",
        "Bytes of the elements that a query may select in one document, nested ones each.",
    )
    joined_bytes: int = _limit(
        1 << 30,
        "answer",
        "one document leads to rows of more than {:,} bytes",
        "Bytes that the rows of one document in joins may take, about.",
    )
    published: int = _limit(
        1_000,
        "answer",
        "one document leads to more than {:,} published ones",
        "Documents that joins may publish, and read, on the way from one document.",
        least=0,
    )
    xpath_chars: int = _limit(
        400_000,
        "query",
        "longer than {:,} characters",
        "Characters of a query, without the values of its literals.",
        400_000,
    )
    constant_chars: int = _limit(
        10_000_000,
        "query",
        "literals of more than {:,} characters",
        "Characters of the literals of a query together.",
        100_000_000,  # places in texts are 32 bits wide here and there
    )
    xpath_depth: int = _limit(
        100,
        "query",
        "nested more than {:,} levels deep",
        "How deep brackets and operators of a query may be nested.",
        100,  # a tree of that depth fits the Python stack
    )
    xpath_branches: int = _limit(
        4_000,
        "query",
        "more than {:,} branches",
        "Paths that a query may unite with |, in filters too.",
        4_000,  # libxml2 compiles more, and gives up when it evaluates them
    )
    queries_bytes: int = _limit(
        1 << 32,
        "query",
        "the query file has more than {:,} bytes",
        "Bytes of a file of queries, unpacked.",
    )
    metadata_bytes: int = _limit(
        1 << 16,
        "query",
        "metadata of more than {:,} bytes",
        "Bytes of the metadata of one subscription, as JSON.",
    )
    subscriptions: int = _limit(
        10_000_000,
        "query",
        "more than {:,} subscriptions",
        "Subscriptions in one scheme.",
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value, least, most = (
                getattr(self, one.name),
                one.metadata["least"],
                one.metadata["most"],
            )
            if value is None or (least <= value <= (value if most is None else most)):
                continue
            allowed = f"at least {least}" if most is None else f"from {least} to {most:,}"
            raise ValueError(f"the limit {one.name} is {value}; it must be {allowed}")

    def passed(self, name: str) -> str:
        """The reason why something is rejected that passes a limit.

        Args:
            name: The field.
        """
        metadata = self.__dataclass_fields__[name].metadata
        return f"{metadata['passed'].format(getattr(self, name))} ({option(name)})"


DEFAULTS: Final = Limits()  # made once: a small document is scanned in less time than they are


def option(name: str) -> str:
    """What a limit is called on the command line.

    >>> option("value_bytes")
    '--max-value-bytes'
    """
    return f"--max-{name.replace('_', '-')}"


def limits_of(*groups: Group) -> Iterator[Field[Any]]:
    """The fields of some groups, in their order."""
    return (one for one in fields(Limits) if one.metadata["group"] in groups)
