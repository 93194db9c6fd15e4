"""``import extract.spark``: the public names, without pyspark until one of them is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import extract.spark
from extract.filtertool import spark


def test_the_public_names_are_there() -> None:
    assert dir(extract.spark) == sorted(spark.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(extract.spark, "nothing")  # noqa: B009


@pytest.mark.parametrize(
    "code", ["import extract.spark", "import extract; extract.spark", "from extract import spark"]
)
def test_it_is_imported_without_pyspark(code: str) -> None:
    check = "import sys; assert 'pyspark' not in sys.modules; assert 'extract.spark' in sys.modules"
    subprocess.run([sys.executable, "-c", f"{code}; {check}"], check=True)


def test_names_are_those_of_the_package() -> None:
    pytest.importorskip("pyspark", reason="Spark is not installed")
    from extract.spark import results, run, stream

    assert (run, results, stream) == (spark.run, spark.results, spark.stream)
