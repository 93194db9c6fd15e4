"""Subscriptions in CSV and Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from extract.errors import SubscriptionsError
from extract.limits import DEFAULTS, Limits
from extract.subscriptions import Subscription, Subscriptions
from extract.subscriptions.table_files import is_table_file, read_table_file


def read(path: Path, limits: Limits = DEFAULTS) -> Subscriptions:
    return read_table_file(path, {"q": "urn:q"}, limits, "1.0")


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        "id,xpath,weight,namespaces,version,metadata,owner\n"
        '007," //a[b = ""x,y""] ",,,,,\n'
        'two,//p:a,2.5,"{""p"": ""urn:p""}",,"{""n"": [1]}",sales\n'
        '"3\n",//c,,,3.1,,""\n',
        encoding="utf-8",
    )
    first, second, third = read(file)
    assert (first.id, first.xpath, first.line) == ("007", '//a[b = "x,y"]', 2)
    assert (first.namespaces, first.weight, first.metadata) == ({"q": "urn:q"}, 1.0, {})
    assert second.namespaces == {"q": "urn:q", "p": "urn:p"}
    assert (second.weight, second.metadata) == (2.5, {"n": [1], "owner": "sales"})
    assert (third.id, third.version, third.metadata) == ("3\n", "3.1", {"owner": ""})


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    columns = {"id": [1, 2], "xpath": ["//a", "//b"], "floor": [3, None], "weight": [1, 2]}
    pq.write_table(pa.table(columns), file)
    rows = list(read(file))
    assert [(one.id, one.xpath, one.weight, one.metadata) for one in rows] == [
        ("1", "//a", 1.0, {"floor": 3}),
        ("2", "//b", 2.0, {}),
    ]
    assert isinstance(rows[0], Subscription)


def test_no_rows(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,xpath\n")
    assert len(read(file)) == 0


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("id,query\na,b\n", "no column 'xpath'", 1),
        ("id,xpath\na,//a\n,//b\n", "no id in this row", 3),
        ("id,xpath\na,\n", "no query in this row", 2),
        ("id,xpath\na,//a\nb,//b\na,//c\n", "'a' is already taken by row 2", 4),
        ("id,xpath,weight\na,//a,-1\n", "not a positive number", 2),
        ("id,xpath,weight\na,//a,x\n", "has no numbers", 0),
        ("id,xpath,namespaces\na,//a,p=u\n", "namespaces are no JSON object", 2),
        ('id,xpath,namespaces\na,//a,"{""p"": 1}"\n', "do not map prefixes", 2),
        ("id,xpath,metadata\na,//a,[1]\n", "metadata are no JSON object", 2),
        ("id,xpath\na,//a,too many\n", "cannot read the table", 0),
        ("", "cannot read the table", 0),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, text: str, reason: str, line: int
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(SubscriptionsError, match=reason) as caught:
        read(file)
    assert caught.value.line == line
    assert caught.value.file == str(file)


def test_limits_hold(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,xpath\na,//a\nb,//b\n")
    for limits in (Limits(subscriptions=1), Limits(queries_bytes=5)):
        with pytest.raises(SubscriptionsError):
            read(file, limits)
    with pytest.raises(SubscriptionsError, match="cannot read the query file"):
        read(tmp_path / "none.csv")


def test_which_files_are_tables() -> None:
    assert is_table_file("a.CSV")
    assert is_table_file(Path("a.parquet"))
    assert not is_table_file("a.tsv")
