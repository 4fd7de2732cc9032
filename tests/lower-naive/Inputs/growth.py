"""growth.py STC: the memory that a compiler takes grows with the stencils and fields of a program, not with their product: from SIZES[1] to SIZES[2], twice as many, it
grows by little more than twice what it does from SIZES[0] to SIZES[1]. A product would make that four times."""
import os
import resource
import subprocess
import sys
import tempfile

SIZES = (500, 1000, 2000)
MOST = 2.6
TARGETS = (["-march=nvptx", "-mcpu=h200", "-emit=kir"], ["-march=host", "-emit=kir"], ["-march=nvptx", "-mcpu=h200", "-O0", "-emit=asm"])


def program(n):
    """Text with `n` fields, each with a stencil of its own, which moves its older level on, too."""
    lines = ["param N = 64; grid G = [0 .. N - 1, 0 .. N - 1], 10;"]
    for i in range(n):
        lines.append(f"field F{i} : f32 on G history 1; stencil s{i}(F{i})[1 .. N - 2, 1 .. N - 2] = 0.5 * (F{i}[-1, 0] + F{i}@1[0, 1]);")
    return "\n".join(lines)


def took(stc, target, n):
    """KiB that `stc` took at most for `n` fields: in a process of its own, since a process knows that of the largest of its children alone."""
    with open("p.stn", "w") as file:
        file.write(program(n))
    child = os.fork()
    if child == 0:
        code = subprocess.call([*stc, *target, "-o", os.devnull, "p.stn"])
        with open("took", "w") as file:
            file.write(f"{code} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
        os._exit(0)
    os.waitpid(child, 0)
    with open("took") as file:
        code, kib = map(int, file.read().split())
    assert code == 0
    return kib


def main():
    stc = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for target in TARGETS:
            first, second, third = (took(stc, target, n) for n in SIZES)
            print(*target, *(f"{kib >> 10} MiB" for kib in (first, second, third)), f"grows {(third - second) / (second - first):.2f} times as much")
            assert third - second < MOST * (second - first)


if __name__ == "__main__":
    main()
