"""A headless Chromium, driven by its DevTools protocol."""

import base64
import json
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from websockets.sync.client import connect


class Chromium:
    """One page; ``requests`` are the addresses that it asked, ``errors`` what its console said."""

    def __init__(self, program="chromium"):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-port=0", "--no-first-run", "--disable-background-networking",
             f"--user-data-dir={self._folder.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        port = self._port()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            (page,) = [one for one in json.load(answer) if one["type"] == "page"]
        self._line = connect(page["webSocketDebuggerUrl"], max_size=None)
        self._number, self.requests, self.errors = 0, [], []
        for part in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{part}.enable")

    def _port(self):
        for _ in range(300):
            told = Path(self._folder.name) / "DevToolsActivePort"
            if told.exists() and told.read_text().strip():
                return told.read_text().split("\n")[0]
            time.sleep(0.1)
        raise SystemExit("Chromium did not start")

    def send(self, method, **given):
        """Call a method, and note what the page says meanwhile."""
        self._number += 1
        self._line.send(json.dumps({"id": self._number, "method": method, "params": given}))
        while True:
            told = json.loads(self._line.recv(timeout=120))
            if told.get("id") == self._number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]
            self._note(told)

    def _note(self, told):
        method, given = told.get("method"), told.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(given["exceptionDetails"].get("text", "exception"))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.errors.append(given["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] == "error":
            self.errors.append(str(given["args"]))

    def run(self, code):
        """The value of some JavaScript, waited for."""
        found = self.send(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def open(self, url):
        self.send("Page.navigate", url=url)
        self.until("typeof state !== 'undefined' && state !== null")

    def until(self, code, seconds=60):
        """Wait for something, or what is promised by it, to be true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(f"Promise.resolve({code}).then(Boolean)"):
                return
            time.sleep(0.02)
        raise RuntimeError(f"{code} did not come true")

    def press(self, key, code=""):
        """Press a key."""
        text = key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if kind == "keyDown" and text else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, **more)

    def timed(self, key):
        """Milliseconds from a key to the next card, as the page sees it."""
        self.run(
            "window.shown = new Promise((done) => { let from = 0;"
            "addEventListener('keydown', (e) => { from = e.timeStamp; },"
            "{capture: true, once: true}); const o = new PerformanceObserver((l) => {"
            "o.disconnect(); done(l.getEntries().at(-1).startTime - from); });"
            "o.observe({entryTypes: ['mark']}); }); 0"
        )
        self.press(key)
        return self.run("window.shown")

    def size(self, width, height=900, dark=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path):
        """Write what is seen, the whole page, as a PNG."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(found["data"]))

    def close(self):
        self._line.close()
        self.process.terminate()
        self.process.wait()
        self._folder.cleanup()
