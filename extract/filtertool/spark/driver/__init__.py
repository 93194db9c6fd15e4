"""What runs in the driver: it plans tasks, has Spark run them, and commits what they have written.

Comes in:
    A job, and documents with their sizes.

Goes out:
    Tasks (`planner`), Spark jobs that run them (`jobs`, with `broadcast` and `job_progress`), and a
    directory of results (`number_rows`, then `commit`). `explain` says in advance which jobs will
    run; `resume` finds what an interrupted run has finished.

Always holds:
    Only files of attempts whose result the driver got are committed, one attempt for each task.
"""
