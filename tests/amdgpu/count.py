#!/usr/bin/env python3
"""count.py STC [--cpus=A,B] [--real=f32,f64] [--json=FILE] [--objdump=PROGRAM] [STC-OPTION]... FILE.stn...

What the kernels of programs take on AMD GPUs, counted in their code objects: nothing is run. For every program and
processor one line, and in the JSON one row, for each kernel that computes the step: of tiles at no edge, or of all, and of edges apart.

  vgprs sgprs       registers a thread, and those of each that did not fit; scratch: bytes of private memory a thread
  lds               bytes of LDS a block
  waves             of a SIMD, by registers and LDS; of the most there may be
  loop              instructions of the loop that stores, or of the whole kernel where there is none
  point             those instructions for each point of a step that they give out: what a lane stores there, times the steps a launch
  exchanges         values that lanes exchange there through LDS (ds_bpermute, ds_swizzle), and `dpp` those without it
  addresses         integer instructions on 64 bits there: addresses that are no scalar base with an offset of 32 bits
  moves, waits      v_mov and v_accvgpr, s_waitcnt
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

# Registers of a SIMD, how many at once they are given out, waves of a SIMD, SIMDs that share the LDS, its bytes.
SIMDS = {"gfx900": (256, 4, 10, 4, 65536), "gfx90a": (512, 8, 8, 4, 65536), "gfx942": (512, 8, 8, 4, 65536),
         "gfx950": (512, 8, 8, 4, 163840), "gfx1030": (1024, 16, 16, 4, 131072), "gfx1100": (1536, 24, 16, 4, 131072),
         "gfx1201": (1536, 24, 16, 4, 131072)}
EXCHANGE = re.compile(r"ds_(bpermute|permute|swizzle)")
WIDE = re.compile(r"v_(add_co_|addc_co_|add_co_ci|sub_co_|subb_co_|lshl_add_u64|lshlrev_b64|ashrrev_i64|add_nc_u64|add_u64|mad_u64|mad_i64|mad_co_u64)")


def kernels_of(notes):
    """By name: the numbers of a kernel's metadata."""
    found = {}
    for record in re.split(r"\n  - ", notes):
        name = re.search(r"\n    \.name: +(\S+)", record)
        if name:
            found[name.group(1)] = {k: int(v) for k, v in re.findall(r"\.(\w+): +(\d+)(?:\n|$)", record)}
    return found


def code_of(text):
    """By function: (address, name, operands) of its instructions."""
    found = {}
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+ <(.+)>:", line)
        if head and not re.match(r"L\d+$", head.group(1)):
            here = found[head.group(1)] = []
        parts = re.match(r"\s+(\S+)\s*(.*?)\s*// ([0-9A-F]+):", line)
        if parts:
            here.append((int(parts.group(3), 16), parts.group(1), parts.group(2)))
    return found


def stored(name):
    """Bytes that an instruction stores of each lane's to global memory."""
    match = re.match(r"(?:global|flat)_store_(?:(dword|b)(x?\d*)|byte|short|b8|b16)", name)
    if not match:
        return 0
    if match.group(1) == "b":
        return int(match.group(2)) // 8
    if match.group(1) == "dword":
        return 4 * int(match.group(2)[1:] or 1)
    return 1 if "byte" in name else 2


def loop_of(code):
    """The instructions of the loop that stores most, of the innermost of those; all where none stores."""
    place = {a: i for i, (a, _, _) in enumerate(code)}
    best, size = code, 0
    for i, (address, name, operands) in enumerate(code):
        if not re.match(r"s_c?branch", name):
            continue
        distance = re.match(r"(\d+)", operands)
        words = int(distance.group(1)) if distance else 0
        to = place.get(address + 4 + 4 * (words - 65536)) if words >= 32768 else None
        if to is None:
            continue
        body = code[to:i + 1]
        bytes_out = sum(stored(n) for _, n, _ in body)
        if bytes_out > size or (bytes_out == size and size and len(body) < len(best)):
            best, size = body, bytes_out
    return best


def waves_of(cpu, k, threads):
    """Waves of a SIMD, and the most there may be."""
    registers, grain, most, simds, lds = SIMDS[cpu]
    by_registers = min(most, registers // max(-(-max(k["vgpr_count"], 1) // grain) * grain, grain))
    block = -(-threads // k["wavefront_size"])
    blocks = by_registers * simds // block
    if k["group_segment_fixed_size"]:
        blocks = min(blocks, lds // k["group_segment_fixed_size"])
    return max(blocks, 0) * block / simds, most


def row_of(cpu, name, k, code, entry, size):
    """The figures of kernel `name`: its metadata `k`, its code, its entry in the manifest."""
    threads = entry["block"]["x"] * entry["block"]["y"] * entry["block"]["z"]
    loop = loop_of(code)
    names = [n for _, n, _ in loop]
    out = sum(stored(n) for n in names) / size
    waves, most = waves_of(cpu, k, threads)
    return {"cpu": cpu, "kernel": name, "vgprs": k["vgpr_count"], "sgprs": k["sgpr_count"], "vgpr_spills": k["vgpr_spill_count"],
            "sgpr_spills": k["sgpr_spill_count"], "scratch": k["private_segment_fixed_size"], "lds": k["group_segment_fixed_size"],
            "waves": waves, "most_waves": most, "instructions": len(code), "loop": len(loop), "bytes": code[-1][0] - code[0][0],
            "point": round(len(loop) / out / entry["steps"], 2) if out else None,
            "exchanges": sum(bool(EXCHANGE.match(n)) for n in names),
            "dpp": sum("dpp" in n or "permlane" in n for n in names) or sum(bool(re.search(r"row_|quad_perm|wave_sh", o)) for _, _, o in loop),
            "addresses": sum(bool(WIDE.match(n)) for n in names),
            "vmem": sum(n.startswith(("global_", "flat_")) for n in names),
            "saddr": sum(n.startswith("global_") and bool(re.search(r", s\[|, s\d", o)) for _, n, o in loop),
            "moves": sum(n.startswith(("v_mov_b", "v_accvgpr", "v_pk_mov")) and "dpp" not in n for n in names),
            "packed": sum(n.startswith("v_pk_") and "mov" not in n for n in names),
            "ds128": sum(n.startswith("ds_") and ("b128" in n) for n in names), "ds": sum(n.startswith("ds_") for n in names),
            "waits": sum(n.startswith("s_wait") for n in names)}


def rows_of(o, path, cpu, real):
    """The rows of a program for a processor."""
    with tempfile.TemporaryDirectory() as folder:
        objects = pathlib.Path(folder) / "k.hsaco"
        done = subprocess.run([o.stc, "--no-tune-db", "-march=amdgpu", f"-mcpu={cpu}", f"-freal={real}", *o.options, path, "-o", objects],
                              capture_output=True, text=True)
        if done.returncode:
            return [], done.stderr.strip()
        manifest = json.loads(objects.with_suffix(".json").read_text())
        notes = subprocess.run([o.readobj, "--notes", objects], capture_output=True, text=True, check=True).stdout
        text = subprocess.run([o.objdump, "-d", "--no-show-raw-insn", objects], capture_output=True, text=True, check=True).stdout
    metadata, code = kernels_of(notes), code_of(text)
    sequence = manifest["host"]["sequences"][0]
    launched = {op["launch"] for op in sequence["operations"] if "launch" in op}
    rows = []
    for entry in manifest["kernels"]:
        if entry["name"] not in launched:
            continue
        size = {"f32": 4, "f64": 8}[real]
        entry["steps"] = sequence["steps"]
        rows.append({"program": pathlib.Path(path).stem, "real": real, **row_of(cpu, entry["name"], metadata[entry["name"]], code[entry["name"]], entry, size)})
    return rows, ""


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("stc")
    p.add_argument("--cpus", default="gfx90a,gfx942,gfx950,gfx1100,gfx1201")
    p.add_argument("--real", default="f32")
    p.add_argument("--json")
    p.add_argument("--objdump", default="llvm-objdump-22")
    p.add_argument("--readobj", default="llvm-readobj-22")
    o, rest = p.parse_known_args()
    o.options = [a for a in rest if a.startswith("-")]
    rows = []
    for path in [a for a in rest if not a.startswith("-")]:
        for real in o.real.split(","):
            for cpu in o.cpus.split(","):
                found, refused = rows_of(o, path, cpu, real)
                rows += found
                if refused:
                    print(pathlib.Path(path).stem, cpu, real, refused)
                for r in found:
                    print(" ".join(f"{k}={v}" if k not in ("program", "real", "cpu", "kernel") else str(v) for k, v in r.items()), flush=True)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
