"""The stc command in the process of the tests, for what it writes: each process of its own takes half a second to begin."""
import sys

import pytest

import stc.__main__


def command(*words):
    """Runs the command, without optimisation unless a level is among the words. It must succeed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["stc", "-O0", *map(str, words)])
        assert stc.__main__.main() == 0, words
