"""Real queries that come and go: the scheme is the one that a fresh `prepare` makes."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path
from random import Random

from extract import Schema, Subscription, Subscriptions
from extract.preptool.prepare import prepare
from extract.preptool.revise import Reviser
from extract.scheme import Scheme
from tests.support.scheme_facts import facts


def test_real_queries_come_and_go(shared_data: Path, tmp_path: Path) -> None:
    schema = Schema.load(shared_data / "nitf" / "nitf.dtd", root="nitf")
    every: list[Subscription] = []
    for name in ("linear", "nested1", "nested2"):
        with gzip.open(shared_data / "nitf" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t") for line in islice(lines, 200)]
        every += [Subscription(f"{name} {identifier}", xpath) for identifier, xpath in rows]
    rng = Random(1)
    current = {one.id: one for one in every[::2]}
    reviser = Reviser(prepare(schema, Subscriptions.of(current.values()), 6))
    for one in every[1::2]:
        current[one.id] = one
        reviser.add(one)
    for _ in range(2):
        for identifier in rng.sample(sorted(current), 200):
            del current[identifier]
            reviser.remove(identifier)
        fresh = prepare(schema, Subscriptions.of(current.values()), 6)
        assert facts(reviser.scheme()) == facts(fresh)
        reviser.scheme().save(tmp_path / "scheme.json")
        reviser = Reviser(Scheme.load(tmp_path / "scheme.json"))
