"""README.md and docs: what they show is what happens, and what they point at is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from extract.cli import cli
from tests.support import xpath_table
from tests.support.handbook import PICTURES, alike, examples, pages, pictures, run_page
from tests.support.paths import ROOT

AGAIN = "; `make docs` brings the page up to date"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_is_printed(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for example, _, printed in run_page(text, tmp_path):
        if example.output is not None:
            where = f"{page.relative_to(ROOT)}:{example.line}"
            assert alike(example.output, printed), f"{where} prints\n{printed}{AGAIN}"
        assert "internal error" not in printed
    for name, drawn in pictures(tmp_path).items():
        assert (PICTURES / name).read_text(encoding="utf-8") == drawn, f"{name}{AGAIN}"


def test_every_picture_is_of_a_page() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in pages())
    for file in PICTURES.iterdir():
        assert f"pictures/{file.name})" in texts or f'pictures/{file.name}"' in texts, file.name


def test_the_table_of_xpath() -> None:
    text = (ROOT / "docs" / "xpath.md").read_text(encoding="utf-8")
    assert xpath_table.renewed(text) == text, AGAIN


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points at {target}"


def test_every_test_file_that_a_page_names_is_there() -> None:
    for page in pages():
        for name in re.findall(r"pytest ([\w/*.]+)", page.read_text(encoding="utf-8")):
            assert list(ROOT.glob(name)), f"{page.name} names {name}"


def test_every_trap_that_is_cited_is_described() -> None:
    text = (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")
    numbers = {int(number) for number in re.findall(r"^### (\d+)\. ", text, re.M)}
    suffixes = (".py", ".pyx", ".c", ".h")
    files = [file for top in ("extract", "tests") for file in (ROOT / top).rglob("*")]
    for file in (file for file in files if file.suffix in suffixes):
        for number in re.findall(r"TRAPS (\d+)", file.read_text(encoding="utf-8")):
            assert int(number) in numbers, f"{file} cites TRAPS {number}"


def test_a_block_without_mark_is_not_run() -> None:
    text = "<!-- run -->\n```sh\necho 1\n```\n\n```text\n1\n```\n\n```sh\nrm -rf x\n```\n"
    (example,) = examples(text)
    assert (example.code, example.output) == ("echo 1\n", "1\n")


def test_times_may_differ_and_nothing_else() -> None:
    assert alike("3 queries in 0.1 s: 2\n", "3 queries in 12.0 s: 2 \n")
    assert not alike("3 queries in 0.1 s: 2\n", "3 queries in 0.1 s: 3\n")


def test_every_figure_of_the_report_is_explained(tmp_path: Path) -> None:
    """Keys of report.json and of the objects in it; `chunks`, `notes` and `scanners` have any."""
    (tmp_path / "q.tsv").write_text("n\t//name\n")
    (tmp_path / "d.xml").write_text("<db><student id='1'><name>x</name></student></db>")
    schema = ["--schema", str(ROOT / "schemas" / "university.dtd"), "--root", "db"]
    files = ["--queries", str(tmp_path / "q.tsv"), str(tmp_path / "d.xml")]
    args = ["run", "--engine", "local", *schema, *files, "-o", str(tmp_path / "out"), "--json"]
    facts = json.loads(CliRunner().invoke(cli, args).stdout)
    keys = [*facts, *facts["documents"], *facts["queries"], *facts["seconds"], *facts["figures"]]
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert [key for key in keys if f"`{key}`" not in text] == []
