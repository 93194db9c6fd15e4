"""The pre-filter in front of SaxonC: the same results, from a fraction of the bytes.

    python scenarios/saxon/run.py
    python scenarios/saxon/run.py --forget hours    # what happens if a need is not declared

An XPath 3.1 rule set and an XSLT 3.0 style sheet run on purchase orders twice: on each document as
it is, and on its projection to what ``needs.tsv`` declares. Needs ``pip install 'extract[saxon]'``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import extract
from extract.scenarios import scenario

HERE = Path(__file__).parent
TURNS = 3

# SaxonC opens files and addresses that documents and expressions name, unless it is told not to.
HARDENED = {
    "http://saxon.sf.net/feature/allowedProtocols": "",
    "http://saxon.sf.net/feature/allow-external-functions": "off",
    "http://saxon.sf.net/feature/parserFeature?uri="
    "http://apache.org/xml/features/disallow-doctype-decl": "true",
}


class Rules:
    """The rules in SaxonC.

    Args:
        saxon: SaxonC's processor, hardened.
        namespaces: What the prefixes in the rules mean.
    """

    def __init__(self, saxon: Any, namespaces: dict[str, str]) -> None:
        self._saxon = saxon
        self._xpath = saxon.new_xpath_processor()
        self._xpath.set_caching(True)
        for prefix, uri in namespaces.items():
            self._xpath.declare_namespace(prefix, uri)
        lines = (HERE / "rules.tsv").read_text(encoding="utf-8").splitlines()
        self.rules = dict(line.split("\t") for line in lines if line and not line.startswith("#"))
        text = (HERE / "report.xsl").read_text(encoding="utf-8")
        self._report = saxon.new_xslt30_processor().compile_stylesheet(stylesheet_text=text)

    def results(self, document: bytes) -> dict[str, str]:
        """What each rule says about a document, and the report."""
        tree = self._saxon.parse_xml(xml_text=document.decode("utf-8"))
        self._xpath.set_context(xdm_item=tree)
        found = {name: str(self._xpath.evaluate(rule)) for name, rule in self.rules.items()}
        found["report.xsl"] = self._report.transform_to_string(xdm_node=tree)
        return found


def hardened() -> Any:
    """SaxonC that opens nothing but what it is given."""
    from saxonche import PySaxonProcessor

    saxon = PySaxonProcessor(license=False)
    for name, value in HARDENED.items():
        saxon.set_configuration_property(name, value)
    return saxon


def prefilter_for(forget: str = "") -> extract.Prefilter:
    """The pre-filter for the declared needs, all or all but one."""
    needs = extract.Subscriptions.load(HERE / "needs.tsv")
    if forget not in {"", *[one.id for one in needs]}:
        raise SystemExit(f"there is no need {forget!r} in needs.tsv")
    kept = extract.Subscriptions.of([one for one in needs if one.id != forget])
    return extract.Prefilter(extract.prepare(scenario("orders").schema(), kept, chunks=1))


def best(work: Callable[[], list[dict[str, str]]]) -> tuple[float, list[dict[str, str]]]:
    """The shortest of several times, in processor seconds, and what came out."""
    times = []
    for _ in range(TURNS):
        started = time.process_time()
        result = work()
        times.append(time.process_time() - started)
    return min(times), result


def main(arguments: list[str] | None = None) -> int:
    """Runs the rules both ways; 1 if the results differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=10, help="how many")
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of each")
    parser.add_argument("--forget", default="", metavar="NEED", help="leave one of needs.tsv out")
    options = parser.parse_args(arguments)
    orders = scenario("orders")
    documents = orders.documents(options.documents, options.size)
    prefilter = prefilter_for(options.forget)
    xs = {"xs": "http://www.w3.org/2001/XMLSchema"}
    rules = Rules(hardened(), {**orders.generator.NAMESPACES, **xs})

    whole, expected = best(lambda: [rules.results(one) for one in documents])
    less, found = best(lambda: [rules.results(prefilter.project(one)) for one in documents])
    filtering, small = best(lambda: [{"": prefilter.project(one).decode()} for one in documents])
    size, kept = sum(map(len, documents)), sum(len(one[""].encode()) for one in small)
    say = sys.stdout.write
    say(
        f"{len(rules.rules)} XPath 3.1 rules and an XSLT 3.0 report on {len(documents)} documents\n"
    )
    say(f"  SaxonC alone             {size / 1e6:6.1f} MB  {whole:6.2f} s\n")
    say(f"  pre-filter, then SaxonC  {kept / 1e6:6.1f} MB  {less:6.2f} s")
    say(f"  of which pre-filter {filtering:.3f} s\n")
    say(f"  gain                     {size / kept:6.1f} x   {whole / less:6.1f} x\n")
    different = sorted({n for a, b in zip(expected, found, strict=True) for n in a if a[n] != b[n]})
    if different:
        say(f"DIFFERENT results: {', '.join(different)}. A need is missing in needs.tsv.\n")
        return 1
    say(f"All {sum(map(len, expected))} results are equal.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
