"""libstc.so as ctypes sees it: the structures and functions of stc.h."""
from __future__ import annotations

import ctypes as c
import os
from pathlib import Path
from typing import Iterator, NamedTuple

SONAME = "libstc.so.0.2"


def _find() -> str:
    """The library: what STC_LIBRARY names, else the one in this package, else the system's."""
    named = os.environ.get("STC_LIBRARY")
    inside = Path(__file__).with_name(SONAME)
    return named or (str(inside) if inside.exists() else SONAME)


try:
    lib = c.CDLL(_find())
except OSError as e:
    raise ImportError(f"{SONAME} is neither in the package nor in the system ({e}); install the wheel, or name the file in "
                      "the environment variable STC_LIBRARY") from None

TYPES = ["composite", "bool", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "u8", "u16", "u32"]
STRINGS = c.POINTER(c.c_char_p)


class CMessage(c.Structure):
    _fields_ = [("kind", c.c_int), ("file", c.c_char_p), ("line", c.c_int), ("column", c.c_int), ("source", c.c_char_p), ("text", c.c_char_p)]


MESSAGE_FN = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(CMessage))


class CConfig(c.Structure):
    _fields_ = [("realloc", c.c_void_p), ("message", MESSAGE_FN), ("user", c.c_void_p)]


class CKnob(c.Structure):
    _fields_ = [("name", c.c_char_p), ("kind", c.c_int), ("offset", c.c_size_t), ("value", c.c_char_p), ("help", c.c_char_p)]


class Knob(NamedTuple):
    """A knob of schedules: kind is number, shape, word or text; offset: where it stands in COptions."""
    name: str
    kind: str
    offset: int
    help: str


def _knobs() -> Iterator[Knob]:
    """Those that the library has."""
    k = CKnob()
    lib.stc_knob.restype, lib.stc_knob.argtypes = c.c_bool, [c.c_int, c.POINTER(CKnob)]
    number = 0
    while lib.stc_knob(number, c.byref(k)):
        yield Knob(k.name.decode(), ("number", "shape", "word", "text")[k.kind], k.offset, k.help.decode())
        number += 1


KNOBS = tuple(_knobs())
_MEMBERS = {"number": c.c_int, "shape": c.c_int * 3, "word": c.c_char_p, "text": c.c_char_p}


class COptions(c.Structure):
    _fields_ = [("march", c.c_char_p), ("mcpu", c.c_char_p), ("real", c.c_char_p), ("schedule", c.c_char_p),
                *((k.name, _MEMBERS[k.kind]) for k in KNOBS), ("grid", c.c_int64 * 4), ("members", c.c_int64), ("opt_level", c.c_int), ("no_contract", c.c_bool), ("fast_math", c.c_bool), ("no_hoist", c.c_bool), ("no_cache", c.c_bool), ("check_finite", c.c_int64), ("check_bounds", c.c_bool), ("passes", c.c_char_p),  # type: ignore[list-item]
                ("nload", c.c_int), ("load_passes", STRINGS), ("print_before", c.c_char_p), ("print_after", c.c_char_p),
                ("print_all", c.c_bool), ("verify_each", c.c_bool), ("time_passes", c.c_bool), ("stats", c.c_bool), ("remarks", c.c_bool),
                ("ndefines", c.c_int), ("defines", STRINGS)]


for _knob in KNOBS:
    if getattr(COptions, _knob.name).offset != _knob.offset:
        raise ImportError(f"{SONAME} and this package are of different versions: {_knob.name} is not where it should be; install the wheel anew")


class CComponent(c.Structure):
    _fields_ = [("path", c.c_char_p), ("type", c.c_int), ("offset", c.c_int64)]


class CFieldInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_int), ("rank", c.c_int), ("shape", c.c_int64 * 4), ("bytes", c.c_int64),
                ("input", c.c_bool), ("temp", c.c_bool), ("has_init", c.c_bool), ("type_name", c.c_char_p), ("ncomponents", c.c_int),
                ("components", c.POINTER(CComponent)), ("dtype", c.c_char_p), ("naxes", c.c_int), ("axes", c.POINTER(c.c_int64)),
                ("first", c.c_int64 * 4), ("frames", c.c_int64), ("ahead", c.c_bool), ("cycle", c.c_bool)]


class CArray(c.Structure):
    _fields_ = [("data", c.c_void_p), ("type", c.c_int), ("rank", c.c_int), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64))]


class CRunInfo(c.Structure):
    _fields_ = [("seconds", c.c_double), ("points", c.c_int64), ("steps", c.c_int64), ("launches", c.c_int64), ("gpts", c.c_double),
                ("until", c.c_char_p)]


class CRanks(c.Structure):
    _fields_ = [("communicator", c.c_void_p), ("module", c.c_char_p), ("parts", c.c_bool)]


class CPull(c.Structure):
    _fields_ = [("field", c.c_char_p), ("data", c.c_void_p), ("bytes", c.c_size_t)]


class CReduction(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_int), ("step", c.c_int64), ("f", c.c_double), ("i", c.c_int64), ("member", c.c_int64), ("members", c.c_int64)]


class CRounds(c.Structure):
    _fields_ = [("step", c.c_int64), ("rounds", c.c_int64), ("ended", c.c_bool)]


class CProbe(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_int), ("step", c.c_int64), ("n", c.c_int64), ("values", c.c_void_p)]


class CProbeInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("type", c.c_int), ("every", c.c_int64), ("n", c.c_int64), ("list", c.c_bool)]


PROBES_FN = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(CProbe))
SERIES_FN = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(CReduction))
PROGRESS_FN = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_int64, c.c_int64)
FRAME_FN = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_int64, c.c_void_p, c.c_size_t)
P = c.c_void_p
OUT = c.POINTER(P)

_FUNCTIONS = {
    "stc_context_new": (P, [c.POINTER(CConfig)]), "stc_context_free": (None, [P]),
    "stc_compile_string": (c.c_int, [P, c.c_char_p, c.c_char_p, c.POINTER(COptions), OUT]),
    "stc_compile_file": (c.c_int, [P, c.c_char_p, c.POINTER(COptions), OUT]), "stc_program_free": (None, [P]),
    "stc_program_emit": (c.c_int, [P, c.c_int, OUT, c.POINTER(c.c_size_t)]),
    "stc_program_manifest": (c.c_int, [P, c.POINTER(c.c_char_p)]), "stc_program_header": (c.c_int, [P, c.POINTER(c.c_char_p)]),
    "stc_program_plan": (c.c_int, [P, c.POINTER(c.c_char_p)]),
    "stc_program_name": (c.c_char_p, [P]), "stc_program_field_count": (c.c_int, [P]), "stc_program_field_name": (c.c_char_p, [P, c.c_int]),
    "stc_program_find_field": (c.c_int, [P, c.c_char_p]), "stc_program_array_count": (c.c_int, [P]),
    "stc_program_array_name": (c.c_char_p, [P, c.c_int]), "stc_program_field_outside": (c.c_char_p, [P, c.c_int]), "stc_program_find_array": (c.c_int, [P, c.c_char_p]),
    "stc_program_rank": (c.c_int, [P]), "stc_program_reduction_count": (c.c_int, [P]), "stc_program_steps": (c.c_int64, [P]),
    "stc_plan_new": (c.c_int, [P, c.c_char_p, c.c_int, STRINGS, OUT]), "stc_plan_free": (None, [P]),
    "stc_plan_new_split": (c.c_int, [P, c.c_char_p, c.c_char_p, c.c_int, STRINGS, OUT]),
    "stc_plan_new_within": (c.c_int, [P, c.c_char_p, c.c_int64, c.c_char_p, c.c_int, STRINGS, OUT]),
    "stc_plan_new_ranks": (c.c_int, [P, c.POINTER(CRanks), c.c_char_p, c.c_char_p, c.c_int, STRINGS, OUT]),
    "stc_plan_part_count": (c.c_int, [P]), "stc_plan_part_field": (c.c_int, [P, c.c_int, c.c_int, c.POINTER(CFieldInfo)]),
    "stc_plan_part_set": (c.c_int, [P, c.c_int, c.c_int, P, c.c_size_t]), "stc_plan_part_get": (c.c_int, [P, c.c_int, c.c_int, P, c.c_size_t]),
    "stc_plan_field": (c.c_int, [P, c.c_int, c.POINTER(CFieldInfo)]),
    "stc_plan_frames": (c.c_int, [P, c.c_int, c.c_int64, FRAME_FN, P]),
    "stc_plan_component": (c.c_int, [P, c.c_int, c.c_int, c.POINTER(CFieldInfo)]),
    "stc_plan_array": (c.c_int, [P, c.c_int, c.POINTER(CFieldInfo)]),
    "stc_plan_set": (c.c_int, [P, c.c_int, P, c.c_size_t]), "stc_plan_get": (c.c_int, [P, c.c_int, P, c.c_size_t]),
    "stc_plan_set_component": (c.c_int, [P, c.c_int, c.c_int, P, c.c_size_t]),
    "stc_plan_get_component": (c.c_int, [P, c.c_int, c.c_int, P, c.c_size_t]),
    "stc_plan_set_array": (c.c_int, [P, c.c_int, P, c.c_size_t]),
    "stc_plan_bind": (c.c_int, [P, c.c_int, c.c_int, c.POINTER(CArray), c.c_bool]),
    "stc_plan_to_dlpack": (c.c_int, [P, c.c_int, c.c_int, OUT]), "stc_plan_is_set": (c.c_bool, [P, c.c_int, c.c_int]),
    "stc_plan_run": (c.c_int, [P, c.c_int64, c.POINTER(CRunInfo)]), "stc_plan_run_async": (c.c_int, [P, c.c_int64]),
    "stc_plan_probes": (None, [P, PROBES_FN, P]), "stc_program_probe_count": (c.c_int, [P]),
    "stc_plan_probe": (c.c_int, [P, c.c_int, c.POINTER(CProbeInfo)]),
    "stc_plan_probe_point": (c.c_int, [P, c.c_int, c.c_int64, c.POINTER(c.c_int64)]),
    "stc_plan_param": (c.c_bool, [P, c.c_int, c.POINTER(CReduction)]), "stc_plan_first_step": (c.c_int, [P, c.c_int64]),
    "stc_program_foresee": (c.c_int, [P, c.c_char_p, c.POINTER(CArray)]), "stc_program_scalar": (c.c_char_p, [P, c.c_int]), "stc_plan_scalar": (c.c_int, [P, c.c_char_p, c.POINTER(CReduction)]),
    "stc_program_repeat": (c.c_char_p, [P, c.c_int]), "stc_plan_rounds": (c.c_int, [P, c.c_char_p, c.POINTER(CRounds)]),
    "stc_plan_set_scalar": (c.c_int, [P, c.c_char_p, c.c_double, c.c_int64]),
    "stc_plan_scalars": (c.c_int, [P, c.c_char_p, P, c.c_size_t]), "stc_plan_set_scalars": (c.c_int, [P, c.c_char_p, P, c.c_size_t]),
    "stc_plan_spacing": (c.c_double, [P, c.c_int]), "stc_plan_time_step": (c.c_double, [P]),
    "stc_plan_restart": (c.c_int, [P]), "stc_plan_stop": (None, [P, c.c_bool]), "stc_context_stop": (None, [P, c.c_bool]),
    "stc_plan_wait": (c.c_int, [P, c.POINTER(CRunInfo)]), "stc_plan_busy": (c.c_bool, [P]), "stc_plan_stream": (c.c_int, [P, P]),
    "stc_program_gradient_count": (c.c_int, [P]), "stc_program_gradient_name": (c.c_char_p, [P, c.c_int]),
    "stc_plan_gradient": (c.c_int, [P, c.c_int64, c.c_int64, c.POINTER(c.c_double)]), "stc_plan_gradient_size": (c.c_int64, [P, c.c_int]),
    "stc_plan_pull": (c.c_int, [P, c.c_int64, c.c_int64, c.c_int, c.POINTER(CPull), c.c_int, STRINGS]),
    "stc_plan_gradient_scratch": (c.c_int, [P, c.c_char_p]),
    "stc_plan_gradient_get": (c.c_int, [P, c.c_int, c.POINTER(c.c_double), c.c_size_t]),
    "stc_plan_gradient_get_f32": (c.c_int, [P, c.c_int, c.POINTER(c.c_float), c.c_size_t]),
    "stc_plan_series": (None, [P, SERIES_FN, P]), "stc_plan_progress": (None, [P, PROGRESS_FN, P]),
    "stc_plan_device": (c.c_char_p, [P]), "stc_plan_schedule": (c.c_char_p, [P]), "stc_plan_compile_seconds": (c.c_double, [P]),
    "stc_view_open": (c.c_int, [P, c.c_char_p, OUT]), "stc_view_url": (c.c_char_p, [P]), "stc_view_close": (None, [P]),
    "stc_version": (c.c_char_p, []), "stc_main": (c.c_int, [c.c_int, STRINGS]),
}
for _name, (_result, _arguments) in _FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


def version() -> str:
    """"stc 0.2.0 (LLVM 22.1.0)"."""
    return lib.stc_version().decode()


def strings(items):
    """A C array of strings, and its length."""
    encoded = [s.encode() for s in items]
    return (c.c_char_p * (len(encoded) + 1))(*encoded, None), len(encoded)
