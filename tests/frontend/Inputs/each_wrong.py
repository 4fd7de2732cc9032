"""each_wrong.py TEST BEGIN STC...: compiles the text BEGIN with each line behind a `// WRONG` of the test, and prints the errors; all must be refused."""
import subprocess
import sys

for line in open(sys.argv[1]):
    if line.startswith("// WRONG "):
        done = subprocess.run([*sys.argv[3:], "-emit=sir", "-"], input=sys.argv[2] + "\n" + line[9:], capture_output=True, text=True)
        assert done.returncode, line
        print("\n".join(x for x in done.stderr.splitlines() if " error: " in x))
