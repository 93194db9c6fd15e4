"""What runs in Spark's Python workers. Nothing here imports pyspark.

Comes in:
    A `Task`: documents in batches, or a part of the work on one large document.

Goes out:
    For a directory of results, files and a `TaskOutput` (`run_task`); for a DataFrame,
    record batches (`frame_tasks`).

Always holds:
    What is wrong with a document or a query is in the output and never raised. A document that
    kills workers is rejected by the third attempt at its task.

The way of a task: `filter_cache` makes or finds the filter; `documents` opens and filters batches;
`survey_document` and `large_document` cut a large document; `query_shares` says which queries a
task evaluates; `row_numbers` and `document_results` put the results of pieces together;
`findings_file` holds what others write; `checkpoint` notes that a task is finished.
"""
