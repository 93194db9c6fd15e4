"""Random schemas, documents and queries, and the oracle that says what a query selects.

What goes in is a source of randomness, ``random.Random(seed)`` or one that Hypothesis hands out;
the same seed gives the same text on every machine. What comes out:

* `schemas`: DTDs and XSDs that validators accept (`dtds`, `xsds`, `xsdparts`, `content`);
* `documents`: valid, edge-conforming or wrong documents of a loaded schema, of any size (`facts`,
  `body`, `tags`, `scope`, `values`, `markup`);
* `queries`: XPath 1.0 over the schema's names, in four profiles (`walk`, `paths`, `expressions`);
* `oracle`: the answer of libxml2, with exact node identities;
* `cases` and `strategies`: all of it together, in bulk or for Hypothesis.

What always holds: a schema loads, its content models are deterministic, and it has finite
documents; a document is well-formed; a query compiles and is cheap. One more odd thing goes into
`markup`, one more kind of expression into `expressions`.
"""
