"""Input: which documents there are, and their bytes.

`find` lists the documents that names lead to: files, directories, globs and URIs. `source` makes
one of them readable in windows, from the first byte again whenever that is needed; `streams` are
the kinds of bytes behind it (memory, files, streams that come once), `packed` unpacks gzip, bzip2,
xz and zstd, and `archives` reads the files of a zip archive. `remote` reads documents behind URIs,
and ranges of bytes. `spill` holds what a scan keeps, in memory while it is little and in files when
it is much.

Always holds: a document is never mapped into memory, and every size is limited while it is read.

To add a compression: a row in `packed.PACKINGS`.
"""
