"""Workers keep the memory that they have used."""

from __future__ import annotations

import subprocess
import sys

import pytest

BATCHES = """
import resource
import sys
from extract.filtertool.processes.memory import keep_memory
if sys.argv[1:]:
    keep_memory()
for number in range(20):
    if number == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    columns = [bytearray(b"x") * 2_000_000 for _ in range(5)]
    del columns
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments: str) -> int:
    """How many pages the system has given for ten batches, after ten others."""
    command = [sys.executable, "-c", BATCHES, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc can be told")
def test_memory_of_one_batch_is_there_for_the_next() -> None:
    assert faults("keep") < 500 < faults()
