"""hardened.py FILE...: the programs and libraries that are shipped, as `readelf` sees them: addresses are filled in before they begin (BIND_NOW)
and are read-only then (RELRO), the stack is not executable, and no entry of a RUNPATH is empty or relative, which would be the current folder."""
import re
import subprocess
import sys


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], capture_output=True, text=True, check=True).stdout


def faults(path):
    """What is wrong with the file, a line each."""
    dynamic, segments = readelf("-d", path), readelf("-l", path)
    paths = [entry for text in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic) for entry in text.split(":")]
    wrong = [f"an entry of its RUNPATH is '{entry}'" for entry in paths if not entry.startswith(("/", "$ORIGIN"))]
    if "BIND_NOW" not in dynamic:
        wrong.append("it is not linked with -z now")
    if "GNU_RELRO" not in segments:
        wrong.append("it is not linked with -z relro")
    if re.search(r"GNU_STACK.*RWE", segments):
        wrong.append("its stack is executable")
    return [f"{path}: {text}" for text in wrong]


def main(files):
    wrong = [text for path in files for text in faults(path)]
    print("\n".join(wrong) or f"{len(files)} files")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
