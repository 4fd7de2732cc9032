"""Artifacts by their manifests alone: host object files against NumPy and plans, GPUs' against the stand-ins for their drivers."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

import stc
from commands import command
from stc._manifest import check

rng = np.random.default_rng(2)
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")


def build(folder, text, *options):
    """The manifest of the artifact that the command makes, without optimisation unless `options` have a level of their own."""
    source = folder / "p.stn"
    source.write_text(text)
    command("-o", folder / "p.x", *options, source)
    made = folder / "p.x"
    ending = {"nvptx": "ptx", "amdgpu": "hsaco"}.get(next((o[7:] for o in options if o.startswith("-march=")), ""), "o")
    made.rename(folder / f"p.{ending}")
    return folder / "p.json"


@needs_cc
def test_heat(tmp_path, heat_text, heat_numpy):
    k = stc.load(build(tmp_path, heat_text, "-schedule=overlap", "-T=3", "-O3"))
    assert k.fields == ["A"]
    a = rng.random((40, 30), np.float32)
    want = heat_numpy(a, 7)
    r = k.run({"A": a}, steps=7)
    assert r.steps == 7 and r.until is None
    np.testing.assert_allclose(a, want, rtol=1e-5)


@needs_cc
def test_all_that_a_manifest_has(tmp_path):
    text = """
        param N = 24, n = 8;  grid G = [0 .. N-1, 0 .. N-1], 50;  param src[n] : f64;
        let h = sqrt(1.0 / real(N));
        field U : f64 on G outside 0 history 1;  field C : f64 on G input;
        init c(C)[G] = 0.1 + f64(h);
        init u(U)[2 .. N-3, 2 .. N-3] = f64(idx(0) + idx(1));
        reduce total = sum(U) over G every 5;
        stencil s(U)[G] = 1.5 * U - 0.6 * U@1 + C * (U[-1,0] + U[0,1] - 2 * U) + (if idx(0) == 3 then src[step] else 0);
        until max(abs(U)) over G > 100 every 5;
    """
    src = rng.random(8)
    run = stc.compile(text, contract=False).plan(device="ref")
    run["src"] = src
    info = run(50)
    k = stc.load(build(tmp_path, text, "-fno-contract"))
    u, past = np.zeros((24, 24)), np.zeros((24, 24))
    r = k.run({"src": src}, steps=50)
    assert (r.steps, r.until) == (info.steps, info.until)
    assert (r.reductions["total"] == run.reductions["total"]).all()
    given = stc.compile(text, contract=False).plan(device="ref")
    given["src"], given["U"], given["U@1"] = src, 1, 2
    given(12)
    u[:], past[:] = 1, 2
    k.run({"src": src, "U": u, "U@1": past}, steps=12)
    np.testing.assert_array_equal(u, given["U"])
    np.testing.assert_array_equal(past, given["U@1"])
    more = stc.compile(text, contract=False).plan(device="ref")
    more["src"], more["U"], more["U@1"] = src, 1, 2
    more(20)
    c = np.array(more["C"])
    k.run({"src": src, "U": u, "U@1": past, "C": c}, steps=8, first_step=12)
    np.testing.assert_array_equal(u, more["U"])


@needs_cc
def test_refuses(tmp_path, heat_text):
    k = stc.load(build(tmp_path, heat_text))
    with pytest.raises(KeyError, match="no field or launch-time array"):
        k.run({"B": np.zeros((8, 8), np.float32)})
    with pytest.raises(ValueError, match="no param"):
        k.run({}, K=3)
    with pytest.raises(ValueError, match="is of type f32"):
        k.run({"A": np.zeros((64, 48), complex)})
    with pytest.raises(ValueError, match="steps=-1: the number is at least 0"):
        k.run({}, steps=-1)
    with pytest.raises(ValueError, match="first_step=-4: the number is at least 0"):
        k.run({}, steps=5, first_step=-4)
    path = tmp_path / "p.json"
    path.write_text(path.read_text().replace('"schema_version": ', '"schema_version": 9'))
    with pytest.raises(ValueError, match="update it"):
        stc.load(path)


LOOPS = """
param N = 24;  grid G = [0 .. N-1], 120;
field p : f64 on G outside 0.0;
reduce total = sum(p) over G every 4;
until total > 200.0 every 4;
stencil relax(p)[G] = 0.5 * (p[-1] + p[1]) + 0.5;
"""


def looped(folder, text, tile, most):
    """The artifact of the program whose time steps are rounds of a loop of a single one, `tile` at a time."""
    options = ("-schedule=overlap", f"-T={tile}", "-fno-contract")
    build(folder, text, *options)
    kir = folder / "p.kir"
    command("-emit=kir", *options, "-o", kir, folder / "p.stn")
    before, host = kir.read_text().split("  host {\n", 1)
    init, sequences = host.split(f"    steps {tile} {{", 1)
    rounds = f"    rounds {tile} {{" + sequences.replace("steps 1 {", "rounds 1 {")
    kir.write_text(f"{before}  host {{\n{init}    repeat @rounds up to {most} {{\n" + rounds.replace("\n  }\n}", "\n  }\n  steps 1 {\n    repeat @rounds\n  }\n }\n}"))
    command("-o", folder / "p.o", kir)
    return stc.load(folder / "p.json")


@needs_cc
def test_members(tmp_path):
    """Reductions that have a value for each member, in the manifest's version for them; of two `until` the first that is met ends the run."""
    text = """
        param nm = 3, N = 24;  grid G = [0 .. N-1], 50;  members nm;
        field U : f64 on G;
        init u(U)[G] = f64(member + idx(0));
        stencil s(U)[G] = U + 1;
        reduce total = sum(U) over [1 .. N-2] every 5;
        reduce least = min(i64(U)) over G every 2;
        until min(U) over G > 7 every 1;
        until max(U) over G > 30 every 2;
    """
    run = stc.compile(text).plan(device="ref", nm=2)
    info = run(50)
    path = build(tmp_path, text)
    k = stc.load(path)
    assert k.manifest["schema_version"] == 14
    r = k.run({}, steps=50, nm=2)
    assert (r.steps, r.until) == (info.steps, info.until) == (8, "until")
    assert len(run.reductions) == 4
    for name in run.reductions:
        assert r.reductions[name].dtype == run.reductions[name].dtype and (r.reductions[name] == run.reductions[name]).all()
    for change in (lambda data: data.pop("members"), lambda data: data["host"]["reductions"][0].update(each=False)):
        data = json.loads(path.read_text())
        change(data)
        assert check(data)


KINDS = """
param N = 21, M = 30, seed : u32 = 4000000007;
param w[3, 4] : f64, k : c128 = 0.5 - 0.25i;
let start = seed * 2654435761 ^ seed >> 3 | ~seed << 29;
grid G = [0 .. N-1, 0 .. M-1], 9;
field U : u32 on G outside periodic;
field q : f64 on G outside clamp;
field z : c128 on G outside 0;
init words(U)[G] = u32(idx(0) * 7919 + idx(1)) * 2654435761 ^ start;
init first(q)[G] = random(seed, 1) + 0.25 * normal(seed, 2);
init wave(z)[G] = k * cis(0.25 * f64(idx(1)));
stencil turn(U)[G] = U << 13 ^ (U[0,1] >> 19 | start & ~U[1,0]);
stencil carry(q, z)[G] {
  q = 0.5 * at(q, 1.5 * q[0,1], f64(U & 3) - 1, within 2) + 0.25 * lookup(w, q, 3 * q) + w[idx(0) % 4, step] * q[[i64(U & 3), 1] within 1];
  z = k * z[0,1] + 0.5i * q * z;
}
reduce total = sum(i64(U)) over G every 3;
reduce norm = sum(abs2(z)) over G every 3;
"""


@needs_cc
def test_kinds(tmp_path):
    """Words of bits and lets of them, random numbers, tables of two indices, offsets that depend on data, complex numbers."""
    path, w = build(tmp_path, KINDS, "-fno-contract", "-freal=f64"), rng.random((3, 4)) - 0.5
    for params in {}, {"seed": 4294967295, "k": 0.25 + 0.5j}:
        run = stc.compile(KINDS, contract=False, real="f64").plan(device="ref", **params)
        run["w"] = w
        run(0)
        q = np.array(run["q"])
        run(9)
        r = stc.load(path).run({"w": w, "q": q}, steps=9, **params)
        np.testing.assert_array_equal(q, run["q"])
        for name in "total", "norm":        # of fields that begin as their inits make them
            assert (r.reductions[name] == run.reductions[name]).all()


@needs_cc
def test_loops(tmp_path):
    """Rounds of a loop within a step, which the host part of a .kir has, ended by an `until` of the loop's."""
    plain = stc.load(build(tmp_path, LOOPS, "-schedule=overlap", "-T=3", "-fno-contract"))
    want = rng.random(24)
    got = want.copy()
    steps = plain.run({"p": want}).steps
    assert 4 < steps < 120 and steps % 4 == 0
    k = looped(tmp_path, LOOPS, 3, "5 * N reduce @total reduce @until")
    assert k.manifest["schema_version"] == 10
    run = k.run({"p": got}, steps=1)
    assert (run.steps, run.until, run.reductions) == (1, None, {})
    np.testing.assert_array_equal(got, want)
    for change in (lambda host: host["loops"].append(host["loops"][0]), lambda host: host["loops"][0].pop("most"), lambda host: host.pop("loops"),
                   lambda host: host["loops"][0]["sequences"].pop(), lambda host: host["init"]["operations"].append({"repeat": "rounds"})):
        data = json.loads((tmp_path / "p.json").read_text())
        change(data["host"])
        assert check(data)


@needs_cc
@pytest.mark.parametrize("way", ["up", "down"])
def test_rounds_that_count(tmp_path, way):
    """Rounds that are steps: forwards, and from the last one back."""
    text = "param N = 24;  grid G = [0 .. N-1], 12;  field p : f64 on G outside 0.0;  stencil s(p)[G] = 0.5 * p[-1] + f64(step * step);"
    p = rng.random(24)
    want = p.copy()
    for n in range(12) if way == "up" else range(11, -1, -1):
        want = 0.5 * np.concatenate([[0], want[:-1]]) + n * n
    looped(tmp_path, text, 1, f"12 counting {way}").run({"p": p}, steps=1)
    np.testing.assert_array_equal(p, want)


STANDIN = os.environ.get("STC_STANDIN_DIR")


@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
@pytest.mark.parametrize("options", [("-march=nvptx", "-mcpu=sm_90"), ("-march=amdgpu", "-mcpu=gfx90a")])
def test_on_standin(tmp_path, heat_text, options):
    """Calls and their order, pointers, block and grid are what the stand-in takes; it computes nothing."""
    if "amdgpu" in options[0] and not (shutil.which("ld.lld-22") or shutil.which("ld.lld")):
        pytest.skip("no ld.lld")
    manifest = build(tmp_path, heat_text, "-schedule=overlap", "-T=3", *options)
    log = tmp_path / "log"
    code = f"import stc, numpy as np; k = stc.load({str(manifest)!r}); a = np.ones((64, 48), np.float32); r = k.run({{'A': a}}, steps=7); print(r.steps)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=STANDIN, STC_STANDIN_LOG=str(log)))
    assert done.stdout == "7\n", done.stderr
    lines = log.read_text().split("\n")
    assert not [l for l in lines if l.startswith("fault")] and len([l for l in lines if l.startswith("launch ")]) == 3


MASKED = """
param N = 96, M = 160;
grid G = [0 .. N-1, 0 .. M-1], 5;
field k : u8 on G input;
mask wet on G = k > 0;
field u : f32 on G where wet dry self outside clamp;
stencil s(u)[G where wet] = u + 0.125 * (u[1,0] + u[-1,0] + u[0,1] + u[0,-1] - 4 * u);
"""


@needs_cc
@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
@pytest.mark.parametrize("wet, blocks", [("lake", [10]), ("all", [20]), ("none", [])])
def test_tiles_of_masks(tmp_path, wet, blocks):
    """From the manifest alone: what is computed once, and as many blocks as there are tiles with something to do; the values are the reference's."""
    options = "-march=nvptx -mcpu=sm_90 -fno-contract -edges=apart -schedule=overlap -T=2 -block=16x16 -elems=2x1".split()
    manifest, log = build(tmp_path, MASKED, *options), tmp_path / "log"
    k = np.full((96, 160), wet == "all", np.uint8)
    k[40:60, 50:100] |= wet == "lake"
    u = rng.random(k.shape, np.float32)
    np.savez(tmp_path / "in.npz", k=k, u=u)
    code = f"import stc, numpy as np; z = dict(np.load({str(tmp_path / 'in.npz')!r})); a = stc.load({str(manifest)!r}); " \
           f"assert a.fields == ['k', 'wet', 'u', 'u.where']; a.run(z, steps=5); np.save({str(tmp_path / 'out.npy')!r}, z['u'])"
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ, LD_LIBRARY_PATH=STANDIN, STC_STANDIN_LOG=str(log), STC_STANDIN_COMPUTE="3"))
    want = stc.compile(MASKED, contract=False).plan(device="ref")
    want["k"], want["u"] = k, u
    want(5)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), want["u"])
    launches = [l.split() for l in log.read_text().split("\n") if l.startswith("launch p_overlap_t2")]
    assert [int(l[l.index("grid") + 1]) for l in launches if l[1] in ("p_overlap_t2", "p_overlap_t2_mixed")] == 2 * blocks
    (tmp_path / "host").mkdir()
    host, on_host = u.copy(), stc.load(build(tmp_path / "host", MASKED, "-fno-contract"))
    on_host.run({"k": k, "u": host}, steps=5)
    np.testing.assert_array_equal(host, want["u"])
    assert on_host.manifest["schema_version"] == 17
    data = json.loads(manifest.read_text())
    data["kernels"][0]["tiles"] = {"classes": "u", "busy": [1]}
    assert "no bytes" in check(data)


DAMAGED = """
param N = 16, n = 4;  grid G = [0 .. N-1, 0 .. N-1], 6;  param src[n] : f64;  let h = sqrt(1.0 / real(N));
field U : f64 on G outside 0 history 1;
init u(U)[2 .. N-3, 2 .. N-3] = f64(h) * f64(idx(0));
reduce total = sum(U) over G every 3;
stencil s(U)[G] = 1.5 * U - 0.6 * U@1 + (if idx(0) == 3 then src[step] else 0);
until max(abs(U)) over G > 100 every 3;
"""
WRONG = [None, True, -1, 0, 3, 2**70, 1.5, "x", "", [], {}, [1], {"a": 1}, [[[]]], float("nan")]


def places(value, path=()):
    """The way to each value of a JSON text."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [p for key, v in inner for p in places(v, path + (key,))]


def damage(data, random):
    """One value of it, anywhere, is another or no more."""
    *way, last = random.choice(places(data))
    for key in way:
        data = data[key]
    change = random.randrange(3)
    if change == 0:
        del data[last]
    elif change == 1 and isinstance(data[last], int):
        data[last] += random.choice([-1, 1, 1000, 2**40])
    else:
        data[last] = random.choice(WRONG)


@needs_cc
def test_damaged_manifests(tmp_path):
    """An error of stc's, or the right result. Nothing is run from a manifest that is not as stc wrote it."""
    path = build(tmp_path, DAMAGED)
    text, src = path.read_text(), np.arange(4.0)
    want = stc.load(path).run({"src": src}, steps=6).reductions["total"]
    random = Random(5)
    for i in range(400):
        data = json.loads(text)
        damage(data, random)
        path.write_text(json.dumps(data, indent=i % 3))
        try:
            k = stc.load(path)
        except (stc.StcError, FileNotFoundError):
            continue
        assert {**data, "checksum": 0} == {**json.loads(text), "checksum": 0}
        assert (k.run({"src": src}, steps=6).reductions["total"] == want).all()
    for i in range(200):
        damaged = bytearray(text.encode())
        at = random.randrange(len(damaged))
        damaged[at:at + random.choice([1, 1, 1, len(damaged)])] = random.choice([b"", b"\0", b"9", b"\xff", b'"', b"[" * 5000])
        path.write_bytes(damaged)
        try:
            stc.load(path)
        except stc.StcError:
            continue
        assert json.loads(damaged) == json.loads(text)


def test_manifests_without_a_checksum_are_looked_at(tmp_path, heat_text):
    """Those of earlier versions: what cannot be launched from is found, and nothing is a raw error."""
    random, found = Random(6), 0
    manifest = json.loads(stc.compile(DAMAGED).emit("manifest"))
    assert check(manifest) is None
    for _ in range(600):
        data = json.loads(json.dumps(manifest))
        damage(data, random)
        what = check(data)
        assert what is None or isinstance(what, str)
        found += what is not None
    assert found > 200, found
    for wrong in WRONG:
        assert check(wrong) if isinstance(wrong, dict) else True
        (tmp_path / "p.json").write_text(json.dumps(wrong))
        with pytest.raises(stc.InputError, match="no manifest of stc's"):
            stc.load(tmp_path / "p.json")


@needs_cc
def test_what_cannot_be_loaded(tmp_path, heat_text):
    for probe, what in ("probe p = A at [4, 4] every 2;", "probes"), ("probe p = A + 1 at [4, 4] every 2;", "probes"):
        with pytest.raises(stc.InputError, match=f"has {what}, which stc.load cannot read"):
            stc.load(build(tmp_path, heat_text + probe)).run({})
    with pytest.raises(FileNotFoundError, match="none.json"):
        stc.load(tmp_path / "none.json")
    path = build(tmp_path, heat_text)
    path.with_suffix(".o").unlink()
    with pytest.raises(FileNotFoundError, match="p.o"):
        stc.load(path)
    path.with_suffix(".o").write_text("no object file")
    with pytest.raises(stc.DeviceError, match="linking"):
        stc.load(path)


@needs_cc
def test_steps_that_a_param_gives(tmp_path):
    path = build(tmp_path, "param T = 4; grid G = [0 .. 7], T; field A : f32 on G; init i(A)[G] = 0; stencil s(A)[G] = A + 1;")
    assert stc.load(path).run({}).steps == 4 and stc.load(path).run({}, T=6).steps == 6


@needs_cc
def test_coordinates(tmp_path):
    text = """
        param N = 20, z[N] : f64;
        grid G = [0 .. N-1, 0 .. 4], 3 spacing [at z, 0.5];
        field A : f64 on G outside clamp;
        stencil s(A)[G] = A + 0.001 * diff(A, 0, 2) + 0.01 * diff(diff(A, 0, side 1), 1);
    """
    z, a = np.cumsum(rng.random(20) + 0.1), rng.random((20, 5))
    run = stc.compile(text, contract=False).plan(device="ref")
    assert run.spacing == (None, 0.5)
    run["A"], run["z"] = a, z
    run(3)
    k = stc.load(build(tmp_path, text, "-fno-contract"))
    k.run({"A": a, "z": z}, steps=3)
    np.testing.assert_array_equal(a, run["A"])
    with pytest.raises(stc.InputError, match="rise"):
        k.run({"A": a, "z": z[::-1].copy()}, steps=3)
    with pytest.raises(stc.InputError, match="rise"):
        run["z"] = z[::-1].copy()
    with pytest.raises(stc.InputError, match="no values"):
        k.run({"A": a}, steps=3)
