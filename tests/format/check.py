"""check.py FOLDER [CLANG-FORMAT]: is every C file of the checkout in the style of .clang-format, with no line over 120 wide (clang-format
lets a file's first comment pass), no C file of the product over 800 lines and no function over 60, and no line of a document over 140 wide?
Has no text of the checkout a mark that git leaves in a file that two changes meet in?

Tables and code in documents may be wider. Prints what is not as it should be, with what to do, and exits with 1.
"""
import pathlib
import re
import subprocess
import sys

WIDTH, WIDTH_OF_C, LINES_OF_FILE, LINES_OF_FUNCTION = 140, 120, 800, 60
TEXTS = [".md", ".c", ".h", ".def", ".py", ".stn", ".sir", ".kir", ".test", ".txt", ".cmake", ".yml"]
FOLDERS = ["frontend", "ir", "passes", "backend", "driver", "tests", "examples"]


def c_files(top):
    """All C sources and headers below the project's folders."""
    return sorted(str(p) for folder in FOLDERS for p in (top / folder).rglob("*.[ch]"))


def texts(top):
    """All texts of the checkout's first folder, and of the project's folders and docs."""
    below = [p for folder in [*FOLDERS, "docs", "python", "include"] for p in (top / folder).rglob("*")]
    return sorted(p for p in [*top.glob("*"), *below] if p.suffix in TEXTS and p.is_file())


def marks_of_merges(path):
    """Numbers of the lines with which git sets apart what two changes say of one place."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [number for number, line in enumerate(lines, 1) if re.match(r"(<{7}|>{7}|\|{7}) ", line)]


def wide_lines(path):
    """Numbers of the lines of a document that are too wide, counted in characters."""
    code, found = False, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.lstrip().startswith("|") and len(line) > WIDTH:
            found.append(number)
    return found


def long_code(name, lines):
    """A line for a C file, and for each function in it, that is too long. The format has a function's braces begin or end lines."""
    if len(lines) > LINES_OF_FILE:
        yield f"{name}: {len(lines)} lines, {LINES_OF_FILE} at most: split the file"
    begin = None
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z].*\(", line) and not line.endswith(";"):
            begin = number
        elif line == "}" and begin:
            if number - begin >= LINES_OF_FUNCTION:
                yield f"{name}:{begin}: a function of {number - begin + 1} lines, {LINES_OF_FUNCTION} at most: split it"
            begin = None


def main():
    top, program = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    bad = False
    for path in texts(top):
        for number in marks_of_merges(path):
            print(f"{path}:{number}: a mark of a merge: decide what stands here")
            bad = True
    for path in [*top.glob("*.md"), *(top / "docs").rglob("*.md"), *(top / "examples").rglob("*.md")]:
        for number in wide_lines(path):
            print(f"{path}:{number}: over {WIDTH} characters: break the line at a space")
            bad = True
    for path in c_files(top):
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        if not path.startswith((str(top / "tests"), str(top / "examples"))):
            for text in long_code(path, lines):
                print(text)
                bad = True
        for number, line in enumerate(lines, 1):
            if len(line) > WIDTH_OF_C:
                print(f"{path}:{number}: over {WIDTH_OF_C} characters: break the line at a space")
                bad = True
    if program:
        done = subprocess.run([program, "--dry-run", "-Werror", *c_files(top)], capture_output=True, text=True)
        if done.returncode:
            print(done.stderr[-4000:] + f"\nrun: {program} -i FILE")
            bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
