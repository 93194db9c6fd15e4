"""One XML document for each subscription, with all its matches; or one for all, as a stream.

Matches are copied as they are, so that an ``xml:id`` may be there twice: of an element that is in
another, or in several documents. To read such a document with lxml, use a parser that collects no
IDs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Final

from extract.chunktool.file_names import FileNames, document_name, safe_name
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection
from extract.markup.escape import escaped_text, escaped_value


class XmlWriter:
    """Writes one document for each subscription, also for those that match nothing."""

    def __init__(self, matches: Path, rejected: Path, ids: Sequence[str], select: Select) -> None:
        names = FileNames()
        self._paths = [matches / f"{names.take(safe_name(one))}.xml" for one in ids]
        self._rejected = rejected / "rejected.xml"
        self._select = select
        for path, one in zip(self._paths, ids, strict=True):
            _append(path, f"{_HEAD}<matches{_attributes(query=one)}>\n")
        _append(self._rejected, f"{_HEAD}<rejections>\n")

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        texts = _match_lines(document, findings, self._select)
        for n, lines in texts.items():  # there may be more of them than files may be open
            _append(self._paths[n], "".join(lines))

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds what was rejected."""
        lines = [
            f"<rejection{_attributes(**one.in_rows(xml=True)._asdict())}/>\n" for one in rejections
        ]
        _append(self._rejected, "".join(lines))

    def close(self) -> None:
        """Ends all files."""
        for path in self._paths:
            _append(path, "</matches>\n")
        _append(self._rejected, "</rejections>\n")


class XmlStreamWriter:
    """Writes one document for all subscriptions, as matches come.

    Its root element ``results`` has, document after document, an element ``matches`` for each
    subscription that matches there, as in the documents of `XmlWriter`.

    Args:
        stream: Where it goes; it stays open.
        ids: The ids of all subscribers.
        select: What was asked for.
    """

    def __init__(self, stream: IO[str], ids: Sequence[str], select: Select) -> None:
        self._stream = stream
        self._ids = ids
        self._select = select
        stream.write(f"{_HEAD}<results>\n")

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        for n, lines in _match_lines(
            document_name(document, xml=True), findings, self._select
        ).items():
            text = "".join(
                [f"<matches{_attributes(query=self._ids[n])}>\n", *lines, "</matches>\n"]
            )
            self._stream.write(text.encode("utf-8", "replace").decode())

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Leaves rejections out."""

    def close(self) -> None:
        """Ends the document."""
        self._stream.write("</results>\n")


def _match_lines(document: str, findings: Findings, select: Select) -> dict[int, list[str]]:
    """By subscriber, the matches in a document as elements."""
    texts: dict[int, list[str]] = {}
    document = document_name(document, xml=True)
    if select == "output":
        for n, output in findings.outputs():
            texts[n] = [f"<match{_attributes(document=document)}>{output}</match>\n"]
    elif select != "nodes":
        counts = [None] * len(findings) if select == "doc" else findings.count.tolist()
        for n, count in zip(findings.subscriber.tolist(), counts, strict=True):
            line = f"<match{_attributes(document=document, count=count)}/>\n"
            texts.setdefault(n, []).append(line)
    else:
        d = findings.described.lists()
        rows = zip(
            findings.subscriber.tolist(),
            findings.node.tolist(),
            findings.ordinal.tolist(),
            strict=True,
        )
        for n, node, ordinal in rows:
            attributes = _attributes(
                document=document,
                node=d.node[node],
                name=d.name[node],
                start=d.start[node],
                end=d.end[node],
                ordinal=ordinal,
                path=d.path[node],
            )
            value = d.value[node]
            if value is None:
                line = f"<match{attributes}/>\n"
            else:
                inner = value if d.node[node] == "element" else _escaped(value)
                line = f"<match{attributes}>{inner}</match>\n"
            texts.setdefault(n, []).append(line)
    return texts


_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _append(path: Path, text: str) -> None:
    if text:
        with path.open("a", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)


def _escaped(text: str) -> str:
    return escaped_text(_allowed(text))


def _attributes(**values: Any) -> str:
    """Attributes with values; those without are left out."""
    return "".join(
        f' {name}="{escaped_value(_allowed(str(value)))}"'
        for name, value in values.items()
        if value is not None
    )


def _allowed(text: str) -> str:
    """A text without characters that XML does not allow; names of queries may have them."""
    if text.isprintable():
        return text
    return "".join(
        [c if (c >= " " and c not in "\ufffe\uffff") or c in "\t\n\r" else "\ufffd" for c in text]
    )
