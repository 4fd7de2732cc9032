"""kernarg.py MANIFEST NOTES [MANIFEST NOTES]...: compares manifests with what `llvm-readobj --notes` prints of the code objects' metadata (YAML, read line by line)."""
import json
import re
import sys


def kernels(text):
    """Each kernel's entries, and the entries of its arguments, from the YAML."""
    found, args, now, in_args = [], None, None, False
    for line in text.splitlines():
        if re.match(r"^\s*amdhsa\.kernels:", line):
            now = {}
        m = re.match(r"^(\s*)(- )?\s*\.(\w+):\s*(.*?)\s*$", line)
        if now is None or not m:
            continue
        indent, dash, key, value = len(m.group(1)), m.group(2), m.group(3), m.group(4).strip("'\"")
        if dash and key_indent(indent, args):
            args.append({})
        elif dash:
            found.append({})
            args = None
        if key == "args":
            args = found[-1].setdefault("args", [])
            args_indent[0] = indent + (2 if dash else 0)
        elif args is not None and indent + (2 if dash else 0) > args_indent[0]:
            args[-1][key] = value
        else:
            args = None
            found[-1][key] = value
    return {k["name"]: k for k in found if "name" in k}


args_indent = [0]


def key_indent(indent, args):
    """Does a list item at this indent belong to the arguments?"""
    return args is not None and indent >= args_indent[0]


def sequences(host):
    """All sequences of operations of the host part."""
    return [host["init"]] + host["sequences"] + [r["sequence"] for r in host["reductions"]]


def compare(manifest, notes):
    """Compares one manifest with the kernels of its code object."""
    assert set(notes) == {k["name"] for k in manifest["kernels"]}, (set(notes), [k["name"] for k in manifest["kernels"]])
    for k in manifest["kernels"]:
        n = notes[k["name"]]
        there = [(int(a["offset"]), int(a["size"]), a["value_kind"]) for a in n.get("args", [])]
        here = [(a["offset"], a["bytes"], "global_buffer" if a["kind"] == "buffer" else "by_value") for a in k["arguments"]]
        assert there == here, (k["name"], there, here)
        assert k["argument_bytes"] <= int(n["kernarg_segment_size"]) < k["argument_bytes"] + 8, (k["argument_bytes"], n["kernarg_segment_size"])
        shared = int(n["group_segment_fixed_size"])
        assert shared <= k["static_shared_bytes"] < shared + 16 and (shared > 0) == (k["static_shared_bytes"] > 0), (shared, k["static_shared_bytes"])
        assert int(n["max_flat_workgroup_size"]) == k["block"]["x"] * k["block"]["y"] * k["block"]["z"], n["max_flat_workgroup_size"]
        assert n["symbol"] == k["descriptor"], n["symbol"]
        assert int(n["wavefront_size"]) == manifest["target"]["lanes"], n["wavefront_size"]
        assert k["dynamic_shared_bytes"] == 0 and n["uses_dynamic_stack"] == "false", n["uses_dynamic_stack"]
    for s in sequences(manifest["host"]):
        for launched in (o["launch"] for o in s["operations"] if "launch" in o):
            assert launched in notes, launched


def main():
    assert len(sys.argv) > 2
    for i in range(1, len(sys.argv), 2):
        compare(json.load(open(sys.argv[i])), kernels(open(sys.argv[i + 1]).read()))


main()
