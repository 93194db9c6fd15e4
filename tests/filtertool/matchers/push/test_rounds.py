"""The push engine answers as libxml2 does, whatever queries come and go (`tests.support.push`)."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.push.general_rounds import general_round
from tests.support.push.rounds import PushRound, round_of


def test_random_rounds() -> None:
    counts: Counter[str] = Counter()
    for seed in range(40):
        counts += round_of(seed)
    assert counts["answers"] > 40_000
    assert counts["matches"] > counts["answers"] // 20
    assert counts["queries taken"] > 4 * counts["queries not taken"]
    assert counts["documents done"] > 0.99 * counts["documents"]


@given(st.integers(min_value=0))
def test_any_round(seed: int) -> None:
    round_of(seed, templates=4, members=4, documents=4)


@given(st.randoms(use_true_random=False))
def test_one_template_with_many_members(random: Random) -> None:
    one = PushRound(random, templates=1, members=60)
    one.add()
    one.compare(one.documents(6))


@given(st.randoms(use_true_random=False))
def test_what_cannot_be_decided_is_never_missed(random: Random) -> None:
    one = PushRound(random, templates=6, members=4, odd=50)
    one.add()
    one.compare(one.documents(8))


def test_queries_of_any_form_have_libxml2_s_rows() -> None:
    counts: Counter[str] = Counter()
    for seed in range(12):
        counts += general_round(seed)
    assert counts["answers"] == 12 * 25 * 8
    assert counts["matches"] > counts["answers"] // 8
    assert counts["taken for nodes"] > 200  # the rest is left to libxml2


@pytest.mark.slow
def test_many_queries_of_any_form() -> None:
    for seed in range(1_000, 1_250):
        general_round(seed)


@pytest.mark.slow
def test_random_rounds_at_length() -> None:
    counts: Counter[str] = Counter()
    for seed in range(1_000_000, 1_000_700):
        counts += round_of(seed)
    assert counts["answers"] > 1_000_000
