"""Results of queries on one small document: findings, rows and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import extract
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import open_writer
from extract.filtertool.results.findings import Match
from extract.filtertool.results.outcome import DocumentOutcome
from extract.pipeline import prepare
from extract.scheme.model import Scheme

DTD = """
<!ELEMENT a (b*, c*, p:d*)>
<!ATTLIST a x CDATA #IMPLIED xmlns:p CDATA #FIXED "urn:p">
<!ELEMENT b (#PCDATA | c)*>
<!ATTLIST b x CDATA #IMPLIED y CDATA #IMPLIED>
<!ELEMENT c (#PCDATA)>
<!ELEMENT p:d (#PCDATA | p:d)*>
<!ATTLIST p:d p:e CDATA #IMPLIED f NMTOKENS #IMPLIED>
"""


def scheme_of(tmp_path: Path, *queries: str, chunks: int = 3) -> Scheme:
    """A scheme whose queries are named by their numbers, from 0."""
    file = tmp_path / "schema.dtd"
    file.write_text(DTD, encoding="utf-8")
    named = {str(n): xpath for n, xpath in enumerate(queries)}
    subscriptions = extract.Subscriptions.of(named, {"p": "urn:p"})
    return prepare(extract.Schema.load(file, root="a"), subscriptions, chunks)


def process(
    scheme: Scheme, document: bytes, **options: Any
) -> tuple[DocumentOutcome, Sequence[str]]:
    filter_ = document_filter(scheme, load_matcher("auto"), Options(**options))
    (done,) = filter_.process([("doc.xml", document)])
    return done, filter_.plan.ids


def rows(tmp_path: Path, document: bytes, *queries: str, **options: Any) -> list[Match]:
    """All matches of some queries."""
    done, ids = process(scheme_of(tmp_path, *queries), document, **options)
    assert done.fate == "conforming", done
    assert not done.rejections
    return list(done.findings.matches(done.document, ids))


# -- files


def write(tmp_path: Path, form: Any, document: bytes, *queries: str, **options: Any) -> Path:
    """Writes the results of one document."""
    scheme = scheme_of(tmp_path, *queries)
    done, ids = process(scheme, document, standalone=form == "xml", **options)
    with result_directory(tmp_path / "out") as partial:
        writer = open_writer(partial, form, ids, options.get("select", "nodes"))
        writer.write(done.document, done.findings)
        writer.reject(done.rejections)
        writer.close()
    return tmp_path / "out"
