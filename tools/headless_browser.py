"""Headless Chromium, driven by ChromeDriver over HTTP (https://www.w3.org/TR/webdriver2/); no package is needed.

Tests of pages and `tools/take_screenshots.py` use it. Where Chromium or ChromeDriver is not installed, `open_browser`
raises `NoBrowserError`, which says what to install.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-device-scale-factor=1",
)


class NoBrowserError(RuntimeError):
    """There is no browser, or it does not start."""


class Browser:
    """A browser with one page."""

    def __init__(self, url: str, session: str):
        self._url = f"{url}/session/{session}"

    def open(self, path: Path) -> None:
        """Open a file."""
        self._post("url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self._post("execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script: str, *arguments: Any) -> Any:
        """What a script gives to the function that is its last argument."""
        return self._post("execute/async", {"script": script, "args": list(arguments)})

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(0)));")

    def enter_frame(self, number: int | None) -> None:
        """Look into a frame of the page, or at the page itself again."""
        self._post("frame", {"id": number})

    def resize(self, width: int, height: int) -> None:
        """Give the page a size."""
        self._post("goog/cdp/execute", _device(width, height))

    def click(self, selector: str) -> None:
        """Click what a CSS selector finds first."""
        found = self._post("element", {"using": "css selector", "value": selector})
        self._post(f"element/{found[_ELEMENT]}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Type into what a CSS selector finds first."""
        found = self._post("element", {"using": "css selector", "value": selector})
        self._post(f"element/{found[_ELEMENT]}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is; special ones as WebDriver numbers them."""
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": presses}]})

    def screenshot(self) -> bytes:
        """A PNG of what is in view."""
        return base64.b64decode(self._get("screenshot"))

    def console(self) -> list[str]:
        """What the console says since the last time, warnings and worse."""
        return [entry["message"] for entry in self._post("se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Addresses that the page has asked for since the last time."""
        events = [json.loads(entry["message"])["message"] for entry in self._post("se/log", {"type": "performance"})]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def close(self) -> None:
        """End the session."""
        _request("DELETE", self._url)

    def _post(self, command: str, body: Any) -> Any:
        return _request("POST", f"{self._url}/{command}", body)

    def _get(self, command: str) -> Any:
        return _request("GET", f"{self._url}/{command}")


def _device(width: int, height: int) -> dict[str, Any]:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    return {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics}


@contextmanager
def open_browser() -> Generator[Browser]:
    """A browser for as long as the context lasts.

    Raises:
        NoBrowserError: There is none.
    """
    driver, chromium = shutil.which("chromedriver"), shutil.which("chromium") or shutil.which("google-chrome")
    if driver is None or chromium is None:
        raise NoBrowserError("needs Chromium and ChromeDriver: apt-get install chromium chromium-driver")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with TemporaryDirectory() as profile:
        process = subprocess.Popen(
            [driver, f"--port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile},
        )
        try:
            _wait_for(url)
            arguments = [*_ARGUMENTS, f"--user-data-dir={profile}/profile", "about:blank"]
            capabilities = {
                "goog:chromeOptions": {"binary": chromium, "args": arguments},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "timeouts": {"script": 120_000, "pageLoad": 120_000},
            }
            body = {"capabilities": {"alwaysMatch": capabilities}}
            browser = Browser(url, _request("POST", f"{url}/session", body)["sessionId"])
            try:
                yield browser
            finally:
                browser.close()
        finally:
            process.terminate()
            process.wait(10)


def _wait_for(url: str) -> None:
    for _ in range(200):
        try:
            if _request("GET", f"{url}/status")["ready"]:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise NoBrowserError("ChromeDriver does not answer")


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _request(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with _direct.open(request, timeout=180) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from error
