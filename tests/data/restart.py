"""restart.py STC [KILLS [SEED]]: kills runs with SIGKILL at random moments and goes on from their checkpoints, on other devices and with
other time tiles, until they end: fields and series must have the bits of a run that nobody killed."""
import pathlib
import random
import subprocess
import sys
import tempfile
import time

PROGRAM = str(pathlib.Path(__file__).resolve().parent / "Inputs" / "state.stn")
FIELDS = ["u", "u@1", "u@2", "v", "s", "b", "lit", "rate"]
STEPS = 5000
WAYS = [["--device=host"], ["--device=host:1", "-T=1"], ["--device=host", "-schedule=overlap", "-T=3", "-block=16x16"],
        ["--device=host", "-schedule=naive"], ["--device=host", "-schedule=stream", "-T=2"]]
SLOW = [["--device=ref"], ["--device=sim", "-schedule=overlap", "-T=2", "-block=8x8"]]


def command(stc, steps, way, folder, *options):
    """A run's words; what it gives goes to `folder`."""
    out = [word for f in FIELDS for word in ("--out", f"{f}={folder}/{f}.npy")]
    return [stc, "run", "--quiet", "-fno-contract", f"--steps={steps}", "--log", f"{folder}/log.csv", *way, *out, *options, PROGRAM]


def contents(folder):
    """All files of a run that has ended."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in (".npy", ".csv")}


def run(words):
    """Runs to the end, or fails."""
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)


def killed_run(stc, folder, checkpoint, want, longest, chance):
    """One run from its start to its end, killed on the way as often as the moments that `chance` draws come before its end; how often.
    They come ever later, so that it ends where processes have become slower."""
    kills = 0
    while True:
        start = ["--restart", str(checkpoint)] if checkpoint.exists() else ["--in", "src=random:1", "--in", "px=random:2"]
        way = chance.choice(WAYS)
        words = command(stc, STEPS, way, folder, f"--checkpoint={checkpoint}", f"--checkpoint-every={chance.choice([1, 7, 50, 333])}", *start)
        p = subprocess.Popen(words, stderr=subprocess.PIPE)
        try:
            p.wait(timeout=chance.uniform(0.05, longest * 1.2 ** kills))
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            kills += 1
            for name, have in contents(folder).items():
                assert have == want[name], f"{name} has its name after a kill, and not the bits of a whole run"
            continue
        error = p.communicate()[1].decode()
        assert p.returncode == 0, (words, error)
        got = contents(folder)
        assert got.keys() == want.keys()
        for name in want:
            assert got[name] == want[name], f"{name} differs after {kills} kills, the last part run by {way}"
        return kills


def other_devices(stc, top):
    """A checkpoint of each device goes on to the same bits on every other."""
    (top / "whole").mkdir()
    run(command(stc, 60, ["--device=ref"], top / "whole", "--in", "src=random:1", "--in", "px=random:2"))
    want = contents(top / "whole")
    for i, first in enumerate(SLOW + WAYS[:1]):
        c = top / f"checkpoint{i}"
        run([stc, "run", "--quiet", "-fno-contract", "--steps=37", *first, f"--checkpoint={c}", "--in", "src=random:1", "--in", "px=random:2", PROGRAM])
        for k, second in enumerate(SLOW + WAYS[2:3]):
            folder = top / f"{i}-{k}"
            folder.mkdir()
            run(command(stc, 60, second, folder, "--restart", str(c)))
            assert contents(folder) == want, (first, second)


def main():
    stc, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory() as name:
        top = pathlib.Path(name)
        other_devices(stc, top)
        whole = top / "all"
        whole.mkdir()
        start = time.time()
        run(command(stc, STEPS, WAYS[0], whole, "--in", "src=random:1", "--in", "px=random:2"))
        took, done, runs = time.time() - start, 0, 0
        while done < kills:
            folder, checkpoint = top / f"killed{runs}", top / f"killed{runs}.checkpoint"
            folder.mkdir()
            done += killed_run(stc, folder, checkpoint, contents(whole), took, chance)
            runs += 1
        print(f"{runs} runs, killed {done} times, came to the bits of the one that was not")


if __name__ == "__main__":
    main()
