"""Query files: what they say is what is loaded, and what is wrong with one is said where it is."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract import Subscription, Subscriptions, SubscriptionsError
from extract.subscriptions.bindings import check_bindings, parse_binding
from tests.support.query_files import Write, pairs

XML_URI = "http://www.w3.org/XML/1998/namespace"


def failure(path: Path) -> SubscriptionsError:
    with pytest.raises(SubscriptionsError) as caught:
        Subscriptions.load(path)
    assert caught.value.file == str(path)
    assert caught.value.hint
    return caught.value


# -- Plain text


def test_ids_come_from_the_line_or_from_its_number(write: Write) -> None:
    path = write("# two queries\n\n//a\nb\t//b\n   \n#last\n")
    assert pairs(Subscriptions.load(path)) == [("3", "//a"), ("b", "//b")]


def test_an_empty_file_has_no_subscriptions(write: Write) -> None:
    assert len(Subscriptions.load(write(""))) == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("q\t//a[b\t= 1]", ("q", "//a[b\t= 1]")),
        ("q 1\t//a", ("q 1", "//a")),
        (" q \t //a  ", ("q", "//a")),
        ("  //a", ("1", "//a")),
        ("q\t", ("q", "")),  # an empty XPath is that query's error, not the file's
        ("q\t//a[. = '\u2028\x85\x0c']", ("q", "//a[. = '\u2028\x85\x0c']")),
        ("q\t//a\u00a0", ("q", "//a\u00a0")),  # no white space to XPath: the parser must see it
        ("größe\t//größe", ("größe", "//größe")),
        ("q\t//a # no comment", ("q", "//a # no comment")),
    ],
)
def test_a_line_is_split_at_its_first_tab(
    write: Write, line: str, expected: tuple[str, str]
) -> None:
    assert pairs(Subscriptions.load(write(line))) == [expected]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_do_not_matter(write: Write, end: str, mark: bytes) -> None:
    text = end.join(["#! ns p=urn:p", "a\t//p:a", "", "//b"])
    loaded = Subscriptions.load(write(mark + text.encode()))
    assert pairs(loaded) == [("a", "//p:a"), ("4", "//b")]
    assert loaded[0].namespaces == {"p": "urn:p"}


@pytest.mark.parametrize(
    ("line", "column"),
    [("//a", 1), ("  //a", 3), ("id\t//a", 4), ("id\t //a \r", 5), ("é\t//a", 3)],
)
def test_the_place_of_the_xpath_is_kept(write: Write, line: str, column: int) -> None:
    entry = Subscriptions.load(write(f"# first\n{line}"))[0]
    assert (entry.line, entry.column) == (2, column)


def test_a_duplicate_id_names_both_lines(write: Write) -> None:
    error = failure(write("x\t//a\ny\t//b\nx\t//c\n"))
    assert (error.line, error.reason) == (3, "the id 'x' is already taken by line 1")


def test_a_line_number_as_id_can_collide_too(write: Write) -> None:
    assert "line 1" in failure(write("2\t//a\n//b\n")).reason


@pytest.mark.parametrize("line", ["q1,//a", '"q1";"//a[b]"', " 'q1' , //a"])
def test_commas_between_id_and_query(write: Write, line: str) -> None:
    error = failure(write(f"# id and query\n{line}\n", "queries.csv"))
    assert (error.reason, error.line) == ("queries are not separated by commas", 2)
    assert "id<TAB>xpath" in error.hint
    assert pairs(Subscriptions.load(write("//a[b, c]\nq1\t//b", "q.csv"))) == [
        ("1", "//a[b, c]"),
        ("q1", "//b"),
    ]
    assert pairs(Subscriptions.load(write(line, "q.txt"))) == [("1", line.strip())]


def test_an_empty_id_is_an_error(write: Write) -> None:
    error = failure(write("//a\n\t//b\n"))
    assert (error.line, error.column) == (2, 1)


# -- Prefixes


def test_a_binding_holds_for_the_lines_below_it(write: Write) -> None:
    path = write("//a\n#! ns p=urn:one\n//p:b\n#!ns   q = urn:two?x=y#z \n//q:c\n")
    assert [entry.namespaces for entry in Subscriptions.load(path)] == [
        {},
        {"p": "urn:one"},
        {"p": "urn:one", "q": "urn:two?x=y#z"},
    ]


def test_the_nearest_binding_wins(write: Write) -> None:
    path = write(
        '{"xpath": "//p:a"}\n#! ns p=urn:file\n{"xpath": "//p:b"}\n'
        '{"xpath": "//p:c", "namespaces": {"p": "urn:query"}}\n',
        "queries.jsonl",
    )
    loaded = Subscriptions.load(path, namespaces={"p": "urn:caller", "q": "urn:q"})
    assert [entry.namespaces["p"] for entry in loaded] == ["urn:caller", "urn:file", "urn:query"]
    assert all(entry.namespaces["q"] == "urn:q" for entry in loaded)


def test_a_prefix_cannot_be_bound_twice_in_one_file(write: Write) -> None:
    error = failure(write("#! ns p=urn:one\n//p:a\n#! ns p=urn:two\n"))
    assert (error.line, error.reason) == (3, "line 1 already binds 'p' to 'urn:one'")


def test_the_same_binding_twice_is_no_error(write: Write) -> None:
    path = write("#! ns p=urn:one\n#! ns p=urn:one\n//p:a\n")
    assert Subscriptions.load(path)[0].namespaces == {"p": "urn:one"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("#! ns", "not of the form prefix=uri"),
        ("#! ns urn:x", "not of the form prefix=uri"),
        ("#! ns =urn:x", "no default namespace"),
        ("#! ns p=", "is empty"),
        ("#! ns 1p=urn:x", "'1p'"),
        ("#! ns p:q=urn:x", "'p:q'"),
        ("#! ns xml=urn:x", "reserved"),
        ("#! ns xmlns=urn:x", "reserved"),
        ("#! namespace p=urn:x", "unknown directive"),
        ("#!", "unknown directive"),
    ],
)
def test_a_wrong_directive_is_not_taken_for_a_comment(write: Write, line: str, reason: str) -> None:
    error = failure(write(f"//a\n{line}\n"))
    assert reason in error.reason
    assert error.line == 2


def test_a_script_may_start_with_its_interpreter(write: Write) -> None:
    assert pairs(Subscriptions.load(write("#!/bin/queries\n//a"))) == [("2", "//a")]


def test_bindings_of_the_caller_are_checked_and_copied(write: Write) -> None:
    bindings = {"p": "urn:p"}
    loaded = Subscriptions.load(write("//p:a"), bindings)
    bindings["p"] = "urn:other"
    assert loaded[0].namespaces == {"p": "urn:p"}
    with pytest.raises(SubscriptionsError, match="no name that XPath"):
        Subscriptions.load(write("//a"), {"p q": "urn:p"})


def test_xml_may_be_bound_to_its_own_namespace() -> None:
    check_bindings({"xml": XML_URI})
    assert parse_binding(f" lang = {XML_URI} ") == ("lang", XML_URI)


# -- JSON lines


def test_json_lines_carry_everything(write: Write) -> None:
    lines = [
        '{"id": "a", "xpath": "//p:a", "namespaces": {"p": "urn:p"}, "weight": 2.5}',
        "",
        "# a comment",
        '{"id": 7, "xpath": "//b", "weight": 3, "owner": "somebody"}',
        '  {"xpath": " //c "}',
    ]
    loaded = Subscriptions.load(write("\n".join(lines), "queries.jsonl"))
    assert list(loaded) == [
        Subscription("a", "//p:a", {"p": "urn:p"}, 2.5, 1, lines[0].index("//p") + 1),
        Subscription(
            "7", "//b", {}, 3.0, 4, lines[3].index("//b") + 1, metadata={"owner": "somebody"}
        ),
        Subscription("5", "//c", {}, 1.0, 5, lines[4].index("//c") + 1),
    ]


def test_a_column_that_escapes_would_shift_is_left_out(write: Write) -> None:
    line = json.dumps({"namespaces": {"xpath": "urn:x"}, "xpath": '//xpath:a[. = "\u00e9"]'})
    entry = Subscriptions.load(write(line, "q.jsonl"))[0]
    assert (entry.xpath, entry.column) == ('//xpath:a[. = "\u00e9"]', 0)


@pytest.mark.parametrize(
    ("record", "reason", "column"),
    [
        ('{"id": "a" "xpath": "//a"}', "not JSON", 12),
        ("//a", "not JSON", 1),
        ('{"id": "a",', "not JSON", 12),
        ('["//a"]', "no object", 1),
        ("[" * 100_000, "cannot read this JSON", 1),
        ('{"xpath": "//a", "id": ' + "1" * 5000 + "}", "cannot read this JSON", 1),
        ('{"id": "a"}', 'there is no "xpath"', 1),
        ('{"id": "a", "xpath": 1}', '"xpath" is not a string', 13),
        ('{"xpath": "//a", "id": true}', '"id"', 18),
        ('{"xpath": "//a", "id": 1.5}', '"id"', 18),
        ('{"xpath": "//a", "id": null}', '"id"', 18),
        ('{"xpath": "//a", "id": ""}', '"id"', 18),
        ('{"xpath": "//a", "weight": 0}', '"weight"', 18),
        ('{"xpath": "//a", "weight": -1}', '"weight"', 18),
        ('{"xpath": "//a", "weight": "1"}', '"weight"', 18),
        ('{"xpath": "//a", "weight": true}', '"weight"', 18),
        ('{"xpath": "//a", "weight": NaN}', '"weight"', 18),
        ('{"xpath": "//a", "weight": 1e999}', '"weight"', 18),
        ('{"xpath": "//a", "weight": 1' + "0" * 400 + "}", '"weight"', 18),
        ('{"xpath": "//a", "namespaces": []}', '"namespaces"', 18),
        ('{"xpath": "//a", "namespaces": {"p": 1}}', '"namespaces"', 18),
        ('{"xpath": "//a", "namespaces": {"": "urn:p"}}', "no default namespace", 18),
        (r'{"xpath": "//a[. = \"\ud800\"]"}', "half a character", 1),
        (r'{"xpath": "//a", "owner": "\ud800"}', "half a character", 18),
        (r'{"xpath": "//a", "o\ud800": 1}', "control characters", 1),
        (r'{"xpath": "//a", "o\u0007": 1}', "control characters", 1),
        ('{"xpath": "//a", "": 1}', "key '' is empty", 18),
        ('{"xpath": "//a", "' + "k" * 201 + '": 1}', "more than 200 characters", 18),
        ('{"xpath": "//a", "status": "on"}', "a key that extract itself writes", 18),
        ('{"xpath": "//a", "n": NaN}', "a number that JSON does not have", 18),
        ('{"xpath": "//a", "n": [-1e999]}', "a number that JSON does not have", 18),
        ('{"xpath": "//a", "n": ' + "[" * 40 + "]" * 40 + "}", "32 levels deep", 18),
        ('{"xpath": "//a", "n": "' + "x" * 70_000 + '"}', "--max-metadata-bytes", 1),
    ],
)
def test_a_wrong_json_line_says_where(write: Write, record: str, reason: str, column: int) -> None:
    error = failure(write(f'{{"xpath": "//first"}}\n{record}\n', "queries.jsonl"))
    assert reason in error.reason
    assert (error.line, error.column) == (2, column)


def test_queries_with_equal_bindings_share_them(write: Write) -> None:
    one = '{"xpath": "//p:a", "namespaces": {"p": "urn:p", "q": "urn:q"}}\n'
    other = '{"xpath": "//p:b", "namespaces": {"q": "urn:q", "p": "urn:p"}}\n'
    first, second = Subscriptions.load(write(one + other, "queries.jsonl"))
    assert first.namespaces is second.namespaces


# -- Where the bytes come from


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv.gz", "a\t//a\n"),
        ("q.gz", "a\t//a\n"),
        ("q", "a\t//a\n"),
        ("q.txt", "a\t//a\n"),
        ("q.jsonl.gz", '{"id": "a", "xpath": "//a"}\n'),
        ("q.JSONL", '{"id": "a", "xpath": "//a"}\n'),
        ("q.gz", '# no suffix to go by\n\n {"id": "a", "xpath": "//a"}\n'),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_format_goes_by_name_and_gzip_by_content(
    write: Write, name: str, text: str, zipped: bool
) -> None:
    data = text.encode()
    path = write(gzip.compress(data) if zipped else data, name)
    assert pairs(Subscriptions.load(path)) == [("a", "//a")]
    assert pairs(Subscriptions.load(str(path))) == [("a", "//a")]


@pytest.mark.parametrize("text", ["a\t//a\n", '\n  {"id": "a", "xpath": "//a"}\n'])
@pytest.mark.parametrize("zipped", [True, False])
def test_standard_input_is_recognised_by_its_look(
    monkeypatch: pytest.MonkeyPatch, text: str, zipped: bool
) -> None:
    data = gzip.compress(text.encode()) if zipped else text.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    loaded = Subscriptions.load("-")
    assert pairs(loaded) == [("a", "//a")]
    assert loaded.source == "<stdin>"


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"//a\n\xc3\xa9//\xff\n", (2, 4), "0xff is not valid UTF-8"),
        ("//a\n".encode("utf-16"), (1, 1), "0xff is not valid UTF-8"),
        ("//a\n//b".encode("utf-16-le"), (1, 2), "NUL"),
        (b"//a\xc3", (1, 4), "0xc3 is not valid UTF-8"),
    ],
)
def test_what_is_not_utf8_is_refused(
    write: Write, content: bytes, place: tuple[int, int], reason: str
) -> None:
    error = failure(write(content))
    assert reason in error.reason
    assert (error.line, error.column) == place
    assert "UTF-8" in error.hint


@pytest.mark.parametrize("damage", [slice(0, -12), slice(0, 5)])
def test_a_damaged_gzip_file_is_refused(write: Write, damage: slice) -> None:
    assert "unzip" in failure(write(gzip.compress(b"//a\n" * 100)[damage])).reason


def test_a_missing_file_or_a_directory_is_refused(tmp_path: Path) -> None:
    assert "No such file" in failure(tmp_path / "none.tsv").reason
    assert "directory" in failure(tmp_path).reason


# -- From Python


def test_subscriptions_of_python_values() -> None:
    assert pairs(Subscriptions.of({"a": "//a", "b": " //b "})) == [("a", "//a"), ("b", "//b")]
    assert pairs(Subscriptions.of(["//a", ("x", "//b"), "//c"])) == [
        ("1", "//a"),
        ("x", "//b"),
        ("3", "//c"),
    ]
    assert pairs(Subscriptions.of("//a")) == [("1", "//a")]
    own = Subscription("w", "//p:a", {"p": "urn:own"}, 5.0, 3, 4)
    again = Subscriptions.of([own], namespaces={"p": "urn:p", "q": "urn:q"})[0]
    assert again.namespaces == {"p": "urn:own", "q": "urn:q"}
    assert (again.weight, again.line, again.column) == (5.0, 3, 4)


def test_subscriptions_of_python_values_are_checked() -> None:
    with pytest.raises(SubscriptionsError, match="two queries have the id '2'"):
        Subscriptions.of([("2", "//a"), "//b"])
    with pytest.raises(SubscriptionsError, match="empty"):
        Subscriptions.of(["//a"], namespaces={"p": ""})
    with pytest.raises(SubscriptionsError, match="half a character"):
        Subscriptions.of({"é\ud800": "//a"})
    with pytest.raises(SubscriptionsError, match="half a character"):
        Subscriptions.of([Subscription("\udc80", "//a")])


def test_subscriptions_are_an_unchangeable_sequence(write: Write) -> None:
    path = write("//a\n//b\n//c\n")
    loaded = Subscriptions.load(path)
    assert len(loaded) == 3
    assert loaded[-1].xpath == "//c"
    assert loaded[1:].source == str(path)
    assert pairs(loaded[1:]) == [("2", "//b"), ("3", "//c")]
    assert loaded[0] in loaded
    assert loaded == Subscriptions.load(path)
    assert repr(loaded) == f"<Subscriptions: 3 from {path}>"
    assert len({*loaded, *loaded}) == 3
    with pytest.raises(AttributeError):
        loaded[0].xpath = "//x"  # type: ignore[misc]


def test_subscriptions_and_their_errors_travel_between_processes(write: Write) -> None:
    loaded = Subscriptions.load(write("#! ns p=urn:p\n//p:a\n//p:b\n"))
    again = pickle.loads(pickle.dumps(loaded))
    assert again == loaded
    assert again[0].namespaces is again[1].namespaces
    error = failure(write("\t//a"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# -- Everything that can be written can be read

words = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\t\n\r"), min_size=1
).filter(lambda text: text == text.strip(" ") and not text.startswith("#"))


@given(st.dictionaries(words, words, max_size=20))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, queries: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("round-trip")
    plain, lines = folder / "q.tsv", folder / "q.jsonl"
    # A file that starts with U+FEFF starts with a byte order mark, whatever was meant.
    text = "".join(f"{name}\t{xpath}\n" for name, xpath in queries.items())
    plain.write_bytes(b"#\n" + text.encode())
    records = ({"id": name, "xpath": xpath} for name, xpath in queries.items())
    lines.write_bytes("".join(f"{json.dumps(record)}\n" for record in records).encode())
    for path in plain, lines:
        assert dict(pairs(Subscriptions.load(path))) == queries


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("nitf/linear.tsv.gz", 100_000),
        ("ubl/rules.jsonl", 1_175),
        ("wordnet/queries.tsv", 6_000),
        ("xmark/xpathmark.jsonl", 33),
    ],
)
def test_real_query_files_load(shared_data: Path, name: str, number: int) -> None:
    loaded = Subscriptions.load(shared_data / name)
    assert len(loaded) == number
    assert all(entry.xpath and entry.line for entry in loaded)
