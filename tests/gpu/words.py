"""The words of a script's command line."""
import sys


def option(name, default=None):
    """The value of --name=VALUE on the command line."""
    found = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--%s=" % name)]
    return found[-1] if found else default
