"""The matcher ``push``: very many queries on small documents, in one pass in C.

Usage:
    `engine.PushEngine` takes questions and batches of documents, and returns columns of matches
    (`engine_answers`).
    `extract.filtertool.batch_filter` puts it in front of all other matchers; `factory.PushFactory`
    is the same engine behind the protocol of matchers.

Which module:
    `translator` turns a query into paths downwards with `conditions` (`translated_paths`,
    `translated_values`), `program` compiles these for the engine and says by what a query is found,
    ``core/push.h`` is the map of the engine in C.

Always holds:
    The engine decides only what it translates exactly. What it does not take goes to other
    matchers: query by query, and document by document.

To let it answer more queries:
    A case in `translator.Translator` or in what it is made of, and if it needs a new kind of
    condition, one in ``core/evaluate.c``. ``tests/filtertool/matchers/push`` compares with libxml2.
"""
