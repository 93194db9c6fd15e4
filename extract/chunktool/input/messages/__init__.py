"""Messages: many documents in one file, and how they are told apart.

Usage:
    ``message_blocks(document, limits)`` yields blocks of consecutive messages of a file, and
    ``block.documents()`` their names and bytes, for a filter to process.

When to use which:
    `form` says which files hold messages, and in which form. `read` reads any of them. `xml_file`
    reads XML documents that stand one after the other, and the records of one large document;
    `json_lines` lines of JSON; `columns` Parquet and Arrow files. `blocks` has what they yield.
    `splitting` finds documents and records in bytes: in C (``splitter.h`` is the map), or in Python
    (`reference_split`), whose docstring has the rules.

Always holds:
    Memory is bounded by the block and the longest message. Every byte of a file that is not white
    space between documents belongs to a message, and every message is answered or rejected. Spans
    of rows count from the beginning of the message.

To add a form:
    A kind of `form.MessageForm`, a function that yields blocks, and its row in `read`.
"""
