"""Members of templates: ids and constants as columns, found by id, counted by canonical query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.errors import QuerySyntaxError, SubscriptionsError
from extract.subscriptions import Subscriptions
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.member_table import FormColumns, MemberRow, MemberTable
from extract.subscriptions.members import templates_of
from extract.subscriptions.records import Records, record
from extract.subscriptions.templates import Member, Template, Templates
from extract.xpath.parser import parse
from tests.fixtures.xpath.samples import randoms


def records(*rows: tuple[int, str, tuple[str, ...]]) -> Records:
    """Records of members: the code, the id and the constants of each."""
    parts = [record(name, constants) for _, name, constants in rows]
    codes = np.array([code for code, _, _ in rows], np.int32)
    return Records(codes, np.cumsum([0, *map(len, parts)])[1:], b"".join(parts))


def shapes(*rows: tuple[int, tuple[int, ...]]) -> FormColumns:
    """Templates: the form and the arguments of each."""
    columns = FormColumns()
    for form, arguments in rows:
        columns.append(form, arguments)
    return columns


def test_members_are_columns(tokens: str) -> None:
    table = MemberTable()
    some = records((0, "q\t1", ("x", "1.14")), (-1, "ü\x01", ("it's €", "2")), (1, "", ()))
    weights = np.array([1.0, 2.5, 1.0])
    table.extend(some, np.array([0, 0, 1], np.int32), shapes((0, (0, 1)), (-1, ())), weights)
    members, templates, canonical = table.columns()
    assert len(members) == 3
    assert list(members.ids) == ["q\t1", "ü\x01", ""]
    assert members.codes.tolist() == [0, -1, 1]
    assert templates.tolist() == [0, 0, 1]
    assert canonical.tolist() == [0, 1, -1]
    assert list(members.constants(np.array([1, 0]), 1)) == ["2", "1.14"]
    assert members.fields(1) == ("ü\x01", "it's €", "2")
    assert [members.weight(row) for row in range(3)] == [1.0, 2.5, 1.0]
    assert list(members.take(np.array([2, 1])).ids) == ["", "ü\x01"]
    assert members.take(np.array([2, 0])).fields(1) == ("q\t1", "x", "1.14")


def test_canonical_queries_are_counted(tokens: str) -> None:
    table = MemberTable()
    # The second template has the same form, with its parameters the other way round.
    forms = shapes((0, (0, 1)), (0, (1, 0)), (1, (0,)))
    some = records(
        (0, "a", ("x", "y")), (1, "b", ("y", "x")), (0, "c", ("y", "x")), (2, "d", ("x",))
    )
    table.extend(some, some.wordings, forms)
    assert [table.row(row).canonical for row in range(4)] == [0, 0, 1, 2]
    assert table.row(1) == MemberRow(1, 1, 0, 2)
    assert table.remove(0) == 1
    assert table.find("a") == -1
    again = records((0, "a", ("y", "x")))
    table.extend(again, again.wordings, forms)
    assert table.row(table.find("a")).canonical == 1
    assert table.remove(table.find("b")) == 0
    assert (table.present, table.canonical_queries) == (3, 3)
    members, _, canonical = table.columns()
    assert list(members.ids) == ["c", "d", "a"]
    assert canonical.tolist() == [1, 2, 1]


@given(randoms)
def test_members_come_and_go(rng: Random) -> None:
    check_changes(rng)


def test_members_come_and_go_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACT_SUBSCRIPTIONS", "off")
    for seed in range(20):
        check_changes(Random(seed))


def check_changes(rng: Random) -> None:
    """A table after random changes is what a dictionary says that it is."""
    forms = shapes((0, (0,)), (0, (1,)), (1, ()), (-1, (0,)))
    parameters = (1, 2, 1, 1)
    table = MemberTable()
    expected: dict[str, tuple[int, tuple[str, ...]]] = {}
    for _ in range(rng.randrange(1, 30)):
        rows = []
        for name in {f"q{rng.randrange(40)}" for _ in range(rng.randrange(8))}:
            if name in expected:
                continue
            template = rng.randrange(4)
            constants = tuple(rng.choice("abc") * rng.choice([0, 1, 200]) for _ in range(2))
            rows.append((template, name, constants[: parameters[template]]))
            expected[name] = (template, rows[-1][2])
        some = records(*rows)
        table.extend(some, some.wordings, forms)
        for name in rng.sample(sorted(expected), rng.randrange(len(expected) + 1) // 2):
            template, constants = expected.pop(name)
            same = [
                one
                for one in expected.values()
                if query(forms, one) == query(forms, (template, constants))
            ]
            left = table.remove(table.find(name))
            assert left == (len(same) if forms.forms[template] >= 0 else 0)
    members, templates, canonical = table.columns()
    assert {name: members.fields(row)[1:] for row, name in enumerate(members.ids)} == {
        name: constants for name, (_, constants) in expected.items()
    }
    numbers: dict[object, int] = {}
    for row, name in enumerate(members.ids):
        assert table.fields(table.find(name)) == members.fields(row)
        template, _ = expected[name]
        assert templates[row] == template
        key = query(forms, expected[name])
        assert (canonical[row] < 0) == (forms.forms[template] < 0)
        assert key is None or numbers.setdefault(key, int(canonical[row])) == canonical[row]
    assert len(set(numbers.values())) == len(numbers)


def query(forms: FormColumns, member: tuple[int, tuple[str, ...]]) -> object:
    template, constants = member
    chosen = [constants[n] for n in forms.arguments_of(template)]
    return (forms.forms[template], *chosen) if forms.forms[template] >= 0 else None


def test_wordings_lead_to_templates() -> None:
    codes = np.array([3, -1, -2, 0], np.int32)
    assert templates_of(codes, [7, 5]).tolist() == [3, 7, 5, 0]
    assert templates_of(codes[:1], []).tolist() == [3]


# -- Templates of one query after the other


def test_a_rejected_query_is_not_added() -> None:
    templates = Templates()
    for xpath in (
        "a[",
        "a[b = '\x01']",
        "a[b = '\ufffe']",
        "a[b = '\ud800']",
        "a[$x = 1]",
        "foo(1)",
    ):
        with pytest.raises(QuerySyntaxError):
            templates.add(xpath)
    assert len(templates) == 0


@pytest.mark.parametrize("bad", ["\x01", "\ufffe", "\ud800", "\x1f"])
def test_constants_are_checked_in_every_member(tokens: str, bad: str) -> None:
    templates = Templates()
    templates.add("a[b = 'good']")
    xpath = f"a[b = 'x{bad}']"
    with pytest.raises(QuerySyntaxError, match="cannot occur in XML") as caught:
        templates.add(xpath)
    with pytest.raises(QuerySyntaxError) as expected:
        parse(xpath)
    assert caught.value.args == expected.value.args
    added = templates.add_all([xpath, "a[b = 'x']"])
    assert added.templates.tolist() == [-1, 0]
    assert added.errors[0].args == expected.value.args


def test_large_constants(tokens: str) -> None:
    templates = Templates()
    values = ["x" * size for size in (0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152)]
    assert [templates.add(f"a[b = '{value}']").constants for value in values] == [
        (value,) for value in values
    ]


def test_everything_collides_in_every_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without secrets, short texts and all canonical queries have one hash.
    monkeypatch.setattr("os.urandom", bytes)
    names = [f"{n:x}" for n in range(600)]
    rows = [(n % 3, name, (str(n % 7), str(n % 50))) for n, name in enumerate(names)]
    forms = shapes((0, (0, 1)), (0, (1, 0)), (1, (1,)))
    table = MemberTable()
    monkeypatch.setenv("EXTRACT_SUBSCRIPTIONS", "off")
    plain = MemberTable()
    for start in range(0, 600, 150):
        part = rows[start : start + 150]
        codes = np.array([code for code, _, _ in part], np.int32)
        for one in (table, plain):
            one.extend(records(*part), codes, forms)
    assert [table.row(n) for n in range(600)] == [plain.row(n) for n in range(600)]
    assert table.canonical_queries == plain.canonical_queries
    assert [table.find(name) for name in names] == list(range(600))
    assert table.find("xyz") == -1
    assert table.twice() is None
    for row in range(0, 600, 2):
        assert table.remove(row) == plain.remove(row)
    assert table.columns().members == plain.columns().members


def test_ids_that_collide_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tokens: str
) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    names = [f"{n:x}" for n in range(500)]
    file = tmp_path / "queries.tsv"
    file.write_text("".join(f"{name}\t/a[b = '{name}']\n" for name in names))
    assert [one.id for one in Subscriptions.load(file)] == names
    file.write_text(file.read_text() + "1f\t/a\n")
    with pytest.raises(SubscriptionsError, match="1f"):
        Subscriptions.load(file)


def test_very_many_templates(tokens: str) -> None:
    templates = Templates()
    texts = [f"/a{i}[b = {i}]" for i in range(2_000)]
    added = templates.add_all(texts * 2)
    assert added.templates.tolist() == [*range(2_000), *range(2_000)]


def test_a_constant_cannot_end_its_literal_early() -> None:
    member, templates = Member(0, ()), Templates()
    for value in ('] | //* | a["', "' or '1'='1"):
        quote = "'" if '"' in value else '"'
        member = templates.add(f"a[b = {quote}{value}{quote}]")
        assert member == Member(0, (value,))
        assert parse(templates[0].query(member.constants)) == parse(f"a[b = {quote}{value}{quote}]")


def test_constants_must_be_as_many_as_parameters() -> None:
    with pytest.raises(ValueError, match="1 constants for 0 parameters"):
        Template("a").query(["x"])


def test_columns_hold_any_text() -> None:
    texts: Sequence[str] = ["", "a", "é€𝄞", "\ud800", "\0"]
    column = TextColumn.of(texts)
    assert list(column) == texts
    assert [column.text(i) for i in range(len(column))] == texts


@given(st.lists(st.text(), max_size=5), st.lists(st.text(), max_size=5))
def test_columns_of_any_texts(one: list[str], other: list[str]) -> None:
    assert list(TextColumn.of(one + other)) == one + other
