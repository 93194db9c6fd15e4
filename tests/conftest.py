"""What all tests share: how thoroughly Hypothesis searches, and where things are."""

from __future__ import annotations

import contextlib
import gc
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.postgres_server import PostgresServer

# A failed `assert` of a helper shows its values, as one of a test does.
pytest.register_assert_rewrite("tests.support")

# No verdict depends on how quick the machine is.
settings.register_profile(
    "any_speed",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples in every run, so that a red build is red again; `make test-all` searches anew.
settings.register_profile("ci", settings.get_profile("any_speed"), derandomize=True)
settings.register_profile("long", settings.get_profile("any_speed"), max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Commands and workers that tests start need not compile our modules each time, as they would where
# the environment keeps Python from writing what it has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="session", autouse=True)
def small_heap() -> Iterator[None]:
    """Keeps the garbage collector away from what pytest holds: thousands of tests, for ever.

    A worker of Spark collects garbage for each filter that it makes, and looks at everything that
    was there before. In a worker's process that is little; here, where tests call what a worker
    does, it is a fifth of a second.
    """
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        yield
    gc.unfreeze()  # else what modules keep outlives them, and DuckDB's binding reports it as leaked


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The project's root directory."""
    from tests.support.paths import ROOT

    return ROOT


@pytest.fixture(scope="session")
def shared_data(repo_root: Path) -> Path:
    """Real schemas, documents and queries, which lie beside the project and do not belong to it."""
    data = repo_root.parent / "shared" / "data"
    if not data.is_dir():
        pytest.skip(f"there is no {data}")
    return data


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark of all tests: it takes seconds to start."""
    pytest.importorskip("pyspark", reason="Spark is not installed")
    from extract.filtertool.spark import local_session
    from extract.filtertool.spark.java import find_java

    java = find_java()
    if java is None or not java.fits:
        pytest.skip("there is no Java for Spark")
    session = local_session(
        "local[2]", conf={"spark.python.daemon.module": "tests.support.spark_daemon"}
    )
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which need not be there
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives all tests of Spark to one process, so that Spark is started once; others by file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    scheduler = LoadFileScheduling(config, log)
    file_of = scheduler._split_scope
    scheduler._split_scope = lambda test: "spark" if "spark" in test else file_of(test)
    return scheduler


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The one PostgreSQL server of all tests."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    from tests.support.postgres_server import NoServer, postgres_server

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(postgres_server())
        except NoServer as error:
            pytest.skip(str(error))
        yield server


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without a scheme, on each engine in turn."""
    if request.param == "duckdb":
        pytest.importorskip("duckdb", reason="DuckDB is not installed")
        return f"duckdb:{tmp_path / 'subs.duckdb'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(schema=f"s {uuid.uuid4().hex[:12]}")
