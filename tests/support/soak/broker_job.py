"""A broker that is used all the time: documents, subscriptions that come and go, readers."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from tests.support.broker_crash import broker_process

_STEADY = 20  # subscriptions that stay


def serve_broker(place: Path, count: int) -> Generator[int, None, None]:
    """In each round: documents in bulk and one by one, a new subscription, one less, a reader."""
    options = ("--retain-mb", "5", "--retain-hours", "0.01")
    with broker_process(str(place / "store"), *options) as (asked, _):
        assert asked.put_feed("f").status == 201
        for number in range(_STEADY):
            assert asked.put(f"s{number}", xpath=f"/q[p = {number}]").status == 201
        after = 0
        number = 0
        while True:
            number += 1
            assert asked.put(f"t{number}", xpath=f"//p[. > {number}]").status == 201
            some = [(f"d{n}", f"<q><p>{n % _STEADY}</p></q>") for n in range(count * 25)]
            assert asked.post_lines(some).json["accepted"] == len(some)
            for name, text in some[:5]:
                assert asked.post(text, name).status == 202
            assert asked.ask("DELETE", f"/feeds/f/subscriptions/t{number}").status == 204
            assert asked.post("<q><p>0</p></q>", "last").status == 202
            while True:  # up to the last document of this round
                answer = asked.ask(
                    "GET", f"/subscriptions/s0/notifications?after={after}&wait=20&limit=1000"
                )
                if answer.status == 410:
                    after = answer.json["oldest"] - 1
                    continue
                page = answer.json["notifications"]
                assert page, f"nothing behind {after} within 20 s"
                after = page[-1]["seq"]
                if page[-1]["document"] == "last":
                    break
            yield len(some)
