"""The stc command: `stc` or `python -m stc`."""
import ctypes
import os
import sys

from ._library import lib


def main() -> int:
    """Runs the command with the process's arguments; its exit code."""
    words = [b"stc"] + [os.fsencode(w) for w in sys.argv[1:]]
    sys.stdout.flush()
    return lib.stc_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))


if __name__ == "__main__":
    sys.exit(main())
