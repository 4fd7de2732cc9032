"""hardened.py [--optimized] FILE...: the programs and libraries that are shipped, as `readelf` sees them: addresses are filled in before they begin
(BIND_NOW) and are read-only then (RELRO), the stack is not executable, programs lie anywhere (PIE), and no entry of a RUNPATH is empty or relative,
which would be the current folder. --optimized: overflows of stacks and of the C library's buffers are noticed, too, which a build without
optimisation does not do; a program that calls nothing of BUFFERED has no buffers.
"""
import re
import subprocess
import sys

BUFFERED = {"memcpy", "memset", "memmove", "snprintf", "strcpy", "strcat", "read", "fread"}


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], capture_output=True, text=True, check=True).stdout


def faults(path, optimized):
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
    if not re.search(r"Type:\s+DYN", readelf("-h", path)):
        wrong.append("it lies at one address always: it is not linked with -pie")
    called = set(re.findall(r"UND (\w+)", readelf("--dyn-syms", path)))
    has_buffers = optimized and any(name.strip("_").removesuffix("_chk") in BUFFERED for name in called)
    if has_buffers and "__stack_chk_fail" not in called:
        wrong.append("it is not compiled with -fstack-protector-strong")
    if has_buffers and not any(re.fullmatch(r"__\w+_chk", name) for name in called):
        wrong.append("it is not compiled with -D_FORTIFY_SOURCE")
    return [f"{path}: {text}" for text in wrong]


def main(files):
    optimized = "--optimized" in files
    files = [path for path in files if path != "--optimized"]
    wrong = [text for path in files for text in faults(path, optimized)]
    print("\n".join(wrong) or f"{len(files)} files")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
