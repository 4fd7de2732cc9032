"""damage.py COMMAND... --restart=FILE ...: wherever a byte of FILE is changed, or the file ends, the command fails with exit code 3 or 5 and
a message, or writes what it writes with the whole file. Bytes of all kinds are tried: values of fields and series, and those behind each
name that FILE has, as numbers and texts are. It fails mostly, since most bytes count. --all tries every byte, --fewer one
of four of the others."""
import pathlib
import random
import re
import subprocess
import sys

EVERY, FEWER = "--all" in sys.argv, "--fewer" in sys.argv
words = [w for w in sys.argv[1:] if w not in ("--all", "--fewer")]
at = next(i for i, w in enumerate(words) if w.startswith("--restart="))
whole = pathlib.Path(words[at][10:]).read_bytes()
chance = random.Random(3)


def run(data):
    """How the run of a checkpoint with these bytes ends, its messages, and what it writes."""
    pathlib.Path("damaged").write_bytes(data)
    log, field = pathlib.Path("damaged.csv"), pathlib.Path("damaged.npy")
    log.unlink(missing_ok=True), field.unlink(missing_ok=True)
    done = subprocess.run([*words, "--restart=damaged", "--log", str(log), "--out", f"u={field}"], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stderr, [p.read_bytes() for p in (log, field) if p.exists()]


def places():
    """Which bytes are changed: those where a number or a text behind a name may lie, and others that are no filling."""
    if EVERY:
        return range(len(whole))
    used = [i for i, byte in enumerate(whole) if byte]
    found = {chance.choice(used) for _ in range(16)}
    for name in (b"steps\0", b"until\0", b"program\0", b"stc_checkpoint\0", b"energy\0", b"N\0", b"checksum\0"):
        ends = [m.end() for m in re.finditer(re.escape(name), whole)]
        assert ends, name
        found |= {end + k for end in ends[:2] for k in range(0, 48, 4 if len(ends) > 1 else 2)}
    return sorted(found)[::4 if FEWER else 1]


del words[at]
code, errors, want = run(whole)
assert code == 0 and len(want) == 2, errors
failed = 0
tried = places()
for place in tried:
    data = bytearray(whole)
    data[place] ^= 0x41
    code, errors, got = run(data)
    assert (code == 0 and got == want) or (code in (3, 5) and "error: --restart=damaged: " in errors and not got), (place, code, errors)
    failed += code != 0
for _ in range(3):
    code, errors, got = run(whole[:-chance.randrange(1, len(whole))])
    assert code in (3, 5) and "error: --restart=damaged: " in errors and not got, (code, errors)
assert failed >= len(tried) / 4, (failed, len(tried))
