"""Headless Chromium, controlled over two pipes in its DevTools protocol (--remote-debugging-pipe).

Opens a page, evaluates JavaScript in it and takes pictures. Keeps the page's requests and errors.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_S, END_S = 60.0, 10.0
POLL_S = 0.2
# Without these options it makes requests of its own, or takes time for effects that nobody sees.
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
           "--disable-extensions", "--disable-sync", "--disable-features=Translate,OptimizationHints,MediaRouter",
           "--metrics-recording-only", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe")
# Chromium reads from descriptor 3 and writes to 4. A shell cannot move them: dash knows descriptors of one digit only.
ON_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
    os.close(end)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Broken(Exception):
    """The browser, or a page in it, failed."""


def name():
    """Returns the name of the program, or None if there is none."""
    return next((n for n in NAMES if shutil.which(n)), None)


class Browser:
    """events: [(method, parameters)] of the page since it was opened."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="clockoo-browser-", ignore_cleanup_errors=True)
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        self.child = subprocess.Popen([sys.executable, "-S", "-c", ON_3_AND_4, str(theirs_in), str(theirs_out), name(), *OPTIONS,
                                       f"--user-data-dir={self.folder.name}", "about:blank"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, pass_fds=(theirs_in, theirs_out),
                                      env={**os.environ, "HOME": self.folder.name})
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.left, self.page, self.events = 0, b"", None, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Broken, OSError):
            self.ask("Browser.close", alone=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(END_S)
        self.child.kill()
        self.child.wait()
        os.close(self.to)
        os.close(self.back)
        self.folder.cleanup()

    def _message(self, end):
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            data = os.read(self.back, 1 << 20) if ready else b""
            if not data:
                raise Broken("the browser is gone" if ready else "the browser does not answer")
            self.left += data
        text, _, self.left = self.left.partition(b"\0")
        return json.loads(text)

    def ask(self, method, alone=False, **parameters):
        """Sends a command to the page, or to the browser itself if alone. Returns the result."""
        self.number += 1
        words = {"id": self.number, "method": method, "params": parameters}
        if self.page and not alone:
            words["sessionId"] = self.page
        os.write(self.to, json.dumps(words).encode() + b"\0")
        end = time.monotonic() + ANSWER_S
        while True:
            found = self._message(end)
            if "method" in found:
                self.events.append((found["method"], found["params"]))
            elif found["id"] == self.number:
                if "error" in found:
                    raise Broken(f"{method}: {found['error'].get('message')}")
                return found["result"]

    def open(self, address, width, height, scale=1, phone=False):
        """Loads a page again, in a window of that size in CSS pixels."""
        if self.page is None:
            target = self.ask("Target.createTarget", alone=True, url="about:blank")["targetId"]
            self.page = self.ask("Target.attachToTarget", alone=True, targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone)
        self.ask("Page.navigate", url=address)

    def dark(self, on):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def value(self, expression):
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in found:
            raise Broken(f"{expression}: {found['exceptionDetails'].get('text')}")
        return found["result"].get("value")

    def until(self, expression, seconds):
        """Returns the expression's value as soon as it is true in JavaScript."""
        expression = f"(() => {{ try {{ return {expression} }} catch {{ return false }} }})()"  # the page may not be loaded yet
        end = time.monotonic() + seconds
        while not (value := self.value(expression)):
            if time.monotonic() > end:
                raise Broken(f"not within {seconds:.0f} s: {expression}")
            time.sleep(POLL_S)
        return value

    def picture(self, path, width, height):
        """Writes a PNG of the whole page."""
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        path.write_bytes(base64.b64decode(data))

    def asked_for(self):
        """Returns the addresses of all requests."""
        return [p["request"]["url"] for method, p in self.events if method == "Network.requestWillBeSent"]

    def complaints(self):
        """Returns the errors that the console would show."""
        return ([p["entry"]["text"] for method, p in self.events if method == "Log.entryAdded"
                 and p["entry"]["level"] in ("error", "warning")] +
                [p["exceptionDetails"]["text"] for method, p in self.events if method == "Runtime.exceptionThrown"])
