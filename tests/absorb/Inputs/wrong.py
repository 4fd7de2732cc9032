"""wrong.py STC COMMON CASES: each case of the file, lines and then one that begins with =, is refused with the message behind it, alone and at a place. The lines stand behind the
program COMMON, but those of a case that begins with !."""
import subprocess
import sys

stc, common, cases = sys.argv[1], open(sys.argv[2]).read(), open(sys.argv[3]).read().splitlines()
lines, failed = [], 0
for line in cases:
    if not line.startswith("= "):
        lines.append(line)
        continue
    text = "\n".join(lines)
    text = text[2:] if text.startswith("! ") else common + text
    with open("case.stn", "w") as f:
        f.write(text + "\n")
    done = subprocess.run([stc, "-emit=sir", "-o", "-", "case.stn"], capture_output=True, text=True)
    errors = [x for x in done.stderr.splitlines() if ": error: " in x]
    if done.returncode <= 0 or len(errors) != 1 or line[2:] not in errors[0] or not errors[0].startswith("case.stn:"):
        print(f"{text}\nexpected: {line[2:]}\n{done.stderr}")
        failed += 1
    lines = []
sys.exit(failed > 0)
