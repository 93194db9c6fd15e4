"""A disk that is full, for real: results are there as a whole, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from extract.cli import cli
from extract.errors import NO_ROOM
from extract.filtertool.output.jsonl import JsonWriter
from extract.filtertool.output.row_streams import RowStreams
from tests.support.full_disk import disk
from tests.support.spark_documents import university_scheme, write_documents

pytest.importorskip("pyspark", reason="Spark is not installed")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_file_is_closed_where_another_cannot_be(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full, open(tmp_path / "rejected", "w") as rejected:
        writer = JsonWriter(RowStreams(full, rejected), ["q"], "doc")
        full.write("a row")
        with pytest.raises(OSError, match="No space"):
            writer.close()
        assert (full.closed, rejected.closed) == (True, True)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("form", ["parquet", "jsonl", "xml"])
def test_a_full_disk(tmp_path: Path, engine: str, form: str) -> None:
    university_scheme().save(tmp_path / "scheme.json")
    docs = write_documents(tmp_path / "docs")

    def run(out: Path, *documents: Path) -> Result:
        args = ["run", "--scheme", str(tmp_path / "scheme.json"), "-o", str(out)]
        args += ["--engine", engine, "--format", form, "--no-progress", *map(str, documents)]
        return CliRunner().invoke(cli, args)

    assert run(tmp_path / "all", docs).exit_code == 1  # some documents are rejected
    needed = sum(file.stat().st_size for file in (tmp_path / "all").rglob("*") if file.is_file())
    before = None
    for part in (0.05, 0.5, 0.9, 8):  # of what is needed; it is needed more than once
        size = f"{max(4, int(needed * part) >> 12 << 2)}k"
        with disk(tmp_path / "disk", size) as place:
            out = place / "out"
            if part == 0.9:  # results of an earlier run stay
                assert run(out, docs / "0.xml").exit_code == 1, size
                before = (out / "report.json").read_bytes()
            result = run(out, docs)
            if part == 8:
                assert result.exit_code == 1
                facts = json.loads((out / "report.json").read_text(encoding="utf-8"))
                assert facts["documents"]["seen"] == 8
                continue
            assert result.exit_code == 2, (part, result.output)
            message, hint = result.stderr.splitlines()[-2:]
            assert message == f"Error: {out}: No space left on device"
            assert hint == f"Hint: {NO_ROOM}"
            left = sorted(path.name for path in place.iterdir())
            assert left == (["out"] if part == 0.9 else [])
            if part == 0.9:
                assert (out / "report.json").read_bytes() == before
