"""What users see of the package in Python: its names, how values print, how errors show."""

from __future__ import annotations

import subprocess
import sys

import pytest

import extract
from tests.support.paths import ROOT, SCHEMAS


def test_dir_shows_the_interface_and_nothing_else() -> None:
    assert dir(extract) == sorted(extract.__all__)
    assert [name for name in extract.__all__ if getattr(extract, name) is None] == []


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'zzz'"):
        extract.zzz  # noqa: B018


def test_import_is_light() -> None:
    code = "import extract, sys; dir(extract); print('numpy' in sys.modules, 'lxml' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stdout == "False False\n", done.stderr


def test_who_prepares_imports_nothing_that_filters() -> None:
    code = (
        "import extract, sys; extract.prepare(extract.Subscriptions.of(['//a']));"
        "print([name for name in sys.modules if name.startswith('extract.filtertool')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert done.stdout == "[]\n", done.stderr


def test_values_print_as_one_line() -> None:
    schema = extract.Schema.load(SCHEMAS / "university.dtd", root="db")
    queries = extract.Subscriptions.of({"names": "//name", "bad": "//["})
    scheme = extract.prepare(schema, queries, chunks=1)
    assert repr(schema) == f"<Schema: {SCHEMAS / 'university.dtd'}, 10 elements, root db>"
    assert repr(queries) == "<Subscriptions: 2 from memory>"
    assert repr(scheme) == f"<Scheme: 2 queries, 1 chunk, schema {SCHEMAS / 'university.dtd'}>"
    assert repr(extract.Schema.none()) == "<Schema: none>"


def test_a_schema_with_many_roots_prints_as_one_line() -> None:
    documents = [f"<root{n}/>".encode() for n in range(100)]
    text = repr(extract.infer_schema(documents).schema)
    assert text.endswith("100 elements, 100 roots>")
    two = repr(extract.infer_schema(documents[:2]).schema)
    assert two.endswith("2 elements, roots root0, root1>")


def test_an_error_in_a_notebook_is_its_message() -> None:
    """IPython calls this method of an exception in place of printing a traceback."""
    error = extract.DocumentError("no end tag", "write one", "a.xml", 3, 7)
    assert error._render_traceback_() == ["DocumentError: a.xml:3:7: no end tag", "Hint: write one"]
