"""The worked example in scenarios/saxon: it runs, results are equal, and a missing need shows."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("saxonche", reason="SaxonC is not installed: pip install 'extract[saxon]'")


@pytest.fixture(scope="module")
def example(repo_root: Path) -> ModuleType:
    path = repo_root / "scenarios" / "saxon" / "run.py"
    spec = importlib.util.spec_from_file_location("saxon_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SMALL = ["--documents", "3", "--size", "40000"]


def test_results_are_equal(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main(SMALL) == 0
    assert "All 30 results are equal." in capsys.readouterr().out


def test_every_need_is_needed(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    for need in ("amounts", "buyers", "hours"):
        assert example.main([*SMALL, "--forget", need]) == 1
        assert "DIFFERENT results: " in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no need 'x'"):
        example.main([*SMALL, "--forget", "x"])


def test_rules_have_results(example: ModuleType) -> None:
    orders = example.scenario("orders")
    names = {**orders.generator.NAMESPACES, "xs": "http://www.w3.org/2001/XMLSchema"}
    results = example.Rules(example.hardened(), names).results(orders.documents(1, 200_000)[0])
    assert len(results) == 10
    assert all(results.values())
    assert results["statuses"].startswith("open=")
    assert "<buyer name=" in results["report.xsl"]


def test_the_readme_shows_what_comes_out(
    example: ModuleType, repo_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line; only figures may differ."""
    readme = (repo_root / "scenarios" / "saxon" / "README.md").read_text(encoding="utf-8")
    _, shown, _, forgotten = re.findall(r"```(?:sh)?\n(.*?)```", readme, re.DOTALL)
    example.main(["--documents", "3", "--size", "40000"])
    said = capsys.readouterr().out
    assert [re.sub(r"[\d.]+", "0", line).split() for line in said.splitlines()] == [
        re.sub(r"[\d.]+", "0", line).split() for line in shown.splitlines()
    ]
    example.main(["--documents", "2", "--forget", "hours"])
    assert forgotten.strip() in capsys.readouterr().out


def test_saxon_opens_nothing(example: ModuleType, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret", encoding="utf-8")
    saxon = example.hardened()
    xpath = saxon.new_xpath_processor()
    for function in ("unparsed-text", "doc", "json-doc", "unparsed-text-lines", "collection"):
        with pytest.raises(Exception, match=r"prohibited|disallowed"):
            xpath.evaluate(f"{function}('{secret.as_uri()}')")
    entity = f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]><a>&e;</a>'
    with pytest.raises(Exception, match="DOCTYPE"):
        saxon.parse_xml(xml_text=entity)
