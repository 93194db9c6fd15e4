"""Markup: reads the bytes of XML documents, in one way for all callers.

Usage:
    The input is the bytes of a document that is known to be well-formed, or a part of them.

When to use which:
    `tags` and `values` for names, attributes and values as libxml2 has them, `spans` for the byte
    spans of nodes, `encodings` for a document's encoding, `lxml_parser` for libxml2's own tree,
    `node_kinds` for the kinds of nodes.

Always holds:
    - There is one enumeration of node kinds, `node_kinds.NodeKind`; its numbers stand in columns of
      the node table and in the C code.
    - There is one pattern for each construct, and it is for bytes. For these ``\\s`` means XML's
      white space. For ``str`` it means more: U+00A0, which a value may begin with, and U+1680,
      which a name may contain.
    - There is one set of options for libxml2, because the answers to queries are defined by it.
    - Nothing here knows schemas, schemes or queries.

To read one more construct:
    Put the construct's pattern into `tags`, next to the patterns it consists of, and the function
     that decodes it into `values`.
"""
