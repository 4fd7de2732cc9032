"""Compares a disassembled code object with the kernel IR it was made of.

  disassembly.py KIR MANIFEST DISASSEMBLY WAVE [KIR MANIFEST DISASSEMBLY WAVE]...

For each kernel: as many barriers as the kernel IR has (none in a block of one wave of WAVE lanes, where LLVM takes them out), instructions that
access the LDS just where the kernel IR has shared arrays, whose bytes the manifest gives, and an exchange between lanes for each 32 bits that the kernel IR
shuffles. Between an access to the LDS and the next barrier behind it in the text stands a wait for the wave's accesses to the LDS, which no run
without the hardware can show to be missing; and no instruction writes back or invalidates a cache. Prints one line a kernel.
"""
import json
import re
import sys


# Instructions that get values of other lanes: by name, or by the DPP control of an operand.
EXCHANGE = re.compile(r"permute|swizzle|permlane|quad_perm:|row_\w+|wave_sh[lr]:")


# A wait until no access to the LDS is on its way: of gfx9 to gfx11, and of gfx12.
WAIT = re.compile(r"s_waitcnt .*lgkmcnt\(0\)|s_wait_(loadcnt_|storecnt_)?dscnt 0x0|s_wait_idle")


CACHE = re.compile(r"buffer_(gl[01]_inv|inv|wbl2|wbinvl1)|global_(inv|wb|wbinv)|s_dcache|s_gl1_inv")


def unwaited(lines):
    """How many barriers have an access to the LDS before them in the text, and no wait between."""
    pending = found = 0
    for line in lines:
        if re.match(r"ds_", line) and not EXCHANGE.search(line):
            pending = 1
        elif WAIT.match(line):
            pending = 0
        found += pending and bool(re.match(r"s_barrier(_signal)?\b", line))
    return found


def kernels_of(kir):
    """By kernel: threads a block, barriers, shared arrays, words shuffled."""
    found = {}
    for line in kir.splitlines():
        head = re.match(r"  kernel @(\S+) threads \[([\d, ]+)\]", line)
        if head:
            threads = 1
            for n in head.group(2).split(","):
                threads *= int(n)
            here = found[head.group(1)] = {"threads": threads, "barriers": 0, "shared": 0, "words": 0}
        if found:
            here["barriers"] += line.strip() == "barrier"
            here["shared"] += line.strip().startswith("shared @")
            here["words"] += (2 if line.endswith("64") else 1) if " = shuffle " in line else 0
    return found


def code_of(text):
    """By function: its instructions, each as the name and what follows it."""
    found = {}
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:", line)
        if head and not re.match(r"L\d+$", head.group(1)):
            here = found[head.group(1)] = []
        elif found and line.strip() and not head:
            here.append(line.strip())
    return found


def compare(kir, manifest, disassembly, wave):
    """Prints the kernels of one code object; how many are wrong, or 1 where there are none."""
    code, faults = code_of(disassembly), 0
    given = {k["name"]: k for k in json.loads(manifest)["kernels"]}
    for name, k in kernels_of(kir).items():
        names = [line.split()[0] for line in code[name]]
        # A barrier of gfx12 is a pair of a signal and a wait.
        barriers = names.count("s_barrier") + names.count("s_barrier_wait")
        wanted = k["barriers"] if k["threads"] > wave else 0
        lds = sum(n.startswith("ds_") and "permute" not in n and "swizzle" not in n for n in names)
        exchanges = sum(bool(EXCHANGE.search(line)) for line in code[name])
        ok = barriers == wanted and exchanges == k["words"] and (lds > 0) == (k["shared"] > 0) == (given[name]["static_shared_bytes"] > 0) \
            and not unwaited(code[name]) and not any(CACHE.match(n) for n in names)
        print("%s %s: %d barriers of %d, %d LDS accesses, %d shared arrays, %d words of %d shuffled"
              % ("ok" if ok else "WRONG", name, barriers, wanted, lds, k["shared"], exchanges, k["words"]))
        faults += not ok
    return faults if given else 1


def main():
    faults = 0
    for i in range(1, len(sys.argv), 4):
        faults += compare(*[open(name).read() for name in sys.argv[i:i + 3]], int(sys.argv[i + 3]))
    return 1 if faults or len(sys.argv) < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
