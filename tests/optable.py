"""The op table, ir/ops.def, as tests read it: rows with code, name, level, count (of operands), operands (their class), result, form, flags."""
import collections
import os
import re

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ir", "ops.def")
Row = collections.namedtuple("Row", "code name level count operands result form flags")


def rows():
    with open(FILE) as f:
        found = re.findall(r'^OP\((\w+), *"([^"]+)", *(\w+), *(-?\d+), *(\w+), *(\w+), *(\w+), *([^)]*)\)', f.read(), re.M)
    return [Row(r[0], r[1], r[2], int(r[3]), r[4], r[5], r[6], r[7].split(" | ")) for r in found]


def arithmetic(operands, compares=False):
    """The ops of both levels on operands of that class alone, as (name, number of operands); compares: those whose result is bool."""
    return [(r.name, r.count) for r in rows() if r.level == "BOTH" and r.operands == operands and (r.result == "BOOL") == compares]


def inexact():
    """The names of the ops that do not round correctly."""
    return [r.name for r in rows() if "INEXACT" in r.flags]
