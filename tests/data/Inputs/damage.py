"""damage.py COMMAND... --restart=FILE ...: the command fails with exit code 3 or 5 and a message, or gives what it gives with the whole
file, wherever a used byte of FILE is changed or the file ends; and it does fail mostly, since most bytes are those of fields."""
import random
import subprocess
import sys

words = sys.argv[1:]
at = next(i for i, w in enumerate(words) if w.startswith("--restart="))
whole = bytearray(open(words[at][10:], "rb").read())
chance = random.Random(3)
words[at] = "--restart=damaged"
failed = 0
used = [i for i, byte in enumerate(whole) if byte]
places = [chance.choice(used) for _ in range(12)] + [-chance.randrange(len(whole)) for _ in range(3)]
for place in places:
    data = bytearray(whole)
    if place > 0:
        data[place] ^= 0x41
    else:
        data = data[:-place]
    open("damaged", "wb").write(data)
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3, 5), (place, done)
    assert done.returncode == 0 or "error: --restart=damaged: " in done.stderr, (place, done)
    failed += done.returncode != 0
assert failed >= 6, failed
