"""What runs in the driver: it plans tasks, has Spark run them, and commits what they have written.

Usage:
    `extract.filtertool.spark.engine` and `extract.filtertool.spark.frames` call it; programs use
    these.

Which module:
    `planner` makes tasks of documents with their sizes; `jobs` has Spark run them, with `broadcast`
    and `job_progress`; `number_rows`, then `commit`, make a directory of results of what the tasks
    wrote. `explain` says in advance which jobs will run; `resume` finds what an interrupted run has
    finished.

Always holds:
    Only files of attempts whose result the driver got are committed, one attempt for each task.

To add a step of a run:
    A function here, called by `extract.filtertool.spark.engine`, and a line in `explain` that says
    when it runs and why.
"""
