"""Stencil programs in JAX: functions that jax.jit takes. They run where their arrays are, on the arrays' memory and in JAX's stream."""
from __future__ import annotations

import ctypes as c
import itertools
import json
import math
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

import jax
import numpy as np
from jax.custom_derivatives import SymbolicZero

try:
    import jax.ffi as ffi
except ImportError:
    raise ImportError(f"stc.jax needs jax.ffi, which JAX has from 0.4.38 on; this is {jax.__version__}") from None

from . import _running as running
from . import _xla
from ._arrays import NUMPY, type_name
from ._driver import Cuda
from ._expression import params_of_shapes
from ._gradient import memory_bytes
from ._library import TYPES, CArray, lib
from ._manifest import check_single
from ._numbers import whole
from ._program import Plan, Program, compile

_HALVES = {"f16": np.dtype(np.float16), "bf16": jax.numpy.dtype(jax.numpy.bfloat16)}
_count = itertools.count()
_alive: List[Any] = []


def _keep(*owners: Any) -> None:
    """Has what these own stay when Python ends: calls may be under way until JAX ends, which is later."""
    for owner in owners:
        owner._finalizer.atexit = False
        running.watch(owner, False)


class _Bound:
    """A plan for arrays of certain shapes, which who uses it holds by its lock, and for each field what binds it to memory: to be called with an
    address."""

    def __init__(self, plan: Plan, fields: Sequence[str], shapes: Sequence[tuple], types: Dict[str, str]):
        self.plan, self.lock = plan, threading.Lock()
        self.binders = {f: self.binder(f, shape, types[f]) for f, shape in zip(fields, shapes)}

    def binder(self, name: str, shape: tuple, type: str) -> Callable[[int], None]:
        place, n = self.plan._find(name), max(len(shape), 1)
        array = CArray(None, TYPES.index(type), len(shape), (c.c_int64 * n)(*shape), None)

        def bind(address: int) -> None:
            array.data = address
            self.plan._check(lib.stc_plan_bind(self.plan._handle, place.field, max(place.component, 0), c.byref(array), False))
        return bind


def _is_float(type: str) -> bool:
    return type in ("f16", "bf16", "f32", "f64")


def _array(b: _xla.Buffer) -> np.ndarray:
    """An array of a call's in the host's memory."""
    memory = (c.c_char * (math.prod(b.shape) * NUMPY[b.type].itemsize)).from_address(b.address)
    return np.frombuffer(memory, NUMPY[b.type]).reshape(b.shape)


class _Function:
    """What the function does. fields: those that it takes; changed: those that steps change, which are its results."""

    def __init__(self, program: Program, steps: Optional[int], device: Optional[str], memory: Union[int, str, None], params: Dict[str, Any]):
        self.program, self.device, self.memory, self.params = program, device, memory, params
        memory_bytes(memory)
        self.steps = None if steps is None else whole("steps", steps, 0)
        self.manifest = json.loads(program.emit("manifest"))
        self.about = {f["name"]: f for f in self.manifest["fields"]}
        check_single(self.manifest, "", "arguments")
        if any("frames" in f for f in self.about.values()):
            raise ValueError("fields that are series of frames cannot be arguments; use program.plan(...)")
        self.fields = [f for f in program.fields if not self.about[f]["temp"]]
        self.changed = [f for f in self.fields if not self.about[f]["input"]]
        self.arrays = program.arrays
        self.types = {**{f: self.about[f]["type"] for f in self.fields}, **{a["name"]: a["type"] for a in self.manifest["arrays"]}}
        self.plans: Dict[Any, Any] = {}
        self.pulls: Dict[Any, str] = {}
        self.lock = threading.Lock()
        self.name = self.register(self.on_host, self.on_gpu)

    def register(self, on_host: Callable[[_xla.Call], None], on_gpu: Callable[[_xla.Call], None]) -> str:
        """Makes a function known to XLA, for CPUs and NVIDIA's GPUs; its name there."""
        name = f"stc_{next(_count)}"
        for platform in "cpu", "CUDA":
            handle = _xla.handler(on_host if platform == "cpu" else on_gpu, platform != "cpu")
            _alive.append((handle, self))
            ffi.register_ffi_target(name, ffi.pycapsule(handle), platform=platform)
        return name

    def bound(self, device: str, call: _xla.Call) -> _Bound:
        """The plan for arrays of these shapes, which is kept."""
        shapes = [b.shape for b in call.arguments[:len(self.fields)]]
        key = (device, *shapes)
        with self.lock:
            if key not in self.plans:
                params = {**params_of_shapes(self.manifest, dict(zip(self.fields, shapes))), **self.params}
                plan = self.program.plan(device=device, **params)
                _keep(plan, self.program)
                self.plans[key] = _Bound(plan, self.fields, shapes, self.types)
            return self.plans[key]

    def bind(self, to: _Bound, call: _xla.Call) -> None:
        """Has the plan work on the call's memory. XLA has made each result a copy of its argument, or the argument itself."""
        addresses = {f: b.address for f, b in zip(self.fields, call.arguments)}
        addresses.update((f, b.address) for f, b in zip(self.changed, call.results))
        for f, bind in to.binders.items():
            bind(addresses[f])

    def on_host(self, call: _xla.Call) -> None:
        to = self.bound(self.device or "host", call)
        with to.lock:
            to.plan.restart()
            for f, b in zip(self.changed, call.results):
                given = call.arguments[self.fields.index(f)]
                if given.address != b.address:
                    c.memmove(b.address, given.address, math.prod(b.shape) * NUMPY[b.type].itemsize)
            self.bind(to, call)
            for a, b in zip(self.arrays, call.arguments[len(self.fields):]):
                to.plan[a] = _array(b)
            to.plan(self.steps)

    def gpu(self, call: _xla.Call) -> str:
        """The device that the call is on."""
        device = f"cuda:{call.device}"
        if self.device not in (None, "cuda", device):
            raise ValueError(f"the arrays are on {device}, but the function is for {self.device}: put them there with jax.device_put")
        return device

    def on_gpu(self, call: _xla.Call) -> None:
        to = self.bound(self.gpu(call), call)
        with to.lock:
            to.plan.restart()
            to.plan.stream = call.stream
            self.bind(to, call)
            for a, b in zip(self.arrays, call.arguments[len(self.fields):]):
                to.plan[a] = self.fetch(call, b)
            to.plan(self.steps, wait=False)

    def fetch(self, call: _xla.Call, b: _xla.Buffer) -> np.ndarray:
        """A launch-time array from the device: the call waits for it."""
        out = np.empty(b.shape, NUMPY[b.type])
        self.driver(call).fetch(out.ctypes.data, b.address, out.nbytes)
        return out

    def pull(self, call: _xla.Call, of: Sequence[str], by: Sequence[str], on_gpu: bool) -> None:
        """From the arguments, with the derivatives by what fields `of` end as behind them, to those by the arguments `by`. The plan does not run: it
        says what the run that is derived begins with."""
        names = self.fields + self.arrays
        to = self.bound(self.gpu(call) if on_gpu else self.device or "host", call)
        get = (lambda b: self.fetch(call, b)) if on_gpu else _array
        with to.lock:
            to.plan.restart()
            if on_gpu:
                to.plan.stream = call.stream
            for f, b in zip(self.fields, call.arguments):
                to.binders[f](b.address)
            for a, b in zip(self.arrays, call.arguments[len(self.fields):]):
                to.plan[a] = get(b)
            found = to.plan.pull(self.steps, {f: get(b) for f, b in zip(of, call.arguments[len(names):])}, to=by, memory=self.memory)
        for name, b in zip(by, call.results):
            values = np.ascontiguousarray(found[name], _HALVES.get(b.type) or NUMPY[b.type])
            if on_gpu:
                self.driver(call).put(b.address, values.ctypes.data, values.nbytes)
            else:
                c.memmove(b.address, values.ctypes.data, values.nbytes)

    def pull_name(self, of: Sequence[str], by: Sequence[str]) -> str:
        """What XLA calls that."""
        key = (tuple(of), tuple(by))
        with self.lock:
            if key not in self.pulls:
                self.pulls[key] = self.register(lambda call: self.pull(call, *key, False), lambda call: self.pull(call, *key, True))
            return self.pulls[key]

    def driver(self, call: _xla.Call) -> Cuda:
        """The device's, in the call's stream."""
        driver = Cuda(call.device)
        driver.stream = call.stream
        return driver

    def derive(self, values: Sequence[Any], bars: Dict[str, Any], by: Sequence[str]) -> Dict[str, Any]:
        """The derivatives by the arguments `by`, from those by fields at the end."""
        at = dict(zip(self.fields + self.arrays, values))
        shapes = [jax.ShapeDtypeStruct(at[name].shape, at[name].dtype) for name in by]
        found = ffi.ffi_call(self.pull_name(list(bars), by), shapes, vmap_method="sequential")(*values, *bars.values())
        return dict(zip(by, found))

    def call(self, *values):
        names = self.fields + self.arrays
        if len(values) != len(names):
            raise TypeError(f"{self.program.name} takes {', '.join(names)}, but {len(values)} arrays were given")
        values = [jax.numpy.asarray(v) for v in values]
        for name, v in zip(names, values):
            if type_name(v.dtype) != self.types[name]:
                raise TypeError(f"{name} is of type {self.types[name]}, but the array is of {v.dtype}; convert it first: a.astype(...)")
        at = {self.fields.index(f): i for i, f in enumerate(self.changed)}
        shapes = [jax.ShapeDtypeStruct(values[i].shape, values[i].dtype) for i in at]
        return ffi.ffi_call(self.name, shapes, input_output_aliases=at, vmap_method="sequential")(*values)


def function(program: Union[Program, str], *, steps: Optional[int] = None, outputs: Optional[Sequence[str]] = None, device: Optional[str] = None,
             memory: Union[int, str, None] = None, **params: Any) -> Callable[..., Any]:
    """f(A, ...): takes an array for each field that is not temp, in the order of Program.fields, then the launch-time arrays; runs `steps` time steps
    (None: the program's) from step 0, and gives arrays of the fields in `outputs` (default: all that steps change). Params come from the shapes, or
    from `params`.

    It runs where the arrays are, on their own memory: XLA copies an argument that is used again, and none that is not (or is donated to jax.jit).
    On an NVIDIA GPU the call puts its launches into XLA's stream and waits for nothing but inits, reductions and launch-time arrays. device: on a
    CPU "host" (default), "sim" or "ref".

    jax.grad and jax.vjp derive it by all floats that it takes: stc makes the program that goes back through the steps. The forward run is made once
    more for it, and what `memory` allows is kept of it, in bytes or as "8GiB" (None: what there is room for).
    """
    f = _Function(compile(program) if isinstance(program, str) else program, steps, device, memory, params)
    gives = list(outputs) if outputs is not None else f.changed
    for name in gives:
        if name not in f.fields:
            raise ValueError(f"there is no field {name!r} to give; there are {', '.join(f.fields)}")

    names = f.fields + f.arrays

    @jax.custom_vjp
    def call(*values):
        changed = dict(zip(f.changed, f.call(*values)))
        made = tuple(changed[name] if name in changed else values[f.fields.index(name)] for name in gives)
        return made if len(made) != 1 else made[0]

    def forward(*given):
        values = tuple(jax.numpy.asarray(v.value) for v in given)
        return call(*values), (values, tuple(() if v.perturbed else None for v in given))       # () and None are no arrays, but structure

    def backward(kept, bars):
        values, wanted = kept
        by = [name for name, w in zip(names, wanted) if w is not None and _is_float(f.types[name])]
        given = dict(zip(gives, bars if len(gives) != 1 else (bars,)))
        known = {name: bar for name, bar in given.items() if not isinstance(bar, SymbolicZero) and _is_float(f.types[name])}
        found = f.derive(values, known, by) if known and by else {}
        return tuple(found.get(name) for name in names)

    call.defvjp(forward, backward, symbolic_zeros=True)
    return call
