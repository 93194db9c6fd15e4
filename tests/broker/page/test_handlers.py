"""What the page asks of the broker, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import extract
from extract.broker.page.files import page_files
from tests.support.paths import SCHEMAS
from tests.support.running_broker import running_broker

TOKENS = """
ada  aaaaaaaaaaaaaaaa subscribe,publish stock
bob  bbbbbbbbbbbbbbbb subscribe,publish stock,news
ops  oooooooooooooooo admin
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page")
    tokens = folder / "tokens"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    with running_broker(folder / "store", tokens) as address:
        with extract.Client(address, "o" * 16) as admin:
            dtd = (SCHEMAS / "stock.dtd").read_text(encoding="utf-8")
            admin.put_feed("stock", dtd=dtd, root="quotes")
            admin.put_feed("news")
        yield address


@pytest.fixture(scope="module")
def ada(url: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": "Bearer " + "a" * 16}
    with httpx.Client(base_url=url, headers=headers, trust_env=False) as opened:
        yield opened


def explained(ada: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = ada.post("/feeds/stock/explain", json=body)
    assert answer.status_code == 200, answer.text
    facts: dict[str, Any] = answer.json()
    return facts


def test_the_page_needs_no_token_and_no_other_host(url: str) -> None:
    with httpx.Client(base_url=url, trust_env=False) as stranger:
        page = stranger.get("/")
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "set-cookie" not in page.headers
        for name in re.findall(r'(?:src|href)="([^"#]+)"', page.text):
            assert stranger.get(name).status_code == 200, name
        again = stranger.get("/", headers={"If-None-Match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for path in ("/notifications", "/rejections", "/dead-letters", "/feeds"):
            assert stranger.get(path).status_code == 401
        assert stranger.post("/feeds/stock/explain", json={"xpath": "//a"}).status_code == 401


@pytest.mark.parametrize(
    "path", ["..%2ffiles.py", "%2e%2e/files.py", "views", "", "index.html/x", "//"]
)
def test_only_the_files_of_the_page_are_sent(url: str, path: str) -> None:
    assert httpx.get(f"{url}/static/{path}", trust_env=False).status_code in (404, 422)


def test_nothing_is_inline_and_nothing_is_fetched_from_elsewhere() -> None:
    files = page_files()
    assert {"index.html", "style.css", "main.js", "views/editor.js"} <= files.keys()
    for name, file in files.items():
        text = file.content.decode()
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"document\.cookie|sessionStorage", text), name
    index = files["index.html"].content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", index)
    stored = [name for name, file in files.items() if b"localStorage" in file.content]
    assert stored == ["main.js"]  # the theme; the token stays in memory


def test_every_module_that_is_imported_is_there() -> None:
    files = page_files()
    for name, file in files.items():
        folder = Path(name).parent
        for target in re.findall(r'from "(\.[^"]+)"', file.content.decode()):
            path = (folder / target).as_posix().replace("views/../", "")
            assert path in files, f"{name} imports {target}"


def test_a_query_is_explained_with_a_picture(ada: httpx.Client) -> None:
    told = explained(ada, xpath="//quote[symbol = 'BAB']/price", id="mine")
    assert told["status"] == "satisfiable"
    assert told["picture"].startswith("<svg")
    assert "Query mine" in told["picture"]
    assert "/quotes/quote" in told["words"]


def test_a_join_is_explained_in_words(ada: httpx.Client) -> None:
    told = explained(ada, xscl="a//b->x[c->y] FOLLOWED BY{y=v, 3600} d//e->z[f->v]")
    assert (told["status"], told["picture"]) == ("satisfiable", "")
    assert "reads: a, d" in told["words"]


def test_a_query_that_matches_nothing_says_why(ada: httpx.Client) -> None:
    told = explained(ada, xpath="//quot/price")
    assert (told["status"], bool(told["reason"])) == ("unsatisfiable", True)
    assert "quote" in told["hint"] + told["reason"]


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        ({"xpath": "//quote[price > ]"}, 16),
        ({"xpath": "//a:b"}, 2),
        ({"xscl": "S//a->x JOIN{"}, 13),
        ({"flwr": "for $q in //quote where return <a/>"}, None),
    ],
)
def test_what_is_wrong_with_a_query_has_its_place(
    ada: httpx.Client, body: dict[str, str], offset: int | None
) -> None:
    told = explained(ada, **body)
    assert told["status"] == "rejected"
    assert told["reason"]
    assert told["offset"] == offset if offset is not None else told["offset"] > 0


def test_a_query_is_tried_on_a_pasted_document(ada: httpx.Client) -> None:
    document = "<quotes><quote><price>7</price></quote><quote><price>9</price></quote></quotes>"
    found = ada.post("/feeds/stock/try", json={"xpath": "//price", "document": document}).json()
    assert found["total"] == 2
    assert [one["value"] for one in found["matches"]] == ["<price>7</price>", "<price>9</price>"]
    flwr = "for $p in //price where $p > 8 return <p>{ $p/text() }</p>"
    made = ada.post("/feeds/stock/try", json={"flwr": flwr, "document": document}).json()
    assert made["output"] == "<p>9</p>"
    cut = ada.post("/feeds/stock/try", json={"xpath": "//price", "document": document[:20]}).json()
    assert (cut["total"], len(cut["rejections"])) == (0, 1)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/feeds/stock/try", {"xpath": "//[", "document": "<a/>"}, 422),
        ("/feeds/stock/try", {"xpath": "//a"}, 422),
        ("/feeds/stock/explain", {}, 422),
        ("/feeds/stock/explain", {"xpath": "//a", "flwr": "for $a in //a return <b/>"}, 422),
        ("/feeds/stock/try", {"xscl": "x", "document": "<a/>"}, 422),
        ("/feeds/stock/explain", [], 422),
        ("/feeds/news/explain", {"xpath": "//a"}, 404),  # ada may not see it
        ("/feeds/nowhere/explain", {"xpath": "//a"}, 404),
    ],
)
def test_what_cannot_be_asked(ada: httpx.Client, path: str, body: object, status: int) -> None:
    answer = ada.post(path, json=body)
    assert (answer.status_code, bool(answer.json()["reason"])) == (status, True)


def test_a_query_that_would_run_for_ever_is_given_up(tmp_path: Path) -> None:
    from extract.broker.page.attempt import try_query
    from extract.limits import Limits

    many = b"<r>" + b"<a/>" * 3_000 + b"</r>"
    query = extract.Subscription("q", "//a[preceding::node()/following::node()/preceding::a]")
    found = try_query(extract.Schema.none(), query, many, Limits(query_seconds=0.2))
    assert (found.total, len(found.rejections)) == (0, 1)


def test_the_latest_of_what_one_may_see(url: str, ada: httpx.Client) -> None:
    with extract.Client(url, "a" * 16) as hers, extract.Client(url, "b" * 16) as his:
        hers.add("stock", {"ada-1": "//price"})
        his.add("stock", {"bob-1": "//price"})
        his.add("news", {"bob-2": "//headline"})
        his.publish("stock", b"<quotes><quote><price>7</price></quote></quotes>", "m1")
        with pytest.raises(extract.DocumentError):
            his.publish("stock", b"<quotes>\n<quote></quotes>", "cut.xml")
        with pytest.raises(extract.DocumentError):
            his.publish("news", b"<news", "secret.xml")
        hers.notifications("ada-1", wait=10)
        his.notifications("bob-1", wait=10)
    latest = ada.get("/notifications").json()["notifications"]
    assert [(one["subscription"], one["document"], one["seq"]) for one in latest] == [
        ("ada-1", "m1", 1)
    ]
    rejected = ada.get("/rejections").json()["rejections"]
    assert [(one["feed"], one["document"], one["line"]) for one in rejected] == [
        ("stock", "cut.xml", 2)
    ]
    assert rejected[0]["reason"]
    assert ada.get("/dead-letters").json() == {"dead_letters": []}
    assert ada.get("/notifications?limit=0").json() == {"notifications": []}
    assert ada.get("/notifications?limit=-1").status_code == 422


def test_what_the_page_asks_is_described(ada: httpx.Client) -> None:
    page = ada.get("/openapi.json").json()
    paths = {"/feeds/{feed}/explain", "/feeds/{feed}/try", "/notifications", "/rejections"}
    assert paths <= page["paths"].keys()
    text = json.dumps(page)
    used = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert used <= page["components"]["schemas"].keys()
