#!/usr/bin/env python3
"""terminal.py [--until=WORD] [--for=SECONDS] COMMAND..: runs it with a terminal as standard error and prints what came there, a line for each time that a line was drawn anew.
The command is ended when WORD has come, or when it has computed for so many seconds, on one processor."""
import os
import pty
import resource
import subprocess
import sys

words = sys.argv[1:]
until = words.pop(0)[8:] if words[0].startswith("--until=") else None
seconds = int(words.pop(0)[6:]) if words[0].startswith("--for=") else None
near, far = pty.openpty()
if seconds:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=far)
if seconds:
    resource.prlimit(child.pid, resource.RLIMIT_CPU, (seconds, seconds))
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
    if until and until.encode() in told:
        child.kill()
        break
print(told.decode().replace("\r", "\n").replace("\x1b[K", "."))
status = child.wait()
sys.exit(0 if (until or seconds) and status < 0 else status)
