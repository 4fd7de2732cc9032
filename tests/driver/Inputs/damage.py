"""damage.py FOLDER COMMAND OUT FIRST: damages the files of FOLDER in one way after the other, runs COMMAND, whose OUT must be as FIRST, and says whether files are as they were before they were damaged."""
import os
import shutil
import subprocess
import sys

folder, command, out, first = sys.argv[1:]
whole = {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def changed(at):
    """Adds one to the byte at `at`."""
    return lambda path, data: open(path, "wb").write(data[:at] + bytes([(data[at] + 1) % 256]) + data[at + 1:])


def instead(make):
    """Puts something else in the place of the file."""
    def put(path, data):
        os.remove(path)
        make(path)
    return put


def other(path, data):
    """What belongs to another key."""
    head = data[:16] + bytes(32) + data[48:]
    open(path, "wb").write(head)


def link(path):
    with open(path + ".real", "wb") as f:
        f.write(whole[os.path.basename(path)])
    os.symlink(path + ".real", path)


WAYS = {"cut": lambda path, data: open(path, "wb").write(data[:-10]), "empty": lambda path, data: open(path, "wb").close(), "first byte": changed(0),
        "byte of the key": changed(20), "byte of the sum": changed(60), "byte of the object": changed(700),
        "longer": lambda path, data: open(path, "wb").write(data + b"x"), "another key": other, "link": instead(link), "pipe": instead(os.mkfifo),
        "written by others": lambda path, data: os.chmod(path, 0o666), "folder": instead(os.mkdir), "whole": lambda path, data: None}


def reset():
    shutil.rmtree(folder)
    os.mkdir(folder, 0o700)
    for name, data in whole.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


for way, do in WAYS.items():
    reset()
    for name, data in whole.items():
        do(os.path.join(folder, name), data)
    before = {name: os.lstat(os.path.join(folder, name)).st_ino for name in whole}
    subprocess.run(command, shell=True, check=True, timeout=60)
    assert open(out, "rb").read() == open(first, "rb").read(), way
    after = {name: os.lstat(os.path.join(folder, name)).st_ino for name in whole}
    anew = [before[name] != after[name] and open(os.path.join(folder, name), "rb").read() == whole[name] for name in whole]
    assert not [name for name in os.listdir(folder) if name.startswith("new")], way
    print(way + ":", "made anew" if all(anew) else "as it was" if before == after else "some made anew", flush=True)
