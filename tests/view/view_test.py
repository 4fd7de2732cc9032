"""view_test.py STC [PART_OF_NAME [STANDIN]]: the server of `stc run --view` as HTTP sees it. Waits for what comes to pass, never for a time."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from window import RUN, WAVES, Head, Window, field_after

STC = sys.argv[1]
STANDIN = sys.argv[3] if len(sys.argv) > 3 else None     # the folder of a driver that computes on the CPU
HERE = tempfile.mkdtemp(prefix="stc-view-test-")
PROGRAM = Path(HERE) / "waves.stn"
PROGRAM.write_text(WAVES)


def sampled(shape, values, height, width, box):
    """The rows of a picture: evenly spaced points of the box, in rows that lie evenly in memory."""
    y0, y1, x0, x1 = box
    apart = (y1 - y0) // height
    return [tuple(values[(y0 + y * (y1 - y0) // height // apart * apart) * shape[1] + x0 + x * (x1 - x0) // width] for x in range(width))
            for y in range(height)]


def test_pictures_are_the_field():
    """Pixels, zoomed ones and points are the values that a run without a view has, to the bit, after steps made singly and by tiles."""
    with Window(STC, PROGRAM) as w:
        step = w.pause()["step"]
        assert w.order("step?n=7") == "ok"
        w.until("seven steps", lambda s: s["state"] == "paused" and s["step"] == step + 7)
        shape, values = field_after(STC, PROGRAM, "u", step + 7, HERE)
        whole = w.frame("field=0&side=1024&pins=3,4;20,20", step + 7)
        assert (whole.height, whole.width) == shape == (40, 56) and whole.values == values and whole.nowhere == 0
        assert whole.pins == (values[3 * 56 + 4], values[20 * 56 + 20])
        assert (whole.least, whole.most) == (min(values), max(values))
        part = w.frame("field=0&side=10&box=5,38,7,50", step + 7)
        assert part.box == [5, 38, 7, 50] and part.rows() == sampled(shape, values, 10, 10, part.box)
        small = w.frame("field=0&side=16", step + 7)
        assert small.rows() == sampled(shape, values, 16, 16, [0, 40, 0, 56])
        clipped = w.frame("field=0&side=16&box=-5,9999,30,20", step + 7)
        assert clipped.box == [0, 40, 0, 56]


def test_gathered():
    """From a GPU only the rows that a picture shows are copied, and the points that it follows: of dense and of padded rows, while it runs and behind
    that, of two pages at once, and of slices."""
    if not STANDIN:
        return
    plain, cube = (Path(HERE) / f"{n}.stn" for n in ("plain", "cube"))
    plain.write_text("param N = 40, M = 56; grid G = [0..N-1, 0..M-1], 100000000; field u : real on G outside 0;\n"
                     "init i(u)[G] = real(idx(0) * 7 + idx(1)); stencil s(u)[G] = 0.25 * (u[-1,0] + u[1,0] + u[0,-1] + u[0,1]);\n")
    cube.write_text("grid G = [0..11, 0..12, 0..13], 1000000000000; field a : f64 on G outside 0;\n"
                    "init i(a)[G] = f64(idx(0) * 10000 + idx(1) * 100 + idx(2)); stencil s(a)[G] = a + 0 * a[1,0,0];\n")
    for columns in (56, 57):
        with Window(STC, plain, f"-DM={columns}", "--device=cuda", standin=STANDIN) as w:
            first = w.frame("field=0&side=8")
            assert first.step < w.frame("field=0&side=8", behind=first.number).step
            step = w.pause()["step"]
            shape, values = field_after(STC, plain, "u", step, HERE, f"-DM={columns}")
            assert shape == (40, columns)
            for box in ([0, 40, 0, columns], [5, 38, 7, 50], [30, 31, 0, columns], [3, 40, 8, 9], [1, 18, 2, columns]):
                for side in (1, 7, 16):
                    f = w.frame(f"field=0&side={side}&box={','.join(map(str, box))}&pins=3,4;39,{columns - 1}", step)
                    assert f.rows() == sampled(shape, values, f.height, f.width, box), (columns, box, side)
                    assert f.pins == (values[3 * columns + 4], values[-1])
    with Window(STC, cube, "--device=cuda", standin=STANDIN) as w:
        w.pause()
        for side in (3, 64):
            for cut, at, place in ((0, 3, lambda y, x: 30000 + 100 * y + x), (1, 5, lambda y, x: 10000 * y + 500 + x), (2, 4, lambda y, x: 10000 * y + 100 * x + 4)):
                f = w.frame(f"field=0&cut={cut}&at={at}&side={side}&pins=1,2,3")
                rows, columns = 12 if cut else 13, 13 if cut == 2 else 14
                apart = rows // f.height
                assert f.rows() == [tuple(place(y * rows // f.height // apart * apart, x * columns // f.width) for x in range(f.width))
                                    for y in range(f.height)], (cut, side)
                assert f.pins == (10203,)


def test_slices_and_kinds():
    """Slices of three dimensions, a row of one, components of vectors, integers, on devices that lend values and such that do not."""
    cube, line, mixed = (Path(HERE) / f"{n}.stn" for n in ("cube", "line", "mixed"))
    cube.write_text("param N = 5; grid G = [0..N-1, 0..N, 0..N+1], 1000000000000; field a : f64 on G outside 0;\n"
                    "init i(a)[G] = f64(idx(0) * 100 + idx(1) * 10 + idx(2)); stencil s(a)[G] = a + 0 * a[1,0,0];\n")
    line.write_text("grid G = [-3..40], 1000000000000; field a : i32 on G outside 0; init i(a)[G] = i32(idx(0) * idx(0)); stencil s(a)[G] = a + 0 * a[1];\n")
    mixed.write_text("grid G = [0..8, 0..9], 1000000000000; mask wet on G = idx(0) >= 0; field v : f32[2] on G where wet dry self outside 0; field look : f32 on G;\n"
                     "init i(v)[G] = {f32(idx(0)), f32(idx(1))}; stencil s(v)[G where wet] = v + 0 * v[1,0]; init dark(look)[G] = 0; stencil see(look)[G] = f32(idx(0));\n")
    for device in ("host", "ref", "sim"):
        with Window(STC, cube, f"--device={device}") as w:
            w.pause()
            for cut, at, want in ((0, 3, [[300 + 10 * y + x for x in range(7)] for y in range(6)]), (1, 5, [[100 * y + 50 + x for x in range(7)] for y in range(5)]),
                                  (2, 0, [[100 * y + 10 * x for x in range(6)] for y in range(5)])):
                f = w.frame(f"field=0&cut={cut}&at={at}&pins=1,2,3")
                assert [list(r) for r in f.rows()] == want and f.pins == (123,), (device, cut)
        with Window(STC, line, f"--device={device}") as w:
            w.pause()
            f = w.frame("field=0")
            assert (f.height, f.width) == (1, 44) and list(f.values) == [(i - 3) ** 2 for i in range(44)]
        with Window(STC, mixed, f"--device={device}") as w:
            w.pause()
            fields = w.json("info")["fields"]
            names = [f["name"] for f in fields]
            assert names == ["look", "v.0", "v.1", "wet"], names      # what no stencil reads first; v.where not at all
            assert w.frame(f"field={fields[1]['field']}&component=1").rows()[0] == tuple(range(10))
            assert [r[0] for r in w.frame(f"field={fields[1]['field']}&component=0").rows()] == list(range(9))


def test_cut_grid():
    """A grid cut into parts is shown as a whole."""
    with Window(STC, PROGRAM, "--split=2") as w:
        w.frame("field=0")
        step = w.pause()["step"]
        f = w.frame("field=0", step)
        assert f.values == field_after(STC, PROGRAM, "u", step, HERE)[1]
        assert all(not p["free"] for p in w.json("info")["params"])


def events(w, n, seconds=60):
    """The first n events, as they are told."""
    s = socket.create_connection((w.host, w.port), timeout=seconds)
    s.sendall(f"GET {w.path}events HTTP/1.1\r\nHost: {w.host}:{w.port}\r\n\r\n".encode())
    data = b""
    while data.count(b"data: ") <= n:
        piece = s.recv(65536)
        if not piece:
            break
        data += piece
    s.close()
    assert b"200" in data[:20] and b"text/event-stream" in data
    return [json.loads(line[6:]) for line in data.split(b"\n") if line.startswith(b"data: ") and line.endswith(b"}")]


def check_events_and_steering(w):
    """Events tell how all stands; pause, step, play, restart and params do what they say."""
    told = events(w, 4)
    assert len(told) >= 4 and all(a["step"] <= b["step"] for a, b in zip(told, told[1:])) and told[-1]["goal"] == 100000000
    step = w.pause()["step"]
    time.sleep(0.2)
    assert w.state()["step"] == step
    for n in (1, 3, 100):
        assert w.order(f"step?n={n}") == "ok"
        step += n
        w.until(f"{n} steps", lambda s: s["state"] == "paused" and s["step"] == step)
    assert w.order("restart") == "ok"
    w.until("it begins anew", lambda s: s["step"] == 0 and s["state"] == "paused" and s["cleared"] == 1)
    assert w.frame("field=0", 0).values == field_after(STC, PROGRAM, "u", 0, HERE)[1]
    assert w.order("play") == "ok"
    w.until("it goes on", lambda s: s["state"] == "running" and s["step"] > 100)
    curves = {}
    while "middle" not in curves:                       # what probes see comes later than its steps
        w.until("it goes on", lambda s: s["curves"] > 2)
        curves = {c["name"]: c for c in w.json("curves")["all"]}
    assert curves["most"]["steps"][:3] == [0, 20, 40] and curves["middle"]["steps"][0] == 0 and curves["most"]["values"][0] == 1
    for bad in ("step?n=0", "step?n=x", "step?n=-3", "fly", "set?name=N&value=3", "set?name=c", "set?name=c&value=inf", "set?name=c&value=1;2",
                "set?name=damp&value=1", "set?value=1"):
        assert w.order(bad) != "ok", bad


def check_params(w):
    """Params take their values between two steps, those of the start from restart on; the result is that of a run with these values."""
    free = {p["name"]: p for p in w.json("info")["params"] if p["free"]}
    assert sorted(free) == ["c", "damp", "start"] and free["start"]["inits"] and not free["start"]["steps"] and free["c"]["steps"]
    w.pause()
    assert w.order("set?name=c&value=0.1") == "ok" and w.order("set?name=start&value=2.5") == "ok" and w.order("set?name=damp&value=true") == "ok"
    assert w.state()["waiting"] == 3 and w.order("restart") == "ok"
    w.until("it begins anew", lambda s: s["step"] == 0 and s["state"] == "paused" and s["waiting"] == 0)
    assert w.order("step?n=33") == "ok"
    s = w.until("33 steps", lambda s: s["state"] == "paused" and s["step"] == 33)
    assert abs(s["params"]["c"] - 0.1) < 1e-7 and s["params"]["damp"] is True
    assert w.frame("field=0", 33).values == field_after(STC, PROGRAM, "u", 33, HERE, "-Dc=0.1", "-Dstart=2.5", "-Ddamp=true")[1]
    # A change in the middle of a run: steps before it have the old value, steps behind it the new one.
    before = w.frame("field=0", 33).values
    assert w.order("set?name=c&value=0") == "ok" and w.order("set?name=damp&value=false") == "ok" and w.order("step?n=1") == "ok"
    w.until("34 steps", lambda s: s["step"] == 34 and s["state"] == "paused")
    first = w.frame("field=0", 34).values
    assert w.order("step?n=1") == "ok"
    w.until("35 steps", lambda s: s["step"] == 35 and s["state"] == "paused")
    second = w.frame("field=0", 35).values
    # With c = 0 the field goes on as it went: u(35) - u(34) = u(34) - u(33), but for rounding.
    assert all(abs((c - b) - (b - a)) < 1e-5 for a, b, c in zip(before, first, second)) and first != before


def test_integers():
    """Integers that are values can be changed, those of which sizes, places and numbers of rounds are made cannot; on the host in tiles, by stages, and on the stand-ins' path."""
    program = Path(HERE) / "integers.stn"
    program.write_text("param N = 24, seed = 3, period = 5, row = 4, width = 2, kind : i32 = 1, at = 2, gap = 3, rounds = 2, q : u32 = 3; param c : f32 = 0.25;\n"
                       "let half = period / 2; let last = gap * 2;\n"
                       "grid G = [0 .. N-1, 0 .. N], 1000000000000; field u, t : f32 on G outside 0;\n"
                       "init i(u, t)[G] { u = random(seed, 0); t = 0; }\n"
                       "stencil s(u)[G] { u = if idx(0) == row && step % period < half then f32(kind) else if idx(1) < width then f32(q) else u + c * (u[1,0] - u); }\n"
                       "repeat r up to rounds { stencil m(t)[last .. N-2, 0 .. N] = t + u; }\nprobe p = u at [at, 3] every 2;\n")
    free = {"seed", "period", "row", "width", "kind", "q", "c"}
    sets = {"seed": 9, "period": 8, "row": 20, "width": 5, "kind": -2, "q": 200}
    for options in (("--device=host",), ("--device=sim", "-schedule=naive")):
        with Window(STC, program, *options) as w:
            assert {p["name"] for p in w.json("info")["params"] if p["free"]} == free
            w.pause()
            for name, value in sets.items():
                assert w.order(f"set?name={name}&value={value}") == "ok"
            assert w.order("set?name=rounds&value=3") != "ok" and w.order("restart") == "ok"
            w.until("it begins anew", lambda s: s["step"] == 0 and s["state"] == "paused" and s["waiting"] == 0)
            assert w.order("step?n=7") == "ok"
            s = w.until("7 steps", lambda s: s["state"] == "paused" and s["step"] == 7)
            assert {k: s["params"][k] for k in sets} == sets
            for field in "tu":
                number = next(f["field"] for f in w.json("info")["fields"] if f["name"] == field)
                want = field_after(STC, program, field, 7, HERE, *(f"-D{k}={v}" for k, v in sets.items()))[1]
                assert w.frame(f"field={number}", 7).values == want, (options, field)
            for bad in ("period=1.5", "kind=3000000000", "q=-1"):            # no such integer, of no such type
                assert w.order("set?name=" + bad.replace("=", "&value=")) == "ok" and w.order("step?n=1") == "ok"
                w.until("it says so", lambda s: s["said"] == f"the program does not allow {bad}" and s["state"] == "paused" and not s["waiting"])
            assert {k: w.state()["params"][k] for k in sets} == sets


def test_restart_with_given_fields():
    """A field that --in gave is there again when the run begins anew."""
    start = Path(HERE) / "start.npy"
    subprocess.run([STC, *RUN, "--steps=0", "--in", "u=random:3", "--out", f"u={start}", str(PROGRAM)], check=True)
    with Window(STC, PROGRAM, "--in", f"u={start}") as w:
        w.frame("field=0")
        w.pause()
        w.order("restart")
        w.until("it begins anew", lambda s: s["step"] == 0 and s["state"] == "paused")
        w.order("step?n=5")
        w.until("5 steps", lambda s: s["step"] == 5 and s["state"] == "paused")
        assert w.frame("field=0", 5).values == field_after(STC, PROGRAM, "u", 5, HERE, "--in", f"u={start}")[1]


def test_params_of_scalars():
    """First values of scalars follow params that are changed, from restart on, unless they were given; updates take params at once."""
    program = Path(HERE) / "kept.stn"
    program.write_text("param N = 8, q = 0.5, r = 1.0; grid G = [0..N-1, 0..N-1], 1000000000000; field a : f64 on G outside 0;\n"
                       "scalar s : f64 = f64(q) * 2, n : i64 = i64(q * 8), own : f64 = 3;\n"
                       "init i(a)[G] = 0; stencil f(a)[G] = s + f64(n) + own + 0 * a[1,0];\n"
                       "update s = s + f64(r); update own = own + 1;\n")
    with Window(STC, program, "-Down=7") as w:
        use = {p["name"]: (p["inits"], p["steps"]) for p in w.json("info")["params"] if p["free"]}
        assert use == {"q": (True, False), "r": (False, True), "s": (True, False), "n": (True, False), "own": (True, False)}, use
        w.pause()
        for order in ("set?name=q&value=1.5", "set?name=r&value=0.25", "restart"):
            assert w.order(order) == "ok"
        w.until("it begins anew", lambda s: s["step"] == 0 and s["state"] == "paused" and s["waiting"] == 0)
        assert w.order("step?n=3") == "ok"
        w.until("3 steps", lambda s: s["step"] == 3 and s["state"] == "paused")
        assert w.frame("field=0", 3).values == field_after(STC, program, "a", 3, HERE, "-Dq=1.5", "-Dr=0.25", "-Down=7")[1]


def check_who_may_ask(w):
    """Without the token, or by another name, there is nothing; nor for other sites' pages."""
    token = w.path.strip("/")
    assert len(token) == 32
    own = f"127.0.0.1:{w.port}"
    for path in ("/", "", "/state", "/" + token[:-1] + ("0" if token[-1] != "0" else "1") + "/state", "/" + token + "x/state", "/" + token.upper() + "/state"
                 if token.upper() != token else "/"):
        assert w.ask(path=path or "/", headers={"Host": own})[0] == 403, path
    for host in ("evil.example", f"evil.example:{w.port}", "127.0.0.1.evil.example", "", "10.0.0.1", "[::1", "localhost.evil.example", "@127.0.0.1", "127.0.0.1:x"):
        assert w.ask("state", headers={"Host": host})[0] in (400, 403), host
    for host in (own, f"localhost:{w.port}", "localhost:9999", "[::1]:80", "127.0.0.1"):
        assert w.ask("state", headers={"Host": host})[0] == 200, host
    assert w.ask("do/pause", "POST", {"Origin": "http://evil.example"})[0] == 403 and w.ask("state", headers={"Origin": "null"})[0] == 403
    assert w.ask("do/pause", "POST", {"Origin": f"http://{own}"})[0] == 200
    assert w.ask("do/pause")[0] == 405 and w.ask("state", "POST")[0] == 405 and w.ask("state", "DELETE")[0] == 405
    for name, kind in (("", "text/html"), ("view.js", "text/javascript"), ("draw.js", "text/javascript"), ("view.css", "text/css")):
        status, headers, body = w.ask(name)
        assert status == 200 and headers["Content-Type"].startswith(kind) and len(body) > 500
        assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer" and headers["X-Content-Type-Options"] == "nosniff"
        assert b"http://" not in body.replace(b"http://www.w3.org", b"") and b"https://" not in body      # nothing from elsewhere
    assert w.ask("view.html")[0] == w.ask("../info")[0] == 404 and w.ask(path="/" + token)[0] == 302


def raw(w, data, seconds=2):
    """What comes back for these bytes so soon."""
    s = socket.create_connection((w.host, w.port), timeout=seconds)
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        back = b""
        while True:
            piece = s.recv(65536)
            if not piece:
                return back
            back += piece
    except OSError:
        return b""
    finally:
        s.close()


def check_malformed_requests(w):
    """What is malformed, too long or too large is refused, and the run goes on."""
    host = f"Host: 127.0.0.1:{w.port}\r\n"
    for query in ("", "field=9", "field=-1", "field=x", "field=0&component=1", "field=0&side=0", "field=0&side=-4", "field=0&box=1,2,3", "field=0&box=1,2,3,4,5",
                  "field=0&pins=1", "field=0&pins=40,0", "field=0&pins=-1,0", "field=0&pins=" + ";".join(["1,1"] * 9), "field=0&box=99999999999999999999,1,1,1"):
        status = w.ask("frame?" + query)[0]
        assert status == (204 if query == "" else 400) or (query == "" and status == 200), (query, status)
    assert w.ask("frame?field=0&side=99999999")[0] in (200, 204)
    pool, sent = ThreadPoolExecutor(16), []             # some are not answered: all wait at the same time
    for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"\0" * 500, b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000, f"GET {w.path}state HTTP/1.1\r\n\r\n".encode(),
                 f"GET {w.path}state HTTP/1.1\r\n{host}X: {'y' * 60000}\r\n\r\n".encode(), f"GET {w.path}{'z' * 30000} HTTP/1.1\r\n{host}\r\n".encode(),
                 f"POST {w.path}do/pause HTTP/1.1\r\n{host}Content-Length: 100000000\r\n\r\n".encode() + b"q" * 5000,
                 f"POST {w.path}do/pause HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nfffff\r\n".encode() + b"q" * 100000):
        sent.append((data, pool.submit(raw, w, data)))
    for data, answer in sent:
        back = answer.result()
        assert not back.startswith(b"HTTP/1.1 200"), (data[:80], back[:200])
    assert w.ask("do/pause", "POST", body=b"x" * 2000)[0] == 413 and w.ask("do/play", "POST", body=b"x" * 100)[0] == 200
    before = w.state()["step"]
    w.until("the run goes on", lambda s: s["step"] > before)


def check_slow_clients(w):
    """Those who send or read slowly, or not at all, hold up neither the run nor others."""
    held = []
    for data in (b"", b"GET /", f"GET {w.path}events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(), f"GET {w.path}frame?field=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()):
        for _ in range(4):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect((w.host, w.port))
            s.sendall(data)
            held.append(s)
    one, two = w.state(), None
    f = w.frame("field=0")
    two = w.until("the run goes on", lambda s: s["step"] > one["step"] + 100)
    assert f.width and two["state"] == "running", two
    for s in held:
        s.close()
    many = [socket.create_connection((w.host, w.port)) for _ in range(80)]     # more than there may be
    before = int(open(f"/proc/{w.process.pid}/status").read().split("VmRSS:")[1].split()[0])
    for s in many:
        s.close()
    w.until("it answers again", lambda s: s["step"] > two["step"])
    assert before < 2_000_000


def check_two_pages(w):
    """Two pages look at different things, and both are told of what one orders."""
    for _ in range(3):
        a, b = w.frame("field=0&side=8"), w.frame("field=0&side=20&box=0,20,0,20")
        assert (a.width, b.width) == (8, 20)
    first, second = events(w, 1), events(w, 1)
    assert first and second
    step = w.pause()["step"]
    assert w.frame("field=0&side=8", step).step == w.frame("field=0&side=20&box=0,20,0,20", step).step
    answers = [w.ask(f"frame?field=0&side={n}")[0] for n in range(1, 12)]       # more than are kept at once
    assert set(answers) <= {204, 200, 503} and 503 in answers


def test_end_of_a_run():
    """Behind the last step the page stays, and the plan goes on for it; the files are whole by then."""
    out = Path(HERE) / "last.npy"
    w = Window(STC, PROGRAM, "--steps=40", "--out", f"u={out}")
    w.until("the end", lambda s: s["state"] == "done" and s["bound"] is None)
    assert w.state()["step"] == 40 and out.exists()
    before = out.read_bytes()
    assert w.frame("field=0", 40).values == field_after(STC, PROGRAM, "u", 40, HERE)[1]
    assert w.order("step?n=2") == "ok"
    w.until("two more", lambda s: s["step"] == 42 and s["state"] == "paused")
    assert w.order("play") == "ok"
    w.until("the end of these", lambda s: s["step"] == 80 and s["state"] == "done")
    assert w.order("restart") == "ok"
    w.until("once more", lambda s: s["step"] == 40 and s["state"] == "done")
    assert w.order("step?n=2") == "ok"
    w.until("two more again", lambda s: s["step"] == 42 and s["state"] == "paused")
    assert w.order("restart") == "ok" and w.order("play") == "ok"
    assert w.until("the run as it was asked for", lambda s: s["step"] <= 40 and s["state"] == "done" or s["step"] > 42)["step"] == 40
    assert out.read_bytes() == before and w.order("end") == "ok"
    assert w.close(expect=0) == 0


def test_bound_runs():
    """A run that writes files is made as it was asked for: neither params nor a restart, until they are written."""
    log = Path(HERE) / "log.csv"
    w = Window(STC, PROGRAM, "--log", str(log))
    assert "files" in w.order("restart") and "files" in w.order("set?name=c&value=0.1")
    w.pause()
    w.process.send_signal(signal.SIGINT)
    assert w.close(expect=130) == 130


def test_interrupt():
    """Ctrl-C ends a run that waits, one that runs, and a page that stays behind one; events tell of it."""
    for how in ("paused", "running", "done"):
        w = Window(STC, PROGRAM, *(["--steps=20"] if how == "done" else []))
        if how == "paused":
            w.pause()
        w.until(how, lambda s: s["state"] == how)
        s = socket.create_connection((w.host, w.port), timeout=60)
        s.sendall(f"GET {w.path}events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        s.recv(100)
        w.process.send_signal(signal.SIGINT)
        data = b""
        while (piece := s.recv(65536)):
            data += piece
        s.close()
        assert b"event: end" in data, how
        w.close(expect=0 if how == "done" else 130)


def test_addresses():
    """Where it serves: a port that is asked for, one that is taken, what is no address; all addresses only if asked."""
    with Window(STC, PROGRAM) as w:
        assert w.host == "127.0.0.1"
        for view, said in ((f"--view={w.port}", "Address already in use"), (f"--view=127.0.0.1:{w.port}", "another port"), ("--view=99999", "ADDRESS:PORT"),
                           ("--view=example.org:80", "ADDRESS:PORT"), ("--view=:x", "ADDRESS:PORT"), ("--view=[::1", "ADDRESS:PORT"), ("--view=-1", "ADDRESS:PORT")):
            done = subprocess.run([STC, *RUN, view, "--steps=1", str(PROGRAM)], capture_output=True, text=True, timeout=120)
            assert done.returncode == 2 and said in done.stderr, (view, done.stderr)
        with Window(STC, PROGRAM, view="--view=127.0.0.2:0") as other:
            assert other.host == "127.0.0.2" and other.state()["state"] == "running"
        with Window(STC, PROGRAM, view="--view=0.0.0.0:0") as other:
            other.host = "127.0.0.1"
            assert other.ask("state", headers={"Host": "192.168.1.7"})[0] == 200 and other.ask("state", headers={"Host": "evil.example"})[0] == 403


def test_one_run():
    """All that one run can be asked, one after the other."""
    with Window(STC, PROGRAM) as w:
        for check in (check_events_and_steering, check_params, check_who_may_ask, check_malformed_requests, check_two_pages, check_slow_clients):
            begun = time.monotonic()
            w.order("play")
            check(w)
            print(f"  {check.__name__}: {time.monotonic() - begun:.1f} s", flush=True)


def main():
    tests = [t for name, t in sorted(globals().items()) if name.startswith("test_") and (len(sys.argv) < 3 or sys.argv[2] in name)]
    probe = subprocess.run([STC, *RUN, "--view=x", "--steps=0", str(PROGRAM)], capture_output=True, text=True)
    if "without libmicrohttpd" in probe.stderr:
        print("stc was built without libmicrohttpd")
        return 77
    for test in tests:
        begun = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
