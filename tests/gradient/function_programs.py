#!/usr/bin/env python3
"""Gradients of random programs by the C function of artifacts' headers, NAME_gradient, everything kept and with snapshots: the bits of `stc run --gradient`.
`function_programs.py STC [--programs=N] [--seed=S] [--kind=KIND]`; a program that fails is printed with the command that repeats it."""
import argparse, collections, os, random, re, struct, subprocess, sys, tempfile

from mixed_programs import MAKERS, kind_of
from random_programs import Case, Refused

FLAGS = ["-fno-contract", "-O1"]
WHY = collections.Counter()                 # why headers have no function


def values_of(case, name):
    """What the header's field or array is given: its values, None: an init makes them."""
    if name in case.values:
        return case.values[name]
    whole = re.sub(r"_\d$", "", name)
    if whole in case.values and case.shapes[whole][-1] == 2:
        return case.values[whole][int(name[-1])::2]
    at = os.path.join(case.at, name + ".npy")
    return numbers(at) if name in case.arrays and os.path.exists(at) else None


def numbers(path):
    """The numbers of a file, whatever their type."""
    with open(path, "rb") as f:
        b = f.read()
    n, kind = struct.unpack("<H", b[8:10])[0], re.search(rb"'<([if]\d)'", b)[1].decode()
    return list(v[0] for v in struct.iter_unpack("<" + {"i4": "i", "f4": "f", "f8": "d"}[kind], b[10 + n:]))


def texts(case, header, back, apart):
    """A C program that calls the function with what the case gives, and prints the value and the derivatives."""
    head = re.search(r"\*a_gradient\(const a_params \*params, int64_t steps, int64_t apart(.*?)\) \{", back)[1]
    init = re.search(r"\*a_init\(const a_params \*params(.*?)\) \{", header)
    made, calls, shown = [], [], ""
    for type, name in re.findall(r", (?:const )?(\w+) \*(\w+)", head):
        kind, of = name.split("_", 1) if "_" in name else ("", name)
        if kind in ("field", "array"):
            values = values_of(case, of)
            made.append("  %s *%s = (%s *)calloc((size_t)a_%s_%s(&p) + 1, sizeof *%s);" % (type, name, type, "size" if kind == "field" else "length", of, name))
            if values is not None:
                made.append("  static const %s given_%s[] = {%s, 0};\n  size_t n_%s = %d;" % (type, of, ", ".join(v.hex() if isinstance(v, float) else str(v) for v in values), of, len(values)))
                calls.append("  memcpy(%s, given_%s, n_%s * sizeof *%s);" % (name, of, of, name))
        elif name == "value":
            made.append("  double value[1] = {0};")
            shown += '  printf("value %a\\n", *value);\n'
        else:
            part = re.search(r"\*field_%s[,)]" % of, head + ")")
            size = "a_size_%s(&p)" % of if part else "a_length_%s(&p)" % of if re.search(r"\*array_%s[,)]" % of, head + ")") else "1"
            made.append("  %s *%s = (%s *)calloc((size_t)%s + 1, sizeof *%s);" % (type, name, type, size, name))
            shown += '  printf("%s"); for (int64_t i = 0; i < %s; i++) printf(" %%a", (double)%s[i]); puts("");\n' % (of, size, name)
    arguments = ", ".join(re.findall(r"\*(\w+)", head))
    start = ["  wrong = a_init(&p, %s);" % ", ".join(re.findall(r"\*(\w+)", init[1]))] if init else []
    fills = ["  if (!wrong) wrong = a_fill_%s(&p%s);" % (of, "".join(", " + n for n in re.findall(r"\*(\w+)", rest))) for of, rest in re.findall(r"\*a_fill_(\w+)\(const a_params \*p(.*?)\) \{", header)]
    body = made + calls + ["  const char *wrong = NULL;"] + fills + start + calls
    body.append("  if (!wrong) wrong = a_gradient(&p, %d, %d, %s);\n  if (wrong) return puts(wrong), 1;" % (case.m.steps, apart, arguments))
    return '#include "a.h"\n#include "a.back.h"\n#include <stdio.h>\nint main(void) {\n  a_params p = a_defaults();\n%s\n%s}\n' % ("\n".join(body), shown)


def computed(case, apart):
    """The value and derivatives by name, those of vectors by component; None: there is no function."""
    at = os.path.join(case.at, "a")
    done = subprocess.run([case.stc, *FLAGS, "-o", at + ".o", at + ".stn"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    back = open(at + ".back.h").read() if os.path.exists(at + ".back.h") else ""
    if "a_gradient(" not in back:
        WHY[(re.findall(r"There is no a_gradient: (.*?)\. \*/|the artifact has no gradient: (.*)", back + done.stderr) or [("", "?")])[0]] += 1
        return None
    with open(at + ".c", "w") as f:
        f.write(texts(case, open(at + ".h").read(), back, apart))
    command = ["cc", "-std=c11", "-O1", "-w", "-ffp-contract=off", "-I", case.at, at + ".c", at + ".o", at + ".back.o", "-lm", "-o", at + ".out"]
    for step in (command, [at + ".out"]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
    lines = [l.split() for l in done.stdout.splitlines()]
    return {w[0]: [float.fromhex(x) for x in w[1:]] for w in lines}


def check(stc, seed, kind):
    with tempfile.TemporaryDirectory() as at:
        case = Case(stc, at, seed, False, MAKERS[kind])
        try:
            j, g = case.gradient("host", extra=["-O1"])
            made = computed(case, 0)
            again = computed(case, random.Random(seed * 41 + 13).randint(1, 4)) if made else None
        except Refused as e:
            return "refused", str(e)
        except RuntimeError as e:
            return "failed", str(e)
        if made is None:
            return "without", ""
        if repr(made) != repr(again):
            return "failed", "other bits with snapshots"
        want = {"value": [j]}
        for n, v in g.items():
            parts = [p for p in made if re.fullmatch(re.escape(n) + r"_\d", p)] if n not in made else []
            want.update({p: v[int(p[-1])::2] for p in parts} if parts else {n: v})
        wrong = [n for n in set(want) | set(made) if repr(want.get(n)) != repr(made.get(n))]
        return ("failed", "other bits by %s: %s and %s" % (wrong, [want.get(n) for n in wrong], [made.get(n) for n in wrong])) if wrong else ("ok", "")


def main():
    o = argparse.ArgumentParser(description=__doc__)
    o.add_argument("stc")
    o.add_argument("--programs", type=int, default=20)
    o.add_argument("--seed", type=int, default=1)
    o.add_argument("--kind", choices=list(MAKERS))
    a = o.parse_args()
    count = collections.Counter()
    for seed in range(a.seed, a.seed + a.programs):
        kind = a.kind or kind_of(seed)
        what, told = check(a.stc, seed, kind)
        count[what] += 1
        if what == "failed":
            print("seed %d, %s: %s\n  %s %s %s --seed=%d --programs=1%s" % (seed, kind, told[:1500], sys.executable, __file__, a.stc, seed, " --kind=" + a.kind if a.kind else ""), flush=True)
    print("%d programs agree, %d without the function, %d refused, %d failed" % (count["ok"], count["without"], count["refused"], count["failed"]))
    for why, n in WHY.most_common():
        print("%d: %s" % (n, "".join(why)))
    return count["failed"] > 0 or not count["ok"]


if __name__ == "__main__":
    sys.exit(main())
