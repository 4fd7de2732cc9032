"""fuzz.py STC SECONDS [SEED]: sends what is nearly a request to `stc run --view`, and sees that the run goes on and answers. For a build with the
sanitizers; no part of ctest."""
import random
import socket
import sys
import tempfile
import time
from pathlib import Path

from window import WAVES, Window


def pieces(w):
    """What requests are made of, right and wrong."""
    numbers = ["0", "1", "-1", "39", "40", "55", "56", "1024", "4294967296", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "1e3", "nan",
               "inf", "", "%00", "%", "%zz", "0x10", " 1", "1,2", "1;2", ",", ";", "true"]
    names = ["field", "component", "cut", "at", "box", "side", "pins", "have", "n", "name", "value", "", "c", "damp", "start", "N"]
    paths = ["", "state", "info", "curves", "frame", "events", "view.js", "do/pause", "do/play", "do/step", "do/restart", "do/set", "do/", "..", "//", "%2e%2e"]
    hosts = [f"127.0.0.1:{w.port}", "localhost", "[::1]", "evil.example", "", "[", "a" * 300, "127.0.0.1:99999999"]
    return numbers, names, paths, hosts


def request(rng, w):
    numbers, names, paths, hosts = pieces(w)
    join = lambda: rng.choice(["", ",", ";"]).join(rng.choice(numbers) for _ in range(rng.randrange(1, 6)))  # noqa: E731
    query = "&".join(f"{rng.choice(names)}={join()}" for _ in range(rng.randrange(8)))
    if rng.random() < .3:
        query = "field=0&side=64&" + query
    if rng.random() < .2:
        query = f"name={rng.choice(['c', 'start', 'damp'])}&value={rng.choice(numbers + ['0.1', '0.2', 'false'])}"
    last = "do/end" if rng.random() < .002 else rng.choice(paths)
    path = (w.path if rng.random() < .95 else "/") + last
    data = (f"{rng.choice(['GET', 'GET', 'POST', 'POST', 'HEAD', 'PUT', 'X'])} {path}?{query} HTTP/1.{rng.choice('0112')}\r\n"
            f"Host: {hosts[0] if rng.random() < .9 else rng.choice(hosts)}\r\n")
    if rng.random() < .2:
        data += f"Content-Length: {rng.choice(numbers)}\r\n"
    if rng.random() < .1:
        data += "Transfer-Encoding: chunked\r\n"
    if rng.random() < .1:
        data += f"Origin: {rng.choice(['null', 'http://evil.example', 'http://127.0.0.1:' + str(w.port), ''])}\r\n"
    data = bytearray((data + "\r\n" + ("q" * rng.randrange(3000) if rng.random() < .2 else "")).encode())
    for _ in range(rng.choice([0, 0, 0, 1, 3, 20])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[:rng.randrange(len(data))] if rng.random() < .1 else data)


def ask(w, data, seconds):
    """Sends that, and reads what comes back so soon. Where nobody listens the process must be about to end."""
    try:
        s = socket.create_connection((w.host, w.port), timeout=10)
    except ConnectionRefusedError:
        w.process.wait(60)
        return
    s.settimeout(seconds)
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        s.recv(4096)
    except OSError:
        pass
    s.close()


def main(stc, seconds, seed="1"):
    rng, n = random.Random(int(seed)), 0
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "waves.stn"
        program.write_text(WAVES)
        with Window(stc, program) as w:
            end = time.monotonic() + float(seconds)
            while time.monotonic() < end:
                ask(w, request(rng, w), 0.01 if rng.random() < .2 else 0.2)
                n += 1
                if w.process.poll() is not None:      # `end` is an order, too
                    assert w.process.returncode == 130, (w.process.returncode, w.said[-50:])
                    w.close()
                    w.__init__(stc, program)
            assert w.state()["goal"] > 0
        print(f"{n} requests")


if __name__ == "__main__":
    main(*sys.argv[1:])
