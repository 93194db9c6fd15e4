"""Input: which documents there are, and their bytes.

Usage:
    ``find_inputs(["docs/", "s3://bucket/docs"])`` lists documents with their sizes;
    ``open_source("doc.xml.gz")`` opens one.

When to use which:
    `find` for the documents that names lead to: files, directories, globs and URIs. `source` for
    one of them, readable in windows, from the first byte again whenever that is needed; `streams`
    are the kinds of bytes behind it (memory, files, streams that can be read once), `packed`
    unpacks gzip, bzip2, xz and zstd, and `archives` reads the files of a zip archive. `remote` for
    documents behind URIs, and for ranges of bytes. `spill` for what a scan keeps: in memory while
    it is little, in files when it is much.

Always holds:
    A document is never mapped into memory, and every size is limited while it is read.

To add one more:
    A compression is a row in `packed.PACKINGS`. Another place where documents lie is a case in
    `find` and in `remote`.
"""
