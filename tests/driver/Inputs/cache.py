"""cache.py FOLDER LOG -- COMMAND: the command, which keeps compiled code in the folder, with entries that were damaged.

The log's lines `cuLinkComplete` say how often something was compiled.
"""
import os
import shutil
import subprocess
import sys

folder, log = sys.argv[1:3]
command = sys.argv[sys.argv.index("--") + 1:]


def run(**how):
    """Runs the command; how often something was compiled."""
    if os.path.exists(log):
        os.remove(log)
    subprocess.run(command, check=True, **how)
    with open(log) as f:
        return f.read().count("cuLinkComplete\n")


def entries():
    return sorted(os.listdir(folder))


def damage(change):
    """Changes the bytes of all entries; all must be made anew, and be whole again."""
    before = {name: open(os.path.join(folder, name), "rb").read() for name in entries()}
    for name, data in before.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(change(data))
    assert run() == len(before), change
    assert before == {name: open(os.path.join(folder, name), "rb").read() for name in entries()}


shutil.rmtree(folder, ignore_errors=True)
made = run()
assert made == len(entries()) > 0 and run() == 0
damage(lambda data: b"")
damage(lambda data: data[:20])
damage(lambda data: data[:-1])
damage(lambda data: data + b"x")
damage(lambda data: data[:-7] + bytes([data[-7] ^ 1]) + data[-6:])
damage(lambda data: data[:10] + bytes([data[10] ^ 1]) + data[11:])

# An entry under the name of another.
names = entries()
if len(names) > 1:
    os.replace(os.path.join(folder, names[0]), os.path.join(folder, names[1]))
    assert run() == 2

# Several at once: all succeed, and nothing is left in the making.
shutil.rmtree(folder)
several = [subprocess.Popen(command) for _ in range(4)]
assert [p.wait() for p in several] == [0] * 4
assert len(entries()) == made and run() == 0

# No room: the entry is not kept, the run goes on, whether the disk is full or files may not be so long.
shutil.rmtree(folder)
assert run(preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (4096, 4096))) == made
assert entries() == []

# A folder and a pipe of an entry's name; a file in the folder's place.
run()
name = os.path.join(folder, entries()[0])
os.remove(name)
os.mkfifo(name)
assert run() == 1 and run() == 0
os.remove(name)
os.mkdir(name)
assert run() == 1 and run() == 1
shutil.rmtree(folder)
open(folder, "w").close()
assert run() == made
os.remove(folder)
