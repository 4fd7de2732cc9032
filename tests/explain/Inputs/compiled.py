"""compiled.py EXPLANATION NOTES TEXT: are the figures of the kernels as compiled, in the JSON and in the text of `stc explain`, those of the
notes that readobj prints of the code object? Prints a line for each kernel."""
import json
import re
import sys

KEYS = {"vector_registers": "vgpr_count", "scalar_registers": "sgpr_count", "vector_registers_spilled": "vgpr_spill_count",
        "scalar_registers_spilled": "sgpr_spill_count", "private_bytes": "private_segment_fixed_size",
        "shared_bytes": "group_segment_fixed_size"}

explanation, notes, text = [open(name).read() for name in sys.argv[1:4]]
found = {}
for record in re.split(r"\n  - ", notes):
    name = re.search(r"\n    \.name: +(\S+)", record)
    if name:
        found[name.group(1)] = {k: int(v) for k, v in re.findall(r"\.(\w+): +(\d+)(?:\n|$)", record)}
for kernel in json.loads(explanation)["kernels"]:
    for key, note in KEYS.items():
        assert kernel["compiled"][key] == found[kernel["name"]][note], (kernel["name"], key, kernel["compiled"], found[kernel["name"]])
    says = "%d vector and %d scalar" % (kernel["compiled"]["vector_registers"], kernel["compiled"]["scalar_registers"])
    assert f"; compiled: {says}" in text[text.index(f"kernel {kernel['name']}:"):].split("\n\n")[0], says
    print(f"{kernel['name']}: {says}")
