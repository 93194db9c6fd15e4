"""Results as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from extract.bench.experiments.results import Results

_WIDTH = 96


def text(results: Results) -> str:
    """All tables and checks, one under the other."""
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield results.title
    yield ""
    for sentence in results.summary:
        yield from textwrap.wrap(sentence, _WIDTH)
    yield ""
    width = max(map(len, results.facts))
    for name, what in results.facts.items():
        yield f"  {name.ljust(width)}  {what}"
    for section in results.sections:
        yield from ("", "", section.title, "=" * len(section.title), "")
        yield from textwrap.wrap(section.words, _WIDTH)
        for table in section.tables:
            yield from ("", table.title, "")
            yield from table.grid()
            for remark in table.remarks:
                yield from textwrap.wrap(remark, _WIDTH)
        if section.checks:
            yield from ("", "Compared in this run:")
            yield from (f"  {check}" for check in section.checks)
    yield ""
    yield (
        "All answers compared are right."
        if results.right
        else "SOME ANSWERS ARE WRONG: see above, and please report it."
    )
