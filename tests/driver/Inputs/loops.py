"""loops.py IN.kir UP_TO [INNER]: the kernel module with its time steps as rounds of a loop, on stdout.

One step of it makes up to UP_TO rounds, its reductions belong to the loop. With INNER each round of the loop makes INNER rounds of a loop within it, which has
the launches; the reductions then are evaluated a round of the outer loop.
"""
import re
import sys

text, most = open(sys.argv[1]).read(), sys.argv[2]
inner = sys.argv[3] if len(sys.argv) > 3 else None
before, host = re.fullmatch(r"(.*)(  host \{.*\n  \}\n)\}\n", text, re.S).groups()
steps = re.search(r"    steps .*    \}\n", host, re.S).group(0)
rounds = re.sub(r"^", "  ", steps.replace("steps", "rounds").rstrip("\n"), flags=re.M) + "\n"
reductions = "".join(f" reduce {name}" for name in re.findall(r"^  reduce (\S+)", before, re.M))
loops = f"    repeat @rounds up to {most}{reductions} {{\n{rounds}    }}\n"
if inner:
    loops = (f"    repeat @inner up to {inner} {{\n{rounds}    }}\n"
             f"    repeat @rounds up to {most}{reductions} {{\n      rounds 1 {{\n        repeat @inner\n      }}\n    }}\n")
sys.stdout.write(before + host.replace(steps, loops + "    steps 1 {\n      repeat @rounds\n    }\n") + "}\n")
