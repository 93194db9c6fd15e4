"""The state of joins: columns that give back what was kept, and drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from random import Random

import pytest

from extract.filtertool.joins import store as store_module
from extract.filtertool.joins.blocks import BY_PLACE, BY_SEQ, NEVER, Hold, Needs, block_of, merged
from extract.filtertool.joins.documents import JoinDocument, key_of
from extract.filtertool.joins.postings import Hits, Posting, shared
from extract.filtertool.joins.store import WitnessStore


def until(time: int) -> Callable[[str, bool], int]:
    return lambda stream, published: time


def document(clock: int, values: list[str], stream: str = "s") -> JoinDocument:
    """A document with a root that is not compared, and a node for each value."""
    locators = [(0, 0, 0), *[(300 * n + 1, n % 4, n) for n in range(len(values))]]
    keys = [b"", *map(key_of, values)]
    links: dict[int, dict[int, tuple[int, ...]]] = {70_000: {-1: (0,)}}
    if values:
        links[5] = {0: tuple(range(1, len(keys)))}
    name, data = f"dé\udce9{clock}", f"<a>{clock}</a>".encode()
    return JoinDocument(
        stream, name, clock - 3, clock, clock, clock, False, data, locators, keys, links
    )


def test_a_block_gives_documents_back() -> None:
    documents = [document(n, ["x"] * (n % 3), "st"[n % 2]) for n in range(7)]
    block = block_of([(one, Hold(one.time, n % 4)) for n, one in enumerate(documents)])
    assert [astuple(block.document(n)) for n in range(7)] == [astuple(one) for one in documents]
    assert len(block.structures) == 3
    both = merged([block, block_of([(document(9, ["y"]), Hold(9))])], Needs(until(0), {}, 10**9))
    assert both is not None
    assert [both.document(n).clock for n in range(len(both))] == [3, 4, 5, 6, 9]
    assert astuple(both.document(1)) == astuple(documents[4])
    assert merged([block], Needs(until(99), {}, 99)) is None


@pytest.mark.parametrize("seed", range(3))
def test_values_are_found_in_all_blocks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(store_module, "BLOCK_DOCUMENTS", random.choice([2, 5, 40]))
    monkeypatch.setattr(store_module, "FEW_BLOCKS", random.choice([1, 3]))
    monkeypatch.setattr(store_module, "FEW", random.choice([0, 4, 32]))
    kept, store = {}, WitnessStore()
    for clock in range(150):
        values = random.choices(["often", str(random.randrange(20))], k=random.randrange(4))
        kept[clock] = values
        store.add(document(clock, values), Hold(clock))
    assert len(store) == 150
    for value in ("often", "7", "never"):
        found = store.find({key_of(value)}).get(key_of(value), {})
        having = {clock for clock, values in kept.items() if value in values}
        assert found.keys() == ({5} if having else set())
        if having:
            posting = Posting([found[5]], None)
            some = {1, 5, 77, 149}
            assert posting.among(some) == some & having
            assert posting.all() == having
            near = Posting([found[5]], (10, 20)).all() - found[5].clocks
            assert near == {one for one in having - found[5].clocks if 13 <= one <= 23}
            assert shared(Posting([found[5]], None), Posting([Hits(some)], None)) == some & having
    assert [one.clock for one in store.needed()] == list(range(150))
    assert store.document(60).keys[1:] == [key_of(value) for value in kept[60]]
    assert (store.header(60).time, store.header(149).seq) == (57, 149)


def test_what_is_not_needed_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "BLOCK_DOCUMENTS", 10)
    store = WitnessStore()
    for clock in range(35):
        hold = Hold(clock) if clock < 20 else Hold(NEVER, BY_PLACE if clock % 2 else BY_SEQ)
        store.add(document(clock, ["v"]), hold)
    full = store.bytes
    store.release(Needs(until(15), {"s": 33}, 30))
    assert [one.clock for one in store.needed()] == [15, 16, 17, 18, 19, 30, 32, 33, 34]
    assert len(store) == 15  # two blocks are gone, the others have documents that are needed
    assert store.bytes < full
    store.compact()
    assert len(store) == 9
    assert [one.clock for one in store.drop_oldest()] == [15, 16, 17, 18, 19]
    assert [one.clock for one in store.drop_oldest()] == [30]
    store.release(Needs(until(99), {"s": 99}, 99))
    assert (len(store), store.bytes, store.witnesses) == (0, 0, 0)
    assert not store.find({key_of("v")})
