"""expect.py CODE COMMAND...: runs the command and succeeds if it ends with that exit code."""
import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    print("exit code %d, expected %s" % (code, sys.argv[1]), flush=True)
    sys.exit(1)
