"""Arrays in and out: NumPy on the CPU, DLPack and __cuda_array_interface__ on GPUs."""
from __future__ import annotations

import ctypes as c
import functools
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np

from ._errors import Owner

CPU, CUDA, ROCM, MANAGED = 1, 2, 10, 13
_HOST_KINDS = (CPU, 3, 11)
_GPU_KINDS = (CUDA, ROCM, MANAGED)

NUMPY = {"bool": np.dtype(np.bool_), "i8": np.dtype("i1"), "i16": np.dtype("i2"), "i32": np.dtype("i4"), "i64": np.dtype("i8"),
         "f16": np.dtype("f2"), "bf16": np.dtype("u2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "u8": np.dtype("u1"),
         "u16": np.dtype("u2"), "u32": np.dtype("u4")}


class _DLDevice(c.Structure):
    _fields_ = [("kind", c.c_int32), ("number", c.c_int32)]


class _DLType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class _DLTensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", _DLDevice), ("rank", c.c_int32), ("type", _DLType), ("shape", c.POINTER(c.c_int64)),
                ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


class ManagedTensor(c.Structure):
    """DLPack's DLManagedTensor."""


DELETER = c.CFUNCTYPE(None, c.c_void_p)
ManagedTensor._fields_ = [("tensor", _DLTensor), ("owner", c.c_void_p), ("deleter", DELETER)]

_TYPE_NAMES = {(6, 8): "bool", (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (2, 16): "f16", (4, 16): "bf16", (2, 32): "f32",
               (2, 64): "f64", (1, 8): "u8", (1, 16): "u16", (1, 32): "u32"}
_python = c.pythonapi
_python.PyCapsule_GetPointer.restype, _python.PyCapsule_GetPointer.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
_python.PyCapsule_New.restype, _python.PyCapsule_New.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
_peek = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", _python))
_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(("PyCapsule_IsValid", _python))


class Memory(NamedTuple):
    """An array somewhere: its address, the type's name in stc, lengths and places apart (elements) per dimension, the kind of its device in
    DLPack's numbers and which of them, and what keeps it alive."""
    address: int
    type: str
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]]
    kind: int
    number: int
    keep: Any


def device_kind(a: Any) -> int:
    """DLPack's number of the kind of device that the array is on; CPU for what says nothing of it."""
    if isinstance(a, (np.ndarray, np.generic)):
        return CPU
    if hasattr(a, "__dlpack_device__"):
        return int(a.__dlpack_device__()[0])
    return CUDA if hasattr(a, "__cuda_array_interface__") else CPU


def is_on_gpu(a: Any) -> bool:
    return device_kind(a) in _GPU_KINDS


def is_immutable(a: Any) -> bool:
    """May nobody write to the array? JAX's arrays are such."""
    return type(a).__module__.split(".")[0] in ("jax", "jaxlib")


def type_name(dtype: Any) -> str:
    """stc's name of a NumPy dtype; "?" if there is none."""
    dtype = np.dtype(dtype)
    return "bf16" if dtype.name == "bfloat16" else next((n for n, d in NUMPY.items() if d == dtype and n != "bf16"), "?")


def _elements_apart(strides: Tuple[int, ...], size: int, cure: str) -> Tuple[int, ...]:
    """Strides in bytes as numbers of elements."""
    for d, s in enumerate(strides):
        if s % max(size, 1):
            raise ValueError(f"the array's places along dimension {d} are {s} bytes apart, no whole number of elements apart of {size} bytes: it is part of another "
                             f"array. {cure}")
    return tuple(s // max(size, 1) for s in strides)


def _cure(name: str) -> str:
    """What to do about an array on a GPU in which no field can live; to assign it would be the same."""
    return (f"A field on a GPU lives in the array that it is given: give it a dense copy in C order, run[{name!r}] = array.contiguous() in torch, "
            "cupy.ascontiguousarray(array) in CuPy")


def check_dense(m: Memory, name: str) -> None:
    """Is the array for field `name`, of single elements, dense in C order?"""
    dense, strides = 1, m.strides or ()
    for d in reversed(range(len(strides))):
        if m.shape[d] > 1 and strides[d] != dense:
            raise ValueError(f"{name}: the array's places along dimension {d} are {strides[d]} elements apart, and kernels are made for {dense}: it is padded, "
                             f"in another order, or part of another array. {_cure(name)}")
        dense *= m.shape[d]


def is_shape(shape: Tuple[int, ...], of: Tuple[int, ...]) -> bool:
    """Is `shape` that shape, from which lengths of 1 may be left out?"""
    if not of:
        return not shape
    if shape and shape[-1] == of[-1] and is_shape(shape[:-1], of[:-1]):
        return True
    return of[-1] == 1 and is_shape(shape, of[:-1])


def memory_of(a: Any, name: str, stream: Optional[int] = None) -> Memory:
    """Where the array for field `name` is. On a GPU work in `stream` begins when the array is filled."""
    strides: Optional[Tuple[int, ...]]
    if isinstance(a, np.ndarray):
        if not a.flags.writeable:
            raise ValueError("the array is read-only, and a plan writes to the arrays it is bound to; assign it instead: run[name] = array")
        strides = _elements_apart(a.strides, a.itemsize, f"Give it a dense copy in C order, or assign it: run[{name!r}] = array")
        return Memory(a.ctypes.data, type_name(a.dtype), a.shape, strides, CPU, 0, a)
    if hasattr(a, "__dlpack__"):
        if getattr(a, "requires_grad", False):
            a = a.detach()
        on_gpu = device_kind(a) in _GPU_KINDS
        capsule = a.__dlpack__(stream=(stream or (1 if device_kind(a) == CUDA else 0))) if on_gpu else a.__dlpack__()
        t = c.cast(_python.PyCapsule_GetPointer(capsule, b"dltensor"), c.POINTER(ManagedTensor)).contents.tensor
        shape = tuple(t.shape[i] for i in range(t.rank))
        strides = tuple(t.strides[i] for i in range(t.rank)) if t.strides else None
        name = _TYPE_NAMES.get((t.type.code, t.type.bits), "?") if t.type.lanes == 1 else "?"
        return Memory((t.data or 0) + t.offset, name, shape, strides, t.device.kind, t.device.number, (a, capsule))
    if hasattr(a, "__cuda_array_interface__"):
        i = a.__cuda_array_interface__
        item = np.dtype(i["typestr"]).itemsize
        strides = _elements_apart(i["strides"], item, _cure(name)) if i.get("strides") else None
        return Memory(i["data"][0] or 0, type_name(i["typestr"]), tuple(i["shape"]), strides, CUDA, 0, a)
    raise TypeError(f"{type(a).__name__} is no array in memory: it has neither __dlpack__ nor __cuda_array_interface__")


def to_numpy(a: Any) -> np.ndarray:
    """The values as a NumPy array, copied from the device where needed."""
    if hasattr(a, "requires_grad") and a.requires_grad:
        a = a.detach()
    if is_on_gpu(a) and not hasattr(a, "__array__") and hasattr(a, "get"):
        return a.get()
    if is_on_gpu(a) and hasattr(a, "cpu"):
        a = a.cpu()
    return np.asarray(a)


def stream_handle(stream: Any) -> int:
    """The CUstream or hipStream_t of a torch or CuPy stream, or of a number; 0 is the default stream."""
    for name in ("cuda_stream", "ptr", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    return int(stream or 0)


_alive: dict = {}


@DELETER
def _let_go(address):
    """The deleter of a tensor that this package has lent."""
    owner = _alive.pop(address, None)
    if owner:
        owner[1](address)


@c.PYFUNCTYPE(None, c.c_void_p)
def _drop(capsule):
    """The destructor of a capsule that nobody took the tensor of."""
    if _is_valid(capsule, b"dltensor"):
        _let_go(_peek(capsule, b"dltensor"))


# Tensors may outlive this module when Python ends: what their deleter calls stays.
for _f in (_let_go, _drop):
    _python.Py_IncRef(c.py_object(_f))


def capsule_of(managed: int, owner: Any):
    """A DLPack capsule for a tensor of libstc's; it keeps `owner` alive."""
    tensor = c.cast(managed, c.POINTER(ManagedTensor)).contents
    free = DELETER(c.cast(tensor.deleter, c.c_void_p).value)  # type: ignore[arg-type]
    _alive[managed] = (owner, free)
    tensor.deleter = _let_go
    return _python.PyCapsule_New(managed, b"dltensor", c.cast(_drop, c.c_void_p))


class Held:
    """A tensor of libstc's, whose memory stays where it is as long as this object, and with it the plan."""

    def __init__(self, plan, managed: int):
        managed_tensor = c.cast(managed, c.POINTER(ManagedTensor)).contents
        self._plan, self._managed, self._delete = plan._life, managed, managed_tensor.deleter
        t = managed_tensor.tensor
        self.address, self.device, self.rank = t.data or 0, (t.device.kind, t.device.number), t.rank
        self._elements_apart = tuple(t.strides[i] for i in range(t.rank))

    def strides(self, itemsize: int) -> Tuple[int, ...]:
        """Bytes from one element to the next along each dimension."""
        return tuple(n * itemsize for n in self._elements_apart)

    def __del__(self):
        if hasattr(self, "_delete"):
            self._delete(self._managed)


class DeviceArray(Owner):
    """A field in the memory of a GPU. It shows the field as it is after each run of its plan; torch.from_dlpack, cupy.asarray and
    jax.dlpack.from_dlpack take it without a copy, numpy() copies it.

    shape: points per dimension, slowest first, and behind them a vector's length. dtype: NumPy's. strides: in bytes. address: the device
    pointer. To ask for these two, or for the memory by one of those protocols, has the plan lay its rows out without padding; numpy() does not.
    """
    _copying = "array.numpy() copies it to the host's memory, torch.from_dlpack(array).clone() within the GPU's"
    _pickling = "pickle array.numpy()"

    def __init__(self, plan, field: int, component: int, type: str, shape: Tuple[int, ...]):
        self._plan, self._at = plan, (field, component)
        self.type, self.shape, self.dtype = type, shape, NUMPY[type]

    @functools.cached_property
    def _held(self) -> Held:
        """What holds the memory, from when somebody first asks for it."""
        return Held(self._plan, self._tensor())

    @property
    def address(self) -> int:
        return self._held.address

    @property
    def strides(self) -> Tuple[int, ...]:
        return self._held.strides(self.dtype.itemsize)

    def _tensor(self) -> int:
        return self._plan._to_dlpack(*self._at)

    def __dlpack_device__(self) -> Tuple[int, int]:
        kind, _, number = self._plan.device.partition(":")
        return (ROCM if kind == "hip" else CUDA, int(number or 0)) if (number or "0").isdigit() else self._held.device

    def __dlpack__(self, *, stream=None, **_):
        """A capsule. Unless `stream` is -1 the plan's work is done when this returns."""
        if stream != -1:
            self._plan.wait()
        return capsule_of(self._tensor(), self._plan._life)

    @property
    def __cuda_array_interface__(self) -> dict:
        self._plan.wait()
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": self.strides, "version": 3}

    def numpy(self) -> np.ndarray:
        """A copy in the host's memory."""
        return self._plan._get(*self._at)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.type}, device={self._plan.device!r})"


def series(rows: List[Tuple[int, Any]]) -> np.ndarray:
    """What a reduction gave, rows of a step and a value, or the values of all members."""
    each = isinstance(rows[0][1], list)
    kind = "i8" if isinstance(rows[0][1][0] if each else rows[0][1], int) else "f8"
    return np.array([(step, tuple(v)) if each else (step, v) for step, v in rows], [("step", "i8"), ("value", kind, (len(rows[0][1]),)) if each else ("value", kind)])
