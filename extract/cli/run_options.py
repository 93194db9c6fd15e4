"""The options of ``extract run`` as one value, and which of them go together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import click

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.messages.form import AS_NAMED, MessageOptions
from extract.cli.config import GivesWay
from extract.cli.preparing import PrepareOptions
from extract.cli.verbosity import Verbosity
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO
from extract.filtertool.options import Options
from extract.filtertool.output.writers import Format
from extract.limits import DEFAULTS, Limits
from extract.xpath.later import FIRST

STDOUT: Final = "-"

# A scheme excludes what it is made from, the local engine what Spark alone has, a Spark master the
# number of cores of this machine, and rows on standard output Spark.
GIVES_WAY: Final = (
    GivesWay(("schema", "queries"), given=("scheme",)),
    GivesWay(("scheme",), given=("schema", "queries")),
    GivesWay(("engine", "master", "resume", "conf"), given=("output",), value="-"),
    GivesWay(("master", "resume", "conf"), given=("engine",), value="local"),
    GivesWay(("master",), given=("jobs",)),
    GivesWay(("jobs",), given=("master",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What ``extract run`` was asked for: each field is the option of its name.

    Attributes:
        documents: The arguments: files, directories, globs, or ``-``.
        version: ``--xpath-version``.
        form: ``--format``; None for Parquet, and for JSON lines on standard output.
        joined: ``--with``.
        limits: All ``--max-…`` together.
        as_json: ``--json``.
        messages: ``--messages``, ``--records``, ``--column`` and ``--name-column``.
        engine: None for Spark; for rows on standard output the processes of this machine.
    """

    documents: tuple[str, ...]
    output: str
    scheme: str | None = None
    schema: str | None = None
    queries: str | None = None
    root: str | None = None
    namespaces: dict[str, str] = field(default_factory=dict)
    version: str = FIRST
    chunks: int | Literal["auto"] = "auto"
    query: tuple[str, ...] = ()
    engine: Literal["spark", "local"] | None = None
    master: str | None = None
    conf: tuple[str, ...] = ()
    jobs: int = 0
    matcher: str = AUTO
    on_nonconforming: Literal["fallback", "reject"] = "fallback"
    assume_valid: bool = False
    select: Select = "nodes"
    form: Format | None = None
    joined: tuple[str, ...] = ()
    progress: bool | None = None
    priority: bool = False
    explain: bool = False
    resume: bool = False
    messages: MessageOptions = AS_NAMED
    limits: Limits = DEFAULTS
    verbosity: Verbosity = Verbosity.USUAL
    as_json: bool = False

    @property
    def on_stdout(self) -> bool:
        """Whether rows go to standard output, and not to a directory."""
        return self.output == STDOUT

    @property
    def local(self) -> bool:
        """Whether documents are filtered in processes of this machine."""
        return self.engine == "local" or (self.engine is None and self.on_stdout)

    @property
    def format(self) -> Format:
        """The format of the rows."""
        return self.form or ("jsonl" if self.on_stdout else "parquet")

    def check(self) -> None:
        """Makes sure that the options go together.

        Raises:
            click.UsageError: Some of them do not.
        """
        if self.on_stdout and self.engine == "spark":
            raise click.UsageError(
                "Rows on standard output come from this machine: leave --engine spark out, or name "
                "a directory with -o."
            )
        if self.on_stdout and self.form in ("parquet", "xml"):
            raise click.UsageError(
                f"--format {self.form} needs a directory: name one with -o, or use jsonl, csv or "
                "tsv."
            )
        if self.local and (self.master or self.resume or self.conf):
            raise click.UsageError("--master, --conf and --resume are for --engine spark.")
        if bad := next((one for one in self.conf if not one.partition("=")[2]), None):
            raise click.UsageError(f"--conf {bad}: write NAME=VALUE, as for spark-submit.")
        if self.jobs and self.master:
            raise click.UsageError("Give --master or --jobs, but not both.")
        if self.joined and self.form == "xml":
            raise click.UsageError("--with adds columns, and --format xml has none.")
        if self.scheme is not None and (self.schema is not None or self.queries is not None):
            raise click.UsageError("Give --scheme, or --queries and --schema, but not both.")
        if self.scheme is None and self.queries is None:
            raise click.UsageError("Give --scheme; or --queries, and --schema if there is one.")

    def preparation(self, documents: tuple[InputFile, ...]) -> PrepareOptions | None:
        """The options from which the scheme is made; None if it is loaded.

        Args:
            documents: All documents, to infer a schema from if none is given.
        """
        if self.queries is None:
            return None
        return PrepareOptions(
            schema=self.schema,
            queries=self.queries,
            root=self.root,
            namespaces=self.namespaces,
            version=self.version,
            chunks=self.chunks,
            documents=documents,
            only=self.query,
            limits=self.limits,
            progress=self.verbosity.progress(self.progress),
        )

    @property
    def filtering(self) -> Options:
        """How documents are filtered."""
        return Options(
            self.select,
            self.on_nonconforming,
            self.assume_valid,
            standalone=self.format == "xml",
            limits=self.limits,
            priority=self.priority,
            joined=self.joined,
        )

    @property
    def spark_master(self) -> str | None:
        """The master that Spark gets; None for its own default."""
        return self.master or (f"local[{self.jobs}]" if self.jobs else None)

    @property
    def spark_conf(self) -> dict[str, str]:
        """The settings of Spark by their names."""
        return {name: value for name, _, value in (one.partition("=") for one in self.conf)}
