"""``extract join``: documents of streams in, joined rows out, in every format."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.support.commands import report, rows, run

QUERY = "a//o->x[k->i] FOLLOWED BY{i=j, 10} b//p->y[k->j]"
TIMES = ("--time", "/*/@t")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams of three documents, whose names are not in the order of their times."""
    monkeypatch.chdir(tmp_path)
    Path("q.tsv").write_text(f"q\t{QUERY}\nnone\tS//z->x JOIN{{x=y, 1}} S//z->y\n")
    for number in (1, 2, 3):
        for folder, tag, time in (("orders", "o", 9 - number), ("packs", "p", 10 - number)):
            Path(folder).mkdir(exist_ok=True)
            text = f"<{tag} t='{time}'><k>{number}</k></{tag}>"
            Path(folder, f"{number}.xml").write_text(text)


def join(*args: str, documents: tuple[str, ...] = ("a=orders", "b=packs")) -> Any:
    return run("join", "--queries", "q.tsv", *documents, *args)


def joined(directory: str = "out") -> list[tuple[str, str, int, int, int, int]]:
    found = []
    for row in rows(directory, "joined"):
        found.append((row["left"], row["right"], *[row[name] for name in (
            "left_seq", "right_seq", "left_time", "right_time")]))  # fmt: skip
    return found


EXPECTED = [
    ("orders/3.xml", "packs/3.xml", 0, 2, 6_000_000, 7_000_000),
    ("orders/2.xml", "packs/2.xml", 1, 4, 7_000_000, 8_000_000),
    ("orders/1.xml", "packs/1.xml", 3, 5, 8_000_000, 9_000_000),
]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_rows_by_the_time_in_documents(form: str) -> None:
    done = join(*TIMES, "-o", "out", "--format", form)
    assert done.exit_code == 0, done.output
    assert joined() == EXPECTED
    [first, *_] = rows("out", "joined")
    bindings = dict(first["bindings"])
    assert bindings == {"x": "/o[1]", "i": "/o[1]/k[1]", "y": "/p[1]", "j": "/p[1]/k[1]"}
    assert first["output"] == '<join><o t="6"><k>3</k></o><p t="7"><k>3</k></p></join>'
    facts = report()
    assert facts["documents"] == {"seen": 6, "processed": 6, "rejected": 0, "late": 0}
    assert (facts["rows"], facts["queries"]["registered"], facts["engine"]) == (3, 2, "local")
    assert rows("out", "rejected") == []


def test_csv_tsv_and_standard_output() -> None:
    assert join(*TIMES, "-o", "out", "--format", "csv").exit_code == 0
    with open("out/joined/part-00000.csv", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["left"] for line in lines] == [row[0] for row in EXPECTED]
    assert json.loads(lines[0]["bindings"])["i"] == "/o[1]/k[1]"
    done = join(*TIMES, "-o", "-", "--format", "tsv")
    assert done.exit_code == 0
    head, *rest = done.stdout.splitlines()
    assert head.split("\t")[:3] == ["query", "left", "right"]
    assert len(rest) == 3
    assert join("-o", "-", "--format", "xml").exit_code == 2


def test_one_xml_document_for_each_query() -> None:
    assert join(*TIMES, "-o", "out", "--format", "xml").exit_code == 0
    tree = etree.parse("out/joined/q.xml")
    assert tree.xpath("//row/@left") == [row[0] for row in EXPECTED]
    assert tree.xpath("string(//row[1]/binding[@variable = 'j']/@path)") == "/p[1]/k[1]"
    assert tree.xpath("count(//row/output/join/o)") == 3
    assert etree.parse("out/joined/none.xml").xpath("count(//row)") == 0


def test_file_times_and_arrival() -> None:
    for number in (1, 2, 3):
        os.utime(f"orders/{number}.xml", ns=(0, number * 1_000_000_000))
        os.utime(f"packs/{number}.xml", ns=(0, number * 1_000_000_000 + 1_000))
    assert join("--time", "mtime", "-o", "out").exit_code == 0
    assert [row[2:] for row in joined()] == [
        (2 * n, 2 * n + 1, (n + 1) * 1_000_000, (n + 1) * 1_000_000 + 1) for n in range(3)
    ]
    assert join("-o", "out").exit_code == 0
    assert [row[2:4] for row in joined()] == [(0, 3), (1, 4), (2, 5)]
    assert join("-o", "out", documents=("b=packs", "a=orders")).exit_code == 0
    assert joined() == []


def test_what_is_rejected_and_the_exit_status() -> None:
    Path("packs/broken.xml").write_text("<p t='8'>\n<k>")
    Path("packs/timeless.xml").write_text("<p><k>1</k></p>")
    Path("packs/soon.xml").write_text("<p t='soon'><k>1</k></p>")
    Path("q.tsv").write_text(f"q\t{QUERY}\nbad\ta//o->x\n")
    done = join(*TIMES, "-o", "out", "--format", "jsonl")
    assert done.exit_code == 1
    assert len(joined()) == 3
    stages = {(row["document"], row["query"]): row["stage"] for row in rows("out", "rejected")}
    assert stages == {
        (None, "bad"): "prepare",
        ("packs/broken.xml", None): "read",
        ("packs/soon.xml", None): "time",
        ("packs/timeless.xml", None): "time",
    }
    assert "there is no join operator" in done.output
    assert "packs/soon.xml: at /*/@t: 'soon' is neither" in done.output
    assert report()["documents"] == {"seen": 9, "processed": 6, "rejected": 3, "late": 0}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--time", "//["), "expected"),
        (("--lateness", "long"), "'long' is no number of seconds"),
        (("--max-state", "much"), "'much' is no number of bytes"),
    ],
)
def test_bad_usage_does_nothing(args: tuple[str, ...], message: str) -> None:
    done = join(*args, "-o", "out")
    assert done.exit_code == 2
    assert message in done.output
    assert not Path("out").exists()


def test_a_file_without_a_usable_query_does_nothing() -> None:
    Path("q.tsv").write_text("bad\ta//o->x\n")
    done = join("-o", "out")
    assert done.exit_code == 2
    assert "no query can be evaluated" in done.output
    Path("q.tsv").write_text("# nothing\n")
    assert join("-o", "out").exit_code == 2


def test_a_full_state_stops_the_run_and_leaves_no_results() -> None:
    done = join(*TIMES, "--max-state", "6KB", "-o", "out")
    assert done.exit_code == 2
    assert "--max-state" in done.output
    assert not Path("out").exists()
    done = join(*TIMES, "--max-state", "6KB", "--when-full", "drop", "-o", "out")
    assert done.exit_code == 1
    assert report()["rejections"]["state"] > 0
    assert report()["state"]["most_bytes"] <= 6_000


def test_a_run_goes_on_from_the_state_of_the_one_before() -> None:
    assert join(*TIMES, "--state", "kept", "-o", "out", documents=("a=orders",)).exit_code == 0
    assert joined() == []
    again = ("--state", "kept", "-o", "out2")
    assert join(*TIMES, *again, documents=("b=packs",)).exit_code == 0
    assert sorted(row[:2] for row in joined("out2")) == sorted(row[:2] for row in EXPECTED)
    Path("q.tsv").write_text(f"new\t{QUERY}\n")  # sees documents from now on only
    for number in (1, 2, 3):
        Path("packs", f"{number}.xml").write_text(f"<p t='9'><k>{number}</k></p>")
    assert join(*TIMES, *again, documents=("b=packs",)).exit_code == 0
    assert joined("out2") == []


def test_several_processes_write_the_same_and_go_on_from_a_state() -> None:
    kept = ("--state", "kept", "-o", "out")
    assert join(*TIMES, "--jobs", "2", *kept, documents=("a=orders",)).exit_code == 0
    assert joined() == []
    assert report()["state"]["documents"] == 3
    Path("packs/broken.xml").write_text("<p t='8'>\n<k>")
    done = join(*TIMES, "--jobs", "2", "--state", "kept", "-o", "out2", documents=("b=packs",))
    assert done.exit_code == 1
    assert sorted(row[:2] for row in joined("out2")) == sorted(row[:2] for row in EXPECTED)
    both = [join(*TIMES, "--jobs", n, "-o", "-", "--format", "jsonl").stdout for n in "13"]
    assert both[0] == both[1] != ""
    done = join(*TIMES, "--jobs", "2", "--max-state", "1KB", "-o", "out")
    assert done.exit_code == 2
    assert "one of 2 equal parts of --max-state" in done.output
    assert join(*TIMES, "--jobs", "2", "--max-state", "1MB", "-o", "out").exit_code == 1
    assert len(joined()) == len(EXPECTED)
    assert join("--jobs", "2", "--engine", "spark", "-o", "out").exit_code == 2


def test_schemas_do_not_change_rows() -> None:
    Path("o.dtd").write_text("<!ELEMENT o (k*)><!ATTLIST o t CDATA #IMPLIED><!ELEMENT k (#PCDATA)>")
    queries = [
        f"q{n}\ta//o[k = {n}]->x[k->i] FOLLOWED BY{{i=j, 10}} b//p->y[k->j]" for n in range(40)
    ]
    Path("q.tsv").write_text("\n".join(queries))
    assert join(*TIMES, "-o", "out").exit_code == 0
    assert join(*TIMES, "--schema", "a=o.dtd", "-o", "out2").exit_code == 0
    assert join(*TIMES, "--schema", "o.dtd", "-o", "out3").exit_code == 0
    assert len(joined()) == 3
    assert joined("out") == joined("out2") == joined("out3")


def test_the_report_as_json() -> None:
    done = join(*TIMES, "-o", "out", "--json")
    assert json.loads(done.stdout)["rows"] == 3


def test_a_stream_that_no_query_reads_is_told() -> None:
    Path("q.tsv").write_text("q\ta//o->x[k->i] FOLLOWED BY{i=j, 10} b//p->y[k->j]")
    done = join(*TIMES, "-o", "out", documents=("a=orders", "packs=packs"))
    assert done.exit_code == 0
    assert "no query reads the stream 'packs'; queries read a, b" in done.output
    assert "queries read the stream 'b', of which there are no documents" in done.output
    told = join(*TIMES, "-o", "out", "--state", "s", documents=("a=orders",)).output
    assert "no documents" not in told  # a later run may have them
    told = join(*TIMES, "-o", "out").output
    assert "no query reads" not in told
    assert "no documents" not in told
