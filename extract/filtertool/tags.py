"""Start tags as they are written: names and attributes in their order."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NAME: Final = re.compile(r"<([^\s/>]+)")
_ATTRIBUTE: Final = re.compile(r"""([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class Attribute(NamedTuple):
    """An attribute or namespace declaration: its name and, unchanged, what is in its quotes."""

    name: str
    raw: str

    @property
    def declares(self) -> bool:
        """Whether it declares a namespace."""
        return self.name == "xmlns" or self.name.startswith("xmlns:")


def tag_name(tag: str) -> str:
    """The name in a start tag.

    >>> tag_name("<po:order id='1'>")
    'po:order'
    """
    found = _NAME.match(tag)
    assert found is not None, tag
    return found[1]


def tag_attributes(tag: str) -> list[Attribute]:
    """All attributes of a start tag, namespace declarations among them.

    >>> tag_attributes("<a x='1' xmlns:p = \\"urn:p\\" p:y='>'/>")[1:]
    [Attribute(name='xmlns:p', raw='urn:p'), Attribute(name='p:y', raw='>')]
    """
    name = _NAME.match(tag)
    assert name is not None, tag
    found = _ATTRIBUTE.finditer(tag, name.end())
    return [Attribute(one[1], one[2] if one[2] is not None else one[3]) for one in found]
