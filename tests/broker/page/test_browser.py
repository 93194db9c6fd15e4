"""The page in a real Chromium: what somebody sees, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import extract
from extract.broker.demo import FEED, messages, set_up
from tests.support.browser import Browser, Page, chromium, find_chromium
from tests.support.running_broker import running_broker

VIEWS = ("", "feeds", "subscriptions", "notifications", "rejections", "dead-letters", "api")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium: apt install chromium, or name one in CHROMIUM")
    with chromium(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker with the feed of the demo, after some messages."""
    with running_broker(tmp_path_factory.mktemp("shown") / "store") as address:
        with extract.Client(address) as client:
            set_up(client, 60)
            some = messages()
            list(client.publish_all(FEED, [next(some) for _ in range(40)]))
            with pytest.raises(extract.DocumentError):
                client.publish(FEED, b"<quotes>\n  <quote></quotes>", "<b>cut</b>.xml")
            client.notifications("winners", wait=10)
        yield address


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    opened = browser.page()
    opened.size(1280, 900)
    yield opened
    assert opened.complaints == []
    assert opened.hosts <= {url.partition("://")[2]}


def fill(page: Page, label: str, text: str) -> None:
    """Types into the field with a label."""
    found = page.evaluate(
        f"""(() => {{
          const label = [...document.querySelectorAll("label")]
            .find((one) => one.textContent === {json.dumps(label)});
          const input = document.getElementById(label.htmlFor);
          input.focus();
          input.select?.();
          return input.id;
        }})()"""
    )
    assert found
    page.call("Input.insertText", text=text)


def press(page: Page, name: str) -> None:
    """Clicks on the button or link with a name."""
    page.wait_for(
        f"""(() => {{
          const found = [...document.querySelectorAll("button, a")]
            .find((one) => one.textContent.trim() === {json.dumps(name)});
          found?.click();
          return found !== undefined;
        }})()"""
    )


def test_the_page_shows_what_happens(page: Page, url: str) -> None:
    page.open(f"{url}/")
    page.wait_for("document.querySelector('.tile .more').textContent.includes('since the start')")
    page.wait_for("document.querySelectorAll('td').length > 10")
    text = page.text()
    assert "Documents" in text
    assert "<b>cut</b>.xml" in text  # as text, not as markup
    assert page.evaluate("document.querySelector('td b')") is None
    page.wait_for("document.getElementById('state').textContent === 'live'")


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_is_readable(page: Page, url: str, dark: bool) -> None:
    page.dark(dark)
    page.open(f"{url}/")
    for view in VIEWS:
        page.evaluate(f"location.hash = '#/{view}'")
        page.wait_for(f"document.querySelector('nav a[aria-current]').dataset.view === '{view}'")
        page.wait_for("document.querySelector('#content h1')")
        page.wait_for("document.querySelector('td, .empty, article')")
        assert page.evaluate(CONTRAST) == [], view
        assert page.evaluate(UNNAMED) == [], view
        assert page.evaluate("document.querySelectorAll('h1').length") == 1


@pytest.mark.slow
def test_a_subscription_is_made_with_the_keyboard_alone(page: Page, url: str) -> None:
    page.open(f"{url}/#/subscriptions/{FEED}/add")
    page.wait_for("document.querySelector('#content form')")
    fill(page, "Query", "//quote[price > ]/symbol")
    page.wait_for("document.querySelector('.error pre')")
    assert page.evaluate("document.querySelector('.error pre').textContent") == (
        "//quote[price > ]/symbol\n                ^"
    )
    assert page.evaluate("document.activeElement.getAttribute('aria-invalid')") == "true"
    fill(page, "Query", "//quote[price > 400]/symbol")
    page.wait_for("document.querySelector('.picture img')?.naturalWidth > 100")
    assert "This can match." in page.text()
    fill(page, "Document", "<quotes><quote><symbol>BAB</symbol><price>401</price></quote></quotes>")
    page.press("Tab", 9)
    page.press("Enter", 13, "\r")
    page.wait_for("document.querySelector('.found pre')")
    assert page.evaluate("document.querySelector('.found pre').textContent") == (
        "<symbol>BAB</symbol>"
    )
    fill(page, "Id", "by-keyboard")
    page.press("Enter", 13, "\r")
    page.wait_for("document.querySelector('h1').textContent === 'by-keyboard'")
    with extract.Client(url) as client:
        assert client.subscription(FEED, "by-keyboard").query == "//quote[price > 400]/symbol"
        client.remove(FEED, ["by-keyboard"])


@pytest.mark.slow
def test_subscriptions_are_searched_and_notifications_come_live(page: Page, url: str) -> None:
    page.open(f"{url}/#/subscriptions")
    page.wait_for("document.querySelectorAll('tbody tr').length === 50")
    fill(page, "Search", "falling")
    page.wait_for("document.querySelectorAll('tbody tr').length === 1")
    page.evaluate("location.hash = '#/notifications/falling-fast'")
    page.wait_for("document.querySelector('h1').textContent === 'falling-fast'")
    page.wait_for("document.querySelector('td')")
    with extract.Client(url) as client:
        falling = b"<quotes date='2026-11-17' market='lse'><quote id='q'><symbol>XYZ</symbol>"
        rest = b"<price>1</price><change>-9</change><volume>1</volume><time>9</time></quote>"
        client.publish(FEED, falling + rest + b"</quotes>", "just-now.xml")
    page.wait_for("document.querySelector('tbody tr').innerText.includes('just-now.xml')")


@pytest.mark.slow
def test_a_feed_is_made_and_gets_a_document(page: Page, url: str) -> None:
    page.open(f"{url}/#/feeds")
    page.wait_for("document.querySelector('#content form')")
    fill(page, "Name", "made-here")
    press(page, "Make the feed")
    page.wait_for("document.querySelector('h1').textContent === 'made-here'")
    fill(page, "Document", "<a><b></a>")
    press(page, "Publish")
    page.wait_for("document.querySelector('#content').innerText.includes('line 1, column')")
    fill(page, "Document", "<a><b/></a>")
    press(page, "Publish")
    page.wait_for("document.querySelector('.good-news').textContent.startsWith('Accepted')")
    page.complaints.clear()  # Chromium logs the 400 that was asked for
    with extract.Client(url) as client:
        assert client.feed("made-here").documents == 1


@pytest.mark.slow
def test_the_interface_can_be_read_and_searched(page: Page, url: str) -> None:
    page.open(f"{url}/#/api")
    page.wait_for("document.querySelectorAll('article').length > 10")
    assert "PUT\n/feeds/{feed}" in page.text()
    fill(page, "Search", "prometheus")
    page.wait_for("document.querySelectorAll('article').length === 1")


@pytest.mark.slow
def test_a_token_is_asked_for_and_kept_in_memory(browser: Browser, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ops fedcba9876543210 admin\n")
    tokens.chmod(0o600)
    with running_broker(tmp_path / "store", tokens) as url:
        page = browser.page()
        page.open(f"{url}/")
        page.wait_for("document.querySelector('dialog').open")
        assert page.evaluate("document.activeElement.id") == "ask-token"
        page.type("#ask-token", "wrong-token-0000")
        page.press("Enter", 13, "\r")
        page.wait_for("document.getElementById('ask-error').textContent.includes('not know')")
        page.type("#ask-token", "fedcba9876543210")
        page.press("Enter", 13, "\r")
        page.wait_for("document.getElementById('state').textContent === 'live'")
        page.wait_for("document.body.innerText.includes('There is no feed yet')")
        kept = "JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])"
        assert "fedcba" not in page.evaluate(kept) + page.evaluate("location.href")
        page.open(f"{url}/#/feeds")
        page.call("Page.reload")
        page.wait_for("document.querySelector('dialog').open")  # it was forgotten


# Texts whose contrast with what is behind them is less than WCAG AA asks for.
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [255, 255, 255, 1];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest(".unseen, .skip, [disabled], noscript, dialog:not([open])")) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(rgba(style.color)), light(behind(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) {
      poor.push(`${element.tagName} ${walker.currentNode.data.slice(0, 30)} ${ratio.toFixed(2)}`);
    }
  }
  return poor;
})()"""

# What can be used and has no name for a screen reader.
UNNAMED = """[...document.querySelectorAll("button, a[href], input, select, textarea, img, svg")]
  .filter((one) => one.checkVisibility() && !one.closest("dialog:not([open])"))
  .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length
    || one.getAttribute("alt") !== null))
  .map((one) => one.outerHTML.slice(0, 100))"""
