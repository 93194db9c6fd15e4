"""Steps by plain names, such as ``a/p:b/@c``: the bulk of every query, read at once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from extract.xpath.ast import Axis, Step, make_step, name_test
from extract.xpath.mentions import Mention

# What comes after the steps must make neither a call, an axis nor a longer name of the last one; if
# it might, that one does not belong to them. At most 64 at a time: a step that is read alone, for
# the names are too long together, must not cost the length of the whole path.
_ASCII: Final = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
_PLAIN: Final = rf"@?{_ASCII}(?::{_ASCII})?"
PLAIN_STEPS: Final = re.compile(
    rf"{_PLAIN}(?:/{_PLAIN}){{0,63}}(?=[ \t\r\n]*+(?:[^ \t\r\n:(\x80-\U0010ffff]|\Z))"
)


@lru_cache(maxsize=1 << 14)
def plain_steps(text: str) -> tuple[tuple[Step, ...], tuple[Mention, ...]]:
    """Steps by plain names, and their prefixes with offsets from where they start.

    >>> steps, mentions = plain_steps("a/p:b/@c")
    >>> list(map(str, steps)), mentions
    (['a', 'p:b', '@c'], (Mention(offset=2, prefix='p', local='b'),))
    """
    steps: list[Step] = []
    mentions: list[Mention] = []
    at = 0
    for written in text.split("/"):
        axis: Axis = "attribute" if written[0] == "@" else "child"
        prefix, colon, local = written.removeprefix("@").partition(":")
        if colon:
            mentions.append(Mention(at + (axis == "attribute"), prefix, local))
            steps.append(make_step(axis, name_test(local, prefix)))
        else:
            steps.append(make_step(axis, name_test(prefix)))
        at += len(written) + 1
    return tuple(steps), tuple(mentions)
