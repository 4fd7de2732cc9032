#!/usr/bin/env python3
"""terminal.py COMMAND..: runs it with a terminal as standard error and prints what came there, a line for each time that a line was drawn anew."""
import os
import pty
import subprocess
import sys

near, far = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=far)
os.close(far)
told = b""
while True:
    try:
        more = os.read(near, 4096)
    except OSError:
        more = b""
    if not more:
        break
    told += more
print(told.decode().replace("\r", "\n").replace("\x1b[K", "."))
sys.exit(child.wait())
