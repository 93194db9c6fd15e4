"""Documents of records, queries on them, and surveys that cut them into pieces."""

from __future__ import annotations

import random
from pathlib import Path

from extract import Schema, Scheme
from extract.chunktool.split.divide import Division
from extract.chunktool.split.survey import Survey, survey
from extract.pipeline import prepare
from extract.subscriptions import Subscriptions

DTD = """
<!ELEMENT db (dept|note|empty)*> <!ATTLIST db year CDATA #IMPLIED>
<!ELEMENT dept (head?, (student|prof|note)*)> <!ATTLIST dept id CDATA #IMPLIED>
<!ELEMENT head (name)> <!ELEMENT empty EMPTY>
<!ELEMENT student (name, mark*, student*)> <!ATTLIST student id CDATA #IMPLIED>
<!ELEMENT prof (name)> <!ELEMENT name (#PCDATA)> <!ELEMENT mark (#PCDATA)>
<!ELEMENT note (#PCDATA|name)*>
"""
QUERIES = {
    "students": "/db/dept/student",
    "good": "/db/dept/student[mark > 3]/name",
    "ids": "/db/dept/student/@id",
    "texts": "/db/dept/prof/name/text()",
    "deep": "/db/dept/student//mark",
    "of a": "/db/dept[@id = 'a']/student[name]",
    "in year": "/db[@year]/dept/prof",
    "two": "/db/dept/student/name | /db/dept/prof",
    "notes": "/db/note/name",
    "inner notes": "/db/dept/note",
    "third inside": "/db/dept/student/mark[2]",
    # These look beyond a record, or at what is above it.
    "third": "/db/dept/student[3]",
    "with head": "/db/dept[head]/student",
    "depts": "/db/dept",
    "many": "count(//student)",
    "names": "//name",
    "after": "/db/dept/student[following-sibling::student]",
    "same": "/db/dept/student[name = /db/dept/prof/name]",
    "ever": "/db/dept/student[not(mark) and ../head]",
}


def records_scheme(folder: Path) -> Scheme:
    """A scheme of the queries; a folder for the file of the schema."""
    file = folder / "db.dtd"
    file.write_text(DTD)
    return prepare(Schema.load(str(file), root="db"), Subscriptions.of(QUERIES), 2)


def document(seed: int, depts: int = 6) -> bytes:
    """A random document of departments with records."""
    chance = random.Random(seed)
    out = ['<?xml version="1.0"?>\n<!-- é --><db year="1">\n']

    def student(depth: int = 0) -> str:
        marks = "".join(f"<mark>{chance.randrange(6)}</mark>" for _ in range(chance.randrange(4)))
        inner = student(depth + 1) if depth < 2 and chance.random() < 0.3 else ""
        name = f"<name>N{chance.randrange(9)} <!-- <student> --></name>"
        return f'<student id="{chance.randrange(99)}">{name}{marks}{inner}</student>\n'

    for _ in range(depts):
        kind = chance.choice(["dept", "dept", "dept", "note", "empty"])
        if kind == "empty":
            out.append("<empty/>")
        elif kind == "note":
            out.append("<note>t<name>é</name><![CDATA[<dept>]]></note>\n text &amp;")
        else:
            out.append(f'<dept id="{chance.choice("abc")}">')
            out.append("<head><name>H</name></head>" if chance.random() < 0.5 else "")
            for _ in range(chance.randrange(8)):
                more = ["<prof><name>N1</name></prof>", "x<note>n</note>", student(), student()]
                out.append(chance.choice(more))
            out.append("</dept>\n")
    return ("".join(out) + "</db>\n<!-- end -->").encode()


def surveyed(
    scheme: Scheme, division: Division, data: bytes, size: int, quick: bool = False
) -> Survey:
    """The survey of a document that is in memory."""
    return survey(scheme, division, data, lambda a, b: data[a:b], size=size, skip_records=quick)
