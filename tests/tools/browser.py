"""Drives Debian's Chromium without a window, over the pipe that it has for that.

    with Browser(width=1200, height=900) as browser:
        browser.open("file:///tmp/report.html")
        browser.evaluate("document.title")

Needs the standard library only. Messages are JSON, each ended by a zero byte, on the descriptors 3
(to the browser) and 4 (from it).
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

TIMEOUT_S = 90


def find_chromium():
    """The program, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self, width=1200, height=900, dark=False):
        self._id = 0
        self._session = None
        self._rest = b""
        self.problems = []  # errors and warnings of pages, and requests to anywhere
        self.requests = []
        self._profile = tempfile.mkdtemp(prefix="plimsoll-browser-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            find_chromium(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update", "--mute-audio",
            "--force-color-profile=srgb", f"--user-data-dir={self._profile}", "about:blank",
        ]

        def descriptors():
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=descriptors, pass_fds=(3, 4), start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.size(width, height)
        self.dark(dark)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(20)
        except Exception:  # it is gone, or stuck
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self):
        while b"\0" not in self._rest:
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.problems.append(str([each.get("value", each.get("description")) for each in values["args"]]))
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.problems.append(values["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"][:200])

    def call(self, method, **values):
        self._id += 1
        message = {"id": self._id, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def open(self, address):
        """Seconds until the first screen is drawn and answers, and until all of the page is."""
        begin = time.monotonic()
        self.call("Page.navigate", url=address)
        self.wait("document.documentElement?.dataset.ready === 'true'")
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        first = time.monotonic() - begin
        self.wait("document.documentElement.dataset.complete === 'true'")
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        self.wait("document.documentElement.dataset.complete === 'true'")
        return first, time.monotonic() - begin

    def wait(self, condition):
        end = time.monotonic() + TIMEOUT_S
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"in vain: {condition}; {self.problems}")
            time.sleep(0.02)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def mouse(self, kind, x, y, buttons=0, clicks=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", buttons=buttons, clickCount=clicks)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, 1, 1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / 5, y0 + (y1 - y0) * i / 5, 1)
        self.mouse("mouseReleased", x1, y1, 0, 1)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def box(self, selector):
        """[left, top, width, height] of an element, scrolled into view."""
        return self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")

    def picture(self, path, whole=False, selector=None):
        values = {"format": "png", "captureBeyondViewport": whole}
        if selector:
            left, top, width, height = self.evaluate(
                f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                " return [b.left + scrollX, b.top + scrollY, b.width, b.height]; })()")
            values.update(captureBeyondViewport=True, clip={"x": left, "y": top, "width": width, "height": height, "scale": 1})
        data = base64.b64decode(self.call("Page.captureScreenshot", **values)["data"])
        with open(path, "wb") as file:
            file.write(data)

    def pdf(self, path):
        data = self.call("Page.printToPDF", printBackground=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
