"""Which documents go to columns, and how often columns are tried."""

from __future__ import annotations

from extract.filtertool.document_choice import DocumentChoice

LARGE = 2_000_000


def tries(choice: DocumentChoice, size: int, engine: float, columns: float, documents: int) -> int:
    """How many of some documents go to columns, with what each way takes in seconds."""
    count = 0
    for _ in range(documents):
        chosen = choice.columns_from is not None and choice.columns_from <= size
        count += chosen
        choice.learn(chosen, size, columns if chosen else engine)
    return count


def test_many_queries_of_few_questions_go_to_columns_at_first_sight() -> None:
    assert tries(DocumentChoice(350, 2_000, "count"), LARGE, 0.15, 0.02, 10) >= 9


def test_rules_that_differ_stay_with_the_engine() -> None:
    """Columns take a second to prepare alone: a try would be seen in any measurement."""
    for size, engine in ((LARGE, 0.02), (30_000, 0.002)):
        assert tries(DocumentChoice(1_300, 1_300, "nodes"), size, engine, 1.0, 2_000) == 0


def test_many_questions_are_not_compiled_unmeasured() -> None:
    assert DocumentChoice(1_500, 20_000, "nodes").columns_from is None


def test_columns_that_are_faster_than_the_engine_are_found() -> None:
    assert tries(DocumentChoice(350, 350, "doc"), LARGE, 0.2, 0.02, 20) >= 17


def test_columns_that_are_slower_are_tried_less_and_less() -> None:
    choice = DocumentChoice(20, 20, "count")
    first = tries(choice, LARGE, 0.05, 0.1, 200)
    assert 1 <= first <= 5
    assert tries(choice, LARGE, 0.05, 0.1, 800) <= 2


def test_an_engine_that_is_faster_than_expected_is_found() -> None:
    assert tries(DocumentChoice(350, 2_000, "count"), LARGE, 0.001, 0.02, 40) <= 10
