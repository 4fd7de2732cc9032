"""same_choice.py STC ROOT: what stc chooses comes from what a program computes. A program with other names, in a file of another name, with
other comments gets the schedule that the program of the bench gets. (The order of a sum's terms may change the choice: it decides when what
is kept for them is done with.) Names those that do not; exit status 1 if there are any."""
import os
import re
import subprocess
import sys
import tempfile

stc, root = sys.argv[1:]
PROGRAMS = [("driver/bench/star2d2r.stn", "8192x8192"), ("examples/gradient2d.stn", "8192x8192"), ("examples/fdtd2d.stn", "2048x2048"),
            ("driver/bench/box3d1r.stn", "512x512x512"), ("examples/acoustic_wave.stn", "1024x1024")]


def renamed(text):
    """The program with other names for all that it declares but params, and no comments."""
    text = re.sub(r"//.*", "", text)
    names = re.findall(r"^\s*(?:grid|field|init|stencil|temp|op|fn)\s+(\w+)", text, re.M)
    names += [n for more in re.findall(r"^\s*field\s+([\w, ]+):", text, re.M) for n in re.findall(r"\w+", more)]
    for i, name in enumerate(sorted(set(names))):
        text = re.sub(rf"\b{name}\b", f"any{i}_", text)
    return text


def choice(path, real, size):
    """The schedule that stc comes to."""
    command = [stc, "-march=nvptx", "-mcpu=sm_90a", "--no-tune-db", "-freal=" + real, "-for-grid=" + size, "-emit=manifest", path]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    return text.split('"schedule": "')[1].split('"')[0]


def main():
    bad, n = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, size in PROGRAMS:
            path = os.path.join(root, name)
            with open(path) as f:
                text = f.read()
            for real in ("f32", "f64"):
                want = choice(path, real, size)
                other, n = os.path.join(folder, "other.stn"), n + 1
                with open(other, "w") as f:
                    f.write(renamed(text))
                got = choice(other, real, size)
                if got != want:
                    bad.append(f"{name} {real}: {got}, not {want}")
    print("\n".join(bad + [f"{n} programs, {len(bad)} chosen otherwise"]))
    return int(bool(bad))


sys.exit(main())
