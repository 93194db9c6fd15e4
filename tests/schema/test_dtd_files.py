"""The files that a DTD consists of: found beside it, replaced by namesakes, never fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from extract.schema.model import Schema
from tests.support.schema_facts import edges, failure, load_dtd, roots, write, xsd


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
