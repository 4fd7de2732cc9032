"""launch.py MANIFEST OBJECT STEPS [-DNAME=VALUE]... [FIELD=IN.npy]... [ARRAY=IN.npy]... : a launcher of another make: runs a host artifact from its manifest alone.

It knows of the program only what the manifest says: it links OBJECT into a shared library, allocates the buffers, runs the init and the time loop with its
reductions, and writes each field that is neither temp nor input to FIELD.out.npy in the current directory (components of records one by one). Prints the last
values of the reductions, all that probes saw, and the steps made.
"""
import ctypes
import itertools
import json
import math
import os
import struct
import subprocess
import sys

C = {"bool": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double,
     "f16": ctypes.c_uint16, "bf16": ctypes.c_uint16, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32}


def affine(a, env):
    return a["constant"] + sum(t["coefficient"] * env[t["param"]] for t in a["terms"])


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def wrap(x, bits):
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def rounded(x, type):
    if type[0] == "u":
        return int(x) % (1 << int(type[1:]))
    return f32(x) if type == "f32" else float(x) if type == "f64" else bool(x) if type == "bool" else wrap(int(x), int(type[1:]))


BINARY = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "min": min, "max": max,
          "lt": lambda x, y: x < y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y, "and": lambda x, y: x and y,
          "bit.and": lambda x, y: x & y, "bit.or": lambda x, y: x | y, "bit.xor": lambda x, y: x ^ y, "shl": lambda x, y: x << y, "shr": lambda x, y: x >> y}
UNARY = {"bit.not": lambda x: ~x, "neg": lambda x: -x, "abs": abs, "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "convert": lambda x: x}


def expression(ops, env, index=0):
    """The value of a launch-time expression, where index 0 is `index`: ops in order, the last is the result."""
    values = []
    for op in ops:
        args = [values[i] for i in op["arguments"]]
        if op["op"] == "const":
            v = float(op["value"]) if op["type"][0] == "f" else op["value"]
        elif op["op"] == "scalar":
            v = env[op["scalar"]]
        elif op["op"] == "index":
            v = index
        elif op["op"] == "select":
            v = args[1] if args[0] else args[2]
        else:
            v = (BINARY if len(args) == 2 else UNARY)[op["op"]](*args)
        values.append(rounded(v, op["type"]))
    return values[-1]


def points(box, env):
    return itertools.product(*[range(affine(lo, env), affine(hi, env) + 1) for lo, hi in zip(box["lower"], box["upper"])])


def image(rule, x, lo, hi):
    """Where an outside rule brings coordinate x about lo .. hi; None: nowhere. A rule may be two, with `..`, for the lower and the upper end."""
    if rule == "none" or lo <= x <= hi:
        return x
    if rule == "periodic":
        return lo + (x - lo) % (hi - lo + 1)
    while not lo <= x <= hi:
        side = rule.split(" .. ")[-1 if x > hi else 0]
        if side in ("const", "clamp"):
            return None if side == "const" else min(max(x, lo), hi)
        if lo == hi:
            return lo
        half = side == "mirror half"
        x = 2 * hi - x + half if x > hi else 2 * lo - x - half
    return x


def covered(c, env):
    """Does some region of `by` hold each point that is read?"""
    have = {p for b in c["by"] for p in points(b, env)}
    within = [(affine(lo, env), affine(hi, env)) for lo, hi in zip(c["within"]["lower"], c["within"]["upper"])]
    if c["outside"] != "none" and any(hi < lo for lo, hi in within):
        return True
    rules = c["outside"] if isinstance(c["outside"], list) else [c["outside"]] * len(within)
    read = {tuple(image(rule, x, lo, hi) for rule, x, (lo, hi) in zip(rules, p, within)) for p in points(c["region"], env)}
    return all(None in p or p in have for p in read)


def bind(manifest, defines):
    env = {}
    for s in manifest["scalars"]:
        if s["kind"] == "reduction":
            env[s["name"]] = 0
        elif s["name"] in defines:
            env[s["name"]] = rounded(float(defines[s["name"]]) if s["type"][0] == "f" else int(defines[s["name"]]), s["type"])
        else:
            env[s["name"]] = expression(s["expression"], env) if "expression" in s else rounded(s["default"], s["type"])
    for c in manifest["checks"]:
        empty = any(affine(lo, env) > affine(hi, env) for b in c["unless_empty"] for lo, hi in zip(b["lower"], b["upper"]))
        assert empty or (covered(c["covered"], env) if "covered" in c else affine(c["value"], env) >= 0), c["message"]
    return env


def field(manifest, name):
    return next(f for f in manifest["fields"] if f["name"] == name)


def elements(f, env):
    n = 1
    for e in f["extents"]:
        n *= max(affine(e, env), 0)
    return n


def read_npy(path):
    b = open(path, "rb").read()
    return b[10 + struct.unpack("<H", b[8:10])[0]:]


def write_npy(path, f, env, data):
    shape = [max(affine(e, env), 0) for e in f["extents"]]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (f["npy"], tuple(shape))
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    with open(path, "wb") as to:
        to.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def mirrored(c, i):
    """Coordinate number i, which may be beyond an end."""
    total, sign, n = 0.0, 1, len(c)
    while not 0 <= i < n:
        total, i, sign = total + sign * 2 * (c[0] if i < 0 else c[-1]), -i if i < 0 else 2 * n - 2 - i, -sign
    return total + sign * c[i]


class Launcher:
    def __init__(self, manifest, env, library):
        self.manifest, self.env, self.library, self.step, self.after, self.series, self.idle = manifest, env, library, 0, 0, {}, set()
        self.memory = {}
        for b in manifest["buffers"]:
            if b["kind"] == "field":
                n = elements(field(manifest, b["field"]), env)
            elif b["kind"] == "array":
                n = affine(next(a for a in manifest["arrays"] if a["name"] == b["array"])["extent"], env)
            else:
                n = b["elements"] * (affine(b["each"], self.env) if "each" in b else 1)
            bytes, align = ctypes.sizeof(C[b["type"]]) * max(n, 1), b["alignment"]
            raw = bytearray(bytes + align)
            at = -ctypes.addressof(ctypes.c_char.from_buffer(raw)) % align
            self.memory[b["name"]] = (C[b["type"]] * max(n, 1)).from_buffer(raw, at)

    def argument(self, a):
        if a["kind"] == "buffer":
            return ctypes.c_void_p(ctypes.addressof(self.memory[a["buffer"]]))
        return C[a["type"]](self.env[a["scalar"]] if a["kind"] == "scalar" else self.step + self.after)

    def chosen(self, name):
        """The kernel that is launched under the params where the host part says `name`."""
        kernel = next(k for k in self.manifest["kernels"] if k["name"] == name)
        suits = all(affine(m["value"], self.env) % m["of"] == 0 for m in kernel["multiples"])
        return kernel if suits else self.chosen(kernel["instead"])

    def launch(self, kernel):
        values = [self.argument(a) for a in kernel["arguments"]]
        assert [ctypes.sizeof(v) for v in values] == [a["bytes"] for a in kernel["arguments"]]
        args = (ctypes.c_void_p * (len(values) + 1))(*[ctypes.addressof(v) for v in values])
        points = [affine(g["extent"], self.env) for g in kernel["grid"]]
        grid = [-(-max(n - g.get("over", 0), min(n, 1), 0) // g["tile"]) for n, g in zip(points, kernel["grid"])]
        if "without" in kernel["grid"][0]:
            hole = math.prod(-(-max(affine(g["without"], self.env), 0) // g["tile"]) for g in kernel["grid"])
            grid = [1] * (len(grid) - 1) + [math.prod(grid) - hole]
        grid = [0] if kernel["name"] in self.idle else grid
        scratch = ctypes.create_string_buffer(kernel["scratch_bytes"] + 128)
        aligned = ctypes.c_void_p((ctypes.addressof(scratch) + 63) // 64 * 64)
        function = self.library[kernel["name"]]
        for i in range(math.prod(grid)):
            block = (ctypes.c_int64 * 4)()
            for d in reversed(range(len(grid))):
                block[d] = i % grid[d]
                i //= grid[d]
            function(args, block, aligned)

    def run(self, sequence):
        for op in sequence["operations"]:
            self.after += op.get("after", 0)
            if "launch" in op:
                self.launch(self.chosen(op["launch"]))
            elif "repeat" in op:
                self.repeat(next(l for l in self.manifest["host"]["loops"] if l["name"] == op["repeat"]))
            else:
                a, b = op["swap"]
                self.memory[a], self.memory[b] = self.memory[b], self.memory[a]
            self.after -= op.get("after", 0)

    def reductions(self, loop):
        return [r for r in self.manifest["host"]["reductions"] if r.get("loop") == loop]

    def advance(self, loop, sequences, count, done, end):
        """One sequence of the time steps (loop None), or of a loop's rounds; the number of those done behind it."""
        left = min([end - done] + [r["every"] - done % r["every"] for r in self.reductions(loop)])
        if loop is None:
            left = min([left] + [f["frames"]["every"] - done % f["frames"]["every"] for f in self.manifest["fields"] if "frames" in f])
            self.frames()
        sequence = next(s for s in sequences if s[count] <= left)
        self.run(sequence)
        return done + sequence[count]

    def repeat(self, loop):
        done, most, met, outside = 0, affine(loop["most"], self.env), False, self.after
        while done < most and not met:
            self.after = outside + {"up": done, "down": most - 1 - done}.get(loop.get("counting"), 0)
            done = self.advance(loop["name"], loop["sequences"], "rounds", done, most)
            self.after = outside + {"up": done, "down": most - done}.get(loop.get("counting"), 0)
            met = self.reduce(loop["name"], done)
        self.after = outside

    def init(self, given):
        """Fields with data in, and the init sequence without what would only write or swap these; data again where a kernel wrote other fields, too."""
        self.give(given)
        fields = {b["name"]: b.get("field") for b in self.manifest["buffers"]}
        for op in self.manifest["host"]["init"]["operations"]:
            if "swap" in op:
                if fields[op["swap"][0]] not in given:
                    self.run({"operations": [op], "steps": 0})
                continue
            kernel = self.chosen(op["launch"])
            written = {fields[a["buffer"]] for a in kernel["arguments"] if a["kind"] == "buffer" and a["access"] != "read"}
            if not written or written - given.keys():
                self.run({"operations": [op], "steps": 0})
                self.give({name: given[name] for name in written & given.keys()})

    def once(self):
        """What is computed once, and which kernels have nothing to do then. (Lists of tiles are of GPUs alone.)"""
        self.run(self.manifest["host"].get("once", {"operations": []}))
        for k in [k for k in self.manifest["kernels"] if "tiles" in k]:
            if not any(c in k["tiles"]["busy"] for c in self.memory[k["tiles"]["classes"]]):
                self.idle.add(k["name"])

    def give(self, given):
        for name, path in given.items():
            data = read_npy(path)
            if any(f["name"] == name and "frames" in f for f in self.manifest["fields"]):
                self.series[name] = data
                continue
            for b in self.manifest["buffers"]:
                if b.get("array") == name or (b.get("field") == name and b["copy"] == 0):
                    ctypes.memmove(self.memory[b["name"]], data, len(data))

    def frames(self):
        """Has fields the frames of the step at hand."""
        for b in self.manifest["buffers"]:
            f = next((f for f in self.manifest["fields"] if f["name"] == b.get("field") and "frames" in f), None)
            if f:
                of, size = f["frames"], elements(f, self.env) * b["element_bytes"]
                data, number = self.series[of.get("ahead_of", f["name"])], self.step // of["every"] + ("ahead_of" in of)
                number = number % (len(data) // size) if of["cycle"] else min(number, len(data) // size - 1)
                ctypes.memmove(self.memory[b["name"]], data[number * size:][:size], size)

    def points(self):
        """Makes the fields and arrays of the lists of points. first[list]: for each point the number of the first one at its place."""
        self.first, env = {}, self.env
        for l in self.manifest.get("points", []):
            counts = [affine(a["extent"], env) for a in self.manifest["arrays"] if a["name"] in [at.get("array") for at in l["at"]]]
            counts += [affine(hi, env) - affine(lo, env) + 1 for at, lo, hi in zip(l["at"], l["region"]["lower"], l["region"]["upper"]) if "number" in at]
            n = counts[0]
            field = next(self.memory[b["name"]] for b in self.manifest["buffers"] if b.get("field") == l["field"])
            chains, size = {}, [affine(hi, env) - affine(lo, env) + 1 for lo, hi in zip(l["region"]["lower"], l["region"]["upper"])]
            for i in range(n):
                at = [self.memory[a["array"]][i] if "array" in a else affine(lo, env) + i if "number" in a else affine(a, env) for a, lo in zip(l["at"], l["region"]["lower"])]
                cell = 0
                for x, lo, extent in zip(at, l["region"]["lower"], size):
                    assert 0 <= x - affine(lo, env) < extent, "a point is outside"
                    cell = cell * extent + x - affine(lo, env)
                chains.setdefault(cell, []).append(i)
                assert not l["most"] or len(chains[cell]) <= l["most"], "too many points at one place"
            self.first[l["name"]] = [None] * n
            for cell, chain in chains.items():
                field[cell] = chain[0] + 1
                for i, after in zip(chain, chain[1:] + [-1]):
                    self.first[l["name"]][i] = chain[0]
                    if "next" in l:
                        self.memory[l["next"]][i] = after + 1

    def weights(self, given):
        """Makes the weights of differences of the coordinates that are given."""
        for a in [a for a in self.manifest["arrays"] if "weights" in a]:
            of = a["weights"]
            z = next(b for b in self.manifest["arrays"] if b["name"] == of["coordinates"])
            n, N, to = affine(z["extent"], self.env), of["derivative"], next(self.memory[b["name"]] for b in self.manifest["buffers"] if b.get("array") == a["name"])
            c = list((C[z["type"]] * n).from_buffer_copy(read_npy(given[z["name"]])))
            assert all(x < y for x, y in zip(c, c[1:])), "the coordinates do not rise"
            at = lambda i: c[0] + i if n == 1 else mirrored(c, i)
            half, side = of.get("half", 0), of["side"]
            place = lambda i, between: (at(i) + at(i + 1)) / 2 if between else at(i)
            far = lambda j: side * j if side else (-((j + (half < 0)) // 2) if j % 2 else j // 2 + (half > 0)) if half else (j + 1) // 2 if j % 2 else -(j // 2)
            for i in range(-of["beyond"], n + of["beyond"]):
                x = [place(i + far(j), half < 0) - place(i, half > 0) for j in range(of["points"])]
                w, before = [[float(j == 0 and k == 0) for k in range(N + 1)] for j in range(of["points"])], 1.0
                for j in range(1, of["points"]):
                    product = math.prod([x[j] - x[l] for l in range(j)], start=1.0)
                    for k in range(N, -1, -1):
                        w[j][k] = before / product * ((k * w[j - 1][k - 1] if k else 0) - x[j - 1] * w[j - 1][k])
                    for l in range(j):
                        for k in range(N, -1, -1):
                            w[l][k] = (x[j] * w[l][k] - (k * w[l][k - 1] if k else 0)) / (x[j] - x[l])
                    before = product
                for j in range(of["points"]):
                    to[(i + of["beyond"]) * of["points"] + j] = w[j][N] if N else at(i)

    def values(self):
        """Computes the elements of arrays that the manifest has an expression of."""
        for a in [a for a in self.manifest["arrays"] if "values" in a]:
            to = next(self.memory[b["name"]] for b in self.manifest["buffers"] if b.get("array") == a["name"])
            for i in range(affine(a["extent"], self.env)):
                to[i] = expression(a["values"], self.env, i)

    def probe(self, done):
        """Prints what probes saw behind `done` steps up to now, -1 for what they see before the first too."""
        for p in self.manifest["host"].get("probes", []):
            if done < 0:
                self.run(p["sequence"])
            first = self.first[p["points"]] if "points" in p else [0]
            for row in range(0 if done < 0 else done // p["every"] + 1, self.step // p["every"] + 1):
                print(p["name"], row * p["every"], *[repr(self.memory[p["series"]][row % p["rows"] * len(first) + i]) for i in first])

    def reduce(self, loop, done):
        """Evaluates what is due. Has the condition of an `until` been met?"""
        met = False
        for r in self.reductions(loop):
            if done % r["every"]:
                continue
            self.run(r["sequence"])
            if r.get("each"):
                self.env[r["name"]] = self.memory[r["result"]][:affine(self.manifest["members"], self.env)]
                print(r["name"], done, *map(repr, self.env[r["name"]]))
            self.env[r["scalar"]] = self.memory[r["result"]][0]
            assert r["kind"] not in ("finite", "bounds") or self.env[r["scalar"]] == r["good"], r["name"]
            if r["kind"] == "until":
                assert not math.isnan(self.env[r["scalar"]])
                met |= done > 0 and expression(r["stop"], self.env)
        return met


def main():
    manifest = json.load(open(sys.argv[1]))
    assert manifest["schema"] == "stc-manifest" and manifest["schema_version"] in (4, 5, 7, 9, 10, 11, 12, 14, 15, 16, 17) and manifest["target"]["arch"] == "host"
    steps = int(sys.argv[3])
    defines = dict(a[2:].split("=") for a in sys.argv[4:] if a.startswith("-D"))
    given = dict(a.split("=") for a in sys.argv[4:] if not a.startswith("-D"))
    env = bind(manifest, defines)
    subprocess.run(["cc", "-shared", "-o", "./launch.so", sys.argv[2], "-lm"], check=True)
    launcher = Launcher(manifest, env, ctypes.CDLL(os.path.abspath("launch.so")))
    launcher.give(given)
    launcher.points()
    launcher.weights(given)
    launcher.values()
    launcher.init(given)
    launcher.once()
    launcher.probe(-1)
    met = launcher.reduce(None, 0)
    while launcher.step < steps and not met:
        done = launcher.step
        launcher.step = launcher.advance(None, manifest["host"]["sequences"], "steps", done, steps)
        launcher.probe(done)
        met = launcher.reduce(None, launcher.step)
    for f in manifest["fields"]:
        if not f["temp"] and not f["input"] and not f.get("once"):
            buffer = next(b for b in manifest["buffers"] if b.get("field") == f["name"] and b["copy"] == 0)
            size = elements(f, env) * buffer["element_bytes"]
            write_npy(f["name"] + ".out.npy", f, env, bytes(launcher.memory[buffer["name"]])[:size])
    for r in manifest["host"]["reductions"]:
        if not r.get("each"):
            print(r["name"], repr(env[r["scalar"]]))
    print("steps", launcher.step)


if __name__ == "__main__":
    main()
