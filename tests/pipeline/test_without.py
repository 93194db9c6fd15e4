"""Answers do not depend on what makes them fast: each is switched off; the rows stay the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import pytest

import extract
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.job import Job
from extract.filtertool.matchers.columnar import strings
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.output.directory import result_directory
from extract.pipeline import run
from extract.scenarios import scenario, scenario_names
from extract.subscriptions import wordings
from extract.transtool import Expansion
from extract.xpath.ast import Expr
from extract.xpath.parameters import QueryShape, shape_of
from tests.support.filter_rounds import Round

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[tuple[Any, ...]]
Prepare = Callable[..., extract.Scheme]

NARROW = Expansion().none


class Without(NamedTuple):
    """How to do without something.

    Attributes:
        chunks: Into how many chunks to cut.
        expansion: How far normal forms may go.
        matcher: What evaluates.
        options: How to filter.
        around: What holds meanwhile.
    """

    chunks: int = 4
    expansion: Expansion = Expansion()
    matcher: str = "auto"
    options: Options = Options()
    around: Callable[[], AbstractContextManager[Any]] = nullcontext


def no_native() -> AbstractContextManager[Any]:
    """The columnar matcher without its loops in C."""
    return patch.object(strings, "native_available", lambda: False)


def no_templates() -> AbstractContextManager[Any]:
    """Every query is a template of its own, and its literals are part of the shape."""

    def shape(expr: Expr) -> QueryShape:
        found = shape_of(expr)
        return QueryShape(expr, (False,) * len(found.roles), found.values)

    return patch.object(wordings, "shape_of", shape)


WITHOUT = {
    "templates": Without(around=no_templates),
    "kernel": Without(options=Options(kernel=False)),
    "chunks": Without(chunks=1),
    "expansion": Without(expansion=NARROW),
    "columnar": Without(matcher="lxml"),
    "loops in C": Without(around=no_native),
    "memory": Without(options=Options(in_memory=0)),
    "one table": Without(options=Options(priority=True)),
    "all of these": Without(
        1, NARROW, "lxml", Options(kernel=False, in_memory=0, priority=True), no_native
    ),
}


def rows(scheme: extract.Scheme, documents: list[bytes], how: Without) -> Rows:
    """All rows, and all rejections."""
    with how.around():
        filter_ = document_filter(scheme, load_matcher(how.matcher), how.options)
        done = filter_.process([(str(n), document) for n, document in enumerate(documents)])
    ids = filter_.plan.ids
    found: Rows = []
    for one in done:
        found += [
            (m.document, m.query, m.ordinal, m.node, m.name, m.start, m.end, m.path, m.value)
            for m in one.findings.matches(one.document, ids)
        ]
        found += [(one.document, each.query, -1, each.line) for each in one.rejections]
    return sorted(found, key=repr)


def unpruned(scheme: extract.Scheme, documents: list[bytes]) -> Rows:
    """The rows when every document is evaluated whole with the queries as they were written."""
    everything = replace(scheme.schema, roots=())  # then no document keeps to the schema
    return rows(replace(scheme, schema=everything), documents, Without())


def cases() -> Iterator[tuple[str, Callable[[], tuple[Prepare, list[bytes]]]]]:
    """Things to filter: every scenario, and random ones."""
    for name in scenario_names():
        if (Path(extract.__file__).parent / "scenarios" / name / "generate.py").exists():

            def of_scenario(name: str = name) -> tuple[Prepare, list[bytes]]:
                one = scenario(name)
                schema, queries = one.schema(), one.queries(60)

                def make(chunks: int, expansion: Expansion) -> extract.Scheme:
                    return extract.prepare(schema, queries, chunks, expansion=expansion)

                return make, one.documents(3, 6_000)

            yield name, of_scenario
    for seed in range(6):

        def of_seed(seed: int = seed) -> tuple[Prepare, list[bytes]]:
            made = Round(Random(seed), 30, 5)
            schema = made.scheme.schema
            queries = extract.Subscriptions.of(made.texts, made.namespaces)

            def make(chunks: int, expansion: Expansion) -> extract.Scheme:
                return extract.prepare(schema, queries, chunks, expansion=expansion)

            return make, made.documents

        yield f"random {seed}", of_seed


@pytest.mark.parametrize(("name", "case"), list(cases()), ids=[name for name, _ in cases()])
def test_the_rows_are_the_same_without(name: str, case: Callable[[], Any]) -> None:
    prepare, documents = case()
    usual = Without()
    expected = rows(prepare(usual.chunks, usual.expansion), documents, usual)
    assert expected, name
    for what, how in WITHOUT.items():
        with how.around():
            scheme = prepare(how.chunks, how.expansion)
        assert rows(scheme, documents, how) == expected, f"without {what}"
    assert unpruned(prepare(usual.chunks, usual.expansion), documents) == expected, "unpruned"


def test_the_rows_are_the_same_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.engine import run_into_directory

    one = scenario("university")
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, data in enumerate(one.documents(6, 8_000)):
        (docs / f"{number}.xml").write_bytes(data)
    scheme = extract.prepare(one.schema(), one.queries(60), 4)
    listed = find_inputs([str(docs)])
    with result_directory(tmp_path / "spark") as partial:
        job = Job(scheme, load_matcher(), Options())
        run_into_directory(spark.sparkContext, job, listed, partial, "jsonl")
    run(scheme, [each.name for each in listed], tmp_path / "local", form="jsonl", jobs=1)
    both = [
        sorted(
            [
                json.dumps(json.loads(line), sort_keys=True)
                for path in (tmp_path / engine / "matches").glob("*.jsonl")
                for line in path.read_text().splitlines()
            ]
        )
        for engine in ("spark", "local")
    ]
    assert both[0] == both[1] != []
