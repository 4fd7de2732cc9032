"""What an artifact runs on: NVIDIA's driver, AMD's runtime, or this CPU, each opened when it is first needed. Nothing of libstc."""
from __future__ import annotations

import ctypes as c
import math
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Sequence

from . import _arrays as arrays
from ._errors import DeviceError, Message
from ._expression import CTYPES

P = c.c_void_p


def _failed(why: str) -> DeviceError:
    return DeviceError(4, [Message("error", None, 0, 0, None, why)])


class _Values:
    """Arguments of a launch: `pointers` to their values, in order, and the values laid out as the manifest says (`packed`)."""

    def __init__(self, arguments: Sequence[Mapping[str, Any]], values: Sequence[Any], size: int):
        self._values: List[Any] = [P(v) if a["kind"] == "buffer" else CTYPES[a["type"]](v) for a, v in zip(arguments, values)]
        self.pointers = (P * (len(values) + 1))(*[c.addressof(v) for v in self._values])
        self.packed = c.create_string_buffer(max(size, 1))
        for a, v in zip(arguments, self._values):
            c.memmove(c.addressof(self.packed) + a["offset"], c.addressof(v), a["bytes"])


class Cuda:
    """An NVIDIA GPU through libcuda.so.1, in the device's primary context."""
    kind = arrays.CUDA

    def __init__(self, number: int):
        try:
            self._cu = c.CDLL("libcuda.so.1")
        except OSError:
            raise _failed("libcuda.so.1 is not there: install NVIDIA's driver") from None
        self._cu.cuMemFree_v2.argtypes = [c.c_uint64]
        self._cu.cuMemAlloc_v2.argtypes = [c.POINTER(c.c_uint64), c.c_size_t]
        self._cu.cuMemcpyHtoD_v2.argtypes = [c.c_uint64, P, c.c_size_t]
        self._cu.cuMemcpyDtoH_v2.argtypes = [P, c.c_uint64, c.c_size_t]
        self._cu.cuMemcpyDtoDAsync_v2.argtypes = [c.c_uint64, c.c_uint64, c.c_size_t, P]
        self._cu.cuLaunchKernel.argtypes = [P] + [c.c_uint] * 7 + [P, P, P]
        self.stream, self.number = 0, number
        device, context = c.c_int(), P()
        self._check(self._cu.cuInit(0), "starting the driver")
        self._check(self._cu.cuDeviceGet(c.byref(device), number), f"finding device {number}")
        self._check(self._cu.cuDevicePrimaryCtxRetain(c.byref(context), device), "making a context")
        self._context = context
        self.current()

    def _check(self, e: int, what: str) -> None:
        if e:
            text = c.c_char_p()
            self._cu.cuGetErrorString(e, c.byref(text))
            raise _failed(f"cuda: {what}: {(text.value or b'unknown error').decode()} ({e})")

    def current(self) -> None:
        """Makes the context that of this thread."""
        self._check(self._cu.cuCtxSetCurrent(self._context), "using the context")

    def load(self, path: Path, manifest: Mapping[str, Any]) -> None:
        """Loads the PTX and finds its kernels."""
        module, log = P(), c.create_string_buffer(8192)
        values = (P * 2)(c.cast(log, P), P(len(log)))
        e = self._cu.cuModuleLoadDataEx(c.byref(module), path.read_bytes() + b"\0", 2, (c.c_int * 2)(5, 6), values)
        self._check(e, f"loading {path}: {log.value.decode(errors='replace')}")
        self._functions = {}
        for k in manifest["kernels"]:
            f = P()
            self._check(self._cu.cuModuleGetFunction(c.byref(f), module, k["name"].encode()), f"finding kernel {k['name']}")
            if k["dynamic_shared_bytes"] > 48 * 1024:
                self._check(self._cu.cuFuncSetAttribute(f, 8, k["dynamic_shared_bytes"]), "raising the shared memory of a block")
            self._functions[k["name"]] = f
        self._module = module

    def close(self) -> None:
        """Unloads the code. Nothing else may be called afterwards."""
        self._cu.cuCtxSetCurrent(self._context)
        self._cu.cuModuleUnload(self._module)

    def alloc(self, size: int) -> int:
        p = c.c_uint64()
        self._check(self._cu.cuMemAlloc_v2(c.byref(p), max(size, 1)), f"allocating {size} bytes")
        return p.value or 0

    def free(self, p: int) -> None:
        self._cu.cuMemFree_v2(p)

    def wait(self) -> None:
        self._check(self._cu.cuStreamSynchronize(P(self.stream)) if self.stream else self._cu.cuCtxSynchronize(), "running the kernels")

    def put(self, to: int, data: int, size: int) -> None:
        self.wait()
        self._check(self._cu.cuMemcpyHtoD_v2(to, data, size) if size else 0, "copying to the device")

    def fetch(self, data: int, at: int, size: int) -> None:
        self.wait()
        self._check(self._cu.cuMemcpyDtoH_v2(data, at, size) if size else 0, "copying from the device")

    def copy(self, to: int, at: int, size: int) -> None:
        self._check(self._cu.cuMemcpyDtoDAsync_v2(to, at, size, self.stream) if size else 0, "copying within the device")

    def launch(self, kernel: Mapping[str, Any], grid: Sequence[int], values: Sequence[Any]) -> None:
        args = _Values(kernel["arguments"], values, kernel["argument_bytes"])
        block = [kernel["block"][axis] for axis in "xyz"]
        blocks = hardware_blocks(grid)
        e = self._cu.cuLaunchKernel(self._functions[kernel["name"]], *blocks, *block, kernel["dynamic_shared_bytes"], self.stream,
                                    args.pointers, None)
        self._check(e, f"launching {kernel['name']}")


def hardware_blocks(grid: Sequence[int]) -> list[int]:
    """Blocks along x, y and z of a kernel that has so many along its dimensions: of four the first two share z."""
    x, y, *z = (list(reversed(grid)) + [1, 1])[:max(3, len(grid))]
    return [x, y, math.prod(z)]


class Hip:
    """An AMD GPU through libamdhip64.so."""
    kind = arrays.ROCM

    def __init__(self, number: int):
        self._hip: Any = None
        for name in "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5":
            try:
                self._hip = c.CDLL(name)
                break
            except OSError:
                self._hip = None
        if self._hip is None:
            raise _failed("libamdhip64.so is not there: install the ROCm runtime")
        h = self._hip
        h.hipGetErrorString.restype = c.c_char_p
        h.hipMalloc.argtypes, h.hipFree.argtypes = [c.POINTER(P), c.c_size_t], [P]
        h.hipMemcpyHtoD.argtypes = h.hipMemcpyDtoH.argtypes = [P, P, c.c_size_t]
        h.hipMemcpyDtoDAsync.argtypes = [P, P, c.c_size_t, P]
        h.hipModuleLaunchKernel.argtypes = [P] + [c.c_uint] * 7 + [P, P, P]
        self.stream, self.number = 0, number
        n = c.c_int()
        self._check(h.hipGetDeviceCount(c.byref(n)), "counting devices")
        self.current()

    def _check(self, e: int, what: str) -> None:
        if e:
            raise _failed(f"hip: {what}: {(self._hip.hipGetErrorString(e) or b'unknown error').decode()} ({e})")

    def current(self) -> None:
        self._check(self._hip.hipSetDevice(self.number), f"using device {self.number}")

    def load(self, path: Path, manifest: Mapping[str, Any]) -> None:
        module = P()
        self._code = path.read_bytes()
        self._check(self._hip.hipModuleLoadData(c.byref(module), self._code), f"loading {path}")
        self._functions = {}
        for k in manifest["kernels"]:
            f = P()
            self._check(self._hip.hipModuleGetFunction(c.byref(f), module, k["name"].encode()), f"finding kernel {k['name']}")
            self._functions[k["name"]] = f
        self._module = module

    def close(self) -> None:
        self._hip.hipModuleUnload(self._module)

    def alloc(self, size: int) -> int:
        p = P()
        self._check(self._hip.hipMalloc(c.byref(p), max(size, 1)), f"allocating {size} bytes")
        return p.value or 0

    def free(self, p: int) -> None:
        self._hip.hipFree(p)

    def wait(self) -> None:
        self._check(self._hip.hipStreamSynchronize(P(self.stream)) if self.stream else self._hip.hipDeviceSynchronize(), "running the kernels")

    def put(self, to: int, data: int, size: int) -> None:
        self.wait()
        self._check(self._hip.hipMemcpyHtoD(to, data, size) if size else 0, "copying to the device")

    def fetch(self, data: int, at: int, size: int) -> None:
        self.wait()
        self._check(self._hip.hipMemcpyDtoH(data, at, size) if size else 0, "copying from the device")

    def copy(self, to: int, at: int, size: int) -> None:
        self._check(self._hip.hipMemcpyDtoDAsync(to, at, size, self.stream) if size else 0, "copying within the device")

    def launch(self, kernel: Mapping[str, Any], grid: Sequence[int], values: Sequence[Any]) -> None:
        args = _Values(kernel["arguments"], values, kernel["argument_bytes"])
        size = c.c_size_t(kernel["argument_bytes"])
        extra = (P * 5)(1, c.addressof(args.packed), 2, c.addressof(size), 3)
        block = [kernel["block"][axis] for axis in "xyz"]
        blocks = hardware_blocks(grid)
        e = self._hip.hipModuleLaunchKernel(self._functions[kernel["name"]], *blocks, *block, kernel["dynamic_shared_bytes"], self.stream, None,
                                            extra)
        self._check(e, f"launching {kernel['name']}")


class Host:
    """This CPU, one core. The object file is linked by the C compiler that CC names, or cc."""
    kind, stream, number = arrays.CPU, 0, 0

    def __init__(self, number: int):
        self._memory: Dict[int, Any] = {}

    def current(self) -> None:
        pass

    def load(self, path: Path, manifest: Mapping[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder, "artifact.so")
            try:
                done = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-o", str(library), str(path), "-lm"], capture_output=True, text=True)
            except FileNotFoundError:
                raise _failed(f"{path} is an object file, which a C compiler must link; there is none (CC names one). stc.compile needs none") from None
            if done.returncode:
                raise _failed(f"linking {path}: {done.stderr}")
            self._library = c.CDLL(str(library))

    def close(self) -> None:
        pass

    def alloc(self, size: int) -> int:
        raw = c.create_string_buffer(max(size, 1) + 64)
        at = (c.addressof(raw) + 63) // 64 * 64
        self._memory[at] = raw
        return at

    def free(self, p: int) -> None:
        del self._memory[p]

    def wait(self) -> None:
        pass

    def copy(self, to: int, at: int, size: int) -> None:
        c.memmove(to, at, size)

    put = fetch = copy

    def launch(self, kernel: Mapping[str, Any], grid: Sequence[int], values: Sequence[Any]) -> None:
        args = _Values(kernel["arguments"], values, kernel["argument_bytes"])
        raw = c.create_string_buffer(kernel["scratch_bytes"] + 64)
        scratch = P((c.addressof(raw) + 63) // 64 * 64)
        function = self._library[kernel["name"]]
        function.argtypes, function.restype = [P, P, P], None
        block = (c.c_int64 * 4)()
        for i in range(math.prod(grid)):
            for d in reversed(range(len(grid))):
                block[d] = i % grid[d]
                i //= grid[d]
            function(args.pointers, block, scratch)


DRIVERS: Dict[str, Callable[[int], Any]] = {"nvptx": Cuda, "amdgpu": Hip, "host": Host}
