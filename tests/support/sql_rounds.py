"""Random rounds of the matcher ``sql``, compared with libxml2 on whole documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import extract
from extract.filtertool.matchers.protocol import Select
from extract.live_filter import Filter
from extract.scheme.model import Scheme
from extract.xpath.parameters import filled
from tests.support.expected_rows import ExpectedRows, agree
from tests.support.filter_rounds import Round, expected_count
from tests.support.push.documents import DocumentWriter
from tests.support.push.queries import TemplateWriter
from tests.support.push.vocabulary import NAMESPACES

_COLUMNS = ("node", "name", "start", "end", "path", "value", "text")


def template_round(seed: int, home: str = "", select: Select = "nodes") -> Counter[str]:
    """Templates with members that push could take, and some others, on documents without a schema.

    Args:
        seed: Where choices come from.
        home: The URL of a database; empty for one that is made.
        select: What is asked for.
    """
    random = Random(seed)
    queries: dict[str, str] = {}
    for _ in range(10):
        template = TemplateWriter(random, random.choice((0, 0, 20))).template()
        for _ in range(random.randint(1, 6)):
            queries[f"q{len(queries)}"] = filled(template.text, template.constants(random))
    documents = [DocumentWriter(random, random.randint(1, 25), 8).document() for _ in range(8)]
    subscriptions = extract.Subscriptions.of(queries, NAMESPACES)
    scheme = extract.prepare(subscriptions)
    return compare(scheme, queries, documents, NAMESPACES, home, select)


def nested_round(seed: int, home: str = "", select: Select = "doc") -> Counter[str]:
    """Conditions inside of conditions, and unions, whose alternatives compare alike."""
    random = Random(seed)
    queries = {f"q{n}": _nested_query(random) for n in range(25)}
    documents = [_nested_document(random, 0).encode() for _ in range(12)]
    scheme = extract.prepare(extract.Subscriptions.of(queries))
    return compare(scheme, queries, documents, {}, home, select)


def _nested_query(random: Random) -> str:
    paths = ["".join(_nested_path(random, 2, "/r/")) for _ in range(random.choice((1, 1, 1, 2)))]
    return " | ".join(paths)


def _nested_path(random: Random, depth: int, start: str) -> str:
    steps = []
    for _ in range(random.randint(1, 2)):
        name = random.choice("abx*")
        conditions = [f"[{_nested_condition(random, depth)}]" for _ in range(random.randint(0, 2))]
        steps.append(name + "".join(conditions[: max(0, depth)]))
    return start + random.choice(("/", "//")).join(steps)


def _nested_condition(random: Random, depth: int) -> str:
    kind = random.randrange(9) if depth > 0 else 0
    if kind < 3:
        path = random.choice(("a", "b", "@k", ".", "x/a", ".//b", "count(a)"))
        value = random.choice(("1", "2", "'1'", "'2'", "'1 '"))
        return f"{path} {random.choice(('=', '=', '!=', '<', '>='))} {value}"
    if kind < 6:
        inner = _nested_path(random, depth - 1, random.choice(("", "", ".//", "/r/")))
        return f"{inner} {random.choice(('= 1', '= 2', '> 1'))}" if random.random() < 0.5 else inner
    if kind == 6:
        return f"not({_nested_condition(random, depth - 1)})"
    parts = [_nested_condition(random, depth - 1) for _ in range(2)]
    return f"({random.choice((' and ', ' or ')).join(parts)})"


def _nested_document(random: Random, depth: int) -> str:
    name = random.choice("abx") if depth else "r"
    inside = random.choice(("", "1", "2", "3"))
    if depth < 4 and (not depth or random.random() < 0.6):
        parts = [_nested_document(random, depth + 1) for _ in range(random.randint(1, 4))]
        inside = "".join(parts)
    key = random.choice(("", ' k="1"', ' k="2"'))
    return f"<{name}{key}>{inside}</{name}>"


def schema_round(seed: int, home: str = "", select: Select = "nodes") -> Counter[str]:
    """Any queries on documents that keep to a random schema, and on others."""
    one = Round(Random(seed), 25)
    return compare(one.scheme, one.texts, one.documents, one.namespaces, home, select)


def compare(
    scheme: Scheme,
    queries: dict[str, str],
    documents: Sequence[bytes],
    namespaces: Any,
    home: str = "",
    select: Select = "nodes",
) -> Counter[str]:
    """Asserts that the rows are libxml2's; says how much was compared."""
    if home:
        scheme.save(home)
    filter_ = Filter(home or scheme, select, "sql")
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in filter_.table([(str(n), one) for n, one in enumerate(documents)]).to_pylist():
        rows.setdefault((row["document"], row["query"]), []).append(row)
    rejected = {(one["document"], one["query"]) for one in filter_.rejected.to_pylist()}
    counts = Counter({name: int(n) for name, n in filter_.figures().items() if "sql" in name})
    for number, document in enumerate(documents):
        expected = ExpectedRows(document)
        for name, xpath in queries.items():
            wanted = expected.rows(xpath, namespaces)
            found = rows.get((str(number), name), [])
            where = f"{xpath} on {document!r}: {found}, and not {wanted}"
            if isinstance(wanted, str):
                assert (str(number), name) in rejected, where
                continue
            right = expected_count(wanted)
            if select == "nodes":
                own = [tuple([row[column] for column in _COLUMNS]) for row in found]
                assert agree(own, wanted), where
            elif select == "count":
                assert [row["count"] for row in found] == ([right] if right else []), where
            else:
                assert len(found) == (right > 0), where
            counts["answers"] += 1
            counts["matches"] += right > 0
    return counts
