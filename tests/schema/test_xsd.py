"""What an XSD says, in the model: names and types, groups, attributes, real schemas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lxml import etree

from extract.schema.conformance import first_violation
from extract.schema.model import XML_NAMESPACE, Attribute, Particle, Schema, Text
from tests.support.schema_facts import (
    attributes,
    children,
    conforms,
    declared,
    edges,
    load_xsd,
    roots,
    write,
    xsd,
)
from tests.support.xsd_text import XSI, complex_type, extension, local

# Names and types


def test_one_name_with_two_types_stays_apart(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("A", local("x", "t:X1"))
        + complex_type("B", local("x", "t:X2"))
        + complex_type("X1", local("one"))
        + complex_type("X2", local("two"))
        + complex_type("R", local("a", "t:A") + local("b", "t:B") + local("a2", "t:A"))
        + local("r", "t:R"),
    )
    assert children(schema, "t:x", "t:X1") == ["one"]
    assert children(schema, "t:x", "t:X2") == ["two"]
    assert not conforms(schema, '<r xmlns="urn:t"><a><x><two/></x></a></r>')
    assert conforms(schema, '<r xmlns="urn:t"><a><x><one/></x></a><b><x><two/></x></b></r>')
    (x_below_a,) = declared(schema, "t:a").children
    (x_below_a2,) = declared(schema, "t:a2").children
    assert x_below_a == x_below_a2, "one name with one type is one declaration"


def test_anonymous_types_are_told_apart(tmp_path: Path) -> None:
    anonymous = (
        '<xs:element name="x"><xs:complexType><xs:sequence>{}</xs:sequence>'
        "</xs:complexType></xs:element>"
    )
    schema = load_xsd(
        tmp_path,
        complex_type("A", anonymous.format(local("one")))
        + complex_type("B", anonymous.format(local("two")))
        + complex_type("R", local("a", "t:A") + local("b", "t:B"))
        + "\n"
        + local("r", "t:R"),
    )
    types = {d.type for d in schema.declarations if d.name == "{urn:t}x"}
    assert types == {"anonymous, main.xsd:2"}, "people can find them"
    assert sum(d.name == "{urn:t}x" for d in schema.declarations) == 2


def test_forms_and_namespaces(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t"
            targetNamespace="urn:t">
          <xs:import schemaLocation="none.xsd"/>
          <xs:element name="r">
            <xs:complexType><xs:sequence>
              {local("plain")} {local("full", more='form="qualified"')} <xs:element ref="n"/>
            </xs:sequence>
            <xs:attribute name="plain"/> <xs:attribute name="full" form="qualified"/>
            <xs:attribute ref="t:global"/>
            </xs:complexType></xs:element>
          <xs:attribute name="global"/>
        </xs:schema>""",
        none_xsd=xsd(local("n"), target=""),
    )
    schema = Schema.load(path)
    assert edges(schema)["{urn:t}r"] == {"plain", "{urn:t}full", "n"}
    assert attributes(schema)["{urn:t}r"] == {"plain", "{urn:t}full", "{urn:t}global"}
    assert schema.prefixes["t"] == "urn:t"


def test_chameleon_include(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(f'<xs:include schemaLocation="c.xsd"/>{local("r", "t:C")}'),
        c_xsd=xsd(complex_type("C", local("inner", "D")) + complex_type("D", ""), target=""),
    )
    assert children(Schema.load(path), "t:r") == ["inner"], "takes the namespace of its includer"


def test_redefine(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            f'<xs:redefine schemaLocation="b.xsd">{extension("T", "t:T", local("more"))}'
            f"</xs:redefine>{local('r', 't:T')}"
        ),
        b_xsd=xsd(complex_type("T", local("base"))),
    )
    assert children(Schema.load(path, "r"), "t:r") == ["base", "more"]


# Content models


def test_groups_and_cardinality(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        f"""<xs:group name="g"><xs:choice>{local("a")}{local("b")}</xs:choice></xs:group>
        <xs:element name="r"><xs:complexType><xs:sequence>
          <xs:group ref="t:g" minOccurs="0" maxOccurs="unbounded"/>
          {local("c", more='minOccurs="2" maxOccurs="5"')}
          {local("never", more='minOccurs="0" maxOccurs="0"')}
        </xs:sequence></xs:complexType></xs:element>""",
    )
    a, b, c = (declared(schema, f"t:{name}").key for name in "abc")
    assert declared(schema, "t:r").content == Particle(
        "sequence",
        parts=(
            Particle(
                "choice",
                0,
                None,
                parts=(Particle("element", element=a), Particle("element", element=b)),
            ),
            Particle("element", 2, 5, c),
        ),
    )
    assert children(schema, "t:r") == ["a", "b", "c"], "nothing that may occur zero times at most"


def test_all_groups(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        f"""<xs:element name="r"><xs:complexType><xs:all>{local("a")}
        {local("b", more='minOccurs="0"')}</xs:all></xs:complexType></xs:element>""",
    )
    content = declared(schema, "t:r").content
    assert content is not None
    assert (content.kind, [part.low for part in content.parts]) == ("all", [1, 0])


def test_extension_and_restriction(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("Base", local("a") + local("b", more='minOccurs="0"'))
        + extension("More", "t:Base", local("c"))
        + """<xs:complexType name="Less"><xs:complexContent><xs:restriction base="t:Base">
             <xs:sequence><xs:element name="a" type="xs:string"/></xs:sequence>
             </xs:restriction></xs:complexContent></xs:complexType>"""
        + complex_type("R", local("more", "t:More") + local("less", "t:Less"))
        + local("r", "t:R"),
    )
    assert children(schema, "t:more") == ["a", "b", "c"]
    assert children(schema, "t:less") == ["a"]


def test_text(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("Mixed", local("simple"), 'mixed="true"')
        + '<xs:complexType name="Empty"><xs:attribute name="k"/></xs:complexType>'
        + complex_type("R", local("m", "t:Mixed") + local("e", "t:Empty"))
        + local("r", "t:R"),
    )
    assert {d.name.partition("}")[2]: d.text for d in schema.declarations} == {
        "r": Text.SPACE,
        "m": Text.ANY,
        "e": Text.NONE,
        "simple": Text.ANY,
    }


def test_recursion_is_finite(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        complex_type("T", local("t", "t:T", 'minOccurs="0"') + '<xs:element ref="t:r"/>')
        + local("r", "t:T"),
    )
    assert edges(schema) == {name: {"{urn:t}t", "{urn:t}r"} for name in ("{urn:t}r", "{urn:t}t")}


# Attributes


def test_attribute_declarations(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        """<xs:import namespace="http://www.w3.org/XML/1998/namespace"/>
           <xs:simpleType name="Size"><xs:restriction base="xs:int">
             <xs:enumeration value="01"/><xs:enumeration value="2"/></xs:restriction>
           </xs:simpleType>
           <xs:attributeGroup name="g"><xs:attribute name="grouped"/></xs:attributeGroup>
           <xs:attribute name="ref" type="xs:ID"/>
           <xs:complexType name="Base"><xs:attribute name="gone"/><xs:attribute name="kept"/>
           </xs:complexType>
           <xs:complexType name="T"><xs:complexContent><xs:restriction base="t:Base">
             <xs:attribute name="gone" use="prohibited"/>
             </xs:restriction></xs:complexContent></xs:complexType>
           <xs:complexType name="U"><xs:complexContent><xs:extension base="t:T">
             <xs:attribute name="size" type="t:Size" default="2"/>
             <xs:attribute name="fix" type="xs:string" fixed="f"/>
             <xs:attribute name="must" type="xs:token" use="required"/>
             <xs:attribute ref="t:ref"/> <xs:attribute ref="xml:lang"/>
             <xs:attributeGroup ref="t:g"/>
             <xs:attribute name="inline"><xs:simpleType><xs:restriction base="xs:NMTOKEN">
               <xs:enumeration value="a"/></xs:restriction></xs:simpleType></xs:attribute>
             </xs:extension></xs:complexContent></xs:complexType>"""
        + local("r", "t:U"),
    )
    assert set(declared(schema, "t:r").attributes) == {
        Attribute("kept", "xs:anySimpleType"),
        Attribute("size", "t:Size", default="2", values=("01", "2")),
        Attribute("fix", "xs:string", default="f", fixed=True),
        Attribute("must", "xs:token", required=True),
        Attribute("{urn:t}ref", "xs:ID"),
        Attribute(f"{{{XML_NAMESPACE}}}lang", "xs:anySimpleType"),
        Attribute("grouped", "xs:anySimpleType"),
        Attribute("inline", "xs:NMTOKEN", values=("a",)),
    }


# Determinism, the bundled schemas, and a real one


def test_same_model_in_every_process(tmp_path: Path, repo_root: Path) -> None:
    """Sets and hashes leave no trace in the numbers of declarations."""
    members = "".join(
        local(f"m{i}", f"t:M{i % 3}", 'substitutionGroup="t:head"') for i in range(20)
    )
    types = "".join(extension(f"M{i}", "t:H", local(f"x{i}")) for i in range(3))
    path = write(
        tmp_path,
        main_xsd=xsd(
            complex_type("R", '<xs:element ref="t:head"/>')
            + local("r", "t:R")
            + complex_type("H", "")
            + local("head", "t:H", 'abstract="true"')
            + members
            + types
        ),
    )
    code = (
        "import sys; from extract.schema.model import Schema; s = Schema.load(sys.argv[1], 'r');"
        "print([(d.name, d.type, d.children, d.content) for d in s.declarations], s.prefixes)"
    )
    models = {
        subprocess.run(
            [sys.executable, "-c", code, path],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(repo_root)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(models) == 1
    assert "m19" in models.pop()


def test_university_twin_says_the_same_as_the_dtd(repo_root: Path) -> None:
    dtd = Schema.load(repo_root / "schemas" / "university.dtd")
    twin = Schema.load(repo_root / "schemas" / "university.xsd")
    assert edges(twin) == edges(dtd)
    assert attributes(twin) == attributes(dtd)
    assert roots(twin) == roots(dtd)
    assert [d.text for d in twin.declarations] == [d.text for d in dtd.declarations]


def test_bundled_xsds_are_valid_for_other_tools(repo_root: Path) -> None:
    for path in sorted((repo_root / "schemas").glob("*.xsd")):
        etree.XMLSchema(etree.parse(path))


ORDER = f"""
<orders xmlns="urn:example:orders" xmlns:p="urn:example:party" {XSI} issued="2026-11-01">
  <order number="A1">
    <p:buyer xsi:type="p:Company" vat="DE1">
      <p:name>B</p:name><p:parent><p:name>C</p:name></p:parent>
    </p:buyer>
    <p:seller id="s"><p:name>S</p:name></p:seller>
    <shipTo xsi:type="ForeignAddress"><street/><city/><country/></shipTo>
    <product position="1"><text/><sku>x</sku><amount>2</amount><price currency="EUR">1.5</price>
      <part position="2"><text/><sku>y</sku><amount>1</amount><price currency="EUR">1</price></part>
    </product>
    <hours position="3" until="2026-12-01"><text/><price currency="EUR">80</price></hours>
    <amount currency="EUR">84.0</amount>
    <note xsi:nil="true"/>
    <extension p:checked="yes"><any xmlns="urn:any" goes="here"><x/></any></extension>
  </order>
</orders>"""


def test_orders(repo_root: Path) -> None:
    path = repo_root / "schemas" / "orders.xsd"
    schema = Schema.load(path)
    po = "{urn:example:orders}"
    assert roots(schema) == [f"{po}orders"]
    assert schema.notes == ()
    tree = etree.fromstring(ORDER).getroottree()
    etree.XMLSchema(etree.parse(path)).assertValid(tree)
    assert first_violation(schema, tree) is None
    assert {d.type for d in schema.declarations if d.name == f"{po}amount"} == {
        "po:Money",
        "xs:positiveInteger",
    }
    assert declared(schema, f"{po}line").abstract
    assert f"{po}line" not in edges(schema)[f"{po}order"]
    assert {f"{po}product", f"{po}service", f"{po}hours"} <= edges(schema)[f"{po}order"]
    assert declared(schema, f"{po}note").nillable
    assert not conforms(schema, ORDER.replace("<sku>x</sku>", "<country/>"))


def test_ubl_invoice(shared_data: Path) -> None:
    path = shared_data / "ubl" / "schema" / "maindoc" / "UBL-Invoice-2.1.xsd"
    schema = Schema.load(path)
    cac = "{urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2}"
    (root,) = roots(schema)
    assert root.endswith("}Invoice")
    assert f"{cac}AccountingSupplierParty" in edges(schema)[root]
    assert f"{cac}AgentParty" in edges(schema)[f"{cac}Party"], "recursion through Party"
    assert schema.notes == ()
    documents = sorted((shared_data / "ubl" / "docs").rglob("*.xml"))[:40]
    validator = etree.XMLSchema(etree.parse(path))
    trees = [tree for tree in map(etree.parse, documents) if validator.validate(tree)]
    assert trees
    assert [first_violation(schema, tree) for tree in trees] == [None] * len(trees)
