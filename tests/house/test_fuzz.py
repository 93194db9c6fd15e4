"""The targets of `make fuzz` work, and a little of the fuzzing in every test run."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.fuzz.compare import difference
from tests.support.fuzz.guided import once
from tests.support.fuzz.native import target as native
from tests.support.fuzz.targets import TARGETS, seeds


@pytest.mark.parametrize("target", TARGETS)
def test_targets(target: str) -> None:
    for data in seeds(target):
        TARGETS[target](data)
    for seed in range(150):
        once(target, seed)


def test_the_corpus_of_libfuzzer() -> None:
    kept = native.kept()
    assert len(kept) > 400
    for number, data in enumerate(kept):
        assert not difference(data, itertools.repeat(1 + number % 16)), data


@pytest.mark.slow  # it compiles
def test_the_native_target_finds_a_kernel_that_differs(tmp_path: Path) -> None:
    corpus, program, kernel = tmp_path / "corpus", tmp_path / "program", tmp_path / "kernel"
    corpus.mkdir()
    native.write_seeds(corpus)
    shutil.copytree(native.KERNEL, kernel, ignore=shutil.ignore_patterns("*.so"))

    def run() -> subprocess.CompletedProcess[str]:
        try:
            native.build(program, kernel)
        except native.Unavailable as error:
            pytest.skip(str(error))
        command = [str(program), "-runs=0", str(corpus)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    done = run()
    assert done.returncode == 0, done.stderr[-5_000:]
    text = (kernel / "text.c").read_text()
    assert text.count("q[2] != '>'") == 1
    (kernel / "text.c").write_text(text.replace("q[2] != '>'", "q[2] == '!'"))
    done = run()
    assert done.returncode
    assert "libxml2 thinks otherwise" in done.stderr
