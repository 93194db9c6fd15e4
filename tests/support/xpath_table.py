"""The table of docs/xpath.md: what of XPath is supported, found out by trying each thing.

Each row is one query on one document. The row says what became of it; that its answer is libxml2's
on the whole document is checked here, so that a row that is there is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import extract
from extract.filtertool.matchers.columnar.accept import reason_against
from extract.filtertool.results.findings import Match
from extract.preptool.explain.query_report import explain_query
from extract.xpath.ast import AXES
from extract.xpath.functions import EXSLT_REGEXP, FUNCTIONS
from extract.xpath.parser import parse
from tests.support.expected_rows import ExpectedRows, agree, row_of
from tests.support.paths import FIXTURES

SCHEMA = FIXTURES / "xpath" / "table.dtd"
NAMESPACES = {"re": EXSLT_REGEXP}
DOCUMENT = b"""<?xml version="1.0"?>
<?sort by-name?>
<db xml:lang="en">
  <student id="s1"><name>Ann Lee</name><email>ann@x</email><url href="/ann">1.5</url></student>
  <!-- second year -->
  <student id="s2" xml:id="s2"><name>Bob</name><link manager="p1"/></student>
  <professor id="p1"><name>Codd</name><link subordinates="s1 s2">boss</link></professor>
  <assistant id="a1"><name>Eve</name></assistant>
</db>"""

GROUPS: dict[str, dict[str, str]] = {
    "Axes": {
        "child::": "/db/student/name",
        "attribute::": "/db/student/@id",
        "descendant::": "/db/descendant::name",
        "descendant-or-self::": "//student",
        "self::": "/db/*/self::student",
        "parent::": "//name/parent::student",
        "ancestor::": "//email/ancestor::student",
        "ancestor-or-self::": "//link/ancestor-or-self::student",
        "following-sibling::": "//name/following-sibling::link",
        "preceding-sibling::": "//link/preceding-sibling::name",
        "following::": "//email/following::name",
        "preceding::": "//link/preceding::email",
        "namespace::": "/db/namespace::*",
    },
    "Node tests": {
        "name": "//email",
        "*": "/db/*/email",
        "node()": "/db/student/node()",
        "text()": "//name/text()",
        "comment()": "//comment()",
        "processing-instruction()": "/processing-instruction()",
        "processing-instruction('n')": "/processing-instruction('sort')",
    },
    "Abbreviations and paths": {
        "//": "/db//name",
        "..": "//name/..",
        ".": "//student/.",
        "@": "//@href",
        "relative path": "db/student",
        "a | b": "//email | //url",
        "(a | b)/c": "(//student | //professor)/name",
        "(a)[n]": "(//name)[2]",
        "/": "/",
    },
    "Predicates": {
        "existence": "//student[email]",
        "comparison": "//student[name = 'Bob']",
        "position": "/db/student[2]",
        "last()": "//student[last()]",
        "range": "//student[position() < 3]",
        "several": "//student[email][1]",
        "nested": "/db[student[url/@href]]/professor",
        "absolute path inside": "//student[link/@manager = /db/professor/@id]",
        "node set = node set": "//student[@id = //link/@manager]",
    },
    "Operators": {
        "and, or": "//student[email and url or link]",
        "=, !=": "//student[name != 'Bob']",
        "<, <=, >, >=": "//url[. >= 1.5]",
        "+, -": "//student[count(*) - 1 = 1 + 1]",
        "*, div, mod": "//student[count(*) mod 2 = 1]",
        "- x": "//url[-. < 0]",
    },
    "Functions": {
        "last": "//student[position() = last()]",
        "position": "//student[position() = 2]",
        "count": "count(//student)",
        "id": "id('s2')",
        "local-name": "//*[local-name() = 'email']",
        "namespace-uri": "//student[namespace-uri() = '']",
        "name": "/db/*[name() = 'professor']",
        "string": "string(//student[2]/name)",
        "concat": "//student[concat(name, @id) = 'Bobs2']",
        "starts-with": "//name[starts-with(., 'A')]",
        "contains": "//email[contains(., '@')]",
        "substring-before": "substring-before(//email, '@')",
        "substring-after": "//student[substring-after(email, '@') = 'x']",
        "substring": "//name[substring(., 1, 1) = 'B']",
        "string-length": "//name[string-length() > 3]",
        "normalize-space": "//name[normalize-space() = 'Bob']",
        "translate": "//name[translate(., 'BO', 'bo') = 'bob']",
        "boolean": "boolean(//email)",
        "not": "//student[not(email)]",
        "true": "//student[boolean(email) = true()]",
        "false": "//student[boolean(email) = false()]",
        "lang": "//name[lang('en')]",
        "number": "//url[number() > 1]",
        "sum": "sum(//url)",
        "floor": "//url[floor(.) = 1]",
        "ceiling": "//url[ceiling(.) = 2]",
        "round": "//url[round(.) = 2]",
        "re:test": "//name[re:test(., '^[A-C]')]",
        "re:replace": "//name[re:replace(., 'b', 'g', 'x') = 'Box']",
    },
    "Not taken": {
        "variables": "//student[@id = $who]",
        "unknown functions": "//student[exists(email)]",
        "unbound prefixes": "//po:order",
        "XPath 2.0, undeclared": "for $x in //student return $x",
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one query.

    Attributes:
        what: The construct.
        xpath: The query.
        where: On which part of the document it is evaluated.
        who: By which matcher; or why the query was not taken.
        rows: How many rows it gave.
    """

    what: str
    xpath: str
    where: str
    who: str
    rows: int


@cache
def rows() -> dict[str, list[Row]]:
    """Tries everything.

    Raises:
        AssertionError: An answer is not libxml2's, or a part of XPath 1.0 is not in the table.
    """
    every = {name.split("}")[-1] for name in FUNCTIONS} - {"table"}  # ours, not libxml2's
    assert {name.removeprefix("re:") for name in GROUPS["Functions"]} == every
    assert {name.removesuffix("::") for name in GROUPS["Axes"]} == set(AXES)
    schema = extract.Schema.load(SCHEMA, root="db")
    queries = {xpath: xpath for group in GROUPS.values() for xpath in group.values()}
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries, NAMESPACES), chunks=3)
    assert "1" in {chunk.id for chunk in extract.chunk(scheme, DOCUMENT)}  # it is cut, not whole
    expected = ExpectedRows(DOCUMENT)
    found: dict[str, list[Match]] = {xpath: [] for xpath in queries}
    for match in extract.match(scheme, DOCUMENT):
        found[match.query].append(match)
    table: dict[str, list[Row]] = {}
    for group, constructs in GROUPS.items():
        for what, xpath in constructs.items():
            report = explain_query(scheme, xpath)
            if report.status == "rejected":
                assert group == "Not taken", xpath
                row = Row(what, xpath, "-", report.reason.split("\n")[0], 0)
            else:
                ours, theirs = (
                    [row_of(one) for one in found[xpath]],
                    expected.rows(xpath, {**NAMESPACES}),
                )
                assert not isinstance(theirs, str), xpath
                assert agree(ours, theirs), f"{xpath}: {ours} is not {theirs}"
                chunks = {branch.chunk for branch in report.branches}
                declined = any(reason_against(parse(one.xpath)) for one in report.branches)
                who = "lxml" if declined or chunks == {"document"} else "columnar"
                row = Row(what, xpath, _where(chunks), who, len(ours))
            table.setdefault(group, []).append(row)
    return table


def _where(chunks: set[str]) -> str:
    if "document" in chunks:
        return "the whole document"
    return "the potpourri" if "potpourri" in chunks else "its chunk" + "s" * (len(chunks) > 1)


def markdown() -> str:
    """The table as it stands in the page."""
    lines: list[str] = []
    for group, some in rows().items():
        last = "why not" if group == "Not taken" else "matcher"
        lines += ["", f"### {group}", ""]
        if group == "Not taken":
            lines += ["| construct | example | why not |", "|---|---|---|"]
        else:
            lines += [
                "| construct | example | evaluated on | matcher | rows |",
                "|---|---|---|---|--:|",
            ]
        for row in some:
            cells = [f"`{row.what}`" if group != "Not taken" else row.what, f"`{row.xpath}`"]
            cells += [row.who] if last == "why not" else [row.where, row.who, str(row.rows)]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


_TABLE = re.compile(r"(?<=<!-- table: xpath -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def renewed(text: str) -> str:
    """A page with the table as it is now, if it has one."""
    return _TABLE.sub(lambda _: markdown(), text) if _TABLE.search(text) else text
