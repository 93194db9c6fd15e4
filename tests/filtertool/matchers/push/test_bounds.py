"""What is bounded in the push engine: states, budgets, windows of anchors, depths; never wrong."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push import engine as engine_module
from extract.filtertool.matchers.push.engine import STATE_BYTES, PushEngine
from extract.filtertool.matchers.push.literals import with_parameters
from extract.schema.model import Schema
from tests.support.push.documents import DocumentWriter
from tests.support.push.oracle import OracleDocument
from tests.support.push.rounds import PushRound
from tests.support.push.vocabulary import NAMESPACES


def engine_of(queries: list[str], state_bytes: int = STATE_BYTES) -> PushEngine:
    """An engine that counts the nodes of these queries, which are numbered in their order."""
    engine = PushEngine(Schema.none(), NAMESPACES, "count", state_bytes=state_bytes)
    for number, query in enumerate(queries):
        question = with_parameters(Question((query,)))
        assert engine.takes(query, question), query
        engine.add(query, question, np.array([number], np.int32))
    return engine


def counts_of(engine: PushEngine, documents: list[bytes]) -> list[dict[int, int]]:
    """The count of each query on each document, where it is not 0; all must be matched."""
    done, matches, _ = engine.match(documents)
    assert (done == 1).all()
    found: list[dict[int, int]] = [{} for _ in documents]
    rows = zip(matches.unit.tolist(), matches.query.tolist(), matches.value.tolist(), strict=True)
    for unit, query, value in rows:
        found[unit][query] = value
    return found


def expected(queries: list[str], documents: list[bytes]) -> list[dict[int, int]]:
    """libxml2's counts."""
    out = []
    for data in documents:
        tree = OracleDocument(data).tree
        counts = [len(tree.xpath(query, namespaces=NAMESPACES)) for query in queries]
        out.append({number: count for number, count in enumerate(counts) if count})
    return out


def compare(queries: list[str], documents: list[bytes]) -> None:
    found, wanted = counts_of(engine_of(queries), documents), expected(queries, documents)
    for data, ours, theirs in zip(documents, found, wanted, strict=True):
        different = {n for n in {*ours, *theirs} if ours.get(n) != theirs.get(n)}
        why = [(queries[n], ours.get(n, 0), theirs.get(n, 0)) for n in sorted(different)[:5]]
        assert not different, f"{why} on {data[:200]!r}"


def nested(random: Random, size: int) -> bytes:
    """Random recursion of a and b, which makes states explode."""
    out: list[str] = []
    names: list[str] = []
    for _ in range(size):
        if len(names) > 1 and random.random() < 0.45:
            out.append(f"</{names.pop()}>")
        elif len(names) < 60:
            names.append(random.choice("ab"))
            out.append(f"<{names[-1]}>")
    return "".join([*out, *[f"</{name}>" for name in reversed(names)]]).encode()


EXPLODING = ["//a" + "/*" * k + "/b" for k in range(2, 17)]  # TRAPS 52


def test_52_states_are_bounded_and_answers_stay() -> None:
    random = Random(1)
    documents = [nested(random, 300) for _ in range(400)]
    engine = engine_of(EXPLODING, state_bytes=200_000)
    matched, memory = 0, []
    for start in range(0, len(documents), 20):
        batch = documents[start : start + 20]
        done, matches, _ = engine.match(batch)
        found: list[dict[int, int]] = [{} for _ in batch]
        rows = zip(
            matches.unit.tolist(), matches.query.tolist(), matches.value.tolist(), strict=True
        )
        for unit, query, value in rows:
            found[unit][query] = value
        for own, theirs, fine in zip(found, expected(EXPLODING, batch), done == 1, strict=True):
            assert own == (theirs if fine else {})
        matched += int((done == 1).sum())
        memory.append(engine.memory()[1])
    figures = engine.figures()
    assert matched > len(documents) * 0.9
    assert figures["states_dropped"] > figures["states"]
    assert figures["state_bytes"] < 3 * 200_000
    assert max(memory[10:]) < 1.5 * max(memory[:10])
    assert counts_of(engine_of(EXPLODING), documents[:50]) == expected(EXPLODING, documents[:50])


def test_52_one_document_with_too_many_states_goes_another_way() -> None:
    document = nested(Random(2), 6_000)
    engine = engine_of(EXPLODING, state_bytes=10_000)
    done, matches, _ = engine.match([document, b"<a><a><a><b/></a></a></a>", document])
    assert done.tolist() == [-1, 1, -1]
    assert set(matches.unit.tolist()) == {1}


PAIRS = ["//a[b and c]", "//a[b][@x]", "//a[b]/c", "//a[b/c][c]", "//a[b[c] and c]", "//a[@x][@y]"]
PAIRS += [
    "//a[text()][@x]",
    "//*[b][c/@x]",
    "//a[b='1'][c]",
    "//a[not(b)][c]",
    "//a[b = 1 or c = 2]",
]
PAIRS += ["/a//a[b][c]", "//@x[. = 1]", "//text()[. = '1']", "//a[b[@x]/c]", "//a[c]//a[b]"]


@pytest.mark.parametrize("inner", [3, 61, 62, 63, 64, 124, 125, 200, 3_967, 3_968, 3_969, 5_000])
def test_windows_of_anchors(inner: int) -> None:
    """So many elements with children: they have bits of their own, windows of them, or share."""
    random = Random(inner)
    parts = ("<b/>", "<c/>", "<b>1</b>", "<c x='1'/>", "1", "<b><c/></b>")
    elements = []
    for _ in range(inner - 1):
        head = random.choice(("", "", " x='1'", " y='1'", " x='1' y='2'"))
        elements.append(f"<a{head}>{random.choice(parts)}</a>")
    apart = f"<a>{''.join(elements)}</a>".encode()
    both = random.choice(("<a x='1' y='2'/>", "<a><b/><c/></a>", "<a><b><c/></b><c/>1</a>"))
    compare(PAIRS, [apart, apart[:-4] + both.encode() + b"</a>"])


def test_no_anchor_in_common_anywhere() -> None:
    """The parts of a condition are all there, each below another element."""
    many = "<a><b/></a><a><c/></a><a x='1'/><a y='1'/>" * 3_000
    for text in (many[:200], many[:6_300], many):
        text = text[: text.rindex("<a y")]
        compare(
            ["//a[b][c]", "//a[@x][@y]", "//a[b]/c", "/r/a[b and @x]"], [f"<r>{text}</r>".encode()]
        )


@pytest.mark.parametrize("depth", [200, 255, 256, 257, 2_000])
def test_depth(depth: int) -> None:
    data = b"<a>" * depth + b"<b>1</b><c/>" + b"</a>" * depth
    queries = ["//a[b][c]", "//a[b=1]", "//a//b", "/a/a/a//c", "//a[b]//c", "//a/a[c]", "//b[.=1]"]
    compare(queries, [data])


@pytest.mark.slow  # a document of a megabyte
def test_more_attributes_and_texts_than_16_bits() -> None:
    data = b"<r>" + b"<a x='1' y='2'>3<b/>4</a>" * 40_000 + b"</r>"
    compare(["//@x", "//a[@y=2]/text()", "/r/a[b]", "//a[.='34']/@y", "//text()[.=4]"], [data])


@pytest.mark.slow  # it compiles 70,000 templates
def test_more_names_and_paths_than_16_bits() -> None:
    names = [f"n{number}" for number in range(70_000)]
    engine = PushEngine(Schema.none(), {}, "doc")
    for number, name in enumerate(names):
        question = with_parameters(Question((f"/r/{name}[@{name} = '{number}']",)))
        assert engine.takes(name, question)
        engine.add(name, question, np.array([number], np.int32))
    for chosen in (0, 32_767, 32_768, 65_535, 65_536, 69_999):
        data = f"<r><n{chosen} n{chosen}='{chosen}'/><n1 n1='2'/><n2 n3='2'/></r>".encode()
        assert engine.match([data]).matches.query.tolist() == [chosen]


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 20, 100])
def test_steps_that_are_spent_hide_no_match(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not decided says so, wherever the steps end."""
    monkeypatch.setattr(engine_module, "STEPS", steps)
    overrun = 0
    for seed in range(60):
        one = PushRound(Random(seed), templates=6, members=4)
        one.add()
        one.compare(one.documents(6))
        overrun += sum(engine.figures()["overrun"] for engine in one.engines.values())
    assert overrun or steps > 1


def test_only_the_query_that_takes_too_many_steps_is_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "STEPS", 1)
    queries = ["/r[contains(a, 'x') and not(.//b[count(preceding::b) > 200])]", "/r[a]"]
    engine = engine_of(queries)
    big = b"<r><a>x</a>" + b"<b/>" * 100 + b"</r>"
    done, matches, candidates = engine.match([b"<r><a>x</a></r>", big])
    assert done.tolist() == [1, 1]
    assert list(zip(matches.unit.tolist(), matches.query.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 1),
    ]
    assert (candidates.unit.tolist(), candidates.query.tolist()) == ([1], [0])


def test_values_of_nested_elements_take_no_memory_without_end() -> None:
    """The text of each of many elements in each other is nearly that of the document."""
    depth = 20_000
    data = b"<a>x" * depth + b"</a>" * depth
    engine = engine_of(["//a[contains(., 'xxxxy')]"])
    done, _, _ = engine.match([data])
    assert done.tolist() in ([0], [-1])
    assert engine.memory()[1] < 60_000_000
    assert counts_of(engine, [b"<a>xx<b>xx</b>y</a>"]) == [{0: 1}]


def test_memory_stays_flat() -> None:
    random = Random(3)
    one = PushRound(random, templates=20, members=10)
    one.add()
    engine = one.engines["count"]
    documents = [DocumentWriter(random, 30).document() for _ in range(2_000)]
    for _ in range(3):  # until all structures of documents are known
        engine.match(documents)
    before = engine.memory()
    for _ in range(5):
        engine.match(documents)
    assert engine.memory()[0] == before[0]
    assert engine.memory()[1] <= before[1] * 1.1
