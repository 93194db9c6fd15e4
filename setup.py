"""Builds the parts in C where there is a compiler; all else is in pyproject.toml.

They are the kernel of CHUNKTOOL, which scans documents, the inner loops of FILTERTOOL's columnar
matcher and its push engine, what describes nodes, what reads lines of query files, tokens of XPath
and expressions, and what finds the documents in files of many. Without a compiler the package
installs all the same, and Python does the work, more slowly: `extract doctor` says which of them
runs.

``EXTRACT_SANITIZE=1`` builds with AddressSanitizer and UndefinedBehaviorSanitizer;
``EXTRACT_PLAIN=1`` builds the kernel as on machines without SSE2:
`tests/chunktool/scan/test_kernel_builds.py` runs both.
"""

import os
import sys

from setuptools import Extension, setup

KERNEL = "extract/chunktool/scan/kernel"
SOURCES = ["chars", "tables", "text", "attributes", "prolog", "output", "scan"]
HEADERS = ["chars.h", "tables.h", "scan.h", "c_scan.pxd"]
COLUMNAR = "extract/filtertool/matchers/columnar"
PUSH = "extract/filtertool/matchers/push"
PUSH_SOURCES = [
    "memory", "strings", "lists", "sorted", "parts", "paths", "registry", "posting", "templates",
    "rows", "crowds", "renumber", "states", "statistics", "document", "known", "evaluate",
    "truths", "axes", "texts", "numbers", "anchors", "found", "checks", "guards", "ahead",
    "postings", "shapes", "bindings", "results", "accounts", "machine", "size", "outputs",
    "writing", "ordering", "declarations", "describe",
]  # fmt: skip
PUSH_HEADERS = [
    *("push.h", "matching.h", "machine.h", "states.h", "conditions.h", "document.h"),
    *("registry.h", "lists.h", "constants.h", "memory.h"),
]
RESULTS = "extract/filtertool/results"
SQL = "extract/filtertool/matchers/sql"
SQL_SOURCES = [  # of the push engine
    *("memory", "strings", "parts", "document", "known", "evaluate", "truths", "axes"),
    *("texts", "numbers"),
]
XPATH = "extract/xpath"
SUBSCRIPTIONS = "extract/subscriptions"
MESSAGES = "extract/chunktool/input/messages"


def flags() -> tuple[list[str], list[str]]:
    """For the compiler and for the linker."""
    if os.name == "nt":
        return ["/O2", "/std:c11"], []
    plain = ["-DCHUNKTOOL_PLAIN"] if os.environ.get("EXTRACT_PLAIN") else []
    if os.environ.get("EXTRACT_SANITIZE"):
        sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        return ["-O1", "-g", "-std=c11", *sanitizers, *plain], sanitizers
    # Without -g0 the name of the build directory is in the wheel, which is another one each time.
    return ["-O3", "-g0", "-std=c11", "-fvisibility=hidden", *plain], []


def extensions() -> list[Extension]:
    """The parts in C; an empty list if Cython is missing or fails."""
    try:
        from Cython.Build import cythonize
    except ImportError:
        sys.stderr.write("extract: no Cython, so the parts in C are not built\n")
        return []
    compiler, linker = flags()
    modules = [
        Extension(
            "extract.chunktool.scan.kernel._kernel",
            [f"{KERNEL}/_kernel.pyx", *(f"{KERNEL}/{name}.c" for name in SOURCES)],
            include_dirs=[KERNEL],
            depends=[f"{KERNEL}/{name}" for name in HEADERS],
            extra_compile_args=compiler,
            extra_link_args=linker,
        ),
        Extension(
            "extract.chunktool.scan.kernel._tally",
            [f"{KERNEL}/_tally.pyx"],
            include_dirs=[KERNEL],
            depends=[f"{KERNEL}/scan.h"],
            extra_compile_args=compiler,
            extra_link_args=linker,
        ),
        Extension(
            "extract.chunktool.input.messages._split",
            [
                f"{MESSAGES}/_split.pyx",
                *(f"{MESSAGES}/{n}.c" for n in ("documents", "records", "rows")),
            ],
            include_dirs=[MESSAGES],
            depends=[f"{MESSAGES}/splitter.h", f"{MESSAGES}/markup_lexer.h"],
            extra_compile_args=compiler,
            extra_link_args=linker,
        ),
        Extension(
            "extract.xpath._tokens",
            [f"{XPATH}/_tokens.pyx"],
            include_dirs=[XPATH],
            depends=[
                *(f"{XPATH}/{name}.h" for name in ("key_table", "number", "tokenise")),
                f"{XPATH}/hashing.h",
            ],
            extra_compile_args=compiler,
            extra_link_args=linker,
        ),
        *(
            Extension(
                f"extract.xpath._{name}",
                [f"{XPATH}/_{name}.pyx"],
                extra_compile_args=compiler,
                extra_link_args=linker,
            )
            for name in ("node", "parser")
        ),
        *(
            Extension(
                f"extract.subscriptions._{name}",
                [f"{SUBSCRIPTIONS}/_{name}.pyx"],
                include_dirs=[XPATH],
                depends=[f"{XPATH}/key_table.h", f"{XPATH}/hashing.h"],
                extra_compile_args=compiler,
                extra_link_args=linker,
            )
            for name in ("lines", "members")
        ),
        *(
            Extension(
                f"extract.filtertool.matchers.columnar._{name}",
                [f"{COLUMNAR}/_{name}.pyx"],
                include_dirs=[XPATH],
                depends=[f"{XPATH}/hashing.h"],
                extra_compile_args=compiler,
                extra_link_args=linker,
            )
            for name in ("join", "lexicon", "sets", "spines", "values")
        ),
    ]
    modules.append(
        Extension(
            "extract.filtertool.results._nodes",
            [f"{RESULTS}/_nodes.pyx"],
            extra_compile_args=compiler,
            extra_link_args=linker,
        )
    )
    modules.append(
        Extension(
            "extract.filtertool.matchers.push._node_columns",
            [f"{PUSH}/_node_columns.pyx"],
            depends=[f"{PUSH}/_node_columns.pxd"],
            extra_compile_args=compiler,
            extra_link_args=linker,
        )
    )
    modules.append(
        Extension(
            "extract.filtertool.output._node_rows",
            ["extract/filtertool/output/_node_rows.pyx"],
            depends=[f"{PUSH}/_node_columns.pxd"],
            extra_compile_args=compiler,
            extra_link_args=linker,
        )
    )
    modules.append(
        Extension(
            "extract.filtertool.matchers.push._push",
            [f"{PUSH}/_push.pyx", *(f"{PUSH}/core/{name}.c" for name in PUSH_SOURCES)],
            include_dirs=[f"{PUSH}/core", KERNEL, XPATH],
            depends=[
                *(f"{PUSH}/core/{name}" for name in (*PUSH_HEADERS, "outputs.h", "c_push.pxd")),
                *(f"{PUSH}/{name}" for name in ("core/describe.h", "_node_columns.pxd")),
                *(f"{KERNEL}/{name}" for name in (*HEADERS, "_kernel.pxd")),
                *(f"{XPATH}/{name}.h" for name in ("hashing", "number")),
            ],
            extra_compile_args=compiler,
            extra_link_args=linker,
        )
    )
    modules.append(
        Extension(
            "extract.filtertool.matchers.sql._values",
            [
                f"{SQL}/_values.pyx",
                f"{SQL}/core/values.c",
                *(f"{PUSH}/core/{name}.c" for name in SQL_SOURCES),
            ],
            include_dirs=[f"{SQL}/core", f"{PUSH}/core", KERNEL, XPATH],
            depends=[
                *(f"{SQL}/core/{name}" for name in ("values.h", "c_values.pxd")),
                *(f"{PUSH}/core/{name}" for name in (*PUSH_HEADERS, "c_push.pxd")),
                *(f"{KERNEL}/{name}" for name in (*HEADERS, "_kernel.pxd")),
                *(f"{XPATH}/{name}.h" for name in ("hashing", "number")),
            ],
            extra_compile_args=compiler,
            extra_link_args=linker,
        )
    )
    try:
        built: list[Extension] = cythonize(modules, build_dir="build", quiet=True)
    except Exception as error:  # whatever it is, the package must still be installed
        sys.stderr.write(f"extract: the parts in C are not built: {error}\n")
        return []
    for module in built:
        module.optional = True  # to Extension() it would get lost in Cython
    return built


setup(ext_modules=extensions())
