"""Builds the native kernel of CHUNKTOOL where there is a C compiler; the rest is in pyproject.toml.

Without a compiler the package installs all the same and the reference scanner does the work, more
slowly: `extract doctor` says which of them runs.

``EXTRACT_SANITIZE=1`` builds the kernel with AddressSanitizer and UndefinedBehaviorSanitizer.
"""

import os
import sys

from setuptools import Extension, setup

KERNEL = "extract/chunktool/kernel"
SOURCES = ["chars", "tables", "text", "attributes", "prolog", "output", "scan"]


def flags() -> tuple[list[str], list[str]]:
    """For the compiler and for the linker."""
    if os.name == "nt":
        return ["/O2", "/std:c11"], []
    if os.environ.get("EXTRACT_SANITIZE"):
        sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        return ["-O1", "-g", "-std=c11", *sanitizers], sanitizers
    return ["-O3", "-std=c11", "-fvisibility=hidden"], []


def kernel() -> list[Extension]:
    """The extension; an empty list if Cython is missing or fails."""
    try:
        from Cython.Build import cythonize
    except ImportError:
        sys.stderr.write("extract: no Cython, so the native kernel is not built\n")
        return []
    compiler, linker = flags()
    extension = Extension(
        "extract.chunktool.kernel._kernel",
        [f"{KERNEL}/_kernel.pyx", *(f"{KERNEL}/{name}.c" for name in SOURCES)],
        include_dirs=[KERNEL],
        depends=[f"{KERNEL}/{name}.h" for name in ("chars", "tables", "scan")],
        extra_compile_args=compiler,
        extra_link_args=linker,
    )
    try:
        modules: list[Extension] = cythonize([extension], build_dir="build", quiet=True)
    except Exception as error:  # whatever it is, the package must still be installed
        sys.stderr.write(f"extract: the native kernel is not built: {error}\n")
        return []
    for module in modules:
        module.optional = True  # to Extension() it would get lost in Cython
    return modules


setup(ext_modules=kernel())
