"""``extract.spark``: eXtract on Spark, for programs. See `extract.filtertool.spark`.

    import extract.spark

    df = extract.spark.run(spark, scheme, "docs/")

pyspark is imported only when one of the names is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from extract.filtertool import spark as _spark

if TYPE_CHECKING:
    from extract.filtertool.spark import (
        ExtractSource,
        MessageOptions,
        join,
        local_session,
        match,
        project,
        results,
        run,
        run_into_directory,
        stream,
    )

__all__ = [
    "ExtractSource",
    "MessageOptions",
    "join",
    "local_session",
    "match",
    "project",
    "results",
    "run",
    "run_into_directory",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_spark, name)


def __dir__() -> list[str]:
    return __all__
