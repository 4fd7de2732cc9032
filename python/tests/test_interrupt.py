"""Ctrl-C, and the end of plans and of Python, while steps are made: real signals, in processes of their own."""
import os
import signal
import subprocess
import sys
import time

import pytest

STANDIN = os.environ.get("STC_STANDIN_DIR")
COMMON = """
import os, signal, sys, threading, time
import numpy as np, stc
def plan(device, n, extra="", **options):
    text = f"grid G = [0 .. {n} - 1, 0 .. {n} - 1], 1; field A : f32 on G; init i(A)[G] = 1;"
    text += "stencil s(A)[1 .. %d - 2, 1 .. %d - 2] = 0.25 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]);" % (n, n)
    return stc.compile(text + extra).plan(device, **options)
"""
INTERRUPTED = COMMON + """
def seconds(run, begin, *arguments):
    "From the signal to the exception."
    at = []
    timer = threading.Timer(0.2, lambda: (at.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT)))
    timer.start()
    try:
        begin(*arguments)
    except KeyboardInterrupt:
        took = time.monotonic() - at[0]
    else:
        raise SystemExit("no KeyboardInterrupt")
    try:
        made = run(1)
    except stc.InputError as e:
        assert "stopped within a time step" in str(e) and "restart()" in str(e) and "stc_" not in str(e), e
        run.restart()
        made = run(1)
    assert made.steps == 1 and (not run._is_host() or run["A"][0, 0] == 1)
    return took

for extra in "", "reduce r = sum(A) over G every 1;", "until max(A) over G > 2.0 every 2;":
    for n in map(int, sys.argv[2].split(",")):
        run = plan(sys.argv[1].split("/")[0], n, extra, **(dict(split=2) if "/" in sys.argv[1] else {}))
        run(0)
        best = min(seconds(run, run, 10**9) for _ in range(3)) if extra or n > 100 else seconds(run, run, 10**9)
        assert best < 0.2, f"{sys.argv[1:]} {extra}: {best} s"
        if not extra:
            def wait():
                run(10**9, wait=False)
                run.wait()
            best = min(seconds(run, wait) for _ in range(2))
            assert best < 0.2, f"{sys.argv[1:]} wait: {best} s"
"""


def environment_of(device):
    """What a child needs of the environment for the device: for cuda the stand-in for its driver."""
    if device == "cuda" and not STANDIN:
        pytest.skip("STC_STANDIN_DIR does not name the stand-ins for the drivers")
    return dict(LD_LIBRARY_PATH=STANDIN) if device == "cuda" else {}


def child(code, *arguments, **environment):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300, env=dict(os.environ, **environment))


@pytest.mark.parametrize("device, sizes", [("host:2", "40,1500"), ("host:1/2", "1000"), ("sim/2", "20"), ("ref", "20,700"), ("sim", "20,300"), ("cuda", "64")])
def test_interrupt(device, sizes):
    environment = environment_of(device)
    done = child(INTERRUPTED, device, sizes, **environment)
    assert done.returncode == 0 and not done.stderr, done.stderr


WITHIN_REPEAT = COMMON + """
extra = "param most = 1000000000000; repeat r up to most { stencil t(A)[1 .. 14, 1 .. 14] = 0.5 * (A[-1,0] + A[1,0]); %s }" % sys.argv[2]
run = plan(sys.argv[1].split("/")[0], 16, extra, **(dict(split=2) if "/" in sys.argv[1] else {}))
run(0)
timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
timer.start()
start = time.monotonic()
try:
    run(1)
except KeyboardInterrupt:
    assert time.monotonic() - start < 60
else:
    raise SystemExit("no KeyboardInterrupt")
try:
    run(1)
except stc.InputError as e:
    assert "stopped within a time step" in str(e), e
else:
    raise SystemExit("the step was whole")
"""


@pytest.mark.parametrize("device", ["host:1", "ref/2", "sim", "cuda"])
def test_interrupt_within_a_repeat(device):
    environment, end = environment_of(device), "" if device != "sim" else "until max(A) over [0 .. 15, 0 .. 15] < -1 every 100;"
    done = child(WITHIN_REPEAT, device, end, **environment)
    assert done.returncode == 0 and not done.stderr, done.stderr


GRADIENT = COMMON + """
import re
text = "grid G = [0 .. 99, 0 .. 99], 3000; field A : f32 on G; field q : f32 on G input; init i(A)[G] = 1;"
text += "stencil s(A)[1 .. 98, 1 .. 98] = 0.25 * (A[-1,0] + A[1,0] + A[0,-1] + A[0,1]) + q * sin(A); loss j += A * A over G at end; gradient j to q;"
program, folder, small = stc.compile(text), sys.argv[2], dict(memory="600kB", scratch=sys.argv[2])
def begin():
    run = program.plan(sys.argv[1])
    run["q"] = np.linspace(0, 0.01, 10000).reshape(100, 100)
    return run
run = begin()
steps = 20                      # few: what is compiled before the signal
run.gradient(steps, **small)
want = run.gradient(steps, **small)
threading.Timer(0.2, lambda: os.kill(os.getpid(), sys.argv[3] == "int" and signal.SIGINT or signal.SIGKILL)).start()
start = time.monotonic()
try:
    while True:
        run.gradient(3000, **small)
except KeyboardInterrupt:
    assert time.monotonic() - start < 10
got = run.gradient(steps, **small)
assert got.value == want.value and np.array_equal(got.by["q"], want.by["q"])
"""


@pytest.mark.parametrize("end", ["int", "kill"])
def test_interrupt_of_a_gradient(end, tmp_path):
    """Between or within the segments of a gradient whose steps are made again: the plan is as it was, and nothing is left in the folder for snapshots."""
    done = child(GRADIENT, "host:2", str(tmp_path), end)
    assert done.returncode == (0 if end == "int" else -signal.SIGKILL) and not done.stderr, done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("device, n", [("host:2", 1000), ("ref", 500), ("sim", 200)])
@pytest.mark.parametrize("end", ["del run", "sys.exit(0)"])
def test_ends_while_steps_are_made(device, n, end):
    code = COMMON + f"run = plan({device!r}, {n}, 'reduce r = sum(A) over G every 1;'); run(10**9, wait=False); time.sleep(0.3); print(time.time(), flush=True); {end}"
    done = child(code)
    assert done.returncode == 0 and not done.stderr and time.time() - float(done.stdout) < 5, done.stderr


@pytest.mark.parametrize("runs_in", ["main", "other"])
def test_a_thread_that_looks_at_a_plan_waits_for_its_run(runs_in):
    code = COMMON + """
run = plan("host:1", 400, "reduce r = sum(A) over G every 1;")
run(1)
seen, steps = [], 3000
def look():
    while not seen or seen[-1][0] == 1:
        time.sleep(0.01)
        seen.append((run.step, float(run["A"][0, 0])))
def go():
    assert run(steps).steps == steps and run.step == steps + 1
if sys.argv[1] == "main":
    other = threading.Thread(target=look)
    other.start()
    go()
else:
    other = threading.Thread(target=go)
    other.start()
    look()
other.join()
assert seen and all(s in ((1, 1), (steps + 1, 1)) for s in seen), seen
"""
    done = child(code, runs_in)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_a_process_that_is_interrupted_ends():
    """Nobody catches the exception; other threads make steps, too."""
    code = COMMON + "threads = [threading.Thread(target=lambda: plan('host:1', 50)(10**12), daemon=True) for _ in range(2)]\n" \
        "for t in threads: t.start()\nrun = plan('host:2', 1000)\nprint('begins', flush=True)\nrun(10**9)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in told and "ignored" not in told and "Fatal" not in told, told


def test_daemon_threads_stay_in_their_calls_when_python_ends():
    """They would print that they were interrupted while Python takes stderr apart, which now and then aborts the process. Python's end is made
    long here, so that each of them has the time."""
    code = "import atexit, time\natexit.register(time.sleep, 0.3)" + COMMON + """
runs = [plan("host:1", 50) for _ in range(6)]
def go(steps):
    run = runs.pop()
    try:
        while True: run(steps)
    finally:
        os.write(1, b"goes on")
for steps in 1, 1, 10**12, 10**12, 10**12, 10**12: threading.Thread(target=go, args=(steps,), daemon=True).start()
while runs: time.sleep(0.01)
time.sleep(0.1)
"""
    done = child(code)
    assert done.returncode == 0 and not done.stderr and not done.stdout, (done.returncode, done.stdout, done.stderr)


def test_forked_processes_run():
    """Threads that make calls are no more in a process that fork made."""
    code = COMMON + "run = plan('host:1', 300); run(5)\nchild = os.fork()\nrun(200)\nif child == 0: os._exit(7)\n" \
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7"
    done = child(code)
    assert done.returncode == 0, done.stderr


COMPILING = """
import os, signal, sys, threading, time
import stc
from stc import _running
stencils = "".join("stencil s%d(A)[2 .. N-3, 2 .. N-3] = 0.25 * (A[-1,0] + A[1,0] + A[0,-%d] + A[0,2]) + %d.0;" % (i, i % 2 + 1, i) for i in range(int(sys.argv[2])))
program = stc.compile("param N = 64; grid G = [0 .. N-1, 0 .. N-1], 1; field A : f32 on G; init z(A)[G] = 0;" + stencils, schedule=sys.argv[3])

def interrupt(at, before):
    "Sends the signal once libstc has been compiling for a moment, in a call that there was not before; `at` gets when, or nothing if it was too late."
    while not (calls := [c for c in list(_running._calls) if c not in before and c.begun]):
        time.sleep(0.005)
    time.sleep(0.1)
    if not calls[0].ended.is_set():
        at.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

def seconds(make):
    "From the signal to the exception."
    at, before = [], list(_running._calls)
    thread = threading.Thread(target=interrupt, args=(at, before))
    thread.start()
    try:
        make()
        thread.join()
    except KeyboardInterrupt:
        return time.monotonic() - at[0]
    raise SystemExit("no KeyboardInterrupt" if at else "compiled before the signal: the program must be larger")

for make in (lambda: program.plan(sys.argv[1])), (lambda: program.emit("asm")):
    begun = time.process_time()
    tries = []
    while len(tries) < 3 and not (tries and tries[-1] < 0.5):      # other processes may have the machine's cores
        tries.append(seconds(make))
    assert tries[-1] < 0.5, tries
assert "kernel @" in program.emit("kir")
took = time.process_time() - begun
assert took < 10, f"{took} s of all threads to the next call"
"""


@pytest.mark.parametrize("device, stencils, schedule", [("host:2", 250, "auto"), ("sim", 2000, "overlap"), ("cuda", 1500, "naive")])
def test_compiling_is_interrupted(device, stencils, schedule):
    """In the passes, in LLVM and between a driver's kernels; the program can be asked again."""
    environment = environment_of(device)
    done = child(COMPILING, device, str(stencils), schedule, **environment)
    assert done.returncode == 0 and not done.stderr, done.stderr
