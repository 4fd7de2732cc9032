# How lit runs the tests of the stc command: `%stc` is the command, FileCheck, not and split-file are LLVM 22's.
import glob
import os
import shutil
import sys

import lit.formats

config.name = "stc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".stn", ".sir", ".kir", ".test"]
config.excludes = ["programs", "fuzz", "bench", "gpu", "unit", "standin", "Inputs", "CMakeFiles"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = config.stc_test_exec_root
config.environment["PATH"] = config.llvm_tools + os.pathsep + config.environment["PATH"]
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if config.stc_sanitize:
    config.available_features.add("sanitize")
config.substitutions.append(("%stc", config.stc))
config.substitutions.append(("%examples", os.path.join(config.stc_source_root, "examples")))
config.substitutions.append(("%programs", os.path.join(config.test_source_root, "programs")))
config.substitutions.append(("%standin", os.path.join(config.test_exec_root, "standin")))
sanitized = " -fsanitize=address,undefined" if config.stc_sanitize else ""
config.substitutions.append(("%cc", "cc -std=c11 -Wall -Wextra -Werror" + sanitized))
config.substitutions.append(("%plugin", os.path.join(config.test_exec_root, "plugin")))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%objdump", os.path.join(config.llvm_tools, "llvm-objdump")))
config.substitutions.append(("%readobj", os.path.join(config.llvm_tools, "llvm-readobj")))


def cuda_tool(name):
    """The path of a program of NVIDIA's: in PATH, of a toolkit or of a Python package; None if there is none."""
    packages = [path for folder in sys.path for path in glob.glob(os.path.join(folder, "nvidia", "cu*", "bin"))]
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"] + packages))


ptxas, nvdisasm = cuda_tool("ptxas"), cuda_tool("nvdisasm")
if ptxas and nvdisasm:
    config.available_features.add("nvdisasm")
    config.substitutions.append(("%ptxas", ptxas))
    config.substitutions.append(("%nvdisasm", nvdisasm))
