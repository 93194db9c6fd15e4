"""The chunk of each branch and subscriber, updated when queries are added or removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping

from extract.preptool.canonical import Form, QueryRegistry
from extract.preptool.choose import PrefixIndex
from extract.preptool.chunk_builder import WHOLE_DOCUMENT, ChunkBuilder, ChunkKey
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.query_tree import NamePath
from extract.scheme.model import Scheme


class ChunkAssignment:
    """Assigns branches to the chunks of a scheme while queries are added and removed.

    Args:
        scheme: The scheme to start from.
        registry: Its queries and branches.
        footprints: The footprints of the branches.

    Attributes:
        builders: The builders of the chunks, of the potpourri and of the whole document.
    """

    def __init__(
        self, scheme: Scheme, registry: QueryRegistry, footprints: BranchFootprints
    ) -> None:
        self._registry = registry
        self._footprints = footprints
        self.builders: dict[ChunkKey, ChunkBuilder] = {}
        self._keys: list[ChunkKey] = [None] * len(registry.branches)  # of assigned branches
        keys = [tuple(chunk.prefix.split("/")[1:]) for chunk in scheme.chunks]
        chunks = (*scheme.chunks, scheme.potpourri, scheme.document)
        for key, chunk in zip([*keys, None, WHOLE_DOCUMENT], chunks, strict=True):
            self.builders[key] = ChunkBuilder.of_chunk(chunk, key, footprints)
            for number in chunk.branches:
                self._keys[number] = key

    def update(
        self,
        prefixes: Collection[NamePath],
        whole: Container[int],
        added: Mapping[str, Form],
        removed: Mapping[str, Form],
        unneeded: Iterable[int],
    ) -> None:
        """Updates all chunks; only added, removed and moved branches are examined.

        Args:
            prefixes: The new prefixes of the chunks.
            whole: The branches that need the whole document.
            added: The new subscribers, with the normal forms of their queries.
            removed: The removed subscribers, likewise.
            unneeded: The branches that no query needs any more; new ones are in the registry.
        """
        keys, registry = self._keys, self._registry
        for identifier, form in removed.items():
            for key in {keys[number] for number in form}:
                self.builders[key].unsubscribe(identifier)
        moved = self._moved(prefixes)
        for prefix in prefixes:
            if prefix not in self.builders:
                self.builders[prefix] = ChunkBuilder(prefix, self._footprints)
        if moved:
            self._move_ids(moved, added)
        leaving: defaultdict[ChunkKey, list[int]] = defaultdict(list)
        entering: defaultdict[ChunkKey, list[int]] = defaultdict(list)
        for number in unneeded:
            if number < len(keys):  # others were removed before they were assigned
                leaving[keys[number]].append(number)
        for number, key in moved.items():
            leaving[keys[number]].append(number)
            entering[key].append(number)
            keys[number] = key
        assign = PrefixIndex(prefixes).assign
        for number in range(len(keys), len(registry.branches)):
            keys.append(WHOLE_DOCUMENT if number in whole else assign(registry.spines[number]))
            if registry.users[number]:
                entering[keys[number]].append(number)
        self.builders = {key: self.builders[key] for key in (*prefixes, None, WHOLE_DOCUMENT)}
        for key, numbers in leaving.items():
            if key in self.builders:  # otherwise the chunk is gone
                self.builders[key].remove(numbers)
        for key, numbers in entering.items():
            self.builders[key].add(sorted(numbers))
        for identifier, form in added.items():
            for key in dict.fromkeys([keys[number] for number in form]):
                self.builders[key].subscribe([identifier])

    def _moved(self, prefixes: Collection[NamePath]) -> dict[int, ChunkKey]:
        """Returns the branches whose chunk changes with these prefixes, with the new chunk."""
        spines, users = self._registry.spines, self._registry.users
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

    def _move_ids(self, moved: Mapping[int, ChunkKey], added: Container[str]) -> None:
        """Moves subscribers with their branches."""
        keys, placed = self._keys, len(self._keys)
        for form, canonical in self._registry.forms.items():
            if moved.keys().isdisjoint(form):
                continue
            numbers = [number for number in form if number < placed]
            before = dict.fromkeys([keys[number] for number in numbers])
            after = dict.fromkeys([moved.get(number, keys[number]) for number in numbers])
            for identifier in canonical.subscribers:
                if identifier in added:
                    continue
                for key in before:
                    if key not in after:
                        self.builders[key].unsubscribe(identifier)
                for key in after:
                    if key not in before:
                        self.builders[key].subscribe([identifier])
