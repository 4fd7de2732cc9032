"""check.py FOLDER [CLANG-FORMAT]: is every C file of the checkout in the style of .clang-format, with no line over 120 wide (clang-format
lets a file's first comment pass), and no line of a document over 140 wide?

Tables and code in documents may be wider. Prints what is not as it should be, with what to do, and exits with 1.
"""
import pathlib
import subprocess
import sys

WIDTH, WIDTH_OF_C = 140, 120
FOLDERS = ["frontend", "ir", "passes", "backend", "driver", "tests", "examples"]


def c_files(top):
    """All C sources and headers below the project's folders."""
    return sorted(str(p) for folder in FOLDERS for p in (top / folder).rglob("*.[ch]"))


def wide_lines(path):
    """Numbers of the lines of a document that are too wide, counted in characters."""
    code, found = False, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.lstrip().startswith("|") and len(line) > WIDTH:
            found.append(number)
    return found


def main():
    top, program = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    bad = False
    for path in [*top.glob("*.md"), *(top / "docs").rglob("*.md"), *(top / "examples").rglob("*.md")]:
        for number in wide_lines(path):
            print(f"{path}:{number}: over {WIDTH} characters: break the line at a space")
            bad = True
    for path in c_files(top):
        for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
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
