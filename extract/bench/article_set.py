"""Scientific articles such as those of JATS: mixed content, sections in sections, references.

Documents differ in size; queries look for sections, paragraphs, references and tables at any depth.
"""

from __future__ import annotations

from random import Random
from typing import Final

DTD: Final = """
<!ENTITY % inline "italic|bold|sup|sub|xref|named-content">
<!ELEMENT article (front, body, back)> <!ATTLIST article article-type CDATA #IMPLIED>
<!ELEMENT front (article-meta)>
<!ELEMENT article-meta (article-id*, title-group, contrib-group, pub-date, abstract)>
<!ELEMENT article-id (#PCDATA)> <!ATTLIST article-id pub-id-type CDATA #REQUIRED>
<!ELEMENT title-group (article-title)>
<!ELEMENT article-title (#PCDATA|%inline;)*>
<!ELEMENT contrib-group (contrib*)>
<!ELEMENT contrib (name, xref*)> <!ATTLIST contrib contrib-type CDATA #IMPLIED>
<!ELEMENT name (surname, given-names)>
<!ELEMENT surname (#PCDATA)> <!ELEMENT given-names (#PCDATA)>
<!ELEMENT pub-date (year)> <!ELEMENT year (#PCDATA)>
<!ELEMENT abstract (p*)>
<!ELEMENT body (sec*)>
<!ELEMENT sec (title, (p|sec|fig|table-wrap|list)*)>
<!ATTLIST sec id CDATA #IMPLIED sec-type CDATA #IMPLIED>
<!ELEMENT title (#PCDATA|%inline;)*>
<!ELEMENT p (#PCDATA|%inline;|list)*>
<!ELEMENT italic (#PCDATA|%inline;)*> <!ELEMENT bold (#PCDATA|%inline;)*>
<!ELEMENT sup (#PCDATA|%inline;)*> <!ELEMENT sub (#PCDATA|%inline;)*>
<!ELEMENT xref (#PCDATA|%inline;)*>
<!ATTLIST xref ref-type CDATA #REQUIRED rid CDATA #REQUIRED>
<!ELEMENT named-content (#PCDATA|%inline;)*>
<!ATTLIST named-content content-type CDATA #REQUIRED>
<!ELEMENT list (list-item*)> <!ELEMENT list-item (p|list)*>
<!ELEMENT fig (label, caption)> <!ATTLIST fig id CDATA #REQUIRED>
<!ELEMENT label (#PCDATA)> <!ELEMENT caption (title?, p*)>
<!ELEMENT table-wrap (label, caption, table)> <!ATTLIST table-wrap id CDATA #REQUIRED>
<!ELEMENT table (tr*)> <!ELEMENT tr (td*)> <!ELEMENT td (#PCDATA|%inline;)*>
<!ELEMENT back (ref-list)> <!ELEMENT ref-list (ref*)>
<!ELEMENT ref (citation)> <!ATTLIST ref id CDATA #REQUIRED>
<!ELEMENT citation (name*, article-title, source, year)>
<!ATTLIST citation publication-type CDATA #IMPLIED>
<!ELEMENT source (#PCDATA)>
"""

_DOCUMENTS: Final = 6
_QUERIES: Final = 1_500
_WORDS: Final = (
    "cell",
    "gene",
    "protein",
    "mouse",
    "tumour",
    "growth",
    "assay",
    "model",
    "binding",
    "pathway",
    "receptor",
    "human",
    "signal",
    "tissue",
    "sample",
    "control",
    "analysis",
    "expression",
    "mutation",
    "response",
)
_INLINE: Final = ("italic", "bold", "sup", "sub", "xref", "named-content")
_TITLES: Final = ("Introduction", "Methods", "Results", "Discussion", "Materials", "Statistics")
_TYPES: Final = ("bibr", "fig", "table")
_NAMES: Final = ("Garcia", "Kim", "Müller", "Singh", "Rossi", "Novak", "Chen", "Smith")


def documents() -> list[bytes]:
    """The documents, of 1,000 to 6,000 elements."""
    return [_Article(Random(number)).document(3 + 2 * number) for number in range(_DOCUMENTS)]


def queries() -> list[str]:
    """The queries; one in six selects nothing in most articles."""
    rng = Random(1)
    return [_query(rng) for _ in range(_QUERIES)]


class _Article:
    """Writes one article."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._numbers = 0

    def document(self, sections: int) -> bytes:
        """The article, with so many sections at the top."""
        body = "".join([self._section(0) for _ in range(sections)])
        references = "".join([self._reference(number) for number in range(sections * 8)])
        contributors = "".join(
            f'<contrib contrib-type="author">{self._name()}</contrib>' for _ in range(4)
        )
        return (
            f'<article article-type="research"><front><article-meta>'
            f'<article-id pub-id-type="doi">10.1/{sections}</article-id>'
            f"<title-group><article-title>{self._text(1)}</article-title></title-group>"
            f"<contrib-group>{contributors}</contrib-group><pub-date><year>2020</year></pub-date>"
            f"<abstract>{self._paragraph()}</abstract></article-meta></front><body>{body}</body>"
            f"<back><ref-list>{references}</ref-list></back></article>"
        ).encode()

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _section(self, depth: int) -> str:
        rng = self._rng
        parts = [f"<title>{rng.choice(_TITLES)}</title>"]
        for _ in range(rng.randint(3, 6)):
            draw = rng.random()
            if draw < 0.25 and depth < 3:
                parts.append(self._section(depth + 1))
            elif draw < 0.32:
                caption = f"<caption><title>{self._text(2)}</title></caption>"
                number = self._number()
                parts.append(f'<fig id="f{number}"><label>{number}</label>{caption}</fig>')
            elif draw < 0.37:
                parts.append(self._table())
            else:
                parts.append(self._paragraph())
        return f'<sec id="s{self._number()}">{"".join(parts)}</sec>'

    def _paragraph(self) -> str:
        inner = self._text(0)
        if self._rng.random() < 0.08:
            items = "".join(f"<list-item><p>{self._text(2)}</p></list-item>" for _ in range(3))
            inner += f"<list>{items}</list>"
        return f"<p>{inner}</p>"

    def _text(self, depth: int) -> str:
        rng = self._rng
        parts: list[str] = []
        for _ in range(rng.randint(2, 6)):
            parts.append(" ".join(rng.choices(_WORDS, k=rng.randint(2, 8))))
            if depth < 3 and rng.random() < 0.5:
                name = rng.choice(_INLINE)
                attributes = ""
                if name == "xref":
                    attributes = f' ref-type="{rng.choice(_TYPES)}" rid="r{rng.randint(0, 40)}"'
                elif name == "named-content":
                    attributes = f' content-type="{rng.choice(_WORDS)}"'
                parts.append(f"<{name}{attributes}>{self._text(depth + 2)}</{name}>")
        return " ".join(parts)

    def _table(self) -> str:
        number = self._number()
        rows = "".join(
            "<tr>" + "".join(f"<td>{self._rng.randint(0, 99)}</td>" for _ in range(4)) + "</tr>"
            for _ in range(5)
        )
        return (
            f'<table-wrap id="t{number}"><label>{number}</label>'
            f"<caption><title>{self._text(2)}</title></caption><table>{rows}</table></table-wrap>"
        )

    def _name(self) -> str:
        surname = self._rng.choice(_NAMES)
        return f"<name><surname>{surname}</surname><given-names>A</given-names></name>"

    def _reference(self, number: int) -> str:
        rng = self._rng
        return (
            f'<ref id="r{number}"><citation publication-type="journal">{self._name()}'
            f"<article-title>{self._text(2)}</article-title>"
            f"<source>{rng.choice(_WORDS)}</source><year>{rng.randint(1990, 2024)}</year>"
            "</citation></ref>"
        )


def _query(rng: Random) -> str:
    word, inline = rng.choice(_WORDS), rng.choice(_INLINE)
    title, kind = rng.choice(_TITLES), rng.choice(_TYPES)
    forms = (
        f"//sec[title='{title}']//p[xref/@ref-type='{kind}']",
        f"//p//{inline}[contains(., '{word}')]",
        f"//ref[citation/year > {rng.randint(1990, 2024)}]/@id",
        f"//ref[citation/name/surname='{rng.choice(_NAMES)}'][citation/source='{word}']",
        f"//table-wrap[.//td = {rng.randint(0, 99)}]/label",
        f"/article/body//sec[not(sec)][count(p) > {rng.randint(1, 5)}]/title",
        f"//p[not(ancestor::abstract)]//{inline}/{rng.choice(_INLINE)}",
        f"//xref[@rid='r{rng.randint(0, 60)}']",
        f"//sec[@id='s{rng.randint(1, 80)}']/p[{rng.randint(1, 4)}]",
        f"//{inline}[ancestor::sec[title='{title}']][@rid='r{rng.randint(0, 60)}']",
        f"//named-content[@content-type='{word}']/text()",
        f"/article/front//contrib[name/surname='{rng.choice(_NAMES)}x']",
    )
    return rng.choice(forms)
