#!/usr/bin/env python3
"""searched.py: the default beside the best of a search, of all programs of the bench on large grids, and of some on the sizes that people have.

  searched.py --lists=N FOLDER              writes list0.json to listN-1.json there, what sweep.py --list takes, for N cards that share the work
  searched.py --merge=FILE.json FOLDER      puts what sweep.py --out=FOLDER/sweepI.json --all=FOLDER/allI.json kept into one file of rows

A search begins with the naive schedule, the families' own choices and the schedules that docs/data knows to be fast on this grid, or on those
next to it. On each card: sweep.py STC --seconds=N --list=listI.json --out=sweepI.json --all=allI.json. The file is docs/data/searched.json,
of which tests/bench/table.py makes the tables. Cases of a file that were not measured anew are kept.
"""
import glob
import json
import os
import sys

import fit
import sweep
from words import option

TYPES = ("f32", "f64")
LARGE = {"16384x16384": "star2d1r star2d2r star2d4r box2d1r box2d2r gradient2d fdtd2d gray_scott rician2d acoustic_wave",
         "512x512x512": "star3d1r star3d2r box3d1r anisotropic_diffusion", "268435456": "star1d1r star1d3r"}
PLANES, SPACE = "star2d1r box2d1r star2d2r star2d4r box2d2r gradient2d gray_scott fdtd2d acoustic_wave rician2d", "star3d1r star3d2r box3d1r"
PEOPLE = {"1001x2001": PLANES, "1024x1024": PLANES, "2048x2048": PLANES, "128x128x128": SPACE, "256x256x256": SPACE, "401x401x401": SPACE}
NEAR = {"401x401x401": ("256x256x256", "512x512x512"), "1001x2001": ("1024x1024", "2048x2048")}
KNOWN, FIRST = 3, ("-schedule=naive", "-schedule=stream", "-schedule=overlap")
DATA = os.path.join(fit.TOP, "docs", "data")


def known():
    """{(program, type, size): the schedules that were measured, fastest first}."""
    made = {}
    for name in ("schedules.json", "sweep.json"):
        for r in fit.rows_of(os.path.join(DATA, name)):
            for words, gpts in ((r.get("schedule"), r.get("gpts")), (r.get("best"), r.get("best_gpts"))):
                if words and gpts and "naive" not in words and "knobs" not in words:
                    made.setdefault((r["program"], r["type"], r["size"]), {})[sweep.options(*sweep.words(words))] = gpts
    return {case: sorted(all_of, key=lambda w: -all_of[w]) for case, all_of in made.items()}


def cases():
    """The rows of the list: program, type, size, and what is tried first."""
    found = known()
    for group in (LARGE, PEOPLE):
        for kind in TYPES:
            for size, programs in group.items():
                for program in programs.split():
                    fast = [w for near in (size, *NEAR.get(size, ())) for w in found.get((program, kind, near), [])[:KNOWN]]
                    yield {"program": program, "type": kind, "size": size, "ask": list(dict.fromkeys([*FIRST, *fast]))}


def write_lists(number, folder):
    """A list for each card."""
    rows = list(cases())
    for i in range(number):
        with open(os.path.join(folder, "list%d.json" % i), "w", encoding="utf-8") as f:
            json.dump(rows[i::number], f, indent=1)


def merged(folder, rows):
    """`rows`, by case, with those of the folder in place of older ones; naive: its fastest block."""
    device, date = None, None
    for path in sorted(glob.glob(os.path.join(folder, "sweep*.json"))):
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        device, date = data["device"], data["date"]
        for r in data["rows"]:
            row = {k: v for k, v in r.items() if k != "final"}
            rows[r["program"], r["type"], r["size"]] = {**row, "date": date}
    for path in sorted(glob.glob(os.path.join(folder, "all*.json"))):
        for r in fit.rows_of(path):
            row = rows.get((r["program"], r["type"], r["size"]))
            if row and "naive" in r["schedule"]:
                row["naive"] = max(row.get("naive", 0), r["gpts"])
    return {"device": device, "date": date, "what": "the choice, the best of a search, and naive; medians", "rows": list(rows.values())}


def main():
    folder = next((a for a in sys.argv[1:] if not a.startswith("-")), None)
    number, target = int(option("lists", "0")), option("merge", "")
    if not folder or not (number or target):
        sys.exit(__doc__)
    if number:
        write_lists(number, folder)
        return
    old = fit.rows_of(target) if os.path.exists(target) else []
    file = merged(folder, {(r["program"], r["type"], r["size"]): r for r in old})
    rows = ",\n".join(json.dumps(r) for r in file.pop("rows"))
    with open(target, "w", encoding="utf-8") as f:
        f.write(json.dumps(file)[:-1] + ', "rows": [\n' + rows + "\n]}\n")


if __name__ == "__main__":
    main()
