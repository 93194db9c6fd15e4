"""Text for XSDs in tests, and what a loaded schema says of its parts."""

from __future__ import annotations

from pathlib import Path

from extract.schema.model import XSI_NAMESPACE, Schema, Wildcard
from tests.support.schema_facts import declared, load_xsd

XSI = f'xmlns:xsi="{XSI_NAMESPACE}"'
XSI_ONLY = Wildcard(frozenset({XSI_NAMESPACE}), negated=False)


def complex_type(name: str, content: str, more: str = "") -> str:
    """A named complex type with a sequence."""
    return (
        f'<xs:complexType name="{name}" {more}><xs:sequence>{content}</xs:sequence>'
        "</xs:complexType>"
    )


def extension(name: str, base: str, content: str = "", more: str = "") -> str:
    """A named complex type that extends another."""
    return (
        f'<xs:complexType name="{name}" {more}><xs:complexContent><xs:extension base="{base}">'
        f"<xs:sequence>{content}</xs:sequence></xs:extension></xs:complexContent></xs:complexType>"
    )


def local(name: str, type_: str = "xs:string", more: str = "") -> str:
    """A local element."""
    return f'<xs:element name="{name}" type="{type_}" {more}/>'


# xsi:type


ANIMALS = (
    complex_type("Animal", local("name"))
    + extension("Dog", "t:Animal", local("breed"))
    + extension("Puppy", "t:Dog", local("age"))
    + """<xs:complexType name="Plain"><xs:complexContent><xs:restriction base="t:Animal">
         <xs:sequence><xs:element name="name" type="xs:string"/></xs:sequence>
         </xs:restriction></xs:complexContent></xs:complexType>"""
)


def variants(schema: Schema, name: str) -> list[str]:
    return [d.type for d in schema.declarations if d.name == f"{{urn:t}}{name}"]


# Wildcards


def wildcards(folder: Path, any_: str, more: str = "", version: str = "") -> tuple[Wildcard, ...]:
    body = complex_type("R", f"{local('a')}<xs:any {any_}/>") + local("r", "t:R") + more
    schema = load_xsd(folder, body, root="r", attributes=version)
    return declared(schema, "t:r").wildcards


def negated(*namespaces: str) -> Wildcard:
    return Wildcard(frozenset(namespaces), True)


def only(*namespaces: str) -> Wildcard:
    return Wildcard(frozenset(namespaces), False)
