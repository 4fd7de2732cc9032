"""Windows into runs, as a page asks."""
import copy
import gc
import http.client
import json
import struct
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

import stc

PROGRAM = """
param N = 24, M = 40;
param c : f32 = 0.2;
grid  G = [0 .. N-1, 0 .. M-1], 10;
field A : f32 on G outside clamp;
stencil relax(A)[G] = A + c * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1] - 4 * A);
reduce total = sum(A) over G every 10;
"""


def ask(view, what, method="GET"):
    url = urlsplit(view.url)
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    c.request(method, url.path + what)
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, body


def state(view):
    return json.loads(ask(view, "state")[1])


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def picture(view, shape, step):
    """The field A as the page sees it when that step is done."""
    end = time.monotonic() + 60
    while True:
        status, body = ask(view, "frame?field=0&have=0")
        if status == 200 and struct.unpack_from("<q", body, 32)[0] == step:
            return np.frombuffer(body, "<f4", offset=88).reshape(shape)
        assert time.monotonic() < end, (status, step)
        time.sleep(0.02)


@pytest.fixture
def plan():
    run = stc.compile(PROGRAM).plan()
    try:
        run.view()
    except stc.OptionError as e:
        pytest.skip(str(e))
    run["A"] = np.random.default_rng(1).random((24, 40), np.float32)
    return run


def test_shows_what_the_field_is(plan):
    view = plan.view()
    assert plan.view() is view and view.is_open and view.url.startswith("http://127.0.0.1:") and view.url in view._repr_html_()
    assert state(view)["state"] == "idle" and ask(view, "do/pause", "POST")[0] == 409
    ask(view, "frame?field=0")
    plan(20)
    assert np.array_equal(picture(view, (24, 40), 20), plan["A"])
    shown = plan["A"]                   # the field stays where NumPy sees it now, and is not lent any more
    plan(5)
    assert np.array_equal(picture(view, (24, 40), 25), shown)
    with pytest.raises(stc.OptionError, match="ADDRESS:PORT"):
        plan.program.plan().view("nowhere")
    with pytest.raises(TypeError):
        copy.copy(view)


def test_steers_a_run_in_the_background(plan):
    view, start = plan.view(), plan["A"].copy()
    plan(10**9, wait=False)
    until(lambda: state(view)["step"] > 0)
    assert ask(view, "do/pause", "POST")[1] == b"ok"
    until(lambda: state(view)["state"] == "paused")
    assert ask(view, "do/set?name=c&value=0.125", "POST")[1] == ask(view, "do/restart", "POST")[1] == b"ok"
    until(lambda: state(view)["step"] == 0 and state(view)["state"] == "paused")
    assert np.array_equal(picture(view, (24, 40), 0), start)
    assert ask(view, "do/step?n=30", "POST")[1] == b"ok"
    until(lambda: state(view)["step"] == 30 and state(view)["state"] == "paused")
    seen = picture(view, (24, 40), 30)
    other = plan.program.plan(c=0.125)
    other["A"] = start
    other(30)
    assert np.array_equal(seen, other["A"])
    ask(view, "do/play", "POST")
    until(lambda: state(view)["step"] > 100)
    plan.close()
    assert plan.view is not None and not view.is_open


def test_sets_and_restarts_a_grid_in_a_file():
    """What a page sees of a grid in a file is the file itself, which setting fields waits for."""
    plan = stc.compile(PROGRAM).plan("host:1", memory="4kB")
    try:
        view = plan.view()
    except stc.OptionError as e:
        pytest.skip(str(e))
    start = np.random.default_rng(1).random((24, 40), np.float32)
    plan["A"] = start
    ask(view, "frame?field=0")
    plan(20)
    seen = picture(view, (24, 40), 20)
    plan["A"] = start                   # of a run that has ended the view keeps what it shows
    assert np.array_equal(plan["A"], start) and not np.array_equal(seen, start)
    plan.restart()
    plan["A"] = start
    plan(10**9, wait=False)
    for _ in range(20):                 # a picture may be drawn whenever the run begins anew
        until(lambda: state(view)["step"] > 0)
        ask(view, "frame?field=0&have=0")
        until(lambda: ask(view, "do/restart", "POST")[1] == b"ok")   # while a run begins anew none is under way
    ask(view, "do/pause", "POST")
    until(lambda: state(view)["state"] == "paused")
    plan.close()


def test_reductions_begin_anew_with_the_run(plan):
    view = plan.view()
    plan(200, wait=False)
    plan.wait()
    assert list(plan.reductions["total"]["step"]) == list(range(0, 201, 10))
    plan(10**9, wait=False)
    until(lambda: state(view)["state"] == "running")
    ask(view, "do/pause", "POST")
    until(lambda: state(view)["state"] == "paused")
    ask(view, "do/restart", "POST")
    until(lambda: state(view)["step"] == 0 and state(view)["state"] == "paused")      # by then the reductions are evaluated
    assert [r for r in plan._series["total"]][0][0] == 0 and len(plan._series["total"]) == 1
    plan.close()


def test_closes(plan):
    view = plan.view()
    url = urlsplit(view.url)
    with view:
        plan(10)
    assert not view.is_open and repr(view) == "View(closed)" and "closed" in view._repr_html_()
    view.close()
    with pytest.raises(OSError):
        http.client.HTTPConnection(url.hostname, url.port, timeout=5).connect()
    plan(10)
    again = plan.view()
    assert again is not view and state(again)["step"] == 20 and "before the window" in state(again)["no_restart"]
    del plan
    gc.collect()
    assert again.is_open and ask(again, "state")[0] == 200
    again.close()


def test_lives_no_longer_than_its_plan():
    run = stc.compile(PROGRAM).plan()
    try:
        url = urlsplit(run.view().url)
    except stc.OptionError as e:
        pytest.skip(str(e))
    del run
    gc.collect()
    with pytest.raises(OSError):
        http.client.HTTPConnection(url.hostname, url.port, timeout=5).connect()


def test_restart_gives_again_what_this_run_was_given():
    """A page's restart begins with the scalars that were given, and with what was given last, not to an earlier run."""
    program = ("grid G = [0 .. 7, 0 .. 9], 1000; field A : f32 on G outside 0; scalar s : f64 = 1, n : i64 = 2;\n"
               "stencil f(A)[G] = A + f32(s) + f32(n) + 0 * A[1,0]; update s = s + 1;\n")
    with stc.compile(program).plan() as run:
        view = run.view()
        run["A"] = np.full((8, 10), 5, np.float32)
        run["s"] = 10.0
        run(3)
        run.restart()
        run["A"] = np.full((8, 10), 7, np.float32)
        run["s"] = 20.0
        run["n"] = 40
        run(10**9, wait=False)
        until(lambda: state(view)["state"] == "running")
        ask(view, "do/pause", "POST")
        until(lambda: state(view)["state"] == "paused")
        assert ask(view, "do/restart", "POST")[1] == b"ok"
        until(lambda: state(view)["step"] == 0 and state(view)["state"] == "paused")
        ask(view, "do/step?n=4", "POST")
        assert (picture(view, (8, 10), 4) == 7 + 4 * 20 + 6 + 160).all()
        run.close()
