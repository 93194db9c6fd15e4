"""Loading: which file is what, finding the parts, refusing the rest, and saying so clearly."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from extract.errors import SchemaError
from extract.schema.model import Schema
from tests.support.schema_facts import children, edges, load_dtd, load_xsd, roots, write, xsd

XS = "http://www.w3.org/2001/XMLSchema"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if any Python code opens a connection or looks up a host."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError(f"network access: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server that fails the test if anything, C code too, connects to it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(BlockingIOError):
            listener.accept()


def failure(path: Path, root: str | None = None) -> SchemaError:
    """The error of loading a schema that cannot be loaded."""
    with pytest.raises(SchemaError) as caught:
        Schema.load(path, root)
    error = caught.value
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "Traceback" not in str(error)
    return error


# What kind of file it is


def test_kind_by_suffix_and_by_content(tmp_path: Path) -> None:
    dtd, schema = "<!-- c --> <!ELEMENT a EMPTY>", xsd('<xs:element name="a"/>')
    for name, text, kind in [
        ("a.dtd", dtd, "dtd"),
        ("a.DTD", dtd, "dtd"),
        ("a.mod", '<?xml encoding="UTF-8"?>' + dtd, "dtd"),
        ("a.ent", '<!ENTITY % x "(b)"> <!ELEMENT a %x;>', "dtd"),
        ("a.xsd", schema, "xsd"),
        ("a.xml", schema, "xsd"),
        ("a", "<?xml version='1.0'?>\n<!-- c -->\n" + schema, "xsd"),
    ]:
        path = tmp_path / name
        path.write_text(text)
        assert Schema.load(path).kind == kind, name


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.dtd", b"", "is empty"),
        ("blank.xsd", b" \n ", "is empty"),
        ("document.dtd", b"<a><b/></a>", "is an XML document, not a DTD"),
        ("doctype.dtd", b"<!DOCTYPE a [<!ELEMENT a EMPTY>]><a/>", "not a DTD"),
        ("document.xsd", b"<a><b/></a>", f"its root is a, not {{{XS}}}schema"),
        ("document.xml", b"<?xml version='1.0'?><a/>", "not an XML Schema"),
        ("text.txt", b"just some text", "neither a DTD nor an XSD"),
        ("junk", bytes(range(256)), "no text file"),
        ("junk.dtd", bytes(range(1, 256)), "not a DTD that can be read"),
        ("junk.xsd", bytes(range(1, 256)), "junk.xsd:1"),
        ("nul.dtd", b"<!ELEMENT a (b)>\0<!ELEMENT b (c)>", "NUL"),
        ("comments.dtd", b"<!-- nothing else -->", "declares no element"),
        ("grammar.rng", b"<grammar/>", "RELAX NG"),
        ("cut.xsd", f'<xs:schema xmlns:xs="{XS}">'.encode(), "cut.xsd:1"),
    ],
)
def test_files_that_are_no_schema(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    error = failure(path)
    assert expected in str(error)
    assert error.file == str(path)


def test_missing_file_and_directory(tmp_path: Path) -> None:
    assert "no such schema file" in str(failure(tmp_path / "none.dtd"))
    assert "is a directory" in str(failure(tmp_path))


def test_special_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dtd")
    assert "not a regular file" in str(failure(tmp_path / "pipe.dtd"))


def test_errors_name_the_file_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, sub__main_dtd='<!ENTITY % m SYSTEM "mod/m.ent"> %m;', sub__mod__m_ent="<!X>")
    monkeypatch.chdir(tmp_path)
    assert failure(Path("sub/main.dtd")).file == "sub/mod/m.ent"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.dtd").write_text("<!ELEMENT é EMPTY>", encoding=encoding)
    assert roots(Schema.load(tmp_path / "a.dtd")) == ["é"]
    (tmp_path / "b.dtd").write_bytes(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!ELEMENT é EMPTY>'.encode("latin-1")
    )
    assert roots(Schema.load(tmp_path / "b.dtd")) == ["é"]


# DTD modules


def test_modules_in_subfolders_refer_relative_to_themselves(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd='<!ENTITY % m PUBLIC "-//X//M//EN" "mod/m.ent"> %m; <!ELEMENT r (%inline;)*>',
        mod__m_ent='<!ENTITY % n SYSTEM "more/n.ent"> %n; <!ENTITY % t SYSTEM "../top.ent"> %t;',
        mod__more__n_ent='<!ENTITY % inline "b | i">',
        top_ent="<!ELEMENT b EMPTY> <!ELEMENT i EMPTY>",
    )
    assert edges(Schema.load(path)) == {"r": {"b", "i"}, "b": set(), "i": set()}


def test_customisation_by_parameter_entities(tmp_path: Path) -> None:
    """As in DocBook or JATS: what is declared first wins, and switches take modules in or out."""
    path = write(
        tmp_path,
        main_dtd="""
            <!ENTITY % tables "IGNORE"> <!ENTITY % local.inline "| custom">
            <!ENTITY % base SYSTEM "base.dtd"> %base;
            <!ELEMENT custom (#PCDATA)>""",
        base_dtd="""
            <!ENTITY % tables "INCLUDE"> <!ENTITY % local.inline "">
            <!ENTITY % inline "em %local.inline;">
            <![%tables;[ <!ENTITY % t SYSTEM "not-there.ent"> %t; <!ELEMENT table (em)> ]]>
            <![INCLUDE[ <!ELEMENT em (#PCDATA | %inline;)*> <![IGNORE[ <!ELEMENT x (em)> ]]> ]]>
            <!ELEMENT p (#PCDATA | %inline;)*>""",
    )
    schema = Schema.load(path)
    assert edges(schema) == {"p": {"em", "custom"}, "em": {"em", "custom"}, "custom": set()}


def test_spaces_and_umlauts_in_paths(tmp_path: Path) -> None:
    folder = tmp_path / "mein Ordner ü"
    path = write(
        folder,
        main_dtd='<!ENTITY % m SYSTEM "mod%20x/m.ent"> %m;',
        **{"mod x__m_ent": "<!ELEMENT a EMPTY>"},
    )
    assert roots(Schema.load(path)) == ["a"]
    path = write(
        folder,
        main_xsd=xsd('<xs:include schemaLocation="mod x/m.xsd"/>'),
        **{"mod x__m_xsd": xsd('<xs:element name="a"/>')},
    )
    assert roots(Schema.load(path)) == ["{urn:t}a"]


def test_missing_module(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd='<!ENTITY % m SYSTEM "m.ent"> %m; <!ELEMENT a (b)>',
        m_ent='<!ELEMENT b EMPTY>\n<!ENTITY % n SYSTEM "lost/n.ent">\n%n;',
    )
    error = failure(path)
    assert "%n;" in error.reason
    assert "lost/n.ent" in error.reason
    assert (error.file, error.line) == (str(tmp_path / "m.ent"), 2)
    assert "catalog.xml" in error.hint


def test_declared_but_unused_modules_may_be_missing(tmp_path: Path) -> None:
    schema = load_dtd(
        tmp_path,
        '<!ENTITY % m SYSTEM "http://example.org/m.ent"> <!ENTITY g SYSTEM "http://example.org/g">'
        "<!ELEMENT a EMPTY>",
    )
    assert roots(schema) == ["a"]


def test_missing_parameter_entity(tmp_path: Path) -> None:
    path = write(tmp_path, main_dtd="<!ELEMENT a (b)>\n%lost;\n<!ELEMENT b EMPTY>")
    error = failure(path)
    assert "%lost;" in error.reason
    assert error.line == 2


def test_space_in_a_system_identifier(tmp_path: Path) -> None:
    """libxml2 only warns and goes on without the module."""
    path = write(tmp_path, main_dtd='<!ENTITY % m SYSTEM "a b.ent"> %m; <!ELEMENT a EMPTY>')
    assert "%20" in failure(path).hint


@pytest.mark.parametrize("scheme", ["http:", "https:", "ftp:", ""])
def test_network_modules_are_refused(tmp_path: Path, server: str, scheme: str) -> None:
    address = f"{scheme}//{server}/m.ent"
    path = write(tmp_path, main_dtd=f'\n<!ENTITY % m SYSTEM "{address}"> %m; <!ELEMENT a EMPTY>')
    error = failure(path)
    assert address in error.reason
    assert "network" in error.reason
    assert error.line == 2


def test_address_put_together_from_entities(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd='<!ENTITY % base "http://h/">\n<!ENTITY % m.id "SYSTEM \'%base;m.ent\'">\n'
        "<!ENTITY % m %m.id;> %m; <!ELEMENT a EMPTY>",
    )
    error = failure(path)
    assert "http://h/m.ent" in error.reason
    assert error.file == str(path)
    assert error.line == 2


def test_network_module_with_a_local_namesake(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd="""<!ENTITY % m SYSTEM "http://example.org/dtd/m.ent"> %m;
                    <!ENTITY % n SYSTEM "gone/n.ent"> %n; <!ELEMENT a (b, c)>""",
        m_ent="<!ELEMENT b EMPTY>",
        some__where__n_ent="<!ELEMENT c EMPTY>",
    )
    schema = Schema.load(path)
    assert edges(schema)["a"] == {"b", "c"}
    (note,) = schema.notes
    assert "http://example.org/dtd/m.ent" in note
    assert str(tmp_path / "some/where/n.ent") in note


def test_many_namesakes_make_one_note(tmp_path: Path) -> None:
    modules = {f"m{i}_ent": f"<!ELEMENT e{i} EMPTY>" for i in range(9)}
    main = "".join(f'<!ENTITY % m{i} SYSTEM "http://h/m{i}.ent"> %m{i};' for i in range(9))
    schema = Schema.load(write(tmp_path, main_dtd=main, **modules), root="e0")
    assert len(schema.notes) == 1
    assert "and 6 more" in schema.notes[0]


def test_ambiguous_namesakes(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd='<!ENTITY % m SYSTEM "http://h/m.ent"> %m;',
        v1__m_ent="<!ELEMENT a EMPTY>",
        v2__m_ent="<!ELEMENT a (#PCDATA)>",
    )
    assert "several different files m.ent" in failure(path).reason
    (tmp_path / "v2" / "m.ent").write_text("<!ELEMENT a EMPTY>")
    assert roots(Schema.load(path)) == ["a"]


CATALOG = """<?xml version="1.0"?>
<!DOCTYPE catalog PUBLIC "-//OASIS//DTD Entity Resolution XML Catalog V1.0//EN"
    "http://www.oasis-open.org/committees/entity/release/1.0/catalog.dtd">
<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
  <group xml:base="local/">
    <public publicId="-//X//By  Public//EN" uri="public.ent"/>
    <system systemId="http://h/by-system.ent" uri="system.ent"/>
    <rewriteSystem systemIdStartString="http://h/deep/" rewritePrefix="deep/"/>
    <uri name="http://h/types" uri="types.xsd"/>
  </group>
  <system systemId="http://h/gone.ent" uri="gone.ent"/>
</catalog>"""


def test_catalog_for_a_dtd(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd="""<!ENTITY % p PUBLIC "-//X//By Public//EN" "http://h/p.ent"> %p;
                    <!ENTITY % s SYSTEM "http://h/by-system.ent"> %s;
                    <!ENTITY % d SYSTEM "http://h/deep/er/d.ent"> %d; <!ELEMENT r (p, s, d)>""",
        catalog_xml=CATALOG,
        local__public_ent="<!ELEMENT p EMPTY>",
        local__system_ent="<!ELEMENT s EMPTY>",
        local__deep__er__d_ent="<!ELEMENT d EMPTY>",
    )
    schema = Schema.load(path)
    assert edges(schema) == {"r": {"p", "s", "d"}, "p": set(), "s": set(), "d": set()}
    assert schema.notes == (), "the catalog is the user's own word"


def test_catalog_for_an_xsd(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd('<xs:include schemaLocation="http://h/types"/>'),
        catalog_xml=CATALOG,
        local__types_xsd=xsd('<xs:element name="a" type="xs:string"/>'),
    )
    assert roots(Schema.load(path)) == ["{urn:t}a"]


def test_catalog_that_names_a_missing_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_dtd='<!ENTITY % g SYSTEM "http://h/gone.ent"> %g;',
        catalog_xml=CATALOG,
    )
    error = failure(path)
    assert "catalog.xml names" in error.reason
    assert "gone.ent" in error.reason


@pytest.mark.parametrize("text", ["<catalog><product/></catalog>", "<broken"])
def test_other_files_called_catalog(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, main_dtd="<!ELEMENT a EMPTY>", catalog_xml=text)
    assert roots(Schema.load(path)) == ["a"]


# Entity bombs and loops


def nested_entities(kind: str, unit: str) -> str:
    """Nine levels, each ten times the one before."""
    lines = [f'<!ENTITY {kind} e0 "{unit}">']
    mark = "%" if kind else "&"
    lines += [f'<!ENTITY {kind} e{i} "{f"{mark}e{i - 1};" * 10}">' for i in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "dtd",
    [
        nested_entities("%", "<!--x-->") + "%e9; <!ELEMENT a EMPTY>",
        nested_entities("", "x") + '<!ELEMENT a EMPTY> <!ATTLIST a b CDATA "&e9;">',
        f'<!ENTITY % e "{"<!--x-->" * 20_000}">{"%e;" * 2_000}<!ELEMENT a EMPTY>',
        f"<!ELEMENT a {'(' * 5_000}b{')' * 5_000}>",
        '<!ENTITY % a SYSTEM "main.dtd"> %a; <!ELEMENT a EMPTY>',
        '<!ENTITY a "&b;"> <!ENTITY b "&a;"> <!ELEMENT r EMPTY> <!ATTLIST r x CDATA "&a;">',
    ],
    ids=["parameter", "general", "quadratic", "nesting", "file loop", "loop"],
)
def test_bombs_in_a_dtd(tmp_path: Path, dtd: str) -> None:
    assert failure(write(tmp_path, main_dtd=dtd)).line > 0


def test_bombs_and_external_entities_in_an_xsd(tmp_path: Path, server: str) -> None:
    secret = write(tmp_path, secret_txt="secret")
    for doctype, use in [
        (nested_entities("", "x"), "&e9;"),
        (f'<!ENTITY e SYSTEM "{secret.as_uri()}">', "&e;"),
        (f'<!ENTITY e SYSTEM "http://{server}/e">', "&e;"),
        (f'<!ENTITY % p SYSTEM "http://{server}/e"> %p;', ""),
    ]:
        text = xsd(f'<xs:element name="a" default="{use}"/>', prolog=f"<!DOCTYPE x [{doctype}]>")
        error = failure(write(tmp_path, main_xsd=text))
        assert error.line > 0
        assert "secret" not in error.reason


def test_internal_entities_in_an_xsd(tmp_path: Path, server: str) -> None:
    """The XML Signature schema has these."""
    prolog = f'<!DOCTYPE xs:schema PUBLIC "x" "http://{server}/x.dtd" [<!ENTITY n "a">]>'
    schema = load_xsd(tmp_path, '<xs:element name="&n;"/>', prolog=prolog)
    assert roots(schema) == ["{urn:t}a"]


# XSD documents


def test_missing_include_import_redefine_override(tmp_path: Path) -> None:
    for element in [
        '<xs:include schemaLocation="lost.xsd"/>',
        '<xs:import namespace="urn:x" schemaLocation="lost.xsd"/>',
        '<xs:redefine schemaLocation="lost.xsd"/>',
        '<xs:override schemaLocation="lost.xsd"/>',
    ]:
        error = failure(write(tmp_path, main_xsd=xsd(f'{element}<xs:element name="a"/>')))
        assert "lost.xsd, which does not exist" in error.reason
        assert element[1:].split()[0] in error.reason
        assert error.line == 2


def test_missing_part_of_a_part(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd('<xs:include schemaLocation="sub/part.xsd"/>'),
        sub__part_xsd=xsd('\n<xs:include schemaLocation="lost.xsd"/>'),
    )
    error = failure(path)
    assert (error.file, error.line) == (str(tmp_path / "sub" / "part.xsd"), 3)


@pytest.mark.parametrize("scheme", ["http:", "https:", "ftp:", ""])
def test_network_imports_are_refused(tmp_path: Path, server: str, scheme: str) -> None:
    address = f"{scheme}//{server}/x.xsd"
    body = f'<xs:import namespace="urn:x" schemaLocation="{address}"/><xs:element name="a"/>'
    error = failure(write(tmp_path, main_xsd=xsd(body)))
    assert address in error.reason
    assert "network" in error.reason
    assert "x.xsd" in error.hint


def test_network_import_with_a_local_namesake(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="urn:x" schemaLocation="http://h/x.xsd"/>'
            '<xs:element name="a" type="x:T"/>',
            'xmlns:x="urn:x"',
        ),
        lib__x_xsd=xsd(
            '<xs:simpleType name="T"><xs:restriction base="xs:string"/></xs:simpleType>',
            target="urn:x",
        ),
    )
    schema = Schema.load(path)
    assert any("http://h/x.xsd" in note for note in schema.notes)


def test_namesake_of_another_namespace_is_no_substitute(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd('<xs:import namespace="urn:x" schemaLocation="http://h/x.xsd"/>'),
        x_xsd=xsd('<xs:element name="a"/>', target="urn:y"),
    )
    assert "targetNamespace" in failure(path).reason


def test_well_known_schemas_need_no_network(tmp_path: Path) -> None:
    schema = load_xsd(
        tmp_path,
        """<xs:import namespace="http://www.w3.org/XML/1998/namespace"
                      schemaLocation="http://www.w3.org/2001/xml.xsd"/>
           <xs:import namespace="http://www.w3.org/1999/xlink"
                      schemaLocation="http://www.w3.org/1999/xlink.xsd"/>
           <xs:element name="a"><xs:complexType>
             <xs:attribute ref="xml:lang"/> <xs:attribute ref="xlink:href"/>
           </xs:complexType></xs:element>""",
        attributes='xmlns:xlink="http://www.w3.org/1999/xlink"',
    )
    assert [a.name for a in schema.declarations[0].attributes] == [
        "{http://www.w3.org/XML/1998/namespace}lang",
        "{http://www.w3.org/1999/xlink}href",
    ]
    assert any("xlink" in note for note in schema.notes)


def test_own_copy_of_a_well_known_schema_wins(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="http://www.w3.org/1999/xlink"/>'
            '<xs:import namespace="urn:b" schemaLocation="b.xsd"/>'
            '<xs:element name="a"><xs:complexType><xs:attribute ref="l:own"/></xs:complexType>'
            "</xs:element>",
            'xmlns:l="http://www.w3.org/1999/xlink"',
        ),
        b_xsd=xsd(
            '<xs:import namespace="http://www.w3.org/1999/xlink" schemaLocation="l.xsd"/>',
            target="urn:b",
        ),
        l_xsd=xsd('<xs:attribute name="own"/>', target="http://www.w3.org/1999/xlink"),
    )
    schema = Schema.load(path)
    assert [a.name for a in schema.declarations[0].attributes] == [
        "{http://www.w3.org/1999/xlink}own"
    ]
    assert schema.notes == ()


def test_second_import_of_a_namespace_is_not_skipped(tmp_path: Path) -> None:
    """xmlschema would take only the first document for a namespace."""
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:import namespace="urn:x" schemaLocation="x1.xsd"/>'
            '<xs:import namespace="urn:x" schemaLocation="x2.xsd"/>'
            '<xs:element name="a"><xs:complexType><xs:sequence><xs:element ref="x:head"/>'
            "</xs:sequence></xs:complexType></xs:element>",
            'xmlns:x="urn:x"',
        ),
        x1_xsd=xsd('<xs:element name="head"/>', target="urn:x"),
        x2_xsd=xsd(
            '<xs:include schemaLocation="x1.xsd"/>'
            '<xs:element name="member" substitutionGroup="t:head"/>',
            target="urn:x",
        ),
    )
    assert children(Schema.load(path), "t:a") == ["{urn:x}head", "{urn:x}member"]


def test_two_copies_of_one_document(tmp_path: Path) -> None:
    common = xsd('<xs:element name="c"/>', target="urn:c")
    part = '<xs:import namespace="urn:c" schemaLocation="c.xsd"/>'
    path = write(
        tmp_path,
        main_xsd=xsd(f'{part}<xs:import namespace="urn:b" schemaLocation="b/b.xsd"/>'),
        c_xsd=common,
        b__b_xsd=xsd(f'{part}<xs:element name="b"/>', target="urn:b"),
        b__c_xsd=common,
    )
    assert roots(Schema.load(path, "{urn:c}c")) == ["{urn:c}c"]


def test_circular_documents(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main_xsd=xsd(
            '<xs:include schemaLocation="main.xsd"/><xs:include schemaLocation="b.xsd"/>'
            '<xs:element name="a" type="t:B"/>'
        ),
        b_xsd=xsd(
            '<xs:include schemaLocation="main.xsd"/><xs:complexType name="B"><xs:sequence>'
            '<xs:element ref="t:a" minOccurs="0"/></xs:sequence></xs:complexType>'
        ),
    )
    assert children(Schema.load(path), "t:a") == ["a"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<xs:element name="a" type="t:Lost"/>', "Lost"),
        ('<xs:element name="a" typo="xs:string"/>', "typo"),
        ('<xs:element ref="t:a"/>', "name"),
        ('<xs:element name="a"/>\n<xs:element name="a"/>', "a"),
        ('<xs:element name="a" substitutionGroup="t:b"/>', "t:b"),
    ],
)
def test_broken_schemas_say_where(tmp_path: Path, body: str, reason: str) -> None:
    part = write(
        tmp_path,
        part_xsd=xsd("\n\n" + body),
        main_xsd=xsd('<xs:include schemaLocation="part.xsd"/>'),
    )
    error = failure(tmp_path / "main.xsd")
    assert reason in error.reason
    assert error.file == str(part)
    assert error.line in (4, 5)


# The digest


def test_digest_notices_a_change_in_any_part(tmp_path: Path) -> None:
    def digest(module: str) -> str:
        path = write(
            tmp_path, main_dtd='<!ENTITY % m SYSTEM "m.ent"> %m; <!ELEMENT a (b)>', m_ent=module
        )
        return Schema.load(path, "a").digest

    before = digest("<!ELEMENT b EMPTY>")
    assert len(before) == 64
    assert digest("<!ELEMENT b EMPTY><!-- more -->") != before
    assert digest("<!ELEMENT b EMPTY>") == before


def test_digest_does_not_depend_on_the_place(tmp_path: Path) -> None:
    parts = {
        "main_xsd": xsd('<xs:include schemaLocation="b.xsd"/>'),
        "b_xsd": xsd('<xs:element name="b"/>'),
    }
    one = Schema.load(write(tmp_path / "one", **parts))
    two = Schema.load(write(tmp_path / "two", **parts))
    assert one.digest == two.digest
    assert one.declarations == two.declarations
