"""The part of XLA's interface for foreign functions that a call needs (version 0 of xla/ffi/api/c_api.h), by ctypes: what is in a call frame,
where its buffers are, which stream it is in, and how it fails. Nothing of JAX."""
from __future__ import annotations

import ctypes as c
from typing import Any, Callable, List, NamedTuple, Tuple

_P = c.c_void_p
_EXECUTE, _METADATA, _INTERNAL = 3, 1, 13
_TYPES = {1: "bool", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "u8", 7: "u16", 8: "u32", 10: "f16", 16: "bf16", 11: "f32", 12: "f64"}


class _Extension(c.Structure):
    _fields_ = [("size", c.c_size_t), ("type", c.c_int), ("next", _P)]


class _Version(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("major", c.c_int), ("minor", c.c_int)]


class _Metadata(c.Structure):
    _fields_ = [("size", c.c_size_t), ("version", _Version), ("traits", c.c_uint32)]


class _MetadataExtension(c.Structure):
    _fields_ = [("base", _Extension), ("metadata", c.POINTER(_Metadata))]


_FUNCTIONS = ("error_create", "error_message", "error_destroy", "register", "stream_get", "type_register", "context_get", "state_set", "state_get",
              "allocate", "free", "schedule", "threads", "future_create", "future_available", "future_error", "run_id", "device_get")


class _Api(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("version", _Version), ("internal", _P)] + [(name, _P) for name in _FUNCTIONS]  # type: ignore[assignment]


class _Buffer(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("type", c.c_int), ("data", _P), ("rank", c.c_int64), ("dims", c.POINTER(c.c_int64))]


class _Buffers(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("n", c.c_int64), ("types", _P), ("buffers", c.POINTER(c.POINTER(_Buffer)))]


class _Frame(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", c.POINTER(_Extension)), ("api", c.POINTER(_Api)), ("context", _P), ("stage", c.c_int),
                ("arguments", _Buffers), ("results", _Buffers)]


class _ErrorArgs(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("text", c.c_char_p), ("code", c.c_int)]


class _StreamArgs(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("context", _P), ("stream", _P)]


class _DeviceArgs(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extension", _P), ("context", _P), ("device", c.c_int32)]


HANDLER = c.CFUNCTYPE(_P, c.POINTER(_Frame))
_CALL = c.CFUNCTYPE(_P, _P)


class Buffer(NamedTuple):
    """An array of a call: its address, its type as stc calls it, its lengths."""
    address: int
    type: str
    shape: Tuple[int, ...]


class Call(NamedTuple):
    """A call: the arrays that it takes and gives, and on a GPU the stream and the number of the device."""
    arguments: List[Buffer]
    results: List[Buffer]
    stream: int
    device: int


def _list(b: _Buffers) -> List[Buffer]:
    one = (b.buffers[i].contents for i in range(b.n))
    return [Buffer(x.data or 0, _TYPES.get(x.type, "?"), tuple(x.dims[i] for i in range(x.rank))) for x in one]


def _get(frame: _Frame, name: str, args: Any) -> Any:
    """Calls a function of the interface whose arguments are a structure."""
    api = frame.api.contents
    if api.size < getattr(_Api, name).offset + c.sizeof(_P):
        return args
    args.size, args.context = c.sizeof(args), frame.context
    error = _CALL(getattr(api, name))(c.addressof(args))
    if error:
        raise RuntimeError(f"XLA does not tell of the call: {name}")
    return args


def handler(call: Callable[[Call], None], on_gpu: bool) -> Any:
    """The C function that XLA calls; what `call` raises becomes XLA's error. It must be kept alive."""
    def error(frame: _Frame, text: str) -> int:
        args = _ErrorArgs(c.sizeof(_ErrorArgs), None, text.encode(), _INTERNAL)
        return _CALL(frame.api.contents.error_create)(c.addressof(args))

    @HANDLER
    def handle(pointer):
        frame = pointer.contents
        if frame.extension and frame.extension.contents.type == _METADATA:
            metadata = c.cast(frame.extension, c.POINTER(_MetadataExtension)).contents.metadata.contents
            version = frame.api.contents.version if frame.api else _Version(0, None, 0, 1)
            metadata.version.major, metadata.version.minor, metadata.traits = 0, version.minor if version.major == 0 else 1, 0
            return None
        try:
            if frame.stage != _EXECUTE:
                return None
            stream = _get(frame, "stream_get", _StreamArgs()).stream or 0 if on_gpu else 0
            device = _get(frame, "device_get", _DeviceArgs()).device if on_gpu else 0
            call(Call(_list(frame.arguments), _list(frame.results), stream, device))
            return None
        except BaseException as e:
            return error(frame, f"{type(e).__name__}: {e}")

    return handle


def pointer(handle: Any) -> int:
    """The address of a handler."""
    return c.cast(handle, _P).value  # type: ignore[return-value]


