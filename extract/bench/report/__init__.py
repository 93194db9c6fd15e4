"""Reports of experiments: text for a terminal, one HTML page, and a chart as SVG.

Usage:
    ``text(results)`` for a terminal, ``page(results)`` for one HTML page, ``picture(chart, …)``
    for a chart alone; `extract.bench.experiments` makes the results.

Always holds:
    The page is one file that needs neither network nor JavaScript, is readable on a phone and in
    print, and follows the reader's light or dark mode.

To add a kind of chart:
    A class in `extract.bench.experiments.results`, and a function that draws it in `charts`.
"""

from extract.bench.report.charts import picture
from extract.bench.report.page import page
from extract.bench.report.text import text

__all__ = ["page", "picture", "text"]
