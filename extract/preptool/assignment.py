"""The chunk of each branch, updated when queries are added or removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable

from extract.preptool.choose import PrefixIndex
from extract.preptool.chunk_builder import WHOLE_DOCUMENT, ChunkBuilder, ChunkKey
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.forms import FormTable
from extract.preptool.query_tree import NamePath
from extract.scheme.model import Scheme


class ChunkAssignment:
    """Assigns branches to the chunks of a scheme while queries are added and removed.

    Args:
        scheme: The scheme to start from.
        forms: Its forms and branches.
        footprints: The footprints of the branches.

    Attributes:
        builders: The builders of the chunks, of the potpourri and of the whole document.
    """

    def __init__(self, scheme: Scheme, forms: FormTable, footprints: BranchFootprints) -> None:
        self._forms = forms
        self._footprints = footprints
        self.builders: dict[ChunkKey, ChunkBuilder] = {}
        self._keys: list[ChunkKey] = [None] * len(forms.branches)  # of assigned branches
        keys = [tuple(chunk.prefix.split("/")[1:]) for chunk in scheme.chunks]
        chunks = (*scheme.chunks, scheme.potpourri, scheme.document)
        for key, chunk in zip([*keys, None, WHOLE_DOCUMENT], chunks, strict=True):
            self.builders[key] = ChunkBuilder.of_chunk(chunk, key, footprints)
            for number in chunk.branches:
                self._keys[number] = key

    def update(
        self, prefixes: Collection[NamePath], whole: Container[int], touched: Iterable[int]
    ) -> None:
        """Updates all chunks; only added, removed and moved branches are examined.

        Args:
            prefixes: The new prefixes of the chunks.
            whole: The branches that need the whole document.
            touched: The branches that queries have begun or ceased to need.
        """
        keys, forms = self._keys, self._forms
        moved = self._moved(prefixes)
        for prefix in prefixes:
            if prefix not in self.builders:
                self.builders[prefix] = ChunkBuilder(prefix, self._footprints)
        leaving: defaultdict[ChunkKey, list[int]] = defaultdict(list)
        entering: defaultdict[ChunkKey, list[int]] = defaultdict(list)
        assign = PrefixIndex(prefixes).assign
        for number in sorted(touched):
            if number >= len(keys):
                continue  # it is new, see below
            builder = self.builders.get(keys[number])  # None if the chunk is gone
            is_here = builder is not None and number in builder.branches
            if is_here and not forms.users[number]:
                leaving[keys[number]].append(number)
            elif forms.users[number] and not is_here:
                keys[number] = WHOLE_DOCUMENT if number in whole else assign(forms.spines[number])
                entering[keys[number]].append(number)
        for number, key in moved.items():
            leaving[keys[number]].append(number)
            entering[key].append(number)
            keys[number] = key
        for number in range(len(keys), len(forms.branches)):
            keys.append(WHOLE_DOCUMENT if number in whole else assign(forms.spines[number]))
            if forms.users[number]:
                entering[keys[number]].append(number)
        self.builders = {key: self.builders[key] for key in (*prefixes, None, WHOLE_DOCUMENT)}
        for key, numbers in leaving.items():
            if key in self.builders:  # otherwise the chunk is gone
                self.builders[key].remove(numbers)
        for key, numbers in entering.items():
            self.builders[key].add(sorted(numbers))

    def _moved(self, prefixes: Collection[NamePath]) -> dict[int, ChunkKey]:
        """Returns the branches whose chunk changes with these prefixes, with the new chunk."""
        spines, users = self._forms.spines, self._forms.users
        old, new = {key for key in self.builders if key}, set(prefixes)
        owner, assign = PrefixIndex(old).assign, PrefixIndex(new).assign
        moved: dict[int, ChunkKey] = {}
        # Only a removed chunk loses branches, or one whose paths a new prefix divides.
        for key in {*(old - new), *map(owner, new - old)}:
            for number in self.builders[key].branches:
                target = assign(spines[number])
                if target != key and users[number]:
                    moved[number] = target
        return moved
