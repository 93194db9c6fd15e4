"""Documents in other encodings, or with an internal subset, have libxml2's rows; the push engine
matches most of them."""

from __future__ import annotations

from random import Random

import pytest
from lxml import etree

from extract.filtertool.matchers.protocol import Select
from extract.live_filter import Filter
from extract.markup.plain_form import is_tame, plain_form
from tests.support.push.documents import DocumentWriter
from tests.support.push.whole import compare_filter, scheme_of

QUERIES = (
    "//a",
    "//a[@x]/@x",
    "//text()",
    "//*[. = 'é']",
    "string(//b)",
    "count(//*) > 3",
    "//comment()",
    "//a[following::b]/@*",
)
TEXT = (
    "<r><a x='1'>é€</a><!-- ö --><b y='ß'>Gr\u00fc\u00dfe <a x='2'/> und &amp; &#233;</b>\r\n"
    "<c>é</c></r>"
)
PLAIN = "<r><a x='1'>\u00e9</a><b y='\u00df'>Gr\u00fc\u00dfe<a x='2'/></b><c>\u00e9</c></r>"
SUBSETS = (
    '<!DOCTYPE r [<!ENTITY e "x">]>',
    '<!DOCTYPE r [ <!ENTITY e \'a "b"\'>\n<!ENTITY f "it\'s"> ]>',
    '<!DOCTYPE r SYSTEM "r.dtd" [<!ENTITY e "x">]>',
    '<!DOCTYPE r PUBLIC "-//X//EN" "r.dtd" [<!ENTITY e "x">\n]>',
    "<!DOCTYPE r [<!ELEMENT r ANY><!ELEMENT a (#PCDATA)><!ELEMENT b (#PCDATA|b)*>]>",
    "<!DOCTYPE p:r [<!ELEMENT r (a , (b | c)* , d?)+ ><!ELEMENT c EMPTY>]>",
    "<!DOCTYPE r [<!ELEMENT r (a|(b,c?)|d)*>\n<!ATTLIST a x CDATA #IMPLIED p:z CDATA #REQUIRED>]>",
    '<!DOCTYPE r [<!ATTLIST r><!ENTITY e "x"><!ATTLIST b xmlns CDATA #IMPLIED>]>',
)
LEFT_ALONE = (
    "<!DOCTYPE r [<!ATTLIST a x NMTOKENS #IMPLIED>]>",
    "<!DOCTYPE r [<!ATTLIST a x ID #IMPLIED>]>",
    "<!DOCTYPE r [<!ATTLIST a x CDATA #IMPLIED y CDATA 'z'>]>",
    "<!DOCTYPE r [<!ATTLIST a x CDATA #FIXED 'z'>]>",
    "<!DOCTYPE r [<!ATTLIST a x (y|z) #IMPLIED>]>",
    "<!DOCTYPE r [<!ELEMENT r ANY><?p?>]>",
    "<!DOCTYPE r [<!ELEMENT r ANY><!-- c -->]>",
    "<?p?><!DOCTYPE r [<!ELEMENT r ANY>]>",
    '<!DOCTYPE r [<!ENTITY lt "x">]>',
    '<!DOCTYPE r [<!ENTITY % e "x">]>',
    '<!DOCTYPE r [<!ENTITY e "<b/>">]>',
    '<!DOCTYPE r [<!ENTITY e "&#38;">]>',
    '<!DOCTYPE r [<!-- c --><!ENTITY e "x">]>',
    '<!DOCTYPE r [<!ENTITY e SYSTEM "x">]>',
)


def in_encoding(text: str, name: str, codec: str | None = None) -> bytes:
    return f'<?xml version="1.0" encoding="{name}"?>{text}'.encode(codec or name)


DOCUMENTS = (
    in_encoding(TEXT, "utf-16"),
    b"\xfe\xff" + in_encoding(TEXT, "utf-16", "utf-16-be"),
    TEXT.encode("utf-16"),
    in_encoding(PLAIN, "iso-8859-1"),
    in_encoding(PLAIN, "ISO-8859-15"),
    in_encoding(TEXT, "windows-1252"),
    in_encoding(PLAIN.replace("\u00df", "\u00fc"), "gb18030"),
    *[(subset + TEXT).encode() for subset in SUBSETS],
    *[in_encoding(subset + PLAIN, "iso-8859-1") for subset in SUBSETS],
)


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
def test_the_engine_takes_the_plain_form(number: int) -> None:
    document = DOCUMENTS[number]
    compare_filter(QUERIES, [document])
    ready = Filter(scheme_of(QUERIES))
    ready.table([("a", document)])
    assert ready.figures()["push_refused_documents"] == 0


@pytest.mark.parametrize("subset", LEFT_ALONE)
def test_other_subsets_are_left_alone(subset: str) -> None:
    document = (subset + TEXT).encode()
    assert plain_form(document) is None
    compare_filter(QUERIES, [document])


TAME = (
    "<!DOCTYPE r [<!ATTLIST a x NMTOKENS #IMPLIED>]>",
    "<!DOCTYPE r [<!ATTLIST a x ID #IMPLIED xmlns CDATA 'u'><!ELEMENT r ANY>]>",
    "<!DOCTYPE r [<!-- c - d --><!ENTITY e '<b>x</b>'><!NOTATION n SYSTEM 'x'>]>",
    "<!DOCTYPE r [<!ENTITY e '&#233;'> <!ENTITY f \"it's\"> ]>",
)
WILD = (
    "<!DOCTYPE r [<!ENTITY e 'x'><!ENTITY f '&e;&e;'>]>",
    "<!DOCTYPE r [<!ENTITY % p 'x'>]>",
    "<!DOCTYPE r [<!ENTITY e SYSTEM 'file'>]>",
    "<!DOCTYPE r SYSTEM 'r.dtd' [<!ATTLIST a x CDATA 'y'>]>",
)


@pytest.mark.parametrize(
    "declaration",
    [
        *("<!ELEMENT r>", "<!ELEMENT r (#PCDATA|a)>", "<!ELEMENT r (a,b|c)>", "<!ELEMENT r ()>"),
        *("<!ELEMENT r(a)>", "<!ELEMENT r (a)>>", "<!ELEMENT (a)>", "<!ELEMENT r (a,)>"),
        *("<!ATTLIST a xCDATA #IMPLIED>", "<!ATTLIST a x CDATA>", "<!ATTLIST>"),
        *("<!ELEMENT r (a)", "<!ELEMENT r (a b)>", "<!ELEMENT r (#PCDATA)+>"),
        "<!ELEMENT r ANY><!ELEMENT r ANY>",
    ],
)
def test_wrong_declarations_are_not_overlooked(declaration: str) -> None:
    document = f"<!DOCTYPE r [{declaration}]><r/>".encode()
    assert plain_form(document) is None
    with pytest.raises(etree.XMLSyntaxError):
        etree.fromstring(document)


def random_declaration(random: Random) -> str:
    """A declaration that is well-formed more often than not."""
    if random.random() < 0.4:
        kinds = ("CDATA", "CDATA", "ID", "(a|b)", "CDTA")
        defaults = ("#IMPLIED", "#IMPLIED", "#REQUIRED", "'v'", "#FIXED 'v'", "")
        names = ("b", "c", "p:a", "xml:id", "xmlns", "xmlns:p", "1")
        parts = [
            f" {random.choice(names)} {random.choice(kinds)} {random.choice(defaults)}"
            for _ in range(random.randint(0, 2))
        ]
        return f"<!ATTLIST {random.choice('ab')}{''.join(parts)}>"
    words = [*"ab", "p:a", "a*", "b?", "(a|b)", "(a , b)+", "#PCDATA", "((a))", "(a,b|a)", ""]
    by = random.choice((",", "|", " | ", ", ", "|,"))
    model = by.join(random.choices(words, k=random.randint(1, 3)))
    end = random.choice(("", "", "*", "+", " ", "*?"))
    content = random.choice((f"({model}){end}", f"(#PCDATA|{model})*", "EMPTY", "ANY", ""))
    return f"<!ELEMENT {random.choice(('a', 'b', 'p:a', 'xml:a'))} {content}>"


def test_random_declarations_change_nothing_or_are_left_alone() -> None:
    random, taken, several = Random(18), 0, 0
    for _ in range(30_000):
        parts = [random_declaration(random) for _ in range(random.randint(1, 3))]
        document = f"<!DOCTYPE a [{' '.join(parts)}]><a b=' 1  2 '> <b/> <a/></a>".encode()
        form = plain_form(document)
        if form is None:
            continue
        parsed = [etree.tostring(etree.fromstring(one)) for one in (document, form.data)]
        assert parsed[0] == parsed[1], document
        taken, several = taken + 1, several + (len(parts) > 1)
    assert taken > 2_000
    assert several > 500


@pytest.mark.parametrize("subset", SUBSETS)
def test_declarations_are_no_nodes_for_any_axis(subset: str) -> None:
    """libxml2 finds some nodes of a document type by way of axes: comments, not declarations."""
    axes = ("preceding", "following", "ancestor", "descendant", "preceding-sibling")
    queries = [f"//{of}/{axis}::node()" for axis in axes for of in ("a", "c", "@x", "text()")]
    queries += [f"/{axis}::node()" for axis in axes] + ["//node()", "/node()[1]", "id('1')"]
    document = (subset + TEXT + "<!-- end -->").encode()
    compare_filter(queries, [document])


@pytest.mark.parametrize("select", ["doc", "count"])
@pytest.mark.parametrize("subset", [*TAME, *WILD])
def test_libxml2_alone_answers_for_tame_declarations(subset: str, select: Select) -> None:
    used = TEXT.replace("und", "&e; &f;" if "ENTITY f" in subset else "und")
    queries = {str(n): one for n, one in enumerate((*QUERIES, "id('1')", "//b", "//a[@x='1 2']"))}
    document = [("d", (subset + used.replace("x='1'", "x=' 1  2'")).encode())]
    ready = Filter(scheme_of(queries), select)
    wanted = Filter(scheme_of(queries), select, "lxml").table(document)
    assert ready.table(document).to_pylist() == wanted.to_pylist()
    assert not ready.rejected.num_rows
    figures = ready.figures()
    assert figures["push_refused_documents"] == 1
    assert (figures["pairs_lxml"] > 0) == (subset in TAME)


def test_a_filter_without_queries_has_no_rows_for_such_documents() -> None:
    ready = Filter(scheme_of(["//a"]))
    ready.remove(["0"])
    documents = [("d", (TAME[0] + TEXT).encode()), ("e", DOCUMENTS[0]), ("f", b"<!DOCTYPE r [")]
    assert ready.table(documents).num_rows == 0
    assert ready.rejected.num_rows == 1


@pytest.mark.parametrize("reference", ["&e;", "<b y='&e;'/>", "&zzz;"])
def test_a_used_entity_is_left_to_others(reference: str) -> None:
    document = f'<!DOCTYPE r [<!ENTITY e "x y">]><r><a>{reference}</a></r>'.encode()
    if "zzz" in reference:
        ready = Filter(scheme_of(["//a"]))
        ready.table([("a", document)])
        assert ready.rejected.num_rows == 1
        return
    compare_filter(("//a", "//b/@y", "string(//a)", "//text()"), [document])


def test_bytes_that_are_none_of_the_encoding_are_rejected() -> None:
    ready = Filter(scheme_of(["//a"]), "nodes")
    broken = in_encoding("<a>\u20ac</a>", "us-ascii", "utf-8")
    table = ready.table([("a", broken), ("b", in_encoding("<a/>", "utf-16")[:-1])])
    assert table.num_rows == 0
    assert ready.rejected.num_rows == 2


def test_random_documents_in_other_encodings() -> None:
    random = Random(17)
    documents = []
    for _ in range(40):
        text = DocumentWriter(random, random.randint(1, 15), 5).document().decode("utf-8-sig")
        text = text.partition("?>")[2] if text.startswith("<?xml") else text
        codec = random.choice(("utf-16", "iso-8859-1", "windows-1252", "utf-16"))
        written = text.encode(codec, "xmlcharrefreplace").decode(codec)
        documents.append(in_encoding(written, codec))
    counts = compare_filter(QUERIES, documents)
    assert counts["answers"] == len(QUERIES) * len(documents)


@pytest.mark.parametrize("kind", ["SYSTEM", "PUBLIC 'p'"])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_subset_in_an_identifier_is_none(kind: str, quote: str) -> None:
    other = "'" if quote == '"' else '"'
    for declared in (f"<!ENTITY e {quote}v{quote}>", f"<!ENTITY e {other}v{other}>"):
        document = f"<!DOCTYPE a {kind} {quote}x[{declared}]{quote}><a/>".encode()
        assert plain_form(document) is None
        ready = Filter(scheme_of(["//a"]))
        rows = ready.table([("d", document)]).num_rows
        is_accepted = other in declared
        assert (rows, ready.rejected.num_rows) == (is_accepted, not is_accepted)


def test_a_look_at_declarations_takes_no_longer_than_they_are() -> None:
    hostile = [b"<!DOCTYPE a [" + b" " * count + b"!]><a/>" for count in (60, 9_000)]
    for document in hostile:
        assert not is_tame(document, 1 << 20)
        assert plain_form(document) is None


@pytest.mark.parametrize("before", ["<!-- <!DOCTYPE a []> -->", "<?p <!DOCTYPE a []>?>"])
def test_a_document_type_in_a_comment_declares_nothing(before: str) -> None:
    document = f'{before}<!DOCTYPE a [<!ENTITY e "x"><!ENTITY f "&e;&e;">]><a>&f;</a>'.encode()
    assert not is_tame(document, 1 << 20)
    assert is_tame(document.replace(b"&e;&e;", b"x"), 1 << 20)


@pytest.mark.parametrize("name", ["UTF-7", "ISO-2022-JP"])
def test_encodings_that_are_not_supported_are_rejected_whatever_is_declared(name: str) -> None:
    ready = Filter(scheme_of(["//a"]))
    document = in_encoding("<!DOCTYPE a [<!ATTLIST a x ID #IMPLIED>]><a/>", name, "ascii")
    for _ in range(99):
        assert ready.table([("d", document)]).num_rows == 0
        assert "not supported" in ready.rejected.to_pylist()[0]["reason"]


@pytest.mark.parametrize(
    "used", ["<a>x&e;y</a>", "<a x='&e;'>z</a>", "<a x='b&e;'/>", "<a>&f;</a>"]
)
def test_entities_of_an_external_subset_that_a_warning_hides(used: str) -> None:
    """libxml2 forgives them where it warns of a relative namespace, which is its last message."""
    subset = "<!DOCTYPE r SYSTEM 'r.dtd'>"
    if "&f;" in used:
        subset = "<!DOCTYPE r SYSTEM 'r.dtd' [<!ENTITY f 'x&e;y'>]>"
    document = f"{subset}<r>{used}<b xmlns='v'/></r>".encode()
    queries = ("//*[. = ' ']", "//a[@x='']", "//a[. = 'xy']", "//text()", "//a[contains(@x, 'b')]")
    compare_filter(queries, [document, b"<a/>"])
