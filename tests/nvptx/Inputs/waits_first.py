"""waits_first.py ACCESS WAIT BEGIN FILE...: in each file's text each part that begins with BEGIN has WAIT, in front of all that looks like ACCESS."""
import re
import sys

access, wait, begin = (re.compile(a) for a in sys.argv[1:4])
kernels = 0
for path in sys.argv[4:]:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    starts = [m.start() for m in begin.finditer(text)]
    for start, end in zip(starts, starts[1:] + [len(text)]):
        kernel = text[start:end]
        waits, accesses = wait.search(kernel), access.search(kernel)
        kernels += 1
        if not waits or not accesses or accesses.start() < waits.start():
            sys.exit("%s: %s: %s" % (path, kernel.split("\n")[0], "no wait" if not waits else "no access" if not accesses else accesses[0]))
print("%d kernels wait first" % kernels)
