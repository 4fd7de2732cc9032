"""`stc run --view` as tests use it: a run of its own, asked by http.client."""
import http.client
import json
import os
import re
import signal
import struct
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

WAVES = """param N = 40, M = 56;
param c : real = 0.2, start : real = 1, damp : bool = false;
grid G = [0 .. N-1, 0 .. M-1], 100000000;
field u : real on G outside 0 history 1;
op bump(a, b) = exp(-0.02 * real((a - 20) * (a - 20) + (b - 20) * (b - 20)));
init old(u@1)[G] = start * bump(idx(0), idx(1));
init new(u)[G] = start * bump(idx(0), idx(1));
stencil move(u)[G] = 2 * u - u@1 + c * (u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4 * u) - (if damp then 0.01 * (u - u@1) else 0);
reduce most = max(abs(u)) over G every 20;
probe middle = u at [20, 20] every 10;
"""
RUN = ("run", "--quiet", "--no-tune-db", "-O0")     # most of a run of these programs is LLVM otherwise
HEAD = struct.Struct("<4s5I2q2d4q")


class Head:
    """A frame taken apart: its head, the values of points, those of pixels."""

    def __init__(self, data):
        (self.magic, self.version, self.width, self.height, npins, self.nowhere, self.number, self.step, self.least, self.most,
         *self.box) = HEAD.unpack_from(data)
        self.pins = struct.unpack_from(f"<{npins}d", data, HEAD.size)
        self.values = struct.unpack_from(f"<{self.width * self.height}f", data, HEAD.size + 8 * npins)
        assert len(data) == HEAD.size + 8 * npins + 4 * self.width * self.height and self.magic == b"STCV" and self.version == 1

    def rows(self):
        return [self.values[y * self.width:(y + 1) * self.width] for y in range(self.height)]


class Window:
    """A run with a view."""

    def __init__(self, stc, program, *words, view="--view", folder=None, standin=None):
        """`standin`: the folder of a CUDA driver that computes on the CPU."""
        self.process = subprocess.Popen([stc, *RUN, view, *words, str(program)], stderr=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd=folder,
                                        env={**os.environ, **({"LD_LIBRARY_PATH": standin, "STC_STANDIN_COMPUTE": "1"} if standin else {})})
        self.said, self.url = [], None
        for line in self.process.stderr:
            self.said.append(line)
            found = re.match(r"view: (\S+)$", line)
            if found:
                self.url = found[1]
                break
        assert self.url, "".join(self.said)
        self.reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True)
        self.reader.start()
        parts = urlsplit(self.url)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def ask(self, what="", method="GET", headers=None, body=None, path=None):
        """(status, headers, body) of a request."""
        c = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            c.request(method, (self.path if path is None else path) + what, body=body, headers=headers or {})
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def json(self, what):
        status, headers, body = self.ask(what)
        assert status == 200 and headers["Content-Type"] == "application/json", (what, status, body)
        return json.loads(body)

    def state(self):
        return self.json("state")

    def order(self, what):
        """What an order came to: "ok", or why not."""
        status, _, body = self.ask("do/" + what, "POST")
        assert (status == 200) == (body == b"ok") and status in (200, 409), (what, status, body)
        return body.decode()

    def until(self, what, condition, seconds=60):
        """How all stands, once the condition holds of it."""
        end = time.monotonic() + seconds
        while True:
            state = self.state()
            if condition(state):
                return state
            assert time.monotonic() < end, (what, state)
            time.sleep(0.02)

    def frame(self, query, step=None, behind=0, seconds=60):
        """The picture, of that step if one is named; a number behind `behind`."""
        end = time.monotonic() + seconds
        while True:
            status, _, body = self.ask(f"frame?{query}&have={behind}")
            assert status in (200, 204, 503), (query, status, body)
            if status == 200 and (step is None or Head(body).step == step):
                return Head(body)
            assert time.monotonic() < end, ("no picture", query, step)
            time.sleep(0.02)

    def pause(self):
        assert self.order("pause") == "ok"
        return self.until("it pauses", lambda s: s["state"] == "paused")

    def close(self, expect=None):
        """Ends the run, by Ctrl-C if it has not ended; its exit status."""
        try:
            if self.process.poll() is None and expect is None:
                self.process.send_signal(signal.SIGINT)
            status = self.process.wait(60)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        self.reader.join(10)
        self.out = self.process.stdout.read()
        self.process.stdout.close()
        self.process.stderr.close()
        assert expect is None or status == expect, (status, self.said)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def npy(path):
    """Shape, and values as a flat tuple, of an .npy of floats."""
    data = Path(path).read_bytes()
    size = struct.unpack_from("<H", data, 8)[0]
    head = data[10:10 + size].decode()
    shape = tuple(int(n) for n in re.search(r"'shape': \(([^)]*)\)", head)[1].split(",") if n.strip())
    kind = re.search(r"'descr': '<(f[48])'", head)[1]
    return shape, struct.unpack(f"<{(len(data) - 10 - size) // int(kind[1])}{'f' if kind == 'f4' else 'd'}", data[10 + size:])


def field_after(stc, program, field, steps, folder, *words):
    """The values that a field has after so many steps of a run without a view."""
    out = Path(folder) / "expected.npy"
    subprocess.run([stc, *RUN, f"--steps={steps}", *words, "--out", f"{field}={out}", str(program)], check=True,
                   capture_output=True)
    return npy(out)
