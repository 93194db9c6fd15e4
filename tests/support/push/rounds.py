"""Rounds of the push engine against libxml2: queries come and go, documents are matched.

One round has an engine for each kind of answer, some templates with members, and batches of
documents; between batches members are removed and others added, and the engine is reorganised. All
answers to all present queries on all documents are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import numpy as np

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.push.engine import STATE_BYTES, PushEngine
from extract.filtertool.matchers.push.engine_answers import EngineAnswers
from extract.schema.model import Schema
from tests.support.push.documents import DocumentWriter
from tests.support.push.oracle import NodeKey, OracleDocument, OracleTemplate
from tests.support.push.queries import RandomTemplate, TemplateWriter
from tests.support.push.vocabulary import NAMESPACES

_SELECTS: Final[tuple[Select, ...]] = ("doc", "count", "nodes")


class PushRound:
    """One round.

    Args:
        random: Where choices come from.
        templates: How many templates there are.
        members: How many queries each template has at most.
        odd: Of a hundred conditions, how many are such that the engine does not take them; then it
            must name all documents that match.

    Attributes:
        engines: The engine for each kind of answer.
        counts: What was compared.
    """

    def __init__(self, random: Random, templates: int, members: int, odd: int = 0) -> None:
        self._random = random
        self._members = members
        self._asked = [self._template(odd) for _ in range(templates)]
        small = random.choice((STATE_BYTES, STATE_BYTES, 20_000))
        self.engines = {
            select: PushEngine(
                Schema.none(),
                NAMESPACES,
                select,
                approximate=odd > 0,
                conditions=select != "nodes",
                state_bytes=small,
            )
            for select in _SELECTS
        }
        for engine in self.engines.values():
            engine._adapt_at = random.choice((1, 10, 100))
        self._present: dict[int, tuple[int, int]] = {}  # query: template and row
        self._next = 0
        self.counts: Counter[str] = Counter()

    def _template(self, odd: int) -> OracleTemplate:
        random = self._random
        template: RandomTemplate = TemplateWriter(random, odd).template()
        rows = {template.constants(random) for _ in range(random.randint(1, self._members))}
        return OracleTemplate(template, sorted(rows))

    # -- queries

    def add(self, share: float = 1.0) -> None:
        """Adds queries: of each template a part of its members, some of them twice."""
        random = self._random
        for number, asked in enumerate(self._asked):
            rows = [n for n in range(len(asked.rows)) if random.random() < share]
            rows += random.choices(range(len(asked.rows)), k=random.randrange(3))
            if not rows:
                continue
            question = asked.template.question([asked.rows[n] for n in rows])
            numbers = list(range(self._next, self._next + len(rows)))
            random.shuffle(numbers)
            queries = np.array(numbers, np.int32)
            taken = False
            for engine in self.engines.values():
                if engine.takes(number, question):
                    engine.add(number, question, queries)
                    taken = True
            self.counts["queries taken" if taken else "queries not taken"] += len(rows)
            if taken:
                self._present.update(
                    zip(queries.tolist(), [(number, n) for n in rows], strict=True)
                )
            self._next += len(rows)

    def remove(self, share: float) -> None:
        """Removes a part of the queries, in any order."""
        gone = [query for query in self._present if self._random.random() < share]
        self._random.shuffle(gone)
        for engine in self.engines.values():
            engine.remove([q for q in gone if self._taken(engine, q)])
        for query in gone:
            del self._present[query]

    def keep_shapes(self) -> None:
        """Removes the queries of templates with constants."""
        gone = [
            query for query, (number, row) in self._present.items() if self._asked[number].rows[row]
        ]
        for engine in self.engines.values():
            engine.remove([q for q in gone if self._taken(engine, q)])
        for query in gone:
            del self._present[query]

    def _taken(self, engine: PushEngine, query: int) -> bool:
        number = self._present[query][0]
        asked = self._asked[number]
        return engine.takes(number, asked.template.question(list(asked.rows)))

    # -- documents

    def documents(self, count: int, elements: int = 25, depth: int = 8) -> list[OracleDocument]:
        """Random documents."""
        random = self._random
        return [
            OracleDocument(DocumentWriter(random, random.randint(1, elements), depth).document())
            for _ in range(count)
        ]

    def compare(self, documents: Sequence[OracleDocument], before: int = 0) -> None:
        """Compares all answers on some documents.

        Args:
            documents: The documents.
            before: How often they are matched before: then the engines know them.

        Raises:
            AssertionError: One is wrong; says which.
        """
        for engine in self.engines.values():
            for _ in range(before):
                engine.match([one.data for one in documents])
        found = {
            select: engine.match([one.data for one in documents])
            for select, engine in self.engines.items()
        }
        by_select = {select: _by_pair(select, answers) for select, answers in found.items()}
        kinds = {select: self._decided(engine) for select, engine in self.engines.items()}
        rows: dict[tuple[int, int], list[int]] = {}
        for query, place in self._present.items():
            rows.setdefault(place, []).append(query)
        given = set().union(*[set(answers) for answers in by_select.values()])
        for unit, document in enumerate(documents):
            done = {select: answers.done[unit] == 1 for select, answers in found.items()}
            ready = [
                (select, kinds[select], by_select[select]) for select in _SELECTS if done[select]
            ]
            for (number, row), queries in rows.items():
                answer = self._asked[number].answer(document, row)
                if not answer and not any((unit, query) in given for query in queries):
                    continue
                self.counts["matches"] += bool(answer)
                for select, decided, answers in ready:
                    if number not in decided:
                        continue
                    for query in queries:
                        wrong = _difference(
                            select,
                            decided[number],
                            document,
                            answer,
                            answers.get((unit, query), False),
                        )
                        if wrong:
                            raise AssertionError(self._described(number, row, document, wrong))
            self.counts["answers"] += len(rows)
            self.counts["documents"] += 1
            self.counts["documents done"] += done["count"]

    def _decided(self, engine: PushEngine) -> dict[int, bool]:
        """For each template that an engine takes, whether it decides."""
        taken = {}
        for number, asked in enumerate(self._asked):
            question = asked.template.question(list(asked.rows))
            if engine.takes(number, question):
                taken[number] = engine.decides(number)
        return taken

    def _described(self, number: int, row: int, document: OracleDocument, wrong: str) -> str:
        asked = self._asked[number]
        return f"{asked.template.text} with {asked.rows[row]}: {wrong}\non {document.data!r}"


def _by_pair(select: Select, answers: EngineAnswers) -> dict[tuple[int, int], Any]:
    """What an engine says of each document and query; None for "perhaps"."""
    matches = answers.matches
    out: dict[tuple[int, int], Any] = {}
    pairs = list(zip(matches.unit.tolist(), matches.query.tolist(), strict=True))
    assert pairs == sorted(pairs)
    if select == "doc":
        assert len(set(pairs)) == len(pairs)
        out = dict.fromkeys(pairs, True)
    elif select == "count":
        assert len(set(pairs)) == len(pairs)
        out = dict(zip(pairs, matches.value.tolist(), strict=True))
    else:
        nodes: dict[tuple[int, int], list[NodeKey]] = {}
        for pair, value, number in zip(
            pairs, matches.value.tolist(), matches.number.tolist(), strict=True
        ):
            row = value & 0xFFFFFFFF
            row = -1 if row == 0xFFFFFFFF else row
            nodes.setdefault(pair, []).append((value >> 32, row, number))
        out.update(nodes)
    may = answers.candidates
    for pair in zip(may.unit.tolist(), may.query.tolist(), strict=True):
        assert pair not in out
        out[pair] = None
    return out


def _difference(
    select: Select, decided: bool, document: OracleDocument, answer: list[Any] | bool, given: Any
) -> str:
    """How an answer differs from libxml2's; empty if it does not."""
    if not decided or given is None:  # None: it takes too many steps
        return "it is no candidate" if answer and given is False else ""
    if select == "doc":
        right: Any = bool(answer)
    elif isinstance(answer, bool):
        right = 1 if answer else False
    elif select == "count":
        right = len(answer) or False
    else:
        right = [document.key(node) for node in answer] or False
    return (
        ""
        if given == right and (given is False) == (right is False)
        else f"{select}: {given}, and not {right}"
    )


def round_of(
    seed: int, templates: int = 12, members: int = 12, documents: int = 20
) -> Counter[str]:
    """One round of a fuzz: queries come, go and come again."""
    random = Random(seed)
    one = PushRound(random, templates, members, odd=random.choice((0, 0, 0, 20)))
    one.add(0.5)
    one.compare(one.documents(documents))
    one.remove(random.choice((0.3, 0.9)))
    one.add(0.5)
    elements, depth = random.choice(((25, 8), (10, 4), (40, 40), (300, 10)))
    few = documents if elements < 100 else 2
    one.compare(one.documents(few, elements, depth), before=random.choice((0, 2)))
    one.keep_shapes()
    one.compare(one.documents(few, elements, depth), before=random.choice((0, 2, 300 // few)))
    one.remove(1.0)
    for engine in one.engines.values():
        assert len(engine) == 0
        assert not len(engine.match([b"<a/>"]).matches.unit)
    one.add(1.0)
    one.compare(one.documents(documents // 2))
    return one.counts
