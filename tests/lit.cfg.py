# How lit runs the tests of the stc command: `%stc` is the command, FileCheck, not and split-file are LLVM 22's.
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import runlines

config.name = "stc"
config.test_format = runlines.Script()
config.suffixes = [".stn", ".sir", ".kir", ".test"]
config.excludes = ["programs", "fuzz", "bench", "gpu", "unit", "standin", "api", "Inputs", "CMakeFiles"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = config.stc_test_exec_root
config.environment["PATH"] = config.llvm_tools + os.pathsep + config.environment["PATH"]
config.environment["XDG_CACHE_HOME"] = os.path.join(config.stc_test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
if config.stc_sanitize:
    config.available_features.add("sanitize")
if lit_config.params.get("beside"):
    config.available_features.add("beside")   # what a tree with the sanitizers runs in a loop need not be run again here
config.stc = lit_config.params.get("stc", config.stc)   # tests/habits/mutate.py
if config.stc_sanitize:
    # What runs on the CPU is compiled without optimisation, unless the test says another level (the last one counts): LLVM, which is none of what the
    # sanitizers look into, would take nine tenths of the time. With optimisation the other tree runs kernels: matrix.*, random, data.restart.
    config.substitutions.append(("%stc run ", "%stc run -O0 "))
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


def add_mpi(name, mpirun, oversubscribe, module):
    """Has tests run `%NAME -n 3 ...` with several processes on the MPI that `module` is made for, if both are there."""
    if not shutil.which(mpirun) or not os.path.exists(module):
        return
    settings = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none"
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:verify_asan_link_order=0"
    config.available_features.add(name)
    config.substitutions.append((f"%{name}_module", module))
    config.substitutions.append((f"%{name}", f"env {settings} ASAN_OPTIONS={leaks} STC_MPI={module} timeout 300 {mpirun} {oversubscribe}"))


add_mpi("openmpi", "mpirun.openmpi", "--oversubscribe", os.path.join(config.test_exec_root, "openmpi", "stc-mpi.so"))
add_mpi("mpich", "mpirun.mpich", "", os.path.join(config.test_exec_root, "mpich", "stc-mpi.so"))


def cuda_tool(name):
    """The path of a program of NVIDIA's: in PATH, of a toolkit or of a Python package; None if there is none."""
    packages = [path for folder in sys.path for path in glob.glob(os.path.join(folder, "nvidia", "cu*", "bin"))]
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"] + packages))


ptxas, nvdisasm = cuda_tool("ptxas"), cuda_tool("nvdisasm")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if ptxas and nvdisasm:
    config.available_features.add("nvdisasm")
    config.substitutions.append(("%nvdisasm", nvdisasm))
