"""Lists the Spark jobs of a run with their reasons: what ``extract run --explain`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from extract.chunktool.input.find import InputFile
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.options import Options
from extract.filtertool.output.writers import Format
from extract.filtertool.spark.driver.planner import TaskPlan, expected_plan
from extract.scheme.model import Scheme


def explain_run(
    scheme: Scheme, documents: Sequence[InputFile], cores: int, select: Select, form: Format
) -> str:
    """Returns the Spark jobs and the tasks of a run, as text.

    Args:
        scheme: The queries.
        documents: The documents.
        cores: The number of tasks that can run at once.
        select, form: As for ``extract run``.
    """
    plan = expected_plan(scheme, documents, cores, Options(select).in_parts)
    jobs = expected_jobs(plan, select, form)
    lines = [f"  {number}. {job}" for number, job in enumerate(jobs, 1)]
    head = f"{len(jobs)} Spark job{'s' * (len(jobs) != 1)}:"
    return "\n".join([head, *lines, "", str(plan)])


def expected_jobs(plan: TaskPlan, select: Select, form: Format) -> list[str]:
    """Returns the purpose of each Spark job of a plan, and the reason for it.

    Args:
        plan: The tasks.
        select, form: As for ``extract run``.
    """
    cut = {task.document.name for task in plan.tasks if task.pieces}
    split = {task.document.name for task in plan.tasks if task.pieces and not task.all_pieces}
    documents = sum(task.documents for task in plan.tasks)
    jobs = [f"filter {_many(documents, 'document')} in {_many(len(plan.tasks), 'task')}"]
    if cut:
        jobs.insert(0, f"find out where to cut {_many(len(cut), 'large document')} into pieces")
    if split and select == "nodes" and form != "xml":
        why = f"number the nodes of {_many(len(split), 'document')} whose pieces several tasks have"
        jobs.append(f"{why}; only if they are many")
    return jobs


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
