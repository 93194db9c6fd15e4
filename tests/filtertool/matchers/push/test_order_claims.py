"""Where the schema says that nodes come in order, nobody sorts them; results are the same."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import extract
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.push.order_claims import OrderClaims
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output_filter import OutputFilter
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.xpath.ast import LocationPath
from extract.xpath.parser import parse

DTD = """<!ELEMENT book (title, section*)><!ELEMENT section (title, (p | figure | section)*)>
<!ELEMENT p (#PCDATA | em)*><!ELEMENT em (#PCDATA | em)*><!ELEMENT figure (title)>
<!ELEMENT title (#PCDATA)>"""


@pytest.fixture
def schema(tmp_path: Path) -> extract.Schema:
    file = tmp_path / "book.dtd"
    file.write_text(DTD)
    return extract.Schema.load(file, root="book")


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        ("text()", True),
        ("section/title/text()", True),  # claim 4
        (".//title/text()", True),  # claim 5: no title in a title
        (".//section//p/text()", True),  # nor a p in a p, though sections nest
        (".//em/text()", False),  # an em in an em
        (".//section/text()", False),
        (".//*/text()", False),
        ("section//text()", False),
        (".//unknown/text()", False),
    ],
)
def test_claims(schema: extract.Schema, path: str, holds: bool) -> None:
    expr = parse(path)
    assert isinstance(expr, LocationPath)
    assert OrderClaims(schema).in_order(expr, {}) is holds


def document(draw: Random, depth: int = 0) -> str:
    def em(level: int) -> str:
        return f"<em>{draw.randint(1, 9)}{em(level + 1) if level < 3 else ''}t</em>"

    parts = [f"<p>a{em(0)}b{em(2)}c</p>", "<figure><title>f</title></figure>"]
    inside = [f"<title>{depth}.{draw.randint(1, 99)}</title>"]
    for _ in range(draw.randint(1, 4)):
        inside.append(draw.choice(parts) if depth > 2 else document(draw, depth + 1))
    name = "section" if depth else "book"
    return f"<{name}>{''.join(inside)}</{name}>"


@pytest.mark.skipif(not native_available(), reason="the engine is not compiled")
def test_results_are_the_same_without_claims(schema: extract.Schema) -> None:
    paths = ["//title/text()", "//p/text()", "//em/text()", "//section//p//text()", "/title/text()"]
    queries = {
        f"{bound} {path}": f"for $s in {bound} return <r a='{{ $s{path} }}'>{{ $s{path} }}</r>"
        for bound in ("//section", "/book", "//p", "/book/section/section")
        for path in paths
    }
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries), chunks=1)
    draw = Random(3)
    documents = [(str(n), document(draw).encode()) for n in range(12)]
    made, sorts = [], []
    for claims in (True, False):
        ready = OutputFilter(scheme, load_matcher("auto"), Options("output"), claims)
        done = list(document_outcomes(ready.process(documents)))
        assert {one.fate for one in done} == {"conforming"}
        made.append([one.findings.outputs() for one in done])
        sorts.append(ready.figures()["push_sorted"])
    assert made[0] == made[1]
    assert 0 < sorts[0] < sorts[1]
