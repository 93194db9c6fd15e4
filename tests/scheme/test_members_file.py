"""Many members are in a file of their own: the same scheme, whole or not there, and checked."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from extract import SchemeError, Subscription, Subscriptions, count
from extract.cli import cli
from extract.preptool.prepare import prepare
from extract.preptool.revise import Reviser
from extract.scheme import Scheme
from extract.scheme.members_file import read_members
from tests.support.paths import ROOT
from tests.support.scheme_facts import facts
from tests.support.schemes import UNIVERSITY, random_scheme

QUERIES = [
    Subscription("plain", "/db/student"),
    Subscription("é\t'\"\\\n", "/db/student[name = 'Ann']", metadata={"owner": "é", "n": [1]}),
    Subscription("2", '//student[name="it\'s"]', weight=2.5),
    Subscription("3", "/db/student[ name='' ]"),
    Subscription("4", "//professor[name = 'x'][name = 'y']"),
    Subscription("5", "//professor[name = 'y' and name = 'x']"),
    Subscription("dead", "/db/zzz[a = 1]"),
    Subscription("bad", "//a["),
    Subscription("later", "//name[matches(., 'x')]", version="2.0"),
    Subscription("long", f"//name[. = '{'x' * 100_000}']"),
]


@pytest.fixture(autouse=True)
def few_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even few members are too many for the scheme itself."""
    monkeypatch.setattr("extract.scheme.writer.INLINE", 3)


@pytest.fixture(params=["on", "off"])
def native(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test with the parts in C and without."""
    wanted: str = request.param
    monkeypatch.setenv("EXTRACT_SUBSCRIPTIONS", wanted)
    return wanted


def members_of(path: Path) -> Path:
    (file,) = path.parent.glob(f"{path.name}.members-*.parquet")
    return file


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "scheme.json"
    prepare(UNIVERSITY, Subscriptions.of(QUERIES), 2).save(path)
    return path


def test_a_scheme_with_many_members_is_the_same(native: str, tmp_path: Path) -> None:
    scheme = prepare(UNIVERSITY, Subscriptions.of(QUERIES), 2)
    path = tmp_path / "scheme.json"
    scheme.save(path)
    assert len(list(tmp_path.iterdir())) == 2
    loaded = Scheme.load(path)
    assert loaded == scheme
    assert facts(loaded) == facts(scheme)
    raw = json.loads(path.read_bytes())
    schema = json.loads((ROOT / "extract" / "scheme" / "scheme.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema).validate(raw)
    assert raw["queries"]["rows"] == len(scheme.members)
    before = [(one.name, one.read_bytes()) for one in sorted(tmp_path.iterdir())]
    loaded.save(path)
    assert [(one.name, one.read_bytes()) for one in sorted(tmp_path.iterdir())] == before


@pytest.mark.parametrize("seed", range(10))
def test_random_schemes_with_many_members(seed: int, tmp_path: Path) -> None:
    scheme = random_scheme(Random(seed))
    scheme.save(tmp_path / "scheme.json")
    assert Scheme.load(tmp_path / "scheme.json") == scheme


def test_the_file_has_a_row_for_each_member(saved: Path) -> None:
    rows = {row["id"]: row for row in pq.read_table(members_of(saved)).to_pylist()}
    assert len(rows) == 8
    assert rows["2"]["constants"] == ["it's"]
    assert rows["2"]["weight"] == 2.5
    assert rows["é\t'\"\\\n"]["wording"] is None
    assert json.loads(rows["é\t'\"\\\n"]["metadata"]) == {"n": [1], "owner": "é"}
    assert rows["3"]["constants"] == [""]


def test_revised_schemes_leave_one_file(saved: Path) -> None:
    first = members_of(saved).name
    reviser = Reviser(Scheme.load(saved))
    reviser.add(Subscription("new", "//student[name = 'new']"))
    reviser.scheme().save(saved)
    assert members_of(saved).name != first
    for one in [*reviser]:
        if one not in ("new", "plain"):
            reviser.remove(one)
    reviser.scheme().save(saved)
    assert [one.name for one in saved.parent.iterdir()] == ["scheme.json"]  # few members again
    assert [one.id for one in Scheme.load(saved).subscribers] == ["plain", "new"]


def test_other_schemes_in_the_folder_keep_their_members(saved: Path) -> None:
    other = saved.with_name("scheme.json.bak")
    Scheme.load(saved).save(other)
    strange = saved.with_name("[s]cheme.json")
    Scheme.load(saved).save(strange)
    reviser = Reviser(Scheme.load(saved))
    reviser.remove("plain")
    reviser.scheme().save(saved)
    reviser.scheme().save(strange)
    assert Scheme.load(other).counts()["registered"] == 10
    assert Scheme.load(saved) == Scheme.load(strange)


def test_members_go_where_a_link_leads(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    link = folder / "current.json"
    link.symlink_to(saved)
    scheme = Scheme.load(link)
    scheme.save(link)
    assert link.is_symlink()
    assert [one.name for one in folder.iterdir()] == ["current.json"]
    assert Scheme.load(saved) == scheme


# -- Whole, or not there


def test_the_old_scheme_stays_whole_until_the_new_one_is(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Scheme.load(saved)
    reviser = Reviser(before)
    reviser.add(Subscription("new", "//student[name = 'new']"))
    after = reviser.scheme()

    def broken(*_: object) -> Any:
        yield "{"
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("extract.scheme.writer.scheme_lines", broken)
        with pytest.raises(OSError, match="No space"):
            after.save(saved)
    assert Scheme.load(saved) == before
    after.save(saved)
    assert Scheme.load(saved) == after
    members_of(saved)  # the members of the failed attempt are those of this one


def test_a_process_that_is_killed_while_it_saves(saved: Path) -> None:
    before = Scheme.load(saved)
    for victim in (
        "extract.scheme.writer.scheme_lines",
        "extract.scheme.members_file.pq.write_table",
    ):
        module, _, name = victim.rpartition(".")
        code = (
            "import os, signal, sys\n"
            "import extract.scheme.writer, extract.scheme.members_file\n"
            "import pyarrow.parquet as pq\n"
            "from extract import Scheme, Subscription\n"
            "from extract.preptool.revise import Reviser\n"
            "extract.scheme.writer.INLINE = 3\n"
            "reviser = Reviser(Scheme.load(sys.argv[1]))\n"
            "reviser.add(Subscription('new', \"//student[name = 'new']\"))\n"
            "after = reviser.scheme()\n"
            "def killed(*_, **__): os.kill(os.getpid(), signal.SIGKILL)\n"
            f"{module if 'pq' not in module else 'pq'}.{name} = killed\n"
            "after.save(sys.argv[1])\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(saved)], cwd=ROOT, check=False)
        assert done.returncode == -9
        assert Scheme.load(saved) == before
    reviser = Reviser(before)
    reviser.add(Subscription("new", "//student[name = 'new']"))
    reviser.scheme().save(saved)
    assert Scheme.load(saved) == reviser.scheme()
    members_of(saved)  # the only file of members


def test_large_constants_and_ids_of_any_character(tmp_path: Path, native: str) -> None:
    ids = ["\n", "\u2028", "é" * 1_000, "\U0001f600", " ", "a,b;c|d", "$string1", "\x01", "\x00"]
    large = "x" * 1_000_000
    queries = [Subscription(name, f"//student[name = '{name}']") for name in ids[:7]]
    queries += [Subscription(name, "//student/name") for name in ids[7:]]
    queries += [Subscription(str(n), f"//student[name = '{large}{n}']") for n in range(3)]
    queries.append(Subscription("too large", f"//student[name = '{'x' * 10_000_001}']"))
    path = tmp_path / "scheme.json"
    scheme = prepare(UNIVERSITY, Subscriptions.of(queries), 2)
    assert [(one.id, one.reason) for one in scheme.rejected] == [
        ("too large", "literals of more than 10,000,000 characters (--max-constant-chars)")
    ]
    scheme.save(path)
    assert Scheme.load(path) == scheme
    for text, expected in (
        (f"{large}1", "1"),
        ("$string1", "$string1"),
        ("é" * 1_000, "é" * 1_000),
    ):
        document = f"<db><student><name>{text}</name></student></db>".encode()
        found = {query for _, query, _ in count(Scheme.load(path), document)}
        assert found == {expected, "\x01", "\x00"}


def test_a_scheme_that_is_replaced_while_it_is_read(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviser = Reviser(Scheme.load(saved))
    reviser.add(Subscription("new", "//student[name = 'new']"))
    after = reviser.scheme()
    times: list[int] = []

    def late(*args: Any) -> Any:
        times.append(1)
        if len(times) == 1:
            after.save(saved)  # by somebody else, and the old members are gone
        return read_members(*args)

    monkeypatch.setattr("extract.scheme.reader.read_members", late)
    assert Scheme.load(saved) == after
    assert len(times) == 2


# -- Damage


def test_missing_members(saved: Path) -> None:
    members_of(saved).unlink()
    with pytest.raises(SchemeError, match=r"cannot read the members of scheme\.json") as caught:
        Scheme.load(saved)
    assert "keep both files together" in caught.value.hint
    assert ".members-" in str(caught.value)
    result = CliRunner().invoke(cli, ["explain", "--scheme", str(saved)])
    assert result.exit_code == 2


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"x" * 1000])
def test_damaged_members(saved: Path, damage: bytes) -> None:
    members_of(saved).write_bytes(damage)
    with pytest.raises(SchemeError, match="its digest differs") as caught:
        Scheme.load(saved)
    assert caught.value.hint


def test_members_with_one_bit_changed(saved: Path) -> None:
    path = members_of(saved)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(SchemeError, match="its digest differs"):
        Scheme.load(saved)


def change(saved: Path, edit: Callable[[Any], Any]) -> None:
    """Changes the table of members, with a digest that is right again."""
    path = members_of(saved)
    pq.write_table(edit(pq.read_table(path)), path)
    raw = json.loads(saved.read_bytes())
    raw["queries"]["digest"] = hashlib.sha256(path.read_bytes()).hexdigest()
    saved.write_text(json.dumps(raw), encoding="utf-8")


def column(name: str, *values: Any) -> Callable[[Any], Any]:
    """Sets the first values of a column."""

    def edit(table: Any) -> Any:
        old = table[name].to_pylist()
        cells = pa.array([*values, *old[len(values) :]], table[name].type)
        return table.set_column(table.column_names.index(name), name, cells)

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda table: table.drop_columns(["constants"]), "there is no column 'constants'"),
        (lambda table: table.slice(1), "it has 7 rows, not 8"),
        (column("template", 99), "a row has a template that is not there"),
        (column("template", -1), "a row has a template that is not there"),
        (column("template", None), "a row has a template that is not there"),
        (column("wording", 99), "a row has a wording that is not there"),
        (column("wording", 0), "a row has the wording of another template"),
        (column("constants", ["x"]), "a row has not as many constants as its template"),
        (column("constants", [], None), "a row has not as many constants as its template"),
        (column("weight", 0.0), "a weight is not a number above zero"),
        (column("id", "2"), "two queries have the id '2'"),
    ],
)
def test_members_that_do_not_belong_to_the_scheme(
    saved: Path, edit: Callable[[Any], Any], message: str
) -> None:
    change(saved, edit)
    with pytest.raises(SchemeError) as caught:
        Scheme.load(saved)
    assert message in caught.value.reason
    assert caught.value.hint


def test_a_file_that_is_not_beside_the_scheme(saved: Path) -> None:
    raw = json.loads(saved.read_bytes())
    raw["queries"]["file"] = f"../{saved.parent.name}/{raw['queries']['file']}"
    saved.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(SchemeError, match="is no file beside the scheme"):
        Scheme.load(saved)


def test_a_pipe_has_all_members(saved: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["subs", "--scheme", str(saved), "add", "-o", "-", "new", "//student[name = 'new']"]
    )
    path = tmp_path / "piped.json"
    path.write_text(done.stdout, encoding="utf-8")
    assert Scheme.load(path).counts()["registered"] == 11
    assert not list(tmp_path.glob("piped.json.*"))
