"""Gradients by artifacts and their manifests alone: the bits of plans."""
import json
import os
import shutil
import subprocess
import sys
from random import Random

import numpy as np
import pytest

import stc
from stc._manifest import check
from test_artifact import STANDIN, build, damage

rng = np.random.default_rng(4)
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")

# Points, launch-time arrays, a let, losses at all steps and at the end, one of which counts twice.
SOURCE = """
    param N = 18, M = 14, nr = 5, rows = 3, k : f64 = 0.2;
    let c = k * k / 0.2 + log(1 + k) * 0.01;
    param ry[nr] : i32, rx[nr] : i32, seen[rows, nr] : f64, kick[10] : f64;
    grid  G = [0 .. N-1, 0 .. M-1], 10;
    field u : f64 on G outside 0;
    field q : f64 on G input;
    init  cold(u)[G] = 0;
    stencil heat(u)[G] = u + c * (u[-1,0] + u[1,0] + u[0,-1] + u[0,1] - 4 * u - u * u) + q * kick[step];
    loss misfit += 0.5 * (u - seen[step / 5, point]) * (u - seen[step / 5, point]) at [ry, rx] every 5;
    loss rough  += 0.1 * (q[1,0] - q) * (q[1,0] - q) over [0 .. N-2, 0 .. M-1] at end;
    gradient misfit + 2 * rough to q, k, kick;
"""


def source_values():
    return {"q": rng.standard_normal((18, 14)), "ry": rng.permutation(18)[:5].astype(np.int32), "rx": rng.integers(0, 14, 5).astype(np.int32),
            "seen": rng.standard_normal((3, 5)), "kick": rng.standard_normal(10)}


def by_plan(text, values, steps=None, **params):
    run = stc.compile(text, contract=False).plan(device="host", **params)
    for name, v in values.items():
        run[name] = v
    return run.gradient(steps)


def assert_same(got, want):
    np.testing.assert_array_equal(got.value, want.value)
    for name, v in want.by.items():
        np.testing.assert_array_equal(got.by[name], v, err_msg=name)


@needs_cc
def test_the_bits_of_a_plan(tmp_path):
    path, values = build(tmp_path, SOURCE, "-fno-contract"), source_values()
    assert (tmp_path / "p.back.o").exists() and json.loads(path.read_text())["schema_version"] == 18
    k, before = stc.load(path), {n: v.copy() for n, v in values.items()}
    assert "q" in k.fields and len(k.fields) == 2
    for steps, params in (None, {}), (7, {"k": 0.1}), (0, {}):
        assert_same(k.gradient(values, steps, **params), by_plan(SOURCE, values, steps, **params))
    assert all((values[n] == before[n]).all() for n in values)


@needs_cc
def test_levels_vectors_and_scalars_that_steps_update(tmp_path):
    text = """
        param N = 20, s : f64 = 0.4;  grid G = [0 .. N-1], 8;
        field w : f64 on G outside mirror history 1;  field v : f64[2] on G outside periodic;
        scalar e : f64 = 0.4;
        update e = 0.9 * e + 0.01 * s * sum(w * w) over G;
        stencil wave(w)[G] = 1.9 * w - 0.95 * w@1 + 0.2 * (w[-1] - 2 * w + w[1]) + 0.01 * v[1][0] * e;
        stencil turn(v)[G] = {v[0][0] - 0.1 * v[0][1] * w, v[0][1] + 0.1 * v[1][0]};
        loss j += w * w + v[0][0] * v[0][1] over G every 2;
        gradient j to w, v, s, e;
    """
    values = {"w": rng.standard_normal(20), "v": rng.standard_normal((20, 2))}
    want = by_plan(text, values)
    got = stc.load(build(tmp_path, text, "-fno-contract")).gradient({"w": values["w"], "v.0": values["v"][:, 0].copy(), "v.1": values["v"][:, 1].copy()})
    assert got.value == want.value and got.by["s"] == want.by["s"] and got.by["e"] == want.by["e"]
    np.testing.assert_array_equal(got.by["w"], want.by["w"])
    np.testing.assert_array_equal(np.stack([got.by["v.0"], got.by["v.1"]], -1), want.by["v"])


@needs_cc
def test_derivatives_by_numbers_of_two_bytes(tmp_path):
    text = """
        param N = 12, n = 3, w[n] : f16;
        grid G = [0 .. N-1], 4;  field u : f32 on G outside 0;  field q : f16 on G input;  field b : bf16 on G input;
        stencil s(u)[G] = 0.9 * u + 0.1 * u[1] + f32(q) * f32(b) + 0.1 * f32(w[min(step, 2)]);
        loss j += u * u over G at end;
        gradient j to q, b, w;
    """
    values = {"q": rng.standard_normal(12).astype(np.float16), "b": (rng.standard_normal(12).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16),
              "w": rng.standard_normal(3).astype(np.float16),
              "u": rng.standard_normal(12).astype(np.float32)}
    got, want = stc.load(build(tmp_path, text, "-fno-contract")).gradient(values), by_plan(text, values)
    assert_same(got, want)
    assert all(got.by[n].dtype == want.by[n].dtype == np.float32 and got.by[n].any() for n in "qbw")


@needs_cc
def test_losses_that_do_not_count(tmp_path):
    text = """
        param N = 12;  grid G = [0 .. N-1], 4;  field u : f64 on G outside 0;
        stencil s(u)[G] = 0.9 * u + 0.1 * u[1];
        loss j += u * u over G at end;  loss seen += u over G every 2;
        gradient j to u;
    """
    values = {"u": rng.standard_normal(12)}
    assert_same(stc.load(build(tmp_path, text, "-fno-contract")).gradient(values), by_plan(text, values))


@needs_cc
def test_lets_whose_derivatives_are_no_numbers(tmp_path):
    text = """
        param N = 4, k : f64 = 1.0, z : f64 = 0.0, m : f64 = -2.0;
        let a = pow(m, k) + 0.1 * pow(m, 3.0) + log2(k + 2.0) + log10(k + 4.0), b = WHAT;
        grid G = [0 .. N-1], 1;  field u : f64 on G outside 0;
        stencil s(u)[G] = u + a + z + b;
        loss j += u * u over G at end;
        gradient j to k, z, m;
    """
    for what in "log(z)", "sqrt(z)", "z / z", "exp(-1.0e10 * cosh(800.0 * k))", "asin(2.0 * k)":
        of = text.replace("WHAT", what)
        assert_same(stc.load(build(tmp_path, of, "-fno-contract")).gradient({"u": np.ones(4)}), by_plan(of, {"u": np.ones(4)}))


@needs_cc
def test_memory_is_given_back_when_a_gradient_fails(tmp_path):
    k, values = stc.load(build(tmp_path, SOURCE)), source_values()
    k.gradient(values)
    live = set()

    def counted(driver):
        alloc, free = driver.alloc, driver.free
        driver.alloc = lambda size: live.add(p := alloc(size)) or p
        driver.free = lambda p: (live.discard(p), free(p))
    counted(k._driver), counted(k._backward._driver)
    with pytest.raises(stc.InputError, match="kick is of type f64"):
        k.gradient({**values, "kick": np.zeros(3)})
    assert not live
    fill = k._backward._driver.put
    k._backward._driver.put = lambda *of: (_ for _ in ()).throw(MemoryError())
    with pytest.raises(MemoryError):
        k.gradient(values)
    k._backward._driver.put = fill
    assert not live
    k.gradient(values)
    assert not live


@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
def test_on_a_gpu(tmp_path):
    """From PTX, by the stand-in for the driver, which computes it: as on this computer."""
    values, manifest = source_values(), build(tmp_path, SOURCE, *"-march=nvptx -mcpu=sm_90 -fno-contract".split())
    np.savez(tmp_path / "in.npz", **values)
    code = f"import stc, numpy as np; g = stc.load({str(manifest)!r}).gradient(dict(np.load({str(tmp_path / 'in.npz')!r}))); " \
           f"np.savez({str(tmp_path / 'out.npz')!r}, value=g.value, **g.by)"
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ, LD_LIBRARY_PATH=STANDIN, STC_STANDIN_COMPUTE="3"))
    got, want = dict(np.load(tmp_path / "out.npz")), by_plan(SOURCE, values)
    assert got["value"] == want.value
    for name, v in want.by.items():
        np.testing.assert_allclose(got[name], v, rtol=1e-12, atol=1e-14)


@needs_cc
def test_damaged_gradients(tmp_path):
    """Without a checksum: an error of stc's, and no raw one, where an entry cannot be launched from."""
    data, random = json.loads(build(tmp_path, SOURCE).read_text()), Random(7)
    assert check(data) is None

    def with_one(key, **change):
        return {**data, "gradient": {**data["gradient"], key: [{**data["gradient"][key][0], **change}] + data["gradient"][key][1:]}}
    program = data["gradient"]["program"]
    reductions = [{**r, "every": 2} for r in program["host"]["reductions"]]
    for wrong in (with_one("losses", factor=None), with_one("losses", name="rouge"), with_one("by", name="none"), with_one("elements", array="none"),
                  with_one("saved", name="kick.number.11"), with_one("derivatives", **{"from": "none"}), with_one("inputs", name="misfit"), with_one("scalars", **{"from": "none"}),
                  {**data, "gradient": {**data["gradient"], "filled": [{"name": "none", "from": "u"}]}},
                  {**data, "gradient": {**data["gradient"], "states": [{"name": "kick", "from": "k"}]}},
                  {**data, "gradient": {**data["gradient"], "artifact": "back.ptx"}},
                  {**data, "gradient": {**data["gradient"], "program": {**program, "host": {**program["host"], "reductions": reductions}}}},
                  {**data, "gradient": {**data["gradient"], "program": {**program, "fields": [
                      {**f, "extents": f["extents"][::-1]} if f["name"] == data["gradient"]["saved"][0]["name"] else f for f in program["fields"]]}}}):
        assert "gradient" in check(wrong)
    for _ in range(300):
        wrong = json.loads(json.dumps(data))
        damage(wrong["gradient"], random)
        assert isinstance(check(wrong), (str, type(None)))


@needs_cc
def test_what_has_no_gradient(tmp_path, heat_text, capfd):
    with pytest.raises(stc.InputError, match="the artifact has no gradient.*use stc.compile and run.gradient"):
        stc.load(build(tmp_path, heat_text)).gradient({})
    begun = SOURCE.replace("[G] = 0;", "[G] = k;")
    assert "gradient" not in json.loads(build(tmp_path, begun).read_text())
    assert "warning: the artifact has no gradient: an init makes a field of what it is to" in capfd.readouterr().err
    path = build(tmp_path, SOURCE)
    data = json.loads(path.read_text())
    assert "gradient" not in json.loads(stc.compile(SOURCE).emit("manifest"))      # which has no backward artifact beside it
    saved = data["gradient"]["saved"][0]
    assert "gradient.saved names 'none'" in check({**data, "gradient": {**data["gradient"], "saved": [{**saved, "name": "none"}]}})
    artifact = tmp_path / "p.back.o"
    written, other = artifact.read_bytes(), SOURCE.replace("u * u) +", "3 * u * u) +")
    build(tmp_path, other)                                                          # of which the manifest alone is lost
    path.write_text(json.dumps({key: v for key, v in data.items() if key != "checksum"}))
    for wrong in (artifact.read_bytes(), written[:-1] + bytes([written[-1] ^ 1])):
        artifact.write_bytes(wrong)
        with pytest.raises(stc.InputError, match="p.back.o is not the artifact that was written with this manifest"):
            stc.load(path).gradient(source_values())
    artifact.unlink()
    with pytest.raises(FileNotFoundError, match="`stc FILE` writes it beside the artifact: .*p.back.o"):
        stc.load(path).gradient(source_values())
