#!/usr/bin/env python3
"""groups.py SOURCE BUILD [--plant=CALLER:CALLED]: do calls go one way between groups of files?

GROUPS has them in order: a file may call functions, use data and include headers of its own group and of those before it, never of one
behind it. And what a header declares is defined in the header's group. Calls are read from the objects of BUILD with nm, so nothing is
missed that a reader of the sources might miss. Prints each call, include and declaration that breaks this, and exits with 1.

--plant=ir/arena.c:passes_run adds a call that is not there: to see the test fail.
"""
import argparse
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

PARTS = ["ir", "frontend", "passes", "backend", "driver"]

# Name, and the files that are in it: the first row that has a file is its group.
GROUPS = [
    ("ir/sim", ["ir/sim/*"]),
    ("ir", ["ir/*"]),
    ("frontend", ["frontend/*"]),
    ("the pass table", ["passes/passes.c", "passes/plugin.h"]),
    ("the record of numbers", ["passes/plan/tuning.*"]),
    ("passes/launch", ["passes/launch/*"]),
    ("passes/plan", ["passes/plan/*"]),
    ("passes/stencil", ["passes/stencil/*"]),
    ("passes/lower", ["passes/lower/*"]),
    ("passes/kernel", ["passes/kernel/*"]),
    ("passes", ["passes/*"]),
    ("backend", ["backend/*"]),
    ("commands", ["driver/" + name for name in ["run*", "command.c", "completion.c", "depfile.c", "driver.h", "entry.c", "format.c",
                                                "help.c", "main.c", "man.c", "device/cache-command.c"]]),
    ("the files of a command", ["driver/used.*"]),
    ("driver/device", ["driver/device/*"]),
    ("driver/split", ["driver/split/*"]),
    ("driver/data", ["driver/data/*"]),
    ("driver/explain", ["driver/explain/*"]),
    ("the database of schedules", ["driver/tune/tune-db.*", "driver/tune/tune-use.c"]),
    ("driver/tune", ["driver/tune/*"]),
    ("driver/bench", ["driver/bench/*"]),
    ("driver/lsp", ["driver/lsp/*"]),
    ("plans", ["driver/plan*", "driver/dlpack.h"]),
    ("options", ["driver/options*", "driver/command.h"]),
    ("programs", ["driver/*.[ch]"]),
]

# From the lowest to the highest.
ORDER = ["ir", "ir/sim", "frontend", "the record of numbers", "passes", "passes/launch", "passes/plan", "passes/stencil", "passes/lower", "passes/kernel",
         "the pass table", "backend", "programs", "driver/device", "plans", "driver/split", "driver/data", "options",
         "the database of schedules", "the files of a command", "driver/explain", "driver/tune", "driver/bench", "driver/lsp", "commands"]

# Headers that declare what others define: an entry point for each pass and each command, what is run by it, and the public interface.
REGISTRIES = {
    "passes/registry.h": r"pass_\w+",
    "passes/passes.h": r"pass_find|passes_run|can_distribute",
    "driver/command.h": r"command_\w+|help_print|depfile_text",
    "driver/options.h": r"man_print|completion_print",
    "driver/stc.h": r"stc_\w+",
}

# The header that includes all of its folder.
UMBRELLAS = {"driver/driver.h"}


def group_of(path):
    """The group of a file, by its path from the top."""
    for name, patterns in GROUPS:
        if any(fnmatch.fnmatch(path, pattern) for pattern in patterns):
            return name
    return None


def symbols(source, build):
    """Two mappings, from files to the names that they use, and from names to the files that define them."""
    objects = {}
    for part in PARTS:
        for path in sorted((source / part).rglob("*.c")):
            name = str(path.relative_to(source))
            made = build / "CMakeFiles" / f"stc_{part}.dir" / (name + ".o")
            if made.exists():
                objects[str(made)] = name
    if not objects:
        sys.exit(f"groups.py: no objects in {build}: build it first")
    text = subprocess.run(["nm", "-A", "-P", *objects], capture_output=True, text=True, check=True).stdout
    uses, defines = collections.defaultdict(set), {}
    for line in text.splitlines():
        made, rest = line.split(": ", 1)
        name, kind = rest.split()[:2]
        if kind == "U":
            uses[objects[made]].add(name)
        elif kind.isupper():
            defines[name] = objects[made]
    return uses, defines


def calls_up(uses, defines):
    """A line for each use of something in a later group."""
    for caller, names in sorted(uses.items()):
        for name in sorted(names & defines.keys()):
            below, above = group_of(caller), group_of(defines[name])
            if ORDER.index(above) > ORDER.index(below):
                yield f"{caller} ({below}) uses {name} of {defines[name]} ({above})"


def includes_up(source):
    """A line for each include of a header in a later group."""
    for part in PARTS:
        for path in sorted((source / part).rglob("*.[ch]")):
            name = str(path.relative_to(source))
            for header in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
                below, above = group_of(name), group_of(header)
                if above and header not in UMBRELLAS and ORDER.index(above) > ORDER.index(below):
                    yield f"{name} ({below}) includes {header} ({above})"


def declared_elsewhere(source, defines):
    """A line for each function that a header of one group declares and a file of another defines."""
    for part in PARTS:
        for path in sorted((source / part).rglob("*.h")):
            name = str(path.relative_to(source))
            text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
            for function in re.findall(r"^(?!static|typedef|#)[A-Za-z_][\w \*]*?\b(\w+)\([^;{]*\)[^;{]*;", text, re.M):
                registry = REGISTRIES.get(name)
                if function in defines and group_of(defines[function]) != group_of(name) and not (
                        registry and re.fullmatch(registry, function)):
                    yield f"{name} declares {function}, which is in {defines[function]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--plant", help="CALLER:CALLED, a call to take for granted")
    args = parser.parse_args()
    assert sorted(ORDER) == sorted(name for name, _ in GROUPS)
    uses, defines = symbols(args.source, args.build)
    if args.plant:
        caller, called = args.plant.split(":")
        uses[caller].add(called)
    found = [*calls_up(uses, defines), *includes_up(args.source), *declared_elsewhere(args.source, defines)]
    for line in found:
        print(line)
    if found:
        print(f"groups.py: {len(found)} ways up between groups of files (their order: {', '.join(ORDER)})")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
