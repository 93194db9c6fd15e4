"""``--chunks auto``: the cost model, the number of chunks it finds, and the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from extract import Schema, Scheme, SchemeError, Subscriptions, prepare
from extract.cli import cli
from extract.preptool.costing.auto import MOST_CHUNKS, ChunkingPlan, decide, plans
from extract.preptool.costing.cost import LXML, Matching, Shape, makespan
from extract.preptool.costing.estimate import Estimator, PathMarks
from extract.preptool.costing.workload import Workload
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.prepare import tree_of
from extract.preptool.revise import Reviser
from extract.scenarios import scenario
from extract.scheme.spine import take_apart
from extract.subscriptions import Subscription
from tests.support.paths import SCHEMAS

UNIVERSITY = Schema.load(SCHEMAS / "university.dtd", root="db")
PEOPLE = b"".join(scenario("university").document(200_000))
DESCRIPTOR = b"".join(scenario("ejb").document(60_000))


def university(count: int = 500, workers: int = 1) -> Scheme:
    queries = scenario("university").queries(count)
    return prepare(UNIVERSITY, queries, "auto", sample=[PEOPLE], workers=workers)


# -- The cost model


def test_the_longest_task_is_given_out_first() -> None:
    assert makespan([3, 3, 2, 2, 2], 2) == 7  # not 6: it is a rule of thumb
    assert makespan([5, 1, 1], 1) == 7
    assert makespan([], 3) == 0


def test_larger_chunks_and_more_branches_cost_more() -> None:
    scheme = university()
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    student = estimator.path(["db", "student"])
    name = estimator.path(["db", "student", "name"])
    assert student is not None
    assert name is not None
    small = Matching(estimator, estimator.keep(PathMarks(subtrees=1 << student)), LXML)
    large = Matching(estimator, estimator.keep(PathMarks(subtrees=estimator.roots)), LXML)
    spine = (1, student, name)
    assert 0 < small.fixed_seconds() < large.fixed_seconds()
    one, two = ({Shape(): count} for count in (1, 2))
    assert small.branch_seconds(spine, one) < large.branch_seconds(spine, one)
    assert small.branch_seconds(spine, two) == pytest.approx(2 * small.branch_seconds(spine, one))
    # A filter is tested on each student, // looks at everything below.
    shapes = (Shape(), Shape(filters=(2,)), Shape(deep=True), Shape(filters=(2, 3), deep=True))
    plain, filtered, deep, both = (small.branch_seconds(spine, {one: 1}) for one in shapes)
    assert plain < filtered < both
    assert small.branch_seconds((1, student), {Shape(deep=True): 1}) > deep


def test_what_no_sample_has_costs_only_the_call() -> None:
    scheme = prepare(UNIVERSITY, Subscriptions.of(["//email"]), 1, sample=[b"<db/>"])
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    matching = Matching(estimator, estimator.keep(PathMarks()), LXML)
    assert matching.branch_seconds((), {Shape(): 1}) == pytest.approx(
        LXML.seconds_per_branch, rel=0.2
    )


def test_estimates_rank_the_numbers_of_chunks_as_they_are() -> None:
    # With all five kinds apart no branch looks at other kinds' records: that is known to be best
    # for one worker among 1 to 5 (`extract bench prep`), and twice as good as 1 for two.
    scheme = university(2_000)
    for workers, gain in ((1, 1.1), (2, 1.5)):
        found = _plans(scheme, workers)
        assert len(found) == MOST_CHUNKS
        assert found[4].seconds < found[0].seconds / gain
        assert [len(plan.choice.prefixes) for plan in found] == list(range(1, MOST_CHUNKS + 1))
        for plan in found:
            least = plan.scan_seconds + makespan(plan.chunk_seconds, workers)
            assert least <= plan.seconds <= least * 1.1


def _plans(scheme: Scheme, workers: int = 1) -> list[ChunkingPlan]:
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    parts = [take_apart(branch) for branch in scheme.branches]
    footprints = BranchFootprints(scheme.branches, [part.tail for part in parts])
    every = dict.fromkeys(range(len(scheme.branches)), 1)
    workload = Workload.of(
        every, [part.names for part in parts], footprints, footprints.whole(), estimator
    )
    tree = tree_of(scheme)
    best = decide(tree, workload, estimator, workers)
    found = plans(tree, workload, estimator, workers)
    assert best.seconds <= min(plan.seconds for plan in found) * 1.02
    return found


# -- prepare


def test_auto_finds_the_kinds_of_people() -> None:
    scheme = university(2_000)
    assert scheme.settings.auto
    assert scheme.settings.chunks == len(scheme.chunks) >= 3
    assert {chunk.prefix.split("/")[2] for chunk in scheme.chunks} <= {
        *("student", "professor", "assistant", "secretary", "lecturer")
    }
    [note] = scheme.notes
    assert note.startswith(f"auto: {len(scheme.chunks)} chunks, for an estimated ")
    assert note.endswith("(from 1 sample document)")
    assert "with 1 chunk" in note


def test_auto_is_the_same_each_time_and_in_any_order(tmp_path: Path) -> None:
    scheme = university()
    assert university() == scheme
    queries = list(scenario("university").queries(500))
    Random(1).shuffle(queries)
    other = prepare(UNIVERSITY, Subscriptions.of(queries), "auto", sample=[PEOPLE])
    assert _decision(other) == _decision(scheme)
    scheme.save(tmp_path / "scheme.json")
    loaded = Scheme.load(tmp_path / "scheme.json")
    assert loaded == scheme
    assert loaded.statistics == scheme.statistics
    assert (loaded.settings.auto, loaded.settings.workers) == (True, 1)


def _decision(scheme: Scheme) -> object:
    chunks = [(chunk.id, chunk.prefix, chunk.projected) for chunk in scheme.chunks]
    return chunks, scheme.notes, scheme.settings, scheme.statistics


def test_auto_without_samples_asks_the_schema() -> None:
    scheme = prepare(UNIVERSITY, scenario("university").queries(500), "auto")
    assert scheme.statistics.source == "schema"
    assert "from the schema alone, for a document of 100 KB" in scheme.notes[0]


def test_more_workers_want_more_chunks() -> None:
    alone, two = university(2_000), university(2_000, workers=2)
    assert two.settings.workers == 2
    assert "on 2 workers" in two.notes[0]
    assert len(two.chunks) >= len(alone.chunks)


def test_a_chunk_is_projected_where_that_saves_much() -> None:
    few = Subscriptions.of(["/db/student[link]/name", "/db/student[url]/name", "//student[@id]"])
    full = prepare(UNIVERSITY, few, "auto", sample=[PEOPLE])
    assert not any(chunk.projected for chunk in full.chunks)  # //student[@id] wants all of it
    one = Subscriptions.of(["/db/student[@id = '1']/name", "/db/student[name]/email/text()"])
    scheme = prepare(UNIVERSITY, one, "auto", sample=[PEOPLE])
    [chunk] = scheme.chunks
    assert (chunk.prefix, chunk.projected) == ("/db/student", True)
    estimator = Estimator(scheme.statistics, scheme.namespaces)
    whole = estimator.of_chunk(replace(chunk, projected=False))
    assert estimator.of_chunk(chunk).size_bytes < 0.7 * whole.size_bytes


@pytest.mark.parametrize("queries", [[], ["/db/zzz"], ["/db"], ["id('x')"], ["count(//name)"]])
def test_auto_where_there_is_nothing_to_cut(queries: list[str], tmp_path: Path) -> None:
    scheme = prepare(UNIVERSITY, Subscriptions.of(queries), "auto", sample=[PEOPLE])
    assert scheme.chunks == ()
    assert scheme.settings.chunks == 1
    assert not any(note.startswith("auto") for note in scheme.notes)
    scheme.save(tmp_path / "scheme.json")
    assert Scheme.load(tmp_path / "scheme.json") == scheme


def test_no_workers_is_an_error() -> None:
    with pytest.raises(SchemeError, match="0 is not a number of workers"):
        prepare(UNIVERSITY, Subscriptions.of(["//name"]), "auto", workers=0)


def test_a_revised_scheme_decides_as_a_fresh_one() -> None:
    source = scenario("ejb")
    queries = list(source.queries(300))
    schema = source.schema()
    start = prepare(schema, Subscriptions.of(queries[:150]), "auto", sample=[DESCRIPTOR])
    reviser = Reviser(start)
    for query in queries[150:]:
        reviser.add(Subscription(query.id, query.xpath))
    fresh = prepare(schema, Subscriptions.of(queries), "auto", sample=[DESCRIPTOR])
    assert _decision(reviser.scheme()) == _decision(fresh)
    for query in queries[:250]:
        reviser.remove(query.id)
    fresh = prepare(schema, Subscriptions.of(queries[250:]), "auto", sample=[DESCRIPTOR])
    assert _decision(reviser.scheme()) == _decision(fresh)


# -- The commands


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, args, catch_exceptions=False)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    queries, document = tmp_path / "queries.tsv", tmp_path / "doc.xml"
    rows = [f"{one.id}\t{one.xpath}\n" for one in scenario("university").queries(200)]
    queries.write_text("".join(rows), encoding="utf-8")
    document.write_bytes(PEOPLE)
    return str(queries), str(document), str(tmp_path / "scheme.json")


def test_prep_and_explain_show_estimated_bytes(files: tuple[str, str, str]) -> None:
    queries, document, scheme = files
    schema = str(SCHEMAS / "university.dtd")
    common = ("--schema", schema, "--queries", queries, "--root", "db")
    result = run("prep", *common, "--chunks", "auto", "--sample", document, "-o", scheme)
    assert result.exit_code == 0, result.stderr
    assert "Note: auto: " in result.stderr
    loaded = Scheme.load(scheme)
    assert loaded.statistics.document_bytes == len(PEOPLE)
    facts = json.loads(run("explain", "--scheme", scheme, "--json").stdout)
    for one in facts["chunks"][: len(loaded.chunks)]:
        assert 0 < one["estimated_bytes"] < len(PEOPLE)
        assert one["estimated_share"] == pytest.approx(one["estimated_bytes"] / len(PEOPLE), 0.01)
        shown = f"{one['estimated_bytes']:,} ("
        assert shown in run("explain", "--scheme", scheme).stdout


def test_prep_for_workers(files: tuple[str, str, str]) -> None:
    queries, document, scheme = files
    common = ("--schema", str(SCHEMAS / "university.dtd"), "--queries", queries, "-o", scheme)
    args = ("--chunks", "auto", "--sample", document, "--sample", document, "--workers", "3")
    assert run("prep", *common, *args).exit_code == 0
    settings = Scheme.load(scheme).settings
    assert (settings.auto, settings.workers) == (True, 3)
    assert "on 3 workers" in Scheme.load(scheme).notes[0]
    assert "(from 2 sample documents)" in Scheme.load(scheme).notes[0]


def test_a_bad_sample_is_exit_2_with_its_name(files: tuple[str, str, str], tmp_path: Path) -> None:
    queries, _, scheme = files
    bad = tmp_path / "bad.xml"
    bad.write_bytes(b"<db><student></db>")
    common = ("--schema", str(SCHEMAS / "university.dtd"), "--queries", queries, "-o", scheme)
    result = run("prep", *common, "--chunks", "auto", "--sample", str(bad))
    assert result.exit_code == 2
    assert "bad.xml:1:" in result.stderr
    assert "mismatched tag" in result.stderr
    assert not Path(scheme).exists()


def test_bench_compares_auto_with_each_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # away from ../shared/data
    result = run("bench", "prep", "--scale", "0.02", "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert {row["case"] for row in rows} == {"university", "ejb"}
    for case in ("university", "ejb"):
        ours = [row["chunks"] for row in rows if row["case"] == case]
        assert ours[:3] == ["1", "2", "3"]
        assert [one.split(":")[0] for one in ours[-2:]] == ["auto, 1 worker", "auto, 2 workers"]


def test_bench_measures_the_prices() -> None:
    result = run("bench", "cost", "--scale", "0.1", "--json")
    assert result.exit_code == 0
    prices = {row["price"] for row in json.loads(result.stdout)["rows"]}
    assert {"seconds_per_visit", "seconds_per_scanned_byte", "slowdown_per_doubling"} <= prices
