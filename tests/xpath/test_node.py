"""What all nodes share: the part in C and the one in Python do the same."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from extract.xpath.node import Node, PythonNode
from tests.support.paths import ROOT


@dataclass(frozen=True, slots=True, eq=False)
class Native(Node):
    """A node with the base that is in use."""

    name: str
    inner: tuple[object, ...] = ()

    def _format(self) -> str:
        return f"{self.name}({len(self.inner)})"


@dataclass(frozen=True, slots=True, eq=False)
class Python(PythonNode):
    """The same in Python."""

    name: str
    inner: tuple[object, ...] = ()

    def _format(self) -> str:
        return f"{self.name}({len(self.inner)})"


@pytest.mark.parametrize("kind", [Native, Python])
def test_nodes_are_values(kind: type[Native] | type[Python]) -> None:
    one, same, other = kind("a", (kind("b"),)), kind("a", (kind("b"),)), kind("a", (kind("c"),))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2
    assert one != "a(1)"
    assert one.__eq__("a(1)") is NotImplemented
    assert str(one) == str(same) == "a(1)"
    with pytest.raises(FrozenInstanceError):
        one.name = "x"  # type: ignore[misc]


@pytest.mark.parametrize("kind", [Native, Python])
def test_copies_have_their_own_hash_and_text(kind: type[Native] | type[Python]) -> None:
    one = kind("a")
    assert (hash(one), str(one)) == (hash(kind("a")), "a(0)")
    changed = replace(one, name="b")
    assert str(changed) == "b(0)"
    assert changed == kind("b")
    restored = pickle.loads(pickle.dumps(one))
    assert restored == one
    assert str(restored) == str(one)


def test_a_node_without_a_text_says_so() -> None:
    with pytest.raises(NotImplementedError):
        str(Node())


def test_python_takes_over() -> None:
    code = (
        "from extract.xpath.node import Node, PythonNode\n"
        "from extract.xpath.parser import parse\n"
        "assert Node is PythonNode\n"
        "assert str(parse('a [ b = 1 ]')) == 'a[b = 1]'\n"
    )
    environment = {"EXTRACT_SUBSCRIPTIONS": "off", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
