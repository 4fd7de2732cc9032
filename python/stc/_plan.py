"""Plans: programs on a device."""
from __future__ import annotations

import ctypes as c
import os
import threading
import warnings
import weakref
from ast import literal_eval
from difflib import get_close_matches
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union, overload

import numpy as np

from . import _arrays as arrays
from . import _running as running
from ._context import text_of
from ._errors import Message, Owner, StcError, error
from ._gradient import Gradient, gradient, memory_bytes, pull
from ._library import (PROBES_FN, PROGRESS_FN, SERIES_FN, TYPES, CArray, CFieldInfo, CProbeInfo, CRanks, CReduction, CRounds, CRunInfo, lib, strings)
from ._frames import giver, is_series
from ._numbers import I32, defines as param_words, text, whole, wholes
from ._view import View

if TYPE_CHECKING:
    from ._program import Explanation, Program

_HOST_DEVICES = ("host", "ref", "sim")


class ProbeSeries(NamedTuple):
    """What a `probe` has seen. step: after how many steps, one for each row. value: a value for each row, or of a list of points a row of values. at:
    the grid coordinates of its point, or of each point of its list."""
    step: np.ndarray
    value: np.ndarray
    at: np.ndarray


class Rounds(NamedTuple):
    """What a `repeat` did in its last step. rounds: those made, of one within another the sum of all its times. ended: did an `until` end the last
    ones? step: the number of the step, from 0; -1: none was made so far."""
    rounds: int
    ended: bool
    step: int


class RunInfo(NamedTuple):
    """What a run took. seconds: of the time steps' kernels. points: of the grid. steps: those made; fewer than asked for if an `until`, whose
    name `until` then is, ended the run. gpts: 1e9 points x steps a second."""
    seconds: float
    points: int
    steps: int
    launches: int
    gpts: float
    until: Optional[str]


def _about_param(name: str) -> str:
    """Why a plan's param is neither got nor set like a field, and what to do."""
    return f"{name!r} is a param, which is fixed when a plan is made: plan.params[{name!r}] is its value, and plan.program.plan({name}=...) makes a plan with another"


class _Place(NamedTuple):
    """A field (component -1), a component of one, or a launch-time array (field -1)."""
    field: int
    component: int
    array: int


def device_names(device: Union[str, Sequence[str]]) -> str:
    """A list of devices of one kind as the library has it: ["cuda:0", "cuda:2"] as "cuda:0,2"."""
    if isinstance(device, str):
        return device
    names: List[Any] = list(device) if isinstance(device, (list, tuple)) else [device]
    for name in names or [device]:
        if not isinstance(name, str):
            raise TypeError(f'device={device!r}: a text such as "host", "cuda:0" or "cuda:0-3" is wanted, or a list of such')
    kinds = {d.split(":")[0] for d in names}
    if len(kinds) != 1:
        raise error(2, [Message("error", None, 0, 0, None, f"devices {names}: the parts of a grid lie on devices of one kind")])
    if len(names) == 1:
        return names[0]
    return names[0].split(":")[0] + ":" + ",".join(d.split(":")[1] if ":" in d else "0" for d in names)


def _split(split: Any) -> Optional[bytes]:
    """4, (2, 2) or "2x2/8" as the library has it."""
    if split is None or isinstance(split, str):
        return None if split is None else text("split", split)
    return "x".join(map(str, wholes("split", split, 1, rank=4))).encode()


def _communicator(comm: Any) -> Optional[int]:
    """Where the MPI_Comm of an mpi4py communicator is; None: all processes that were started together."""
    if comm is True:
        return None
    from mpi4py import MPI
    return MPI._addressof(comm)


class Part(Owner):
    """A part of the grid that this process has, of a plan made with parts=True."""
    _copying = 'part["A"] is a copy of the values'
    _pickling = 'keep the values, part["A"]'

    def __init__(self, plan: "Plan", number: int):
        self._plan, self._number = plan, number

    def _info(self, name: str) -> Tuple[int, CFieldInfo]:
        place, info = self._plan._find(name), CFieldInfo()
        if place.field < 0 or place.component >= 0:
            raise KeyError(f"{name!r} is no field of the program")
        self._plan._check(lib.stc_plan_part_field(self._plan._handle, self._number, place.field, c.byref(info)))
        return place.field, info

    def box(self, name: str) -> Tuple[slice, ...]:
        """Where the part's points lie in the whole field's array, so that whole[part.box("u")] are those of part["u"]."""
        info, whole = self._info(name)[1], self._plan._info(self._plan._find(name))
        return tuple(slice(info.first[d] - whole.first[d], info.first[d] - whole.first[d] + info.shape[d]) for d in range(info.rank))

    def __getitem__(self, name: str) -> np.ndarray:
        field, info = self._info(name)
        shape, dtype = self._plan._layout(info)
        values = np.empty(shape, dtype)
        self._plan._check(lib.stc_plan_part_get(self._plan._handle, self._number, field, values.ctypes.data_as(c.c_void_p), values.nbytes))
        return values

    def __setitem__(self, name: str, value: Any) -> None:
        field, info = self._info(name)
        values = self._plan._values(name, info, value)
        self._plan._check(lib.stc_plan_part_set(self._plan._handle, self._number, field, values.ctypes.data_as(c.c_void_p), values.nbytes))

    def __repr__(self) -> str:
        return f"Part({self._number})"


class _Named(dict):
    """A dict of what a program has names for, which says of another name what there is."""

    def __init__(self, what: str, values: Dict[str, Any]):
        super().__init__(values)
        self._what = what

    def __missing__(self, name: Any) -> Any:
        raise KeyError(f"there is no {self._what} {name!r}; there {'is' if len(self) == 1 else 'are'} {', '.join(self) or 'none'}")


def _shortest(kind: str, x: float) -> float:
    """The value of a param as a float of Python: of an f32 the one with the fewest digits that reads back as it, 0.2 and not 0.20000000298023224."""
    return float(str(np.float32(x))) if kind == "f32" else x


class _Fixed(dict):
    """The params of a plan: a dict that nobody changes."""

    def __setitem__(self, name: Any, value: Any) -> None:
        raise TypeError(f"a plan's params are fixed when it is made; another plan has other ones: plan.program.plan({name}={value!r})")

    def __delitem__(self, name: Any) -> None:
        raise TypeError("a plan's params are fixed when it is made")

    def update(self, *given: Any, **named: Any) -> None:
        for name, value in dict(*given, **named).items():
            self[name] = value

    def __reduce__(self) -> Any:        # a copy may be changed
        return dict, (dict(self),)


@running.in_turn
class Plan(Owner):
    """A program on a device with fixed params. Program.plan makes it.

        run["A"] = a        the field's values; an array on the plan's GPU becomes the field's memory, without a copy
        run(1000)           time steps; each call goes on from where the last one stopped
        run["A"]            a NumPy array (on cuda and hip a DeviceArray) that shows the field as it is after each run; .copy() keeps it;
                            of structs a copy

    A field that is a series of frames is given an array (or a data set that is read a frame at a time) with one axis more, in front, or a function
    of the frame's number. A field's name may be that of an older level ("U@1") or of a component of vectors and structs ("v.0", "s.xx"); launch-time arrays are set by
    the same brackets. Arrays are in C order, the program's slowest dimension first.
    """
    _copying = "plan.program.plan(...) makes another one, whose fields are set by other[name] = plan[name]"
    _pickling = ("keep the program's text, the device, the params and copies of the fields (plan[name].copy()), and make the plan anew from them "
                 "there")

    def __init__(self, program: Program, device: Union[str, Sequence[str]], params: Mapping[str, Any], split: Any = None, comm: Any = None, parts: bool = False,
                 memory: Union[int, str, None] = None):
        self._program, self._context, self._params = program, program._context, dict(params)
        handle = c.c_void_p()
        defines, n = strings(param_words(params))
        device = device_names(device)
        if parts and (comm is None or comm is False):
            raise error(2, [Message("error", None, 0, 0, None, "parts=True is for several processes: give comm, the mpi4py communicator of those that share the grid, or comm=True for all that were started together")])
        names, cut, self._has_parts = text("device", device), _split(split), parts
        most = memory_bytes(memory)
        if most and comm is not None and comm is not False:
            raise error(2, [Message("error", None, 0, 0, None, "memory is for one device of one process: leave comm out")])
        if comm is not None and comm is not False:
            ranks = CRanks(_communicator(comm), None, parts)
            status = lib.stc_plan_new_ranks(program._handle, c.byref(ranks), names, cut, n, defines, c.byref(handle))
        elif most:
            status = self._context.make((program, handle, defines),
                                        lambda: lib.stc_plan_new_within(program._handle, names, most, cut, n, defines, c.byref(handle)),
                                        lambda: lib.stc_plan_free(handle))
        elif cut or any(mark in names for mark in (b",", b"-", b":all")):
            status = self._context.make((program, handle, defines),
                                        lambda: lib.stc_plan_new_split(program._handle, names, cut, n, defines, c.byref(handle)),
                                        lambda: lib.stc_plan_free(handle))
        else:
            status = self._context.make((program, handle, defines),
                                        lambda: lib.stc_plan_new(program._handle, names, n, defines, c.byref(handle)),
                                        lambda: lib.stc_plan_free(handle))
        self._context.check(status)
        self._open: Any = handle                # None: the plan is closed
        self._device = device
        self._arrays: Dict[str, np.ndarray] = {}
        self._probes: Dict[str, List[Tuple[int, np.ndarray]]] = {}
        self._kept: Dict[Tuple[int, int], Any] = {}
        self._frames: Dict[str, Tuple[Any, Any]] = {}
        self._turn = threading.RLock()          # whose turn it is: see running.in_turn
        self._giving: Optional[int] = None      # the thread in which a function makes a frame
        self._series: Dict[str, List[Tuple[int, Any]]] = {}
        self._warned: Set[str] = set()          # reductions and probes that NaN has been told of
        self._bar = None
        self._interrupt: Optional[BaseException] = None
        self._call: Optional[running.Call] = None
        self._window: Optional[View] = None
        self._seconds_a_step = 1.0
        self._has_repeats = lib.stc_program_repeat(program._handle, 0) is not None     # a step may take any time
        self._has_ranks = comm is not None and comm is not False
        self._tells = lib.stc_program_reduction_count(program._handle) > 0 or lib.stc_program_probe_count(program._handle) > 0
        self._watch()
        self._life: Any = _Life()
        self._finalizer = weakref.finalize(self._life, _free_plan, program, handle, (self._callbacks, self._frames))
        if not self._has_ranks:
            self._finalizer.atexit = False
            running.watch(self)

    def _watch(self) -> None:
        """Has the library tell of reductions and, where that costs nothing, of steps done."""
        me = weakref.ref(self)
        series = self._series

        @SERIES_FN
        def take(_, r):
            try:
                r = r.contents
                rows = series.setdefault(text_of(r.name), [])
                value = r.i if TYPES[r.type] == "i64" else r.f
                if r.member:
                    rows[-1][1].append(value)
                    return
                if rows and r.step <= rows[-1][0]:      # a page (view) has had the run begin anew
                    rows.clear()
                rows.append((r.step, [value] if r.members else value))
            except BaseException as e:
                stopped(e)

        probes = self._probes

        @PROBES_FN
        def see(_, row):
            try:
                row = row.contents
                dtype = arrays.NUMPY[TYPES[row.type]]
                values = np.frombuffer(c.string_at(row.values, row.n * dtype.itemsize), dtype)
                rows = probes.setdefault(text_of(row.name), [])
                if rows and row.step <= rows[-1][0]:
                    rows.clear()
                rows.append((row.step, values))
            except BaseException as e:
                stopped(e)

        @PROGRESS_FN
        def go_on(_, done, of):
            try:
                plan = me()
                if plan is not None and plan._bar is not None:
                    plan._bar.total = of
                    plan._bar.update(done - plan._bar.n)
                return plan is None or plan._interrupt is None
            except BaseException as e:
                stopped(e)
                return False

        def stopped(e):
            plan = me()
            if plan is not None:
                plan._interrupt = e

        self._callbacks = (take, go_on, see)
        if lib.stc_program_probe_count(self.program._handle):
            lib.stc_plan_probes(self._handle, see, None)
        lib.stc_plan_series(self._handle, take, None)
        self._set_progress(self._has_ranks)

    # A signal's handler runs in the main thread, between two operations of Python's; an exception that it raises in a callback, before that
    # can catch it, is lost. So the main thread makes no call that may take long or call back, but waits for a worker that does: see _running.

    def _make(self, function: Callable[[], int]) -> int:
        """Makes the call, which Ctrl-C ends in the main thread; its status."""
        if self._has_ranks:
            return function()
        call = self._call = running.Call((self, self.program), function, self._stop)
        if not running.is_main_thread():
            call.make()
            self._call = None
            return call.status
        try:
            call.begin()
            call.ended.wait()
        except BaseException:
            if call.drop():
                self._settled()
            raise
        self._call = None
        return call.status

    def _stop(self) -> None:
        lib.stc_plan_stop(self._handle, True)

    @property
    def _handle(self) -> Any:
        """The library's plan. All calls take it from here, so none is made for a plan that is closed."""
        if self._open is None:
            raise error(2, [Message("error", None, 0, 0, None, f"the plan of {self.program.name} is closed: program.plan(...) makes another one")])
        return self._open

    def _settle(self) -> None:
        """Waits for a call that did not end soon when it was stopped: the plan is at a whole time step then, or says that it is not. So it does for
        one that another thread makes, which goes on to its end."""
        self._handle
        if self._giving == threading.get_ident():
            raise error(2, [Message("error", None, 0, 0, None, "a function that makes a frame cannot use the plan that it makes it for, which waits for it")])
        call = self._call
        if call is not None and not call.dropped:
            call.ended.wait()
        elif call is not None:
            while not call.drop():
                pass
            self._settled()

    def _settled(self) -> None:
        self._call = None
        lib.stc_plan_stop(self._handle, False)
        self._context.messages.clear()

    def _stop_for_good(self) -> None:
        """Python ends: nothing may be under way behind that."""
        if self._open is None:
            return
        self._stop()
        call = self._call
        if call is not None:
            call.ended.wait(10)
        if not self._has_ranks:
            lib.stc_plan_wait(self._handle, None)

    def _set_progress(self, on: bool) -> None:
        lib.stc_plan_progress(self._handle, self._callbacks[1] if on else PROGRESS_FN(), None)

    def _is_host(self) -> bool:
        return self.device.split(":")[0] in _HOST_DEVICES

    def _check(self, status: int) -> None:
        if status:
            running.stay_at_end(self)
        stopped, self._interrupt = self._interrupt, None
        if status == 130 and stopped is not None:
            self._context.messages.clear()
            raise stopped
        self._context.check(status)

    def close(self) -> None:
        """Stops what is under way and gives back the plan's memory, but what arrays show, as soon as they are gone. The plan is of no use then."""
        if self._open is not None:
            self._settle()
            if self._window is not None:        # the library closes it with the plan, behind a run in the background, which is stopped
                self._window._forget()
            self._open = self._life = None
            self._kept.clear()
            self._arrays.clear()

    def __enter__(self) -> "Plan":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    if not TYPE_CHECKING:      # so that type checkers find names that a plan does not have
        def __getattr__(self, name: str) -> Any:
            try:
                known = not name.startswith("_") and name in self
                is_param = not known and not name.startswith("_") and name in self.params
            except StcError:      # a plan that is closed
                known = is_param = False
            raise AttributeError(_about_param(name) if is_param else f"a plan has no attribute {name!r}" +
                                 (f"; fields and launch-time arrays are got by brackets: plan[{name!r}]" if known else ""))

        def __setattr__(self, name: str, value: Any) -> None:
            if not name.startswith("_") and name != "stream":
                if name in self.params and not hasattr(type(self), name):
                    raise AttributeError(_about_param(name))
                what = "is not to be changed" if hasattr(type(self), name) else "is no attribute of a plan"
                raise AttributeError(f"{name!r} {what}; fields and launch-time arrays are set by brackets: plan[{name!r}] = values")
            object.__setattr__(self, name, value)

    @property
    def program(self) -> Program:
        return self._program

    @property
    def device(self) -> str:
        return self._device

    @property
    def fields(self) -> List[str]:
        """Names of the fields that hold values, older levels ("U@1") behind theirs."""
        infos = [(n, self._info(_Place(i, -1, -1))) for i, n in enumerate(self.program.fields)]
        return [n for n, info in infos if not info.temp and not info.ahead]

    def _states(self) -> List[str]:
        """Fields but those that have frames, which come from outside."""
        return [n for n in self.fields if not self._info(self._find(n)).frames]

    @property
    def arrays(self) -> List[str]:
        """Names of the launch-time arrays."""
        return self.program.arrays

    @property
    def scalars(self) -> Dict[str, Any]:
        """The program's scalars (`scalar`), which are kept from step to step, with their values now; plan["t"] is one of them."""
        return {name: self._scalar(name) for name in self.program.scalars}

    def _complex_array(self, name: str) -> Optional[List[str]]:
        """The launch-time arrays that the parts of a complex one called `name` are; None: it is none."""
        parts, known = [f"{name}_re", f"{name}_im"], self.program.arrays
        return parts if set(parts) <= set(known) and name not in known and name not in self.program.fields else None

    def _scalar(self, name: str) -> Any:
        value = CReduction()
        self._settle()
        self._check(lib.stc_plan_scalar(self._handle, text("a scalar's name", name), c.byref(value)))
        if not value.members:
            return value.f if TYPES[value.type] == "f64" else value.i
        values = np.empty(value.members, arrays.NUMPY[TYPES[value.type]])
        self._check(lib.stc_plan_scalars(self._handle, text("a scalar's name", name), values.ctypes.data_as(c.c_void_p), values.nbytes))
        return values

    def _set_scalar(self, name: str, value: Any) -> None:
        self._settle()
        now = self._scalar(name)
        real = np.asarray(now).dtype == np.float64
        number = np.asarray(value)
        fits = np.can_cast(number.dtype, np.float64 if real else np.int64, "same_kind") and (number.dtype != np.uint64 or real or not (number >> 63).any())
        if isinstance(now, np.ndarray) and number.shape == now.shape and fits:
            values = np.ascontiguousarray(number, now.dtype)
            self._check(lib.stc_plan_set_scalars(self._handle, text("a scalar's name", name), values.ctypes.data_as(c.c_void_p), values.nbytes))
            return
        if number.ndim or not fits:
            each = f", or {now.size} of them" if isinstance(now, np.ndarray) else ""
            raise TypeError(f"scalar {name} is one number of type {'f64' if real else 'i64'}{each}, not {value!r}")
        self._check(lib.stc_plan_set_scalar(self._handle, text("a scalar's name", name), float(value) if real else 0.0, 0 if real else int(value)))

    @property
    def params(self) -> Mapping[str, Any]:
        """All params of the program with their values under this plan, for which they are fixed."""
        self._settle()
        found: Dict[str, Any] = {}
        value = CReduction()
        while lib.stc_plan_param(self._handle, len(found), c.byref(value)):
            kind = TYPES[value.type]
            found[text_of(value.name)] = bool(value.i) if kind == "bool" else value.i if kind == "i64" else _shortest(kind, value.f)
        return _Fixed(found)

    @property
    def spacing(self) -> Optional[Tuple[Optional[float], ...]]:
        """The distance of two points in each dimension, as the program's grid says under this plan; None where it does not."""
        self._settle()
        found = tuple(lib.stc_plan_spacing(self._handle, d) or None for d in range(self._program.rank))
        return found if any(found) else None

    @property
    def time_step(self) -> Optional[float]:
        """The time from one step to the next, as the program's grid says (`step dt`); None if it does not."""
        self._settle()
        return lib.stc_plan_time_step(self._handle) or None

    @property
    def step(self) -> int:
        """The number of the next step: how many were made, those before `first_step` included."""
        self._settle()
        value = CReduction()
        lib.stc_plan_param(self._handle, I32, c.byref(value))
        return value.step

    def first_step(self, step: int) -> None:
        """Has the first run begin at this step, as if those before it had been made: fields, older levels among them, are set to what they were then.
        Before the first run, or behind restart()."""
        self._settle()
        self._check(lib.stc_plan_first_step(self._handle, whole("step", step, 0)))

    def __contains__(self, name: object) -> bool:
        if name in self.program.scalars:
            return True
        try:
            self._find(name)  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError):
            return False
        return True

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes a checkpoint, an .npz of all fields but series of frames, launch-time arrays, scalars and the number of the step. The file is whole
        or not there."""
        self(0)
        values: Dict[str, Any] = {f"field {n}": np.asarray(self[n]) for n in self._states()}
        values.update((f"array {n}", a) for n, a in self._arrays.items())
        values.update((f"scalar {n}", np.asarray(x)) for n, x in self.scalars.items())
        target = os.fspath(path)
        part = f"{target}.{os.getpid()}.part"
        try:
            with open(part, "xb") as file:
                np.savez(file, step=np.int64(self.step), **values)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        finally:
            if os.path.exists(part):
                os.unlink(part)

    def load(self, path: Union[str, os.PathLike]) -> None:
        """Has the plan, whose params must be the same, go on from a checkpoint of `save`, with the same bits. Earlier steps' reductions and probes are
        not in it; series of frames stay those that the plan has, and are given to a new one as for a run from the beginning."""
        with np.load(path, allow_pickle=False) as saved:
            wanted = {f"field {n}" for n in self._states()} | {f"array {n}" for n in self.arrays} | {f"scalar {n}" for n in self.program.scalars}
            if "step" not in saved.files or set(saved.files) - {"step"} != wanted:
                raise error(3, [Message("error", None, 0, 0, None, f"{os.fspath(path)} is no checkpoint of {self.program.name}: it has "
                                        f"{', '.join(saved.files) or 'nothing'}")])
            values = {key: saved[key] for key in saved.files}
        self.restart()
        for key, value in values.items():
            if key != "step":
                self[key.split(" ", 1)[1]] = value
        self.first_step(int(values["step"]))

    @property
    def parts(self) -> List[Part]:
        """The parts of the grid that this process has, of a plan made with parts=True: part["u"], part["u"] = values, part.box("u")."""
        return [Part(self, i) for i in range(lib.stc_plan_part_count(self._handle) if self._has_parts else 0)]

    # ---------------------------------------------------------------- names

    def _info(self, place: _Place) -> CFieldInfo:
        info = CFieldInfo()
        if place.field < 0:
            self._check(lib.stc_plan_array(self._handle, place.array, c.byref(info)))
        elif place.component < 0:
            self._check(lib.stc_plan_field(self._handle, place.field, c.byref(info)))
        else:
            self._check(lib.stc_plan_component(self._handle, place.field, place.component, c.byref(info)))
        return info

    def _find(self, name: str) -> _Place:
        self._settle()
        program, key = self.program._handle, text("a field's name", name)
        field, array = lib.stc_program_find_field(program, key), lib.stc_program_find_array(program, key)
        if field >= 0:
            return _Place(field, -1, -1)
        if array >= 0:
            return _Place(-1, -1, array)
        for i, field_name in enumerate(self.program.fields):
            info = self._info(_Place(i, -1, -1))
            for k in range(info.ncomponents if name.startswith(field_name) else 0):
                if name == field_name + text_of(info.components[k].path):
                    return _Place(i, k, -1)
        known = self.program.fields + self.program.arrays + self.program.scalars
        if name in self.params:
            raise KeyError(_about_param(name))
        if any(name == probe for _, probe, _ in self._probe_infos()):
            raise KeyError(f"{name!r} is a probe: plan.probes[{name!r}] has what it saw")
        near = [k for k in known if k.lower() == name.lower()] or get_close_matches(name, known, 1)
        raise KeyError(f"{name!r} is no field, component or launch-time array of the program; there are {', '.join(known)}"
                       + (f"; is {near[0]!r} meant?" if near else ""))

    def shape(self, name: str) -> Tuple[int, ...]:
        """Points of the field per dimension, slowest first; for whole fields of vectors also their lengths."""
        return self._layout(self._info(self._find(name)))[0]

    def dtype(self, name: str) -> np.dtype:
        """The NumPy dtype of the field's elements; bf16 goes as uint16, the upper halves of floats."""
        return self._layout(self._info(self._find(name)))[1]

    def _layout(self, info: CFieldInfo) -> Tuple[Tuple[int, ...], np.dtype]:
        shape = tuple(info.shape[d] for d in range(info.rank))
        if TYPES[info.type] != "composite":
            return shape, arrays.NUMPY[TYPES[info.type]]
        text = text_of(info.dtype)
        spelled = literal_eval(text) if text.lstrip()[:1] in "[('" else text
        return shape + tuple(info.axes[i] for i in range(info.naxes)), np.dtype(spelled)

    # ---------------------------------------------------------------- fields

    def __getitem__(self, name: str):
        if name in self.program.scalars:
            return self._scalar(name)
        parts = self._complex_array(name)
        if parts:
            return (self[parts[0]] + 1j * self[parts[1]]).astype(np.complex64 if self.dtype(parts[0]) == np.float32 else np.complex128)
        place = self._find(name)
        info = self._info(place)
        if place.field < 0:
            if name not in self._arrays:
                raise KeyError(f"launch-time array {name!r} has not been set")
            return self._arrays[name].copy()
        if info.temp:
            raise KeyError(f"field {name} is temp: it holds no value from one time step to the next")
        vectors = TYPES[info.type] == "composite"
        component = -1 if vectors else max(place.component, 0)
        shape, dtype = self._layout(info)
        if self.device == "ref" and (vectors or (info.ncomponents == 1 and place.component >= 0)) or (vectors and (dtype.names is not None or dtype.kind == "c")):
            return self._get(place.field, place.component)
        if not self._is_host():
            return arrays.DeviceArray(self, place.field, component, TYPES[info.components[0].type] if vectors else TYPES[info.type], shape)
        if not info.bytes:
            return np.empty(shape, dtype)
        return np.asarray(_View(self, place.field, component, shape, dtype))

    def _to_dlpack(self, field: int, component: int) -> int:
        self._settle()
        managed = c.c_void_p()
        self._check(lib.stc_plan_to_dlpack(self._handle, field, component, c.byref(managed)))
        return managed.value or 0

    def _is_set(self, field: int, component: int) -> bool:
        """Does the next run go on from the field's values, and not from its init?"""
        return lib.stc_plan_is_set(self._handle, field, component)

    def _get(self, field: int, component: int) -> np.ndarray:
        """A copy of the field."""
        shape, dtype = self._layout(self._info(_Place(field, component, -1)))
        out = np.empty(shape, dtype)
        at = out.ctypes.data_as(c.c_void_p)
        if component < 0:
            self._check(lib.stc_plan_get(self._handle, field, at, out.nbytes))
        else:
            self._check(lib.stc_plan_get_component(self._handle, field, component, at, out.nbytes))
        return out

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self.program.scalars:
            self._set_scalar(name, value)
            return
        parts = self._complex_array(name)
        if parts:
            whole = np.asarray(arrays.to_numpy(value), np.complex128)
            self[parts[0]], self[parts[1]] = (np.asarray(part, self.dtype(parts[0])) for part in (whole.real, whole.imag))
            return
        place = self._find(name)
        info = self._info(place)
        if (place.field >= 0 and TYPES[info.type] != "composite" and not self._is_host() and arrays.is_on_gpu(value)
                and not arrays.is_immutable(value) and not isinstance(value, arrays.DeviceArray)):
            self.bind(name, value)
            return
        if place.component < 0 and is_series(info, self._layout(info)[0], value):
            self._set_frames(name, place.field, info, value)
            return
        self._frames.pop(name, None)
        values = self._values(name, info, value)
        at, size = values.ctypes.data_as(c.c_void_p), values.nbytes
        if place.field < 0:
            self._check(lib.stc_plan_set_array(self._handle, place.array, at, size))
            self._arrays[name] = values.copy() if isinstance(value, np.ndarray) and np.may_share_memory(values, value) else values
        elif place.component < 0:
            self._check(lib.stc_plan_set(self._handle, place.field, at, size))
        else:
            self._check(lib.stc_plan_set_component(self._handle, place.field, place.component, at, size))

    def _set_frames(self, name: str, field: int, info: CFieldInfo, value: Any) -> None:
        """Has the field take its frames from an array, or a function of their number."""
        count = -1 if callable(value) else value.shape[0]
        if count > 0:
            self._values(name, info, value[0])
        give = giver(self, name, info, value)
        self._check(lib.stc_plan_frames(self._handle, field, count, give, None))
        self._frames[name] = (value, give)
        self._tells = True

    def _values(self, name: str, info: CFieldInfo, value: Any) -> np.ndarray:
        """The values as a dense array of the field's type and shape."""
        shape, dtype = self._layout(info)
        if isinstance(value, (str, os.PathLike)):
            raise TypeError(f"{name}: values are wanted, and this is a text; those of a file are numpy.load({os.fspath(value)!r})")
        a = arrays.to_numpy(value)
        if TYPES[info.type] == "bf16" and a.dtype.name == "bfloat16":
            a = a.view(np.uint16)
        if a.ndim == 0 and dtype.names is None:
            a = np.full(shape, a)
        if not arrays.is_shape(a.shape, shape):
            raise ValueError(f"{name} has the shape {shape}, but the array has {a.shape}; the program's params decide on that one, "
                             "by their defaults or by plan.program.plan(NAME=...)")
        if not np.can_cast(a.dtype, dtype, "same_kind"):
            raise TypeError(f"{name} is of type {text_of(info.type_name)}, and {a.dtype} is not converted to it silently; convert it first: "
                            f"a.astype({dtype.str!r})")
        return np.ascontiguousarray(a, dtype).reshape(shape)

    def bind(self, name: str, array: Any, *, fresh: bool = False) -> None:
        """Has the field live in `array` from now on, without a copy: kernels work on it where it is, and it holds the field's values whenever no
        run is under way. NumPy and CPU tensors on host, sim and ref; tensors of the same GPU on cuda and hip. It must be dense in C order, of the
        field's type and shape; for a whole field of vectors it has the vector's length as last dimension, and each component dense by itself:
        numpy.moveaxis(numpy.empty((3, N, M)), 0, -1). fresh: the values in it do not count, and the field starts from its init. None: the field moves to memory of the
        plan's own. Raises OptionError if the array does not fit."""
        place = self._find(name)
        if place.field < 0:
            raise KeyError(f"{name!r} is a launch-time array; assign it: run[{name!r}] = array")
        key = (place.field, -1 if TYPES[self._info(place).type] == "composite" else max(place.component, 0))
        if array is None:
            self._check(lib.stc_plan_bind(self._handle, *key, None, False))
            self._kept.pop(key, None)
            return
        m = arrays.memory_of(array, name, getattr(self, "_stream", 0))
        if self._is_host() == (m.kind in (arrays.CUDA, arrays.ROCM)):
            raise ValueError(f"the array for {name} is {'on a GPU' if self._is_host() else 'in host memory'}, but the plan is on {self.device}; "
                             f"assign its values instead: run[{name!r}] = array")
        if not self._is_host() and key[1] >= 0:
            arrays.check_dense(m, name)
        rank = len(m.shape)
        c_array = CArray(m.address, TYPES.index(m.type) if m.type in TYPES else 0, rank, (c.c_int64 * max(rank, 1))(*m.shape),
                         (c.c_int64 * max(rank, 1))(*m.strides) if m.strides is not None else None)
        self._check(lib.stc_plan_bind(self._handle, *key, c.byref(c_array), fresh))
        self._kept[key] = m.keep

    # ---------------------------------------------------------------- running

    @overload
    def __call__(self, steps: Optional[int] = None, *, progress: bool = False, stream: Any = None, wait: Literal[True] = True) -> RunInfo: ...
    @overload
    def __call__(self, steps: Optional[int] = None, *, progress: bool = False, stream: Any = None, wait: bool) -> Optional[RunInfo]: ...
    def __call__(self, steps: Optional[int] = None, *, progress: bool = False, stream: Any = None, wait: bool = True) -> Optional[RunInfo]:
        """Runs the inits (the first time) and `steps` time steps (None: as many as the program says).

        progress: a bar, by tqdm if it is there. stream: a CUDA or HIP stream that everything goes to from now on (torch's, CuPy's, or its handle).
        wait: False returns when the launches are in the stream; on the CPU a thread runs them, and wait() must come before the plan's program is
        used otherwise. What is given back is None then.
        """
        if stream is not None:
            self.stream = stream
        n = -1 if steps is None else whole("steps", steps, 0)
        self._settle()
        if not wait:
            self._set_progress(False)
            begin = partial(lib.stc_plan_run_async, self._handle, n)
            few = not self._tells and not self._window and 0 <= n <= 1000      # their launches find room in the stream: nothing waits
            self._check(begin() if few or self._is_host() else self._make(begin))
            return None
        info = CRunInfo()
        self._bar = _bar(self.program.name) if progress else None
        self._set_progress(progress or self._has_ranks)
        run = partial(lib.stc_plan_run, self._handle, n, c.byref(info))
        quick = not self._tells and not self._window and not progress and not self._has_repeats and 0 <= n * self._seconds_a_step < 0.01
        try:
            before = monotonic()
            self._check(run() if quick else self._make(run))
            if info.steps > 0:
                self._seconds_a_step = (monotonic() - before) / info.steps
        finally:
            if self._bar is not None:
                self._bar.close()
            self._bar = None
        return _run_info(info)

    run = __call__

    def gradient(self, steps: Optional[int] = None, *, memory: Union[int, str, None] = None,
                 scratch: Union[str, "os.PathLike[str]", None] = None) -> Gradient:
        """The sum of the losses of `steps` time steps from the first one on (None: as many as the program says), and its derivatives by what the
        program's `gradient` is to: `J, g = run.gradient(3000); g["v"]`. Fields and arrays are set before, and stay so: the plan is as if it had not
        run. memory: what may be kept of the steps, on the device and here, in bytes or as "8GiB"; with less than all of them takes, steps are made
        again, and the results are the same bits. scratch: a folder, in which a file may then have what there is no memory for, so that steps are
        made twice at most."""
        return gradient(self, steps, memory, scratch)

    def pull(self, steps: Optional[int], bars: Mapping[str, Any], *, to: Union[str, Sequence[str], None] = None,
             memory: Union[int, str, None] = None, scratch: Union[str, "os.PathLike[str]", None] = None) -> Dict[str, Any]:
        """The same for a loss that is computed elsewhere, of fields as they are behind the last step: bars["p"] is its derivatives by field p there,
        an array of its shape. What is given back is its derivatives by the names `to`: fields and older levels before the first step, launch-time
        arrays, params; None: by what the program's `gradient` is to. `g = run.pull(3000, {"p": pbar}, to=["v"]); g["v"]`."""
        return pull(self, steps, bars, to, memory, scratch)

    def restart(self) -> None:
        """Has the next run begin at step 0: inits are run again, for the fields that are not set or bound in the meantime. Launch-time
        arrays and series of frames stay."""
        self._settle()
        self._check(lib.stc_plan_restart(self._handle))
        self._series.clear()
        self._probes.clear()
        self._warned.clear()

    def wait(self) -> Optional[RunInfo]:
        """Waits for runs begun with wait=False; what the last one took, None if there was none."""
        self._settle()
        was_busy, info = self.busy, CRunInfo()
        end = partial(lib.stc_plan_wait, self._handle, c.byref(info))
        self._check(self._make(end) if was_busy else end())
        return _run_info(info) if was_busy or info.points else None

    @property
    def busy(self) -> bool:
        """Is a run under way that nobody waited for?"""
        call = self._call
        return call is not None and not call.ended.is_set() or (self._open is not None and bool(lib.stc_plan_busy(self._handle)))

    def view(self, address: Optional[str] = None, *, height: int = 640) -> View:
        """Opens a window into the plan's runs, before the first of them or later: a page on this computer that shows fields, curves and speed while
        they are made, and has them wait, make single steps, take other params and begin anew. In a notebook the page appears below the cell, so
        high; elsewhere `.url` says where it is and `.open()` opens a browser. The runs that follow are seen: `run(10000)`, or `run(10000,
        wait=False)`, which leaves the notebook free. address: "PORT" or "ADDRESS:PORT"; None: the loopback address and a free port. A plan has one
        window: while it is open, it is given again."""
        self._settle()
        if self._window is None:
            self._window = View(self, address, height)
        return self._window

    @property
    def stream(self) -> int:
        """The handle of the stream that launches go to; 0 is the default one."""
        return getattr(self, "_stream", 0)

    @stream.setter
    def stream(self, stream: Any) -> None:
        handle = arrays.stream_handle(stream)
        if handle != self.stream:
            self._settle()
            self._check(lib.stc_plan_stream(self._handle, handle))
            self._stream = handle

    def _warn_of_nan(self, what: str, name: str, steps: np.ndarray, values: np.ndarray) -> None:
        """Warns, once until restart(), if values of a reduction or probe, a row for each of `steps`, are NaN."""
        if name in self._warned or values.dtype.kind != "f" or not np.isnan(values).any():
            return
        self._warned.add(name)
        first = np.isnan(values.reshape(len(steps), -1)).any(axis=1).argmax()
        warnings.warn(f"{what} {name} is NaN after {steps[first]} steps; stc.compile(..., check_finite=100) looks at all fields after every 100 steps, and stops "
                      "at the first such value", RuntimeWarning, stacklevel=4)

    @property
    def reductions(self) -> Dict[str, np.ndarray]:
        """The values of each `reduce` and `until` so far: structured arrays with `step` and `value`."""
        found = {name: arrays.series(v) for name, v in self._series.items()}
        for name, rows in found.items():
            self._warn_of_nan("reduction", name, rows["step"], rows["value"])
        return _Named("reduction with values", found)

    @property
    def rounds(self) -> Dict[str, Rounds]:
        """What each `repeat` did in the last step; those of earlier steps are among the `reductions`, as NAME.rounds and NAME.ended."""
        self._settle()
        found: Dict[str, Rounds] = {}
        of = CRounds()
        while (name := lib.stc_program_repeat(self.program._handle, len(found))) is not None:
            self._check(lib.stc_plan_rounds(self._handle, name, c.byref(of)))
            found[text_of(name)] = Rounds(of.rounds, of.ended, of.step)
        return found

    @property
    def probes(self) -> Dict[str, ProbeSeries]:
        """What each `probe` has seen so far, and where."""
        self._settle()
        return _Named("probe", {name: self._probe(i, name, info) for i, name, info in self._probe_infos()})

    def _probe_infos(self) -> List[Tuple[int, str, CProbeInfo]]:
        found = []
        for i in range(lib.stc_program_probe_count(self.program._handle)):
            info = CProbeInfo()
            self._check(lib.stc_plan_probe(self._handle, i, c.byref(info)))
            found.append((i, text_of(info.name), info))
        return found

    def _probe(self, number: int, name: str, info: CProbeInfo) -> ProbeSeries:
        at, rank, rows = (c.c_int64 * 4)(), self.program.rank, self._probes.get(name, [])
        places = np.empty((info.n, rank), np.int64)
        for i in range(info.n):
            self._check(lib.stc_plan_probe_point(self._handle, number, i, at))
            places[i] = at[:rank]
        values = np.array([v for _, v in rows], arrays.NUMPY[TYPES[info.type]]).reshape(len(rows), info.n)
        steps = np.array([s for s, _ in rows], np.int64)
        self._warn_of_nan("probe", name, steps, values)
        return ProbeSeries(steps, values, places) if info.list else ProbeSeries(steps, values[:, 0], places[0])

    @property
    def schedule(self) -> str:
        """"overlap T=4 block=8x32 elems=4x1"."""
        self._settle()
        return text_of(lib.stc_plan_schedule(self._handle))

    def explain(self, *options: str) -> Explanation:
        """Program.explain under this plan's params; of a plan on GPUs on its first one, unless the options name a card."""
        at_hand = not self._is_host() and not any(o.startswith("--card") for o in options)
        return self.program.explain(*options, device=text_of(lib.stc_plan_device(self._handle)) if at_hand else None, **self._params)

    def __repr__(self) -> str:
        if self._open is None:
            return f"Plan({self.program.name!r}, closed)"
        params = "".join(f", {name}={value!r}" for name, value in self.params.items())
        return f"Plan({self.program.name!r}, device={text_of(lib.stc_plan_device(self._handle))!r}, schedule={self.schedule!r}{params})"


class _Life:
    """What a plan lives as long as: the plan has it until it is closed, and so has what shows its memory."""


def _free_plan(program: Program, handle, callbacks) -> None:
    """Frees a plan, whose run, if there is one, is stopped; what it needs is alive until then, because this holds it. A thread that Python does
    not know may be that run itself, in a callback: another one does it then."""
    lib.stc_plan_stop(handle, True)
    if threading.get_ident() in threading._active:  # type: ignore[attr-defined]
        lib.stc_plan_free(handle)
    else:
        running.Call((program, callbacks), partial(lib.stc_plan_free, handle), lambda: None).begin()


def _run_info(i: CRunInfo) -> RunInfo:
    return RunInfo(i.seconds, i.points, i.steps, i.launches, i.gpts, text_of(i.until))


def _bar(title: str):
    """A progress bar, or None where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=0, desc=title, unit="step", leave=False)


class _View(Owner):
    """What NumPy makes an array of: a field in host memory, which keeps its plan, and the array that the field is bound to, alive. Read-only while
    what is written to it would be lost, because the field's init is still to come."""
    _copying = _pickling = "copy the array"

    def __init__(self, plan: Plan, field: int, component: int, shape, dtype):
        self._held = arrays.Held(plan, plan._to_dlpack(field, component))
        self._kept = [keep for (f, _), keep in plan._kept.items() if f == field]
        self.__array_interface__ = {"shape": shape, "typestr": dtype.str, "data": (self._held.address, not plan._is_set(field, component)),
                                    "strides": self._held.strides(dtype.itemsize), "version": 3}
