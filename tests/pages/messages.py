"""messages.py SOURCE [--write]: is docs/messages.md, the index of messages with cause and cure, what the sources say? --write makes it anew.

The messages are read from calls of the functions that report them. A message names the cause first and the cure behind a semicolon, or
behind a colon where an instruction follows. Listed are messages with a cure, and all of the frontend; messages about files of the compiler's
own work, memory and the inside of libstc are not.
"""
import re
import sys
from pathlib import Path

from cures import CURES

CALL = re.compile(r'\b(?P<call>diag_error|check_error|diag_warning|context_error|context_warning|schedule_error|arena_printf)\((?P<arguments>[^";]*?)'
                  r'(?P<text>(?:"(?:[^"\\]|\\.)*"\s*(?:PRI\w+\s*)?)+)')
IMPERATIVE = ("give|take|write|use|name|leave|ask|choose|change|install|set|make|go on|remove|rename|compute|convert|declare|draw|say|cut|put|"
              "compare|shrink|join|split|read|copy|add|place|fill|begin|end|end it|move|start|build|run|try|simulate|with|prefix|swap|bind|spell|for")
GROUPS = [   # heading, where the rules are, files
    ("Reading the text", "language.md#text", ["frontend/lex.c", "frontend/parse", "frontend/lower.c", "frontend/include.c", "frontend/format.c"]),
    ("Names and declarations", "language.md#grammar", ["frontend/check.c", "frontend/check/check_piece.c", "frontend/check/check_const.c", "frontend/base/names.c", "frontend/symbol.c", "frontend/base/share.c"]),
    ("Types and values", "language.md#types", ["frontend/base/check_type.c", "frontend/base/nodes.c", "frontend/check/check_expr.c", "frontend/base/check_composite.c", "frontend/base/fold.c"]),
    ("Regions and accesses", "language.md#grid-and-regions", ["frontend/base/check_region.c", "frontend/check/check_access.c", "frontend/check/check_lacking.c", "frontend/check/check_mask.c"]),
    ("Beyond the edges", "language.md#beyond-the-edge-outside", ["frontend/check/check_outside.c"]),
    ("Complex numbers", "language.md#complex-numbers", ["frontend/base/check_complex.c"]),
    ("Members", "language.md#several-runs-in-one-members", ["frontend/check/check_ensemble.c"]),
    ("Spacing and derivatives", "language.md#spacing-and-derivatives", ["frontend/check/check_diff.c"]),
    ("Absorbing layers", "language.md#absorbing-layers-absorb", ["frontend/check/check_absorb.c", "frontend/check/absorb.c"]),
    ("Time: temp fields, older levels", "language.md#older-time-levels-history", ["frontend/check/check_time.c", "frontend/check/check_start.c", "frontend/check/check_every.c"]),
    ("Series of frames", "language.md#series-of-frames-frames", ["frontend/check/check_frames.c"]),
    ("Scalars and updates", "language.md#numbers-that-are-kept-scalar-update-until", ["frontend/check/check_scalar.c"]),
    ("Repeats", "language.md#rounds-within-a-step-repeat", ["frontend/check/check_repeat.c"]),
    ("Levels", "language.md#levels-of-the-grid-levels-each-fine-coarse", ["frontend/check/check_levels.c", "frontend/expand_levels.c"]),
    ("Sweeps", "language.md#sweeps-along-a-dimension-sweep", ["frontend/check/check_sweep.c"]),
    ("Macros, functions, sums, blocks", "language.md#macros-op",
     ["frontend/check/check_fn.c", "frontend/check/check_random.c", "frontend/check/check_stmt.c", "frontend/check/check_sum.c", "frontend/check/check_lookup.c", "frontend/check/check_within.c",
      "frontend/check/check_move.c"]),
    ("Losses and gradients", "language.md#losses-and-gradients-loss-gradient", ["frontend/check/check_gradient.c", "ir/run/derive.c", "passes/transpose/"]),
    ("Probes and injects", "language.md#at-single-points-probe-and-inject", ["frontend/check/check_point.c"]),
    ("Schedules", "command.md#schedules", ["passes/"]),
    ("The command and its options", "command.md", ["driver/cli/", "driver/artifact/", "driver/explain/", "driver/bench/", "driver/tune/"]),
    ("Data in and out", "data.md", ["driver/data/", "driver/files/"]),
    ("Running: params, fields, devices", "command.md#running", ["driver/program/", "driver/instance/", "driver/device/", "ir/run/"]),
    ("Several devices", "cluster.md", ["driver/split/"]),
]
INNER = re.compile(r"^(?:pass '|kernel '|pipeline '|family number|...: there is no pass)|a mistake in stc|formatting would change")   # met by those who work on stc alone
HEAD = """# Messages: cause and cure

Made from the sources by `tests/pages/messages.py`; a test compares. Look for the part of a message that does not change: `...` stands for
names, types and numbers of your program. Above each table stands where the rules are. Messages about a program show its line with a caret
at the place.

"""


def literal(text):
    """The text of adjacent C string literals, with `...` for what is put in."""
    text = re.sub(r'"\s*PRI\w+\s*"', "d", re.sub(r'"\s*PRI\w+\s*$', 'd"', text))
    said = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"').replace("\\\\", "\\").replace("\\n", " ")
    said = re.sub(r"%[-+0-9.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z]", "...", said.replace("%%", "\0")).replace("\0", "%")
    return re.sub(r"\.\.\.[' ]?s\b", "...", re.sub(r"(?<=[a-z])\.\.\.(?= |$|,|;)", "", re.sub(r"(?:\.\.\.){2,}", "...", said)))


def halves(said):
    """Cause and cure of a message; the cure is empty where the message has none."""
    m = re.fullmatch(rf"([^;]*?): ((?:{IMPERATIVE})\b.*)", said)
    cause, _, cure = (m[1], "", m[2]) if m else said.partition("; ")
    cure = cure.strip().removeprefix("...")
    return cause.strip(), cure or CURES.get(cause.strip(), "")


def messages(source, group):
    """The rows of a group: pairs of cause and cure, in the order of the alphabet."""
    found = {}
    for path in sorted(p for p in source.rglob("*.c") if p.relative_to(source).as_posix().startswith(tuple(group[2]))):
        for m in CALL.finditer(path.read_text(encoding="utf-8")):
            cause, cure = halves(literal(m["text"]))
            if m["call"] == "arena_printf" and not re.match("the access|the derivative.s access|the pieces|[.]{3} [.]{3} reaches beyond", cause):
                continue
            plain = cause.replace("...", "").strip(" ,:'")
            if len(plain) < 12 or INNER.search(cause + cure) or not cure and not path.relative_to(source).parts[0] == "frontend":
                continue
            found[(cause, cure)] = "warning" in m["call"]
    return sorted(((cause, cure, w) for (cause, cure), w in found.items()), key=lambda r: re.sub(r"^[^A-Za-z]*(\.\.\.)?\W*", "", r[0]).lower())


def ungrouped(source):
    """A file of the frontend that reports messages and is of no group; None: there is none."""
    listed = tuple(name for group in GROUPS for name in group[2])
    for path in sorted(source.glob("frontend/**/*.c")):
        name = path.relative_to(source).as_posix()
        if not name.startswith(listed) and any(m["call"] != "arena_printf" for m in CALL.finditer(path.read_text(encoding="utf-8"))):
            return name
    return None


def cell(text):
    """A text in a cell of a table, in which nothing of it is Markdown."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("[", "\\[").replace("`", "")


def page(source):
    """The whole page."""
    out, said = HEAD, set()
    for group in GROUPS:
        rows = messages(source, group)
        said |= {cause for cause, _, _ in rows}
        bare = [cause for cause, cure, _ in rows if not cure]
        if bare:
            sys.exit(f"{bare[0]!r} has no cure: put one behind a semicolon in the message, or into tests/pages/cures.py")
        out += f"## {group[0]}\n\nRules: [{group[1].partition('#')[0].removesuffix('.md')}]({group[1]}).\n\n| message | what to do |\n|---|---|\n"
        out += "".join(f"| {'*warning:* ' if warning else ''}{cell(cause)} | {cell(cure)} |\n" for cause, cure, warning in rows) + "\n"
    lost = sorted(set(CURES) - said)
    if lost:
        sys.exit(f"no source says {lost[0]!r}, for which {sys.argv[0]} has a cure")
    return out.rstrip() + "\n"


def main():
    source = Path(sys.argv[1])
    alone = ungrouped(source)
    if alone:
        sys.exit(f"{alone} reports messages, and is in no group of {sys.argv[0]}: put it into one")
    path, text = source / "docs/messages.md", page(source)
    if "--write" in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        sys.exit(f"{path} is not what the sources say: run {sys.argv[0]} {source} --write, and look at what has changed")


if __name__ == "__main__":
    main()
