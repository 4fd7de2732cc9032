"""room.py MPIRUN STC: the memory of rank 0 while four ranks write a picture of a large field must be little more than without. With "rank" in front of a command it runs that,
and says for rank 0 how many MiB it took."""
import os
import resource
import shlex
import subprocess
import sys
import tempfile

PROGRAM = "param N = 1, M = 1; grid G = [0 .. N - 1, 0 .. M - 1], 1; field A : f64 on G input; init a(A)[G] = f64(idx(1)); field B : bool on [0 .. 3, 0 .. 0]; stencil b(B)[0 .. 3, 0 .. 0] = !B;"
COLUMNS = 1 << 22  # 32 MiB a rank, 128 MiB in all
MOST = 40          # MiB more: 128 KiB of samples, and a copy of what the rank's part has


def took(mpirun, stc, words):
    """MiB of rank 0."""
    command = shlex.split(mpirun) + ["-n", "4", sys.executable, os.path.abspath(__file__), "rank"] + shlex.split(stc)
    command += ["run", "--quiet", "--device=host:1", "-O0", "-DN=4", f"-DM={COLUMNS}", "--split=4", "--steps=0", "p.stn"] + words
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return int(done.stdout)


def main():
    if sys.argv[1] == "rank":
        code = subprocess.call(sys.argv[2:])
        if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
        sys.exit(code)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("p.stn", "w") as file:
            file.write(PROGRAM)
        without, drawn = took(*sys.argv[1:], ["--in", "B=true"]), took(*sys.argv[1:], ["--in", "B=true", "--png", "A=A.png"])
        print(f"{without} MiB, with a picture {drawn} MiB")
        assert os.path.exists("A.png") and drawn - without < MOST


if __name__ == "__main__":
    main()
