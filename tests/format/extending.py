#!/usr/bin/env python3
"""extending.py SOURCE [--plant=TABLE:NAME]: is docs/extending.md true, and has each row of the compiler's tables what the page asks for?

Each file, folder and C identifier in the page's code spans must exist. For each table of FOLLOW the page's section must list the files that
mention the table's rows, and each of these files must mention every row. Prints each violation with the section that explains the step, and
exits with 1 if there is one.

--plant=TABLE:NAME has that table one row more, of no file, and looks at rows alone: to see the test fail.
"""
import argparse
import pathlib
import re
import sys

PARTS = "ir", "frontend", "passes", "backend", "driver", "python/stc", "tests", "tests/unit", "docs", "packaging", "examples"
PLACE = re.compile(r"NAME|TARGET|KNOB_NAME|SEED")
# Names in the page that are of no file of stc: options, text of the language, words of other programs.
FOREIGN = re.compile(r"^-|^[A-Z_]+$|\s|=|^\.|^\W")


def rows_of_ops(text):
    """The functions of the language on floats: (name, ID)."""
    return [(name, id_) for id_, name, operands, flags in
            re.findall(r'^OP\((\w+),\s*"([\w.]+)",\s*\w+,\s*-?\d+,\s*(\w+),\s*\w+,\s*\w+,\s*([^)]*)\)', text, re.M)
            if "FUNCTION" in flags and operands in ("FLOATS", "NUMBERS")]


def rows_of_passes(text):
    return [(name, id_) for id_, name in re.findall(r'^PASS\((\w+),\s*"([\w-]+)"', text, re.M)]


def rows_of_rules(text):
    """The rules that have a word: those with an op."""
    return [(name, id_) for id_, name, op in re.findall(r'^OUTSIDE\((\w+),\s*"([a-z]+)",\s*(\w+)', text, re.M) if op != "COUNT"]


def rows_of_families(text):
    return [(name, id_) for id_, name in re.findall(r'^FAMILY\((\w+),\s*"?(\w+)"?', text, re.M)]


def rows_of_knobs(text):
    return [(name, id_) for id_, name in re.findall(r"^KNOB\((\w+),\s*(\w+)", text, re.M)]


def rows_of_targets(text):
    row = re.search(r"^#define ARCHES\(row\) (.*)$", text, re.M).group(1)
    return [(name, name) for name in re.findall(r"row\((\w+)\)", row)]


WORD, ID, ANY, OPTION = r"\b{name}\b", r"\b{id}\b", r"(?<![\w-]){name}(?![\w-])", r"-{name}\b"
# A table, its rows, the section of the page, and where a row must be named: the file, and how.
FOLLOW = {
    "ops": ("ir/ops.def", rows_of_ops, "An op or a function of the language", [
        ("ir/run/eval.c", r"\bOP_{id}\b"), ("ir/run/derive.c", r"\bOP_{id}\b"), ("passes/transpose/adjoint.c", r"\bOP_{id}\b"),
        ("python/stc/_adjoint.py", r'"{name}"'), ("tests/gradient/random_programs.py", r"\b{name}\("),
        ("docs/language.md", WORD), ("docs/ir.md", WORD)]),
    "passes": ("passes/passes.def", rows_of_passes, "A pass", [("passes/passes.h", r"(?<![\w-]){name}(?:\.c\b|/)"), ("docs/passes.md", r"^\| `{name}[(`]")]),
    "rules": ("ir/outside.def", rows_of_rules, "An outside rule", [
        ("docs/language.md", r"^\| `outside {name}\b"), ("docs/ir.md", WORD), ("docs/manifest.md", WORD),
        ("tests/programs/features.py", r'"{name}"'), ("tests/programs/generate.py", r'"{name}"')]),
    "families": ("ir/families.def", rows_of_families, "A family of schedules", [
        ("passes/plan/axes.def", r"^AXES\({id},"), ("docs/command.md", WORD), ("docs/passes.md", WORD), ("driver/stc.h", WORD),
        ("python/stc/_program.py", WORD), ("tests/programs/generate.py", WORD), ("tests/driver/options.test", WORD),
        ("tests/habits/completion.test", WORD)]),
    "knobs": ("ir/knobs.def", rows_of_knobs, "A knob of schedules", [("docs/command.md", OPTION)]),
    "targets": ("backend/emit.h", rows_of_targets, "A target", [
        ("backend/backend.h", ANY), ("docs/backends.md", WORD), ("docs/command.md", WORD), ("tests/emit/ops.test", r"-march={name}\b"),
        ("driver/cli/options/options-table.c", WORD), ("driver/stc.h", r'"{name}"')]),
}


def sections(page):
    """The page's text by its headings, and all of it by the empty one."""
    parts = re.split(r"^## (.*)$", page, flags=re.M)
    return {"": page, **dict(zip(parts[1::2], parts[2::2]))}


def there(source, name):
    """Is it a file or a folder, from the top or from a part, or the end of one's path?"""
    name = name.rstrip("/")
    return any((source / part / name).exists() for part in ("", *PARTS)) or \
        any(p for part in ("ir", "frontend", "passes", "backend", "driver", "tests", "docs") for p in (source / part).rglob(pathlib.Path(name).name)
            if str(p).endswith("/" + name))


def wrong_page(source, page, code):
    """A line for each file, test or name of C in the page's code spans that is not there."""
    for span in sorted(set(re.findall(r"`([^`\n]+)`", page))):
        if PLACE.search(span) or FOREIGN.search(span):
            continue
        if re.search(r"/|\.(?:c|h|def|md|py|test|cmake)$", span):
            if not there(source, span):
                yield f"docs/extending.md names `{span}`, which is not there"
        elif re.fullmatch(r"[A-Za-z]\w*(?:\.\w+)?(?:\(\))?", span) and not re.search(rf"\b{re.escape(span.strip('()').split('.')[-1])}\b", code):
            yield f"docs/extending.md names `{span}`, which no source has"


def wrong_rows(source, page, planted):
    """A line for each row that a file does not name, and for each such file that the page's section does not name."""
    by = sections(page)
    for table, (file, rows, title, follow) in FOLLOW.items():
        names = rows((source / file).read_text(encoding="utf-8"))
        names += [(n, n) for t, _, n in (p.partition(":") for p in planted) if t == table]
        if not names:
            yield f"{file} has no rows that this test can read"
        for path, how in follow:
            folder = str(pathlib.Path(path).parent)
            if path not in by[title] and pathlib.Path(path).name not in by[title] and folder not in by[title]:
                yield f"docs/extending.md, \"{title}\", does not name {path}, which knows each row of {file}"
            text = (source / path).read_text(encoding="utf-8")
            for name, id_ in names:
                if not re.search(how.format(name=re.escape(name), id=id_), text, re.M):
                    yield f"{path} has nothing of {name}, a row of {file}: docs/extending.md, \"{title}\""


def wrong_passes(source):
    """A line for each pass without a file of its name or without a test, and for each whose options docs/passes.md has otherwise."""
    text = (source / "passes/passes.def").read_text(encoding="utf-8")
    tests = "\n".join(p.read_text(encoding="utf-8") for p in sorted((source / "tests").rglob("*")) if p.suffix in {".test", ".sir", ".kir", ".stn", ".c"})
    page = (source / "docs/passes.md").read_text(encoding="utf-8")
    for name, options in re.findall(r'^PASS\(\w+,\s*"([\w-]+)",\s*(?:"(?:[^"\\]|\\.)*"\s*)+,\s*\w+,\s*\w+,\s*([^)]*)\)', text, re.M):
        if not list((source / "passes").rglob(f"{name}.c")):
            yield f"pass {name} is in no file {name}.c: docs/extending.md, \"A pass\""
        if not (source / "tests" / name).is_dir() and not re.search(rf"(?<![\w-]){name}(?![\w-])", tests):
            yield f"no test below tests/ runs pass {name}: docs/extending.md, \"A pass\""
        row = re.search(rf"^\| `{name}(?:\(([^`]*)\))?`", page, re.M)
        said = set(re.findall(r"(\w+)=", row.group(1) or "")) if row else set()
        for option in sorted(said - set(re.findall(r'"(\w+)"', options))):
            yield f"docs/passes.md has option {option} of {name}, which its row in passes/passes.def has not"


def wrong_tables(source):
    """A line for a list of C that a table's rows must be in."""
    maps = re.findall(r'^OP\((\w+),[^\n]*\bMAP,', (source / "ir/ops.def").read_text(encoding="utf-8"), re.M)
    listed = re.search(r"#define COORDINATE_MAPS(.*?[^\\])\n\n", (source / "ir/op.h").read_text(encoding="utf-8"), re.S).group(1)
    for name in maps:
        if not re.search(rf"\bOP_{name}\b", listed):
            yield f"ir/op.h: COORDINATE_MAPS lacks OP_{name}, a row of form MAP: docs/extending.md, \"An outside rule\""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--plant", action="append", default=[], help="TABLE:NAME, a row to take for there")
    args = parser.parse_args()
    page = (args.source / "docs/extending.md").read_text(encoding="utf-8")
    if args.plant:
        lines = [*wrong_rows(args.source, page, args.plant)]
        for line in lines:
            print(line)
        return bool(lines)
    code = "\n".join(p.read_text(encoding="utf-8") for part in ("ir", "frontend", "passes", "backend", "driver", "python/stc", "tests")
                     for p in sorted((args.source / part).rglob("*")) if p.suffix in {".c", ".h", ".def", ".py", ".txt"} and p.is_file())
    lines = [*wrong_page(args.source, page, code), *wrong_rows(args.source, page, args.plant), *wrong_passes(args.source), *wrong_tables(args.source)]
    for line in lines:
        print(line)
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
