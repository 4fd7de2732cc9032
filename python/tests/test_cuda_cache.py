"""Where NVIDIA's driver keeps compiled kernels, by the environment variables of the process, which it reads when it is started."""
import os
import subprocess
import sys

import pytest

STANDIN = os.environ.get("STC_STANDIN_DIR")
CODE = """
import ctypes, sys, stc
if "started" in sys.argv:
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
program = stc.compile("grid G = [0 .. 63], 1; field A : f32 on G; init i(A)[G] = 1; stencil s(A)[1 .. 62] = A[-1] + A[1];")
program.plan("host")
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
assert not getenv(b"CUDA_CACHE_MAXSIZE"), "CUDA was not asked for"
program.plan("cuda")
print([(getenv(b"CUDA_CACHE_" + name) or b"").decode() for name in (b"PATH", b"MAXSIZE")])
"""


def told(tmp_path, *arguments, **environment):
    """The variables behind a plan for CUDA."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CUDA_CACHE_")}
    done = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=False,
                          env=kept | dict(LD_LIBRARY_PATH=STANDIN, XDG_CACHE_HOME=str(tmp_path)) | environment)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
def test_where_kernels_are_kept(tmp_path):
    folder = str(tmp_path / "stc" / "code")
    assert told(tmp_path) == [folder, "1073741824"] and os.path.isdir(folder)
    assert told(tmp_path, CUDA_CACHE_PATH="/x") == ["/x", ""]
    assert told(tmp_path, CUDA_CACHE_DISABLE="1") == ["", ""]


@pytest.mark.skipif(not STANDIN, reason="STC_STANDIN_DIR does not name the stand-ins for the drivers")
def test_nothing_is_changed_where_the_driver_runs(tmp_path):
    assert told(tmp_path, "started") == ["", ""]
    assert not os.path.exists(tmp_path / "stc" / "code")
