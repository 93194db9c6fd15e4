"""Builds the fuzz target, and knows what it begins with."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lxml import etree

from tests.support.fuzz.documents import DOCUMENTS
from tests.support.fuzz.mutate import TOKENS

HERE: Final = Path(__file__).resolve().parent
KERNEL: Final = HERE.parents[3] / "extract/chunktool/scan/kernel"
MOST: Final = 2_048  # bytes of an input; limits are tested elsewhere, and small ones are fast
_SHORT: Final = 256
_KEPT: Final = HERE / "seeds.txt"
_SANITIZERS: Final = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"]


class Unavailable(Exception):
    """The target cannot be built on this machine; the message says why."""


def build(program: Path, kernel: Path = KERNEL) -> None:
    """Compiles the target.

    Args:
        program: Where it goes.
        kernel: The sources of the kernel.

    Raises:
        Unavailable: Something is missing.
    """
    clang = shutil.which("clang")
    if clang is None:
        raise Unavailable("there is no clang (on Debian, apt install clang)")
    judge = Path(etree.__file__)  # exports libxml2, and brings its headers
    if not (judge.parent / "includes/libxml/parser.h").exists():
        raise Unavailable("lxml has libxml2 not within; install it from a wheel")
    command = [clang, "-O2", "-g", "-std=c11", "-Wall", "-Wextra", "-Werror", *_SANITIZERS]
    command += [f"-I{judge.parent}/includes", f"-I{kernel}", str(HERE / "kernel.c")]
    command += [*map(str, sorted(kernel.glob("*.c"))), str(judge), str(_python()), "-o"]
    made = subprocess.run([*command, str(program)], check=False, capture_output=True, text=True)
    if made.returncode:
        raise Unavailable(f"clang does not build it: {made.stderr}")


def _python() -> Path:
    """The shared library of Python, which lxml wants to be linked to."""
    values = sysconfig.get_config_vars("LIBDIR", "MULTIARCH", "INSTSONAME")
    folder, triplet, name = (str(value or "") for value in values)
    for path in (Path(folder, name), Path(folder, triplet, name)):
        if ".so" in name and path.exists():
            return path
    raise Unavailable("Python has no shared library (on Debian, apt install libpython3-dev)")


def kept() -> list[bytes]:
    """The inputs that earlier runs have kept."""
    lines = _KEPT.read_text(encoding="ascii").splitlines()
    return [ast.literal_eval(line) for line in lines]


def keep(inputs: Iterable[bytes]) -> None:
    """Keeps these from now on; but no long ones, which take more room than they tell."""
    lines = {f"{one!r}\n" for one in inputs if len(one) <= _SHORT}
    _KEPT.write_text("".join(sorted(lines, key=lambda line: (len(line), line))), encoding="ascii")


def write_seeds(corpus: Path) -> None:
    """Writes what a run begins with, a file for each."""
    for number, data in enumerate([*DOCUMENTS, *kept()]):
        if len(data) <= MOST:
            (corpus / f"seed-{number}").write_bytes(data)


def write_dictionary(path: Path) -> None:
    """Writes the words that inputs are made of."""
    words = ("".join(f"\\x{byte:02x}" for byte in token) for token in dict.fromkeys(TOKENS))
    path.write_text("".join(f'"{word}"\n' for word in words), encoding="ascii")
