"""Contract suites for plug-ins: the required behaviour of matchers and scanners, as pytest classes.

Usage, for the author of a matcher, in a test file of the plug-in:

    from extract.testing.matcher_contract import MatcherContract
    from my_package import MyFactory

    class TestMine(MatcherContract):
        factory = MyFactory()

and for a scanner:

    from extract.testing.scanner_contract import ScannerContract
    from my_package import MyScanner

    class TestMine(ScannerContract):
        def make(self, automaton, limits, table):
            return MyScanner(automaton, limits, table)

pytest runs the inherited tests. ``tests/plugin`` of this project's repository is a plug-in that
does so.

When to use which:
    `matcher_contract` for matchers (`extract.filtertool.matchers.protocol`); `scanner_contract` for
    scanners (`extract.chunktool.scan.protocol`).

Always holds:
    The built-in matchers and scanners pass the same suites. Nothing else in `extract` imports this
    package, which is the only one that imports pytest; install pytest yourself (``pip install
    pytest``).

To add a case:
    Write a test into the suite, so that all matchers or all scanners have to pass it.
"""

import pytest

# So failing assertions show their values, as in a test file.
pytest.register_assert_rewrite(
    "extract.testing.matcher_contract",
    "extract.testing.scanner_contract",
)
