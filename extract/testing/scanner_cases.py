"""Test cases for scanners: small schemas, documents, and the required results of their scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from extract.chunktool.automaton.outputs import Output
from extract.preptool.prepare import prepare
from extract.schema.model import Attribute, Declaration, Schema, Wildcard
from extract.scheme.model import NEEDS, Scheme, Want
from extract.subscriptions import Subscriptions

NAMESPACES = {"p": "urn:p", "q": "urn:q"}
LETTERS = {"a": "b c d m @k", "b": "b c @k @xml:lang", "c": "@k", "d": "", "m": "m c"}
SPACES = {"p:a": "p:b q:b b", "p:b": "p:b c @k @p:k", "q:b": "q:b", "b": "p:b", "c": ""}


def schema_of(edges: Mapping[str, str], **wildcards: Wildcard) -> Schema:
    """Returns a schema from the children and attributes of each element; the first is the root."""
    keys = {name: key for key, name in enumerate(edges)}
    declarations = []
    for name, below in edges.items():
        children = [keys[child] for child in below.split() if child in keys]
        attributes = [Attribute(_clark(k[1:])) for k in below.split() if k.startswith("@")]
        wild = (wildcards[name],) if name in wildcards else ()
        declarations.append(
            Declaration(
                keys[name],
                _clark(name),
                children=tuple(children),
                attributes=tuple(attributes),
                wildcards=wild,
            )
        )
    return Schema("memory", "dtd", tuple(declarations), roots=(0,), prefixes=NAMESPACES)


def _clark(name: str) -> str:
    prefix, _, local = name.rpartition(":")
    uris = {**NAMESPACES, "xml": "http://www.w3.org/XML/1998/namespace"}
    return f"{{{uris[prefix]}}}{local}" if prefix else local


def scheme_of(schema: Schema, *queries: str, chunks: int = 1) -> Scheme:
    """Prepares a scheme for queries."""
    texts = {str(number): query for number, query in enumerate(queries)}
    scheme = prepare(schema, Subscriptions.of(texts, NAMESPACES), chunks)
    return replace(scheme, namespaces={**scheme.namespaces, **NAMESPACES})


def output_of(wants: str) -> Output:
    """Returns an output from text such as ``/a/b subtree, /a/c node``."""
    pairs = [want.split() for want in wants.split(",") if want.strip()]
    return Output("test", tuple(Want(path, NEEDS[need]) for path, need in pairs), False)


# -- kept bytes: wants, document, output

KEPT = {
    "the root is always there": (
        "",
        "<a k='1'>x<b/>y</a>",
        "<a k='1'></a>",
    ),
    "an empty root": ("", "<a/>", "<a/>"),
    "a node is its tags": (
        "/a/b node",
        "<a> <b k='1'>text<c/></b> <d/> <b/> </a>",
        "<a><b k='1'></b><b/></a>",
    ),
    "a subtree is all there is": (
        "/a/b subtree",
        "<a> <b k='1'>te<!--x-->xt<c> </c></b> <d>gone</d> <b/> </a>",
        "<a><b k='1'>te<!--x-->xt<c> </c></b><b/></a>",
    ),
    "a string is kept with its comments": (
        "/a/d string",
        "<a><d>x<!--y-->z<?t w?></d>.</a>",
        "<a><d>x<!--y-->z<?t w?></d></a>",
    ),
    "children are tags, with all that stands between them": (
        "/a children",
        "<a> <b>no<c/></b> x<!--c--><?p i?><d/><![CDATA[]]></a>",
        "<a> <b></b> x<!--c--><?p i?><d/><![CDATA[]]></a>",
    ),
    "children of children": (
        "/a/b children, /a/b/b children",
        "<a> <b>x<b>y<c>no</c></b>z</b> </a>",
        "<a><b>x<b>y<c></c></b>z</b></a>",
    ),
    "ancestors come with what they have": (
        "/a/b/b/c subtree",
        '<a k="1">\n <b>..<b xml:lang="en">\n<c>x</c ></b></b\n><b/></a>',
        '<a k="1"><b><b xml:lang="en"><c>x</c ></b></b\n></a>',
    ),
    "ancestors of nothing do not": (
        "/a/b/c node",
        "<a><b><b><c/></b></b><b>x</b></a>",
        "<a></a>",
    ),
    "neighbours are one range": (
        "/a/b subtree, /a/c node",
        "<a><b>x</b><c/><b/>-<d/></a>",
        "<a><b>x</b><c/><b/></a>",
    ),
    "a subtree in a subtree is kept once": (
        "/a/m subtree, /a/descendant::m subtree, /a/m/m/c node",
        "<a>-<m>1<m>2<m>3</m><c/></m></m>-<m/></a>",
        "<a><m>1<m>2<m>3</m><c/></m></m><m/></a>",
    ),
    "recursion opens a want inside itself": (
        "/a/descendant::m node, /a/m/m children",
        "<a>-<m>1<m>2<m>3<m>4</m></m></m></m></a>",
        "<a><m><m>2<m><m></m></m></m></m></a>",
    ),
    "descendants": (
        "//c node",
        "<a> <b><b>-<c k=''>-</c></b></b> <m><m/><c/></m> </a>",
        "<a><b><b><c k=''></c></b></b><m><c/></m></a>",
    ),
    "the prolog stays, comments around the root do not": (
        "/a/b node",
        '<?xml version="1.0"?>\n<!--x--><!DOCTYPE a>\n<?p i?>\n<a><b/></a>\n<!--y-->\n',
        '<?xml version="1.0"?><!DOCTYPE a><a><b/></a>',
    ),
    "comments around the root, if someone asks for them": (
        "/ children",
        '<?xml version="1.0"?>\n<!--x--><!DOCTYPE a>\n<?p i?>\n<a><b/><!--in--></a>\n<!--y-->\n',
        '<?xml version="1.0"?><!--x--><!DOCTYPE a><?p i?><a></a><!--y-->',
    ),
    "the byte order mark stays": ("", "\ufeff<!--x--><a>x</a>", "\ufeff<a></a>"),
    "the document node with everything": (
        "/ subtree",
        "<!--x-->\n<a>x<b/></a><?p i?>\n",
        "<!--x--><a>x<b/></a><?p i?>",
    ),
    "what looks like markup is none": (
        "/a/b node",
        "<a><!-- <b/> --><![CDATA[<b/>]]><?p <b/>?><c k='<b/>'/><b k=\">\"/></a>".replace(
            "k='<b/>'", "k='&lt;b/>'"
        ),
        '<a><b k=">"/></a>',
    ),
}

KEPT_WITH_NAMESPACES = {
    "whatever the prefix": (
        "/p:a/p:b subtree",
        "<a xmlns='urn:p'><b/><x:b xmlns:x='urn:q'/><x:b xmlns:x='urn:p'/></a>",
        "<a xmlns='urn:p'><b/><x:b xmlns:x='urn:p'/></a>",
    ),
    "declared on an ancestor": (
        "/p:a/p:b/c node",
        "<x:a xmlns:x='urn:p' xmlns:y='urn:q'>-<x:b><c/></x:b><y:b/></x:a>",
        "<x:a xmlns:x='urn:p' xmlns:y='urn:q'><x:b><c/></x:b></x:a>",
    ),
    "redeclared and taken back": (
        "/p:a/b subtree, /p:a/q:b node",
        "<a xmlns='urn:p'><b/><b xmlns=''><b xmlns='urn:p'/></b><b xmlns='urn:q'><b/></b></a>",
        "<a xmlns='urn:p'><b xmlns=''><b xmlns='urn:p'/></b><b xmlns='urn:q'></b></a>",
    ),
    "the same prefix for another namespace": (
        "/p:a/descendant::p:* node",
        "<x:a xmlns:x='urn:p'><x:b/><x:b xmlns:x='urn:q'><x:b/></x:b><x:b x:k='1'/></x:a>",
        "<x:a xmlns:x='urn:p'><x:b/><x:b x:k='1'/></x:a>",
    ),
}


CUT_ANYWHERE = [
    "<a><b k='>'></b><c/></a>",
    "<a>x<b>y</b >z<d></d></a >",
    "<!--x--><a><!-- - -->-<![CDATA[]]]]>]<?p ?a?></a><?q?>",
    "<a>é&#65;&lt;\r\n<b k='\r\n&amp;'/>€</a>\n",
    "<?xml version='1.0'?><!DOCTYPE a><a><m><m/></m></a>",
]


# -- violations: queries, document, whether the scan must report one

BROKEN = {
    "dead by schema is not dead": ("//b", "<a><d><b/></d></a>", True),
    "where no query as written looks": ("/a/b", "<a><d><b/></d></a>", False),
    "an attribute there": ("/a/b", "<a><d k='1'/></a>", True),
    "an attribute further down there": ("/a/b", "<a><m><c x='1'/></m></a>", False),
    "another root": ("/a/b", "<b/>", True),
    "another namespace": ("/a/b", "<a xmlns='urn:z'/>", True),
    "another namespace further down": ("//c", "<a><b><c xmlns='urn:z'/></b></a>", True),
    "an attribute": ("/a/b", "<a><b k='1' z='1'/></a>", True),
    "an attribute with a namespace": ("//c", "<a><b xmlns:k='urn:k' k:k='1'/></a>", True),
    "a declaration is no attribute": ("//c", "<a xmlns:x='urn:x' xmlns:y='urn:y'/>", False),
    "an attribute of xml": ("//c", "<a xml:lang='en'/>", True),
    "at the last moment": ("//c", "<a><b/><b/><c/><d/><z/></a>", True),
    "in a subtree that is kept": ("/a/b", "<a><b><b><d/></b></b></a>", True),
}


# -- ill-formed documents

MALFORMED = [
    "",
    " ",
    "text",
    "<a>",
    "<a",
    "<a></b>",
    "<a><b></a></b>",
    "<a/><a/>",
    "<a/>text",
    "text<a/>",
    "<a></a",
    "</a>",
    "<a k='1' k='2'/>",
    "<a xmlns:x='urn:x' xmlns:y='urn:x' x:k='1' y:k='2'/>",
    "<a k=1/>",
    "<a k/>",
    "<a k='<'/>",
    "<a k='1'l='2'/>",
    "<a k='&'/>",
    "<a>&</a>",
    "<a>&nope;</a>",
    "<a>&#0;</a>",
    "<a>&#xD800;</a>",
    "<a>&#x110000;</a>",
    "<a>&lt</a>",
    "<a>]]></a>",
    "<a><!-- -- --></a>",
    "<a><!-- --->",
    "<a><![CDATA[</a>",
    "<a><?xml version='1.0'?></a>",
    " <?xml version='1.0'?><a/>",
    "<a><?p</a>",
    "<a>\x00</a>",
    "<a>\x0b</a>",
    "<a>\ufffe</a>",
    "<x:a/>",
    "<a x:k='1'/>",
    "<a><b:c:d/></a>",
    "<1/>",
    "< a/>",
    "<a / >",
    "<a/ >",
    "<!DOCTYPE a [<!ENTITY e '<b>'>]><a>&e;</a>",
    "<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>",
    "<!DOCTYPE a><!DOCTYPE a><a/>",
    "<a/><!DOCTYPE a>",
    "<!DOCTYPE a [",
]


# -- the internal subset

SUBSETS = [
    "<!DOCTYPE a [<!ENTITY e 'x'>]><a><b>&e;</b><c k='&e;'/></a>",
    "<!DOCTYPE a [<!ENTITY e 'x'><!ENTITY f '&e;&e;'>]><a>&f;<b>y&f;z</b></a>",
    "<!DOCTYPE a [<!ENTITY e '<c>x</c>'>]><a><b>&e;</b></a>",
    "<!DOCTYPE a [<!ENTITY e '<!--x-->'>]><a>&e;<b/></a>",
    "<!DOCTYPE a [<!ENTITY e ''>]><a>&e;<b>&e;</b></a>",
    "<!DOCTYPE a [<!ENTITY e 'x<'>]><a><b/></a>",
    "<!DOCTYPE a [<!ATTLIST b k CDATA 'd'>]><a><b/><b k='1'/></a>",
    "<!DOCTYPE a [<!ATTLIST b z CDATA 'd'>]><a><b/></a>",
    "<!DOCTYPE a [<!ATTLIST a xmlns CDATA #FIXED 'urn:p'>]><a><b/></a>",
    "<!DOCTYPE a [<!ATTLIST b k NMTOKENS #IMPLIED>]><a><b k='  1   2 '/></a>",
    "<!DOCTYPE a [<!ELEMENT a ANY> <!-- ]> --> <?t ]> ?> <!NOTATION n SYSTEM ']>'>]><a><b/></a>",
    "<!DOCTYPE a SYSTEM 'nowhere.dtd'><a><b/></a>",
    "<!DOCTYPE a PUBLIC '-//x//y' 'nowhere.dtd' [ ]><a><b/></a>",
    "<!DOCTYPE a SYSTEM 'nowhere.dtd' [<!ENTITY % p SYSTEM 'x'> %p;]><a>&z;</a>",
    "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a><b>&e;</b></a>",
]
