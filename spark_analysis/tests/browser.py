"""Chromium without a window, spoken to over a pair of pipes (its DevTools protocol): no port, no further package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PHONE, DESKTOP = (390, 844), (1280, 900)
_PATIENCE_S = 120
_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)


def drawn(figures: int) -> str:
    """An expression that is true as soon as so many figures have their plots."""
    return until(f"document.querySelectorAll('figure.drawn').length >= {figures}")


def until(condition: str) -> str:
    """An expression that is true as soon as a condition holds."""
    poll = f"setInterval(() => {{ if ({condition}) {{ clearInterval(at); met(true) }} }}, 50)"
    return f"new Promise(met => {{ const at = {poll} }})"


class Browser:
    """One page at a time; everything it complains of is kept in ``violations``, and addresses that it requested since
    the last page was opened in ``requested``.
    """

    def __init__(self, profile: Path) -> None:
        self._profile, self._number, self._rest = profile, 0, b""
        self._session = ""
        self.violations: list[str] = []
        self.requested: list[str] = []

    def __enter__(self) -> Browser:
        read_end, self._to = os.pipe()
        self._from, write_end = os.pipe()
        # The protocol's pipes are descriptors 3 and 4 of the browser; these here must be others.
        their_in, their_out = (fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (read_end, write_end))
        line = f'exec "$@" 3<&{their_in} 4>&{their_out}'
        command = ["bash", "-c", line, "browser", str(CHROMIUM), *_QUIET, f"--user-data-dir={self._profile}"]
        self._process = subprocess.Popen(
            command, pass_fds=(their_in, their_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for end in (read_end, write_end, their_in, their_out):
            os.close(end)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._to)
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from)

    def open(self, url: str, size: tuple[int, int], scheme: str, medium: str = "screen") -> None:
        """Shows a page in a window of that size, light or dark, on a screen or as printed."""
        width, height = size
        mobile = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)
        self.requested.clear()
        self.call("Page.navigate", url=url)
        self._until(lambda m: m.get("method") == "Page.loadEventFired", f"{url} to be loaded")

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; of a promise, what it comes to."""
        reported = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reported, reported["exceptionDetails"]
        return reported["result"].get("value")

    def mouse(self, kind: str, place: list[float], clicks: int = 0) -> None:
        """One event of the mouse, as mouseMoved, at this place of the window, with the left button for clicks."""
        button = {"button": "left", "buttons": 1, "clickCount": clicks} if clicks else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **button)

    def picture(self, path: Path) -> Path:
        """The full page as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One call of the protocol."""
        self._number += 1
        number = self._number
        reported: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            reported["sessionId"] = self._session
        os.write(self._to, json.dumps(reported).encode() + b"\0")
        answer = self._until(lambda m: m.get("id") == number, method)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _until(self, wanted: Any, what: str) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE_S
        while True:
            while b"\0" in self._rest:
                line, _, self._rest = self._rest.partition(b"\0")
                message: dict[str, Any] = json.loads(line)
                self._listen(message)
                if wanted(message):
                    return message
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._from, 1 << 16) if ready else b""
            assert data, f"chromium did not answer: waited for {what}, exit code {self._process.poll()}"
            self._rest += data

    def _listen(self, message: dict[str, Any]) -> None:
        method, reported = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.violations.append(f"console: {reported['type']} {reported['args']}")
        elif method == "Runtime.exceptionThrown":
            self.violations.append(f"exception: {reported['exceptionDetails']['text']}")
        elif method == "Network.requestWillBeSent" and not reported["request"]["url"].startswith("data:"):
            self.requested.append(reported["request"]["url"])
        elif method == "Log.entryAdded":
            self.violations.append(f"log: {reported['entry']['text']}")
