"""Has the package stc compile programs without optimisation, which takes a tenth of the time, unless they say another level. Python runs this file when it
begins, where its folder is in PYTHONPATH: pages.py and python/tests/test_examples.py put it there for the programs that they run."""
import functools
import importlib.abc
import importlib.machinery
import inspect
import sys


def quick(options):
    """The function that makes options of what stc.compile was told, with another default of opt_level."""
    where = list(inspect.signature(options).parameters).index("opt_level")

    @functools.wraps(options)
    def wrapped(*told):
        return options(*told[:where], 0 if told[where] is None else told[where], *told[where + 1:])
    return wrapped


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module that has it, and changes it once it is loaded."""

    def find_spec(self, fullname, path, target=None):
        if fullname != "stc._program":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module._options = quick(module._options)
        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder())
