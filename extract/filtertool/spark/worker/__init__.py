"""What runs in Spark's Python workers. Nothing here imports pyspark.

Usage:
    `run_task` filters a `tasks.Task` into files and returns a `task_output.TaskOutput`;
    `frame_tasks` filters one into record batches (`frame_rows`), for a DataFrame.

Which module:
    `filter_cache` makes or finds the filter; `documents` opens and filters batches;
    `survey_document` and `large_document` cut a large document; `query_shares` says which queries a
    task evaluates; `row_numbers` and `document_results` put the results of pieces together;
    `findings_file` holds rows that another process writes; `checkpoint` notes that a task is
    finished. `join_tasks` and `join_states` are the parts of joins between documents.

Always holds:
    What is wrong with a document or a query is in the output and never raised. A document that
    kills workers is rejected by the third attempt at its task.

To add a kind of task:
    A field of `tasks.Task`, what `run_task` and `frame_tasks` do with it, and who plans it in
    `extract.filtertool.spark.driver.planner`.
"""
