#!/usr/bin/env python3
"""groups.py SOURCE BUILD [--plant=CALLER:CALLED]: do calls go one way between folders, and between layers of a folder?

ORDER has the folders in order: a file may call functions, use data and include headers of its own line and of those above, never of one
below. And what a header declares is defined in a folder of the header's line. Calls are read from the objects of BUILD with nm, so nothing
is missed that a reader of the sources might miss. Within a line, files may call each other in circles of CIRCLE files at most. Prints each
call, include and declaration that breaks this, each larger circle, each folder that is in no line or has more than MOST C files, each name
that two headers or types in headers have, and exits with 1.

A header may draw the layers of its folder: its first comment says LAYERED, and has a line with a heading, "   its runs (runner.h):", for each
layer, below that the files, two columns further in; a heading that begins with a folder, "   turns/ ...", has all files in it, a line
further in that begins with one, too, but those that are drawn by name. A file calls functions of its own layer and of those drawn above it,
by direct calls.

A circle is a set of files each of which reaches each other one by direct calls of functions, read from the relocations of calls; what is
called through a table of functions that was handed down is no such call: whoever reads the lower file need not know the higher one.

--plant=ir/base/arena.c:passes_run adds a call that is not there: to see the test fail.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

PARTS = ["ir", "frontend", "passes", "backend", "driver"]

# From the lowest to the highest. Folders in one line call each other both ways as yet.
ORDER = [line.split() for line in """
ir/base
ir ir/text ir/verify ir/run
ir/interp
ir/sim
frontend frontend/base frontend/check
passes/base
passes/simplify
passes/launch
passes/tile
passes/plan/cost
passes/plan passes/plan/choose
passes/stencil
passes/transpose
passes/lower
passes/tile/emit/loops
passes/tile/emit
passes/kernel
passes
backend
driver/program driver/files driver/artifact
driver/device
driver/instance driver/instance/gradient driver/instance/kept
driver/split driver/split/turns driver/split/phases
driver/view
driver/cli/options
driver/data driver/data/frames
driver/tune/db
driver/cli/used
driver/explain
driver/tune
driver/bench
driver/lsp
driver/cli/run
driver/cli
driver driver/shared
""".strip().splitlines()]

# C files in a folder.
MOST = 35

# Headers for all, that declare what others define: an entry point for each pass and each command, what is run by it, and the public
# interface.
REGISTRIES = {
    "passes/registry.h": r"pass_\w+",
    "passes/passes.h": r"pass_\w+|can_distribute",
    "passes/lower/lower.h": r"overlap_(?:seq|kernel)",
    "ir/run/run.h": r"interp_run|interp_update_alone|interp_gradient",
    "driver/cli/options/command.h": r"command_\w+|help_print|depfile_text",
    "driver/cli/options/options.h": r"man_print|completion_print",
    "driver/stc.h": r"stc_\w+",
}

# Files that call each other in a circle, at most.
CIRCLE = 8

# What the first comment of a header says that draws layers.
LAYERED = "Layers, from the lowest to the highest"

# Headers that files see although they are further down: each is a struct of which a part is used. None is to be added.
AS_YET = {"driver/data/writer.h": "driver/cli/run/job.h", "driver/split/split.h": "driver/data/data.h"}


def line_of(path):
    """The number of the line of ORDER that the folder of a file is in; None if there is none."""
    folder = str(pathlib.PurePath(path).parent)
    return next((number for number, folders in enumerate(ORDER) if folder in folders), None)


def wrong_folders(source):
    """A line for each folder with C files that is in no line of ORDER, or is too full."""
    files = collections.Counter(str(path.parent.relative_to(source)) for part in PARTS for path in (source / part).rglob("*.[ch]"))
    for folder, number in sorted(files.items()):
        if line_of(f"{folder}/x.c") is None:
            yield f"{folder}/ is in no line of ORDER: say where it stands"
        if number > MOST:
            yield f"{folder}/ has {number} C files: {MOST} at most: split it"


def objects_of(source, build):
    """A mapping from the objects of BUILD to the files that they are made of."""
    objects = {}
    for part in PARTS:
        for path in sorted((source / part).rglob("*.c")):
            name = str(path.relative_to(source))
            made = build / "CMakeFiles" / f"stc_{part}.dir" / (name + ".o")
            if made.exists():
                objects[str(made)] = name
    if not objects:
        sys.exit(f"groups.py: no objects in {build}: build it first")
    return objects


def symbols(source, build):
    """Two mappings, from files to the names that they use, and from names to the files that define them."""
    objects = objects_of(source, build)
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


def calls(source, build):
    """A mapping from files to the names of functions that they call: jumps and calls on x86-64 and AArch64."""
    objects = objects_of(source, build)
    text = subprocess.run(["objdump", "-r", *objects], capture_output=True, text=True, check=True).stdout
    called, name = collections.defaultdict(set), None
    for line in text.splitlines():
        if made := re.match(r"(.*): +file format ", line):
            name = objects[made[1]]
        elif call := re.match(r"[0-9a-f]+ R_(?:X86_64_PLT32|AARCH64_CALL26|AARCH64_JUMP26) +([\w.]+)", line):
            called[name].add(call[1])
    return called


def circles(called, defines):
    """The sets of more than one file each of which reaches each other one by calls (Tarjan's algorithm), the largest first."""
    graph = {name: {defines[n] for n in names & defines.keys()} for name, names in called.items()}
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for to in graph.get(name, ()):
            if to not in number:
                visit(to)
            if to in stack:
                low[name] = min(low[name], low[to])
        if low[name] == number[name]:
            at = stack.index(name)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return sorted((c for c in found if len(c) > 1), key=len, reverse=True)


def large_circles(called, defines):
    """A line for each circle of too many files."""
    for circle in circles(called, defines):
        if len(circle) > CIRCLE:
            yield f"{len(circle)} files call each other, {CIRCLE} may: {' '.join(circle)}"


def drawn(text):
    """The layers that the first comment of a header draws, from the lowest: for each the names of its C files and of its folders."""
    found = []
    for line in text[:text.index("*/")].splitlines():
        indent = len(line) - len(line[2:].lstrip()) - 2 if line.startswith(" *") else 0
        if indent == 3:
            found.append([])
        if indent >= 5 and found:
            found[-1] += re.findall(r"[\w/-]+\.c\b", line)
        if indent >= 3 and found:
            found[-1] += re.findall(r"^ \* +([\w-]+\.c|[\w-]+/(?![\w-]))", line)
    return found


def layers(folder, text):
    """A mapping from the C files below a folder, as paths there, to the numbers of their layers in the text of the header that draws them. A file
    is in the layer that names it, or else in that of its folder."""
    files, found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.c")), {}
    for number, names in enumerate(drawn(text)):
        for name in names:
            if not name.endswith("/"):
                path = next((f for f in files if f"/{f}".endswith(f"/{name}")), None)
                found.setdefault(path, number)
    for number, names in enumerate(drawn(text)):
        for name in names:
            if name.endswith("/"):
                found.update({f: number for f in files if f.startswith(name) and f not in found})
    return {path: number for path, number in found.items() if path}


def calls_up_layers(source, called, defines):
    """A line for each direct call of a file in a higher layer of those that a header draws."""
    for part in PARTS:
        for path in sorted((source / part).rglob("*.h")):
            text = path.read_text(encoding="utf-8")
            folder = path.parent.relative_to(source)
            of = {str(folder / name): number for name, number in layers(path.parent, text).items()} if LAYERED in text else {}
            for caller in sorted(of):
                for name in sorted(called[caller] & defines.keys()):
                    if of.get(defines[name], 0) > of[caller]:
                        yield f"{caller} calls {name} of {defines[name]}, which {path.relative_to(source)} has in a higher layer"


def calls_up(uses, defines):
    """A line for each use of something in a folder further down."""
    for caller, names in sorted(uses.items()):
        for name in sorted(names & defines.keys()):
            if line_of(defines[name]) > line_of(caller):
                yield f"{caller} uses {name} of {defines[name]}"


def includes_up(source):
    """A line for each include of a header in a folder further down."""
    for part in PARTS:
        for path in sorted((source / part).rglob("*.[ch]")):
            name = str(path.relative_to(source))
            for header in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
                above = line_of(header)
                if above is not None and header not in REGISTRIES and AS_YET.get(name) != header and above > line_of(name):
                    yield f"{name} includes {header}"


def declared_elsewhere(source, defines):
    """A line for each function that a header declares and a file in a folder of another line defines."""
    for part in PARTS:
        for path in sorted((source / part).rglob("*.h")):
            name = str(path.relative_to(source))
            text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
            for function in re.findall(r"^(?!static|typedef|#)[A-Za-z_][\w \*]*?\b(\w+)\([^;{]*\)[^;{]*;", text, re.M):
                registry = REGISTRIES.get(name)
                if function in defines and line_of(defines[function]) != line_of(name) and not (
                        registry and re.fullmatch(registry, function)):
                    yield f"{name} declares {function}, which is in {defines[function]}"


def named_twice(source):
    """Headers of one name, and types that two headers declare by one name."""
    headers = collections.defaultdict(list)
    for part in PARTS:
        for path in sorted((source / part).rglob("*.h")):
            headers[path.name].append(str(path.relative_to(source)))
            for name in set(re.findall(r"^(?:\}|typedef enum .*\}) (\w+);$", path.read_text(encoding="utf-8"), re.M)):
                headers[name].append(str(path.relative_to(source)))
    return [f"{name} is in {' and '.join(where)}: give each a name of its own"
            for name, where in sorted(headers.items()) if len(where) > 1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--plant", help="CALLER:CALLED, a call to take for granted")
    args = parser.parse_args()
    uses, defines = symbols(args.source, args.build)
    called = calls(args.source, args.build)
    if args.plant:
        caller, name = args.plant.split(":")
        uses[caller].add(name)
        called[caller].add(name)
    found = [*wrong_folders(args.source)]
    if not found:
        found = [*calls_up(uses, defines), *includes_up(args.source), *declared_elsewhere(args.source, defines),
                 *named_twice(args.source), *calls_up_layers(args.source, called, defines), *large_circles(called, defines)]
    for line in found:
        print(line)
    if found:
        print(f"groups.py: {len(found)} findings (the order of folders: {', '.join(' '.join(line) for line in ORDER)})")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
