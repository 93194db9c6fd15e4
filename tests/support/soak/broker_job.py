"""A broker that is used all the time: documents, subscriptions that come and go, readers."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

from tests.support.broker_crash import broker_process
from tests.support.broker_server import LINES

_STEADY = 20  # subscriptions that stay
_PASSING = 10  # that come and go in each round


def serve_broker(place: Path, count: int) -> Generator[int, None, None]:
    """In each round: documents in bulk and one by one, new subscriptions that end, a reader."""
    options = ("--retain-mb", "5", "--retain-hours", "0.01")
    with broker_process(str(place / "store"), *options) as (asked, _):
        assert asked.put_feed("f").status == 201
        for number in range(_STEADY):
            assert asked.put(f"s{number}", xpath=f"/q[p = {number}]").status == 201
        after = 0
        number = 0
        while True:
            number += _PASSING
            passing = {f"t{n}": f"//p[. > {n}]" for n in range(number, number + _PASSING)}
            lines = [json.dumps({"id": name, "xpath": xpath}) for name, xpath in passing.items()]
            answer = asked.ask("POST", "/feeds/f/subscriptions", "\n".join(lines), LINES)
            assert answer.json["created"] == _PASSING
            some = [(f"d{n}", f"<q><p>{n % _STEADY}</p></q>") for n in range(count * 25)]
            assert asked.post_lines(some).json["accepted"] == len(some)
            for name, text in some[:5]:
                assert asked.post(text, name).status == 202
            for name in passing:
                assert asked.ask("DELETE", f"/feeds/f/subscriptions/{name}").status == 204
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
