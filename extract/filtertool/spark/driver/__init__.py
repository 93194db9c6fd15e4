"""The driver's part: plans tasks, has Spark run them, and commits the files they have written.

Comes in:
    A job, and documents with their sizes.

Goes out:
    Tasks (`planner`), Spark jobs that run them (`jobs`, with `broadcast` and `job_progress`), and a
    directory of results (`number_rows`, then `commit`). `explain` lists the jobs of a run in
    advance; `resume` finds the tasks that an interrupted run has finished.

Always holds:
    Only files of attempts whose result the driver received are committed, one attempt for each
    task.
"""
