"""Where there is no memory, the push engine says so, and all is as it was before.

Each allocation in turn fails: `malloc` and its sisters are those of a small library in C, which a
process of its own loads before all others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LIBRARY = """
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static _Thread_local long left __attribute__((tls_model("initial-exec"))) = -1;
void fail_after(long calls) { left = calls; }
int has_failed(void) { return left < 0; }
static int fails(void) { return left >= 0 && left-- == 0; }
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *at, size_t n) { return fails() ? NULL : __libc_realloc(at, n); }
"""

ADDING = """
for template in range(len(TEMPLATES)):
    types = TEMPLATES[template][1]
    rows = [constants(random, types) for _ in range(30 if types else 1)]
    for first in range(2_000):
        one = Online(Random(template))
        for _ in range(10 if first % 5 else 0):
            one.add_some(20)
        numbers = [len(one.present) + n for n in range(len(rows))]
        before = len(one.engine)
        fail_after(first)
        try:
            one.engine_add(one.engine, template, rows, numbers)
            added = True
        except FAILURES:
            added = False
            failures += 1
        reached = not has_failed()
        fail_after(-1)
        assert len(one.engine) == before + len(rows) * added, (template, first)
        if added:
            one.present.update({n: (template, row) for n, row in zip(numbers, rows)})
        one.check(8)
        if reached:
            break
    else:
        raise AssertionError("there is no end")
"""

MATCHING = """
one = Online(random)
for _ in range(30):
    one.add_some(20)
batch = documents(random, 8)
wanted = one.fresh().match(batch)
for first in range(5_000):
    engine = one.fresh()
    engine._adapt_at = 10**9
    fail_after(first)
    try:
        found = engine.match(batch)
    except FAILURES:
        found = None
        failures += 1
    reached = not has_failed()
    fail_after(-1)
    if found is not None:  # a document that was matched has all its rows
        failures += not (found.done == 1).all()
        chosen = found.done[wanted.matches.unit] == 1
        for own, other in zip(found.matches, wanted.matches):
            assert own.tolist() == other[chosen[: len(other)]].tolist(), first
    _same(engine.match(batch), wanted)
    if reached:
        break
else:
    raise AssertionError("there is no end")
"""

ADAPTING = """
one = Online(random)
for _ in range(30):
    one.add_some(20)
# One symbol for all: they are better found by their volumes.
one.add(8, [("a1", str(volume)) for volume in range(100)])
one.add(1, [("a1", str(price)) for price in range(100)])
batch = [re.sub(b"<symbol>[^<]*", b"<symbol>a1", one) for one in documents(random, 8)]
for first in range(5_000):
    engine = one.fresh()
    engine._adapt_at = 10**9
    wanted = engine.match(batch * 10)
    engine._adapt_at = 1
    fail_after(first)
    try:
        engine._adapt(engine._machines[0])
    except FAILURES:
        failures += 1
    reached = not has_failed()
    fail_after(-1)
    engine._adapt_at = 10**9
    try:
        _same(engine.match(batch * 10), wanted)
    except MemoryError:
        assert engine._broken  # then it gives no answers at all
    if reached:
        break
else:
    raise AssertionError("there is no end")
"""

SCRIPT = """
import ctypes, re, sys
from random import Random
from tests.filtertool.matchers.push.test_online import (
    TEMPLATES, Online, _same, constants, documents
)
library = ctypes.CDLL(None)
fail_after, has_failed = library.fail_after, library.has_failed
fail_after.argtypes = [ctypes.c_long]
random = Random(7)
failures = 0
FAILURES = (MemoryError, SystemError, RuntimeError)  # Python and NumPy have all three
{}
print("failures", failures)
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="it replaces the allocator of glibc"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc"),
]


@pytest.mark.parametrize(
    ("what", "least"), [(ADDING, 100), (MATCHING, 50), (ADAPTING, 3)], ids=["add", "match", "adapt"]
)
def test_each_allocation_may_fail(what: str, least: int, tmp_path: Path) -> None:
    source, library = tmp_path / "failing.c", tmp_path / "failing.so"
    source.write_text(LIBRARY)
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(what)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3_000:]}"
    assert int(done.stdout.split()[1]) >= least, done.stdout
