"""A real Chromium, driven by the DevTools protocol over a pipe: no driver, no port, no network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE: Final = 30.0  # seconds after which a page that does not come is an error
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """The program of a Chromium, if there is one."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab. What the page logs as an error, or breaks its policy with, is in `complaints`."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.complaints: list[str] = []
        self.hosts: set[str] = set()

    def start(self) -> None:
        """Listens to what happens in the tab."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._browser.call(method, parameters, self._session)

    def open(self, url: str) -> None:
        """Loads an address."""
        self.call("Page.navigate", url=url)

    def evaluate(self, script: str) -> Any:
        """The value of an expression of JavaScript; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> Any:
        """Waits until an expression is true, and returns its value."""
        script = f"""new Promise((done, fail) => {{
          const end = Date.now() + {PATIENCE * 1000};
          const look = () => {{
            let value;
            try {{ value = {condition}; }} catch {{ value = null; }}
            if (value) done(value);
            else if (Date.now() > end) fail(new Error("in vain: " + {json.dumps(condition)}
              + " in: " + document.body.innerText.slice(0, 2000)));
            else setTimeout(look, 20);
          }};
          look();
        }})"""
        return self.evaluate(script)

    def text(self) -> str:
        """What a reader sees."""
        return str(self.evaluate("document.body.innerText"))

    def type(self, selector: str, text: str) -> None:
        """Puts the cursor into a field and types."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Clicks on an element."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Presses a key on the keyboard."""
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **({"text": text} if text and kind == "keyDown" else {}),
            )

    def size(self, width: int, height: int) -> None:
        """The size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def dark(self, yes: bool) -> None:
        """Whether the system prefers dark."""
        scheme = "dark" if yes else "light"
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, file: Path) -> None:
        """Draws the window into a PNG file."""
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def take_event(self, method: str, parameters: dict[str, Any]) -> None:
        """Notes what a test asks for afterwards."""
        if method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Network.requestWillBeSent":
            scheme, _, rest = parameters["request"]["url"].partition("://")
            if scheme in ("http", "https", "ws", "wss"):
                self.hosts.add(rest.partition("/")[0])


class Browser:
    """A Chromium that runs. Get one with `chromium`."""

    def __init__(self, write: int, read: int) -> None:
        self._write = os.fdopen(write, "wb", buffering=0)
        self._read = os.fdopen(read, "rb", buffering=0)
        self._received = bytearray()
        self._number = 0
        self._pages: dict[str, Page] = {}
        self._lock = threading.Lock()

    def page(self) -> Page:
        """A new tab, with no memory of others."""
        context = self.call("Target.createBrowserContext", {})["browserContextId"]
        target = self.call(
            "Target.createTarget", {"url": "about:blank", "browserContextId": context}
        )
        attached = self.call(
            "Target.attachToTarget", {"targetId": target["targetId"], "flatten": True}
        )
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        page.start()
        return page

    def call(self, method: str, parameters: dict[str, Any], session: str = "") -> Any:
        """A command of the DevTools protocol; events that come meanwhile go to their pages."""
        with self._lock:
            self._number += 1
            message = {"id": self._number, "method": method, "params": parameters}
            if session:
                message["sessionId"] = session
            self._write.write(json.dumps(message).encode() + b"\0")
            while True:
                answer = self._next()
                if answer.get("id") == self._number:
                    break
                page = self._pages.get(answer.get("sessionId", ""))
                if page is not None and "method" in answer:
                    page.take_event(answer["method"], answer["params"])
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while (end := self._received.find(b"\0")) < 0:
            data = self._read.read(1 << 16)
            if not data:
                raise AssertionError("Chromium is gone")
            self._received += data
        message: dict[str, Any] = json.loads(self._received[:end])
        del self._received[: end + 1]
        return message

    def close(self) -> None:
        """Closes the pipes."""
        self._write.close()
        self._read.close()


@contextmanager
def chromium(program: str, profile: Path) -> Iterator[Browser]:
    """Runs a Chromium; its profile goes into a directory of its own."""
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()

    def place() -> None:  # the pipe is expected at these two numbers
        high = [os.dup2(fd, fd + 100) for fd in (to_browser, from_browser)]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    environment = {**os.environ, "HOME": str(profile), "XDG_CONFIG_HOME": str(profile)}
    process = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=place,
        close_fds=False,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    browser = Browser(from_us, to_us)
    try:
        yield browser
    finally:
        try:
            browser.call("Browser.close", {})
            process.wait(10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            process.kill()
        browser.close()
        process.wait()
