"""TRAPS 30 to 36 and 43 to 56: constants and values, as libxml2 has them, with templates.

Every query is asked together with others of its template, so few that they are evaluated one by one
and so many that they are evaluated as columns.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from lxml import etree

import extract
from extract.preptool.revise import Reviser
from extract.xpath.numbers import to_number

STOCKS = b"<s><a>1</a><a>9</a><b>x</b></s>"
YAHOO = b"<s><t>YH<!--x-->OO</t><t>YH<![CDATA[OO]]></t><t> YHOO</t></s>"

CASES = [
    # 30: the type of a literal, quotes, signs, positions, names with hyphens and digits
    (b"<r><a>1</a></r>", ["/r[a = '1.0']", "/r[a = 1.0]", "/r[a = '1']", "/r[a=1]"]),
    (b"<r><a>-5</a></r>", ["/r[a = -5]", "/r[a = --5]", "/r[a = '-5']", "/r[-5 = a]", "/r[a = 5]"]),
    (
        b"<r><a/><a/><a>3</a></r>",
        ["/r/a[3]", "/r/a[. = 3]", "/r/a[position() = 3]", "/r/a[last()]"],
    ),
    (b"<r><a-1>2</a-1><a>3</a></r>", ["/r[a-1 = 2]", "/r[a -1 = 2]", "/r[a - 1 = 2]"]),
    (b'<r><a>it\'s</a><a>"x"</a></r>', ['/r/a[. = "it\'s"]', "/r/a[. = '\"x\"']", "/r/a[.='x']"]),
    # 31: comparisons are existential, functions take the first node
    (STOCKS, ["/s[a > 3 and a < 5]", "/s[a != 1]", "/s[not(a = 1)]", "/s[not(a = 2)]"]),
    (STOCKS, ["/s[starts-with(a, '9')]", "/s[starts-with(a, '1')]", "/s[contains(w, '')]"]),
    (STOCKS, ["/s[w = false()]", "/s[w = '']", "/s[w != '']", "/s[contains(w, 'x')]"]),
    # 32: a string value is not a text node
    (YAHOO, ["/s/t[. = 'YHOO']", "/s/t[text() = 'YHOO']", "/s/t[. = ' YHOO']", "/s/t[.='YH']"]),
    # 33, 48: numbers are read by libxml2's routine, and keep their spelling
    (
        b"<r><n>6.5684</n><n>1e3</n><n>+5</n><n>0x10</n><n>1,000</n><n>12abc</n><n>0.00006332</n>"
        b"<n> 7\n</n><n>104.591</n><n>9007199254740993</n><n>1e</n><n>\xc2\xa05</n></r>",
        [
            "/r/n[. = 6.5684]",
            "/r/n[. = 1000]",
            "/r/n[. = 1e3]",
            "/r/n[. = 5]",
            "/r/n[. = 16]",
            "/r/n[. = 12]",
            "/r/n[. = 0.00006332]",
            "/r/n[. = 6.332e-05]",
            "/r/n[. = 7]",
            "/r/n[. = 104.591]",
            "/r/n[. = 104591e-3]",
            "/r/n[. = 9007199254740992]",
            "/r/n[. = 9007199254740993]",
            "/r/n[. = 1]",
            "/r/n[. = 1e+]",
        ],
    ),
    (b"<r><n>-0</n><n>0</n></r>", ["/r/n[. = 0]", "/r/n[. = -0]", "/r/n[. = '0']"]),
    (
        b"<r><n>%b</n></r>" % (b"9" * 400),
        ["/r/n[. = 1e999]", "/r/n[. > 1e308]", f"/r/n[. = {'9' * 400}]"],
    ),
    # 34: < on strings compares numbers
    (b"<r><a>b</a><a>3</a></r>", ["/r[a > 'a']", "/r[a > '2']", "/r[a < 'c']", "/r/a[. < '9']"]),
    # 35, 45: symmetric places; constants decide satisfiability
    (STOCKS, ["/s[a = 1 or a = 7]", "/s[a = 7 or a = 1]", "/s[a = 7 or a = 8]", "/s[a=1][a=9]"]),
    (STOCKS, ["/s[count(zzz) = 0]", "/s[count(zzz) = 1]", "/s[string(zzz) = '']"]),
    (STOCKS, ["/s[contains(zzz, '')]", "/s[contains(zzz, 'x')]", "/s[not(zzz = 'x')]", "/s"]),
    # 36: NaN compares with nothing
    (STOCKS, ["/s[a < 'x']", "/s[a < 5]", "/s[not(a < 'x')]", "/s[b < 5]", "/s[b != 5]"]),
    # 43, 44: tokens; literals that are shape; the other operand gives the type
    (b"<r><a>1</a></r>", ["/r[2-a=1]", "/r[2 - a = 2]", "/r[1and 1=a]", "/r[a=5=5]", "/r[a=1=1]"]),
    (
        b"<r><a/><a/></r>",
        ["/r[count(a) = '2.0']", "/r[(a = '1') = 'no']", "/r[string-length('a')]"],
    ),
    (b"<r><?p x?><?q y?></r>", ["//processing-instruction('p')", "//processing-instruction('q')"]),
    (b"<r><a>1000</a></r>", ["/r[contains(a, 1e3)]", "/r[contains(a, 1e1)]", "/r[contains(a, 0)]"]),
    # 49: NaN is not equal to anything
    (b"<r><a>abc</a></r>", ["/r[a != 5]", "/r[not(a < 5)]", "/r[a >= 5]", "/r[a = 5]"]),
    # 50: true without any node, or without the equality
    (STOCKS, ["/s[x < true()]", "/s[number(x) != 5]", "/s[contains('abc', x)]", "/s[b or a = 77]"]),
    # 51: the first node is the first in document order; decided at the last end tag
    (b"<r><a>y<a>x</a></a></r>", ["/r[starts-with(.//a, 'x')]", "/r[starts-with(.//a, 'y')]"]),
    (
        b"<a><a><c>2</c></a><b>1</b></a>",
        ["//a[b = 1]//a[c = 2]", "//a[b = 1]//a[c = 3]", "//a[b=2]"],
    ),
    # 53: values of attributes are normalised
    (
        b'<r a="x\r\ny" b="x&#13;&#10;y"/>',
        ["/r[@a = 'x y']", "/r[@b = 'x y']", "/r[@b = 'x\r\ny']", "/r[contains(@*, 'y')]"],
    ),
    # 55: several levels
    (
        b"<r><p>1</p><s><q>2</q></s><x><a>1</a></x><x><b>2</b></x></r>",
        [
            "/r[p = 1]/s[q = 2]",
            "/r[p = 1]/s[q = 3]",
            "/r[x/a = 1 and x/b = 2]",
            "/r/x[a=1 and b=2]",
        ],
    ),
]


def with_others(xpath: str, count: int) -> list[str]:
    """A query, and so many others of its template if it has constants."""
    others = []
    for number in range(count):
        for old, new in (
            ("'x'", f"'other{number}'"),
            ("1", f"{number + 70}"),
            ("5", f"{number}.5"),
        ):
            others.append(xpath.replace(old, new))
    return [xpath, *[one for one in others if parses(one)]]


@cache
def parses(xpath: str) -> bool:
    try:
        etree.XPath(xpath)
    except etree.XPathSyntaxError:
        return False
    return True


@pytest.mark.parametrize("others", [0, 2, 40])
@pytest.mark.parametrize("matcher", ["lxml", "columnar"])
@pytest.mark.parametrize(("document", "queries"), CASES, ids=range(len(CASES)))
def test_constants_are_compared_as_libxml2_does(
    document: bytes, queries: list[str], matcher: str, others: int
) -> None:
    xpaths = list(dict.fromkeys(one for query in queries for one in with_others(query, others)))
    for given in (extract.infer_schema([document]).schema, extract.Schema.none()):
        scheme = extract.prepare(given, extract.Subscriptions.of(xpaths), chunks=1)
        assert scheme.rejected == ()
        counts = {
            query: count for _, query, count in extract.count(scheme, document, matcher=matcher)
        }
        tree = etree.fromstring(document).getroottree()
        for number, xpath in enumerate(xpaths, 1):
            expected = len(etree.XPath(xpath)(tree))
            assert counts.get(str(number), 0) == expected, xpath


def test_a_double_is_never_spelled_again() -> None:
    """TRAPS 48: the constants of a scheme are as they were written."""
    texts = ["0.00006332", "6.332e-05", "1e999", "01", "1.", ".5", "123456789012345678"]
    queries = extract.Subscriptions.of([f"/r[x = {text}]" for text in texts])
    scheme = extract.prepare(extract.Schema.none(), queries, chunks=1)
    assert [one.absolute for one in scheme.subscribers] == [f"/r[x = {text}]" for text in texts]
    assert len(scheme.templates) == 1
    assert to_number(b"0.00006332") != to_number(b"6.332e-05")


@pytest.mark.parametrize("bad", ["\x01", "\ufffe", "\ud800"])
def test_every_constant_is_checked(bad: str, tmp_path: Path) -> None:
    """TRAPS 47."""
    queries = {"good": "/r[a = 'x']", "bad": f"/r[a = 'x{bad}']", "other": "/r[a = 'y']"}
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    assert [one.id for one in scheme.rejected] == ["bad"]
    assert scheme.counts()["satisfiable"] == 2
    scheme.save(tmp_path / "scheme.json")
    again = extract.Scheme.load(tmp_path / "scheme.json")
    assert again.rejected == scheme.rejected


def test_bindings_belong_to_the_template() -> None:
    """TRAPS 46."""
    queries = [
        extract.Subscription(uri, "//p:a[. = 'x']", {"p": uri, "unused": uri})
        for uri in ("urn:1", "urn:2")
    ]
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    assert len(scheme.templates) == 2
    found = [m.query for m in extract.match(scheme, b"<a xmlns='urn:2'>x</a>")]
    assert found == ["urn:2"]


MATCHERS = ["lxml", "columnar", "push"]


def matching(scheme: extract.Scheme, document: bytes, matcher: str) -> list[str]:
    ready = extract.Filter(scheme, matcher=matcher)
    table = ready.table([("document", document)])
    assert ready.rejected.num_rows == 0
    return sorted(table["query"].to_pylist())


@pytest.mark.parametrize("matcher", MATCHERS)
def test_long_constants_and_too_long_ones(matcher: str) -> None:
    """Up to the limit of a query's literals a constant is like any other; beyond it, the
    query is rejected, and its template's other members go on."""
    long, longer = "x" * 1_000_000, "x" * 10_000_001
    queries = {f"q{len(text)}": f"/r[a = '{text}']" for text in ("x", long, long + "y", longer)}
    scheme = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    assert [(one.id, one.reason) for one in scheme.rejected] == [
        ("q10000001", "literals of more than 10,000,000 characters (--max-constant-chars)")
    ]
    assert len(scheme.templates) == 1
    document = f"<r><a>{long}</a></r>".encode()
    assert matching(scheme, document, matcher) == ["q1000000"]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_constants_of_megabytes(
    matcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the queries to the file of members, and to the answers."""
    monkeypatch.setattr("extract.scheme.writer.INLINE", 2)
    # No text that repeats itself: libxml2 would look for it for minutes.
    long = "".join([chr(0x10000 + n * 7919 % 50_000) for n in range(300_000)])
    values = ["x", long, f"{long}z", f"a{long}"]
    queries = {
        **{f"is {n}": f"/r[a = '{value}']" for n, value in enumerate(values)},
        **{f"has {n}": f'/r[contains(a, "{value}")]' for n, value in enumerate(values)},
    }
    made = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    assert made.rejected == ()
    assert len(made.templates) == 2
    made.save(tmp_path / "scheme.json")
    scheme = extract.Scheme.load(tmp_path / "scheme.json")
    assert (scheme.members, scheme.templates) == (made.members, made.templates)
    for n, value in enumerate(values):
        expected = [f"has {m}" for m, other in enumerate(values) if other in value] + [f"is {n}"]
        document = f"<r><a>{value}</a></r>".encode()
        assert matching(scheme, document, matcher) == expected


# -- Hashes that collide: whoever knows the secrets can make any number of keys with one hash

KNOWN = b"/collide"  # both secrets; what begins with it forgets its next eight bytes


def hash_of(text: bytes) -> int:
    """The hash of a key of more than sixteen bytes, as ``hashing.h`` has it."""

    def mix(a: int, b: int) -> int:
        product = a * b
        return (product & (1 << 64) - 1) ^ product >> 64

    def word(at: int) -> int:
        return int.from_bytes(text[at : at + 8], "little")

    secret = seed = int.from_bytes(KNOWN, "little")
    at = 0
    while len(text) - at > 16:
        seed = mix(word(at) ^ secret, word(at + 8) ^ seed)
        at += 16
    last = mix(word(len(text) - 16) ^ secret, word(len(text) - 8) ^ seed)
    return mix(secret ^ len(text), last)


@pytest.mark.parametrize("matcher", MATCHERS)
def test_templates_ids_and_constants_that_collide(
    matcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.urandom", lambda size: KNOWN[:size])
    names = [f"{'abcdefgh'[n % 8]}{n:06}" for n in range(60)]
    tail = "padding of more than sixteen"
    assert len({hash_of(f"/collide/{name}/{tail}".encode()) for name in names}) == 1
    values = [f"/collide{n:08}{tail}" for n in range(120)]
    assert len({hash_of(value.encode()) for value in values}) == 1
    queries = {
        value: f"/collide/{names[n % 60]}[padding/of/more/than/sixteen = '{value}']"
        for n, value in enumerate(values)
    }
    texts = extract.Subscriptions.of(queries)
    scheme = extract.prepare(extract.Schema.none(), texts, chunks=1)
    assert len(scheme.templates) == 60
    assert scheme.counts()["canonical"] == 120
    for row, (name, xpath) in enumerate(queries.items()):
        assert scheme.directory.find(name) == row
        assert scheme.subscribers[row].xpath == xpath
    reviser = Reviser(scheme)
    for name in values[1::2]:
        reviser.remove(name)
    assert list(reviser) == values[::2]
    ready = extract.Filter(scheme, matcher=matcher)
    for n in (0, 7, 61, 119):
        inside = (
            f"<padding><of><more><than><sixteen>{values[n]}</sixteen></than></more></of></padding>"
        )
        document = f"<collide><{names[n % 60]}>{inside}</{names[n % 60]}></collide>"
        assert ready.table([("one", document.encode())])["query"].to_pylist() == [values[n]]


ODD_IDS = [" ", "a\tb", "line\nbreak", "\r", "\0", "\x1b[31m", "\u202e", "'\"<&>", "\\", "$string1"]
ODD_IDS += ["x" * 100_000, "\U0001f600", "é", "e\u0301", "\ufffe", "../../x", "null", "-1", "1e3"]


@pytest.mark.parametrize("inline", [3, 1_000])
def test_ids_of_members_may_have_any_characters(
    inline: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered, saved, loaded, revised and in the rows of every matcher: the same ids."""
    monkeypatch.setattr("extract.scheme.writer.INLINE", inline)
    ids = ODD_IDS
    queries = {one: f"/r[a = '{n % 3}']" for n, one in enumerate(ids)}
    made = extract.prepare(extract.Schema.none(), extract.Subscriptions.of(queries), chunks=1)
    made.save(tmp_path / "scheme.json")
    scheme = extract.Scheme.load(tmp_path / "scheme.json")
    assert list(scheme.directory.ids) == ids
    for matcher in MATCHERS:
        ready = extract.Filter(scheme, matcher=matcher)
        found = ready.table([("one", b"<r><a>1</a></r>")])["query"].to_pylist()
        assert found == ids[1::3], matcher
    reviser = Reviser(scheme)
    for one in ids[::2]:
        reviser.remove(one)
    assert list(reviser) == ids[1::2]
