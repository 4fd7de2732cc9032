"""A headless Chromium, spoken to by its debugging pipe with the standard library alone."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


def find():
    """The program's name, None: there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A page in a window of that size."""

    def __init__(self, width=1280, height=800, dark=False):
        self.home = tempfile.mkdtemp(prefix="stc-view-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        words = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                 "--no-proxy-server", "--remote-debugging-pipe", f"--user-data-dir={self.home}", f"--window-size={width},{height}", "about:blank"]

        def pipes():
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(words, pass_fds=(3, 4, to_browser, from_browser), preexec_fn=pipes, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.buffer, self.session, self.said, self.frames = 0, b"", None, [], {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Page.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.set_dark(dark)

    def receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.read_end, 1 << 16)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.said.append(json.dumps(answer["params"])[:600])
            if answer.get("method") == "Runtime.executionContextCreated":
                self.frames[answer["params"]["context"]["origin"]] = answer["params"]["context"]["id"]
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def set_dark(self, dark):
        """Whether the computer is set to dark windows."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, script, origin=None):
        """What an expression of JavaScript comes to; in the page within the page that is of that origin (http://HOST:PORT), if one is named."""
        where = {"contextId": self.frames[origin]} if origin else {}
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, **where)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{script}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait(self, script, seconds=20, origin=None):
        """Until an expression is true (`origin` as of `value`)."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.value(script, origin):
                    return
            except (RuntimeError, KeyError):        # KeyError: the page within is not there yet
                self.value("0")
            time.sleep(0.05)
        raise RuntimeError(f"not within {seconds} s: {script}; {self.said}")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def shoot(self, path):
        """Writes a picture of the page."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        with open(path, "wb") as file:
            file.write(data)
        return data

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.home, ignore_errors=True)
