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
from ._members import Families, Fields
from ._numbers import whole
from ._program import Plan, Program, compile

_HALVES = {"f16": np.dtype(np.float16), "bf16": jax.numpy.dtype(jax.numpy.bfloat16)}
_COMPLEX = {"complex64": "c64", "complex128": "c128"}
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


def _join(re: Any, im: Any) -> Any:
    """Complex numbers of their parts, of which one may be None."""
    return (0 if re is None else re) + 1j * (0 if im is None else im)


def _is_float(type: str) -> bool:
    return type in ("f16", "bf16", "f32", "f64")


def _array(b: _xla.Buffer) -> np.ndarray:
    """An array of a call's in the host's memory."""
    memory = (c.c_char * (math.prod(b.shape) * NUMPY[b.type].itemsize)).from_address(b.address)
    return np.frombuffer(memory, NUMPY[b.type]).reshape(b.shape)  # type: ignore[call-overload]


class _Function:
    """What the function does with arrays of its fields' parts. parts: those that it takes; changed: those that steps change, which are its results.
    size: the number of members that it adds, whose axis the parts have in front; 0: it adds none, and `families` has the functions that do."""

    def __init__(self, program: Program, steps: Optional[int], device: Optional[str], memory: Union[int, str, None], params: Dict[str, Any],
                 root: Optional["_Function"] = None, size: int = 0):
        self.program, self.device, self.memory, self.params = program, device, memory, params
        memory_bytes(memory)
        self.steps = None if steps is None else whole("steps", steps, 0)
        self.manifest = json.loads(program.emit("manifest"))
        self.fields = Fields(program, self.manifest, "", "arguments")
        self.parts = self.fields.parts
        self.changed = [f for f in self.parts if not self.fields.about[f]["input"]]
        self.arrays = program.arrays
        self.types = {**{f: self.fields.about[f]["type"] for f in self.parts}, **{a["name"]: a["type"] for a in self.manifest["arrays"]}}
        self.plans: Dict[Any, Any] = {}
        self.pulls: Dict[Any, str] = {}
        self.lock = threading.Lock()
        self.root, self.size = root or self, size
        if root is None:
            self.families = Families(program, self.manifest, lambda p, n: _Function(p, steps, device, memory, params, self, n))
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
        shapes = [b.shape for b in call.arguments[:len(self.parts)]]
        key = (device, *shapes)
        with self.lock:
            if key not in self.plans:
                params = {**params_of_shapes(self.manifest, dict(zip(self.parts, shapes))), **self.params}
                plan = self.program.plan(device=device, **params)
                _keep(plan, self.program)
                self.plans[key] = _Bound(plan, self.parts, shapes, self.types)
            return self.plans[key]

    def bind(self, to: _Bound, call: _xla.Call) -> None:
        """Has the plan work on the call's memory. XLA has made each result a copy of its argument, or the argument itself."""
        addresses = {f: b.address for f, b in zip(self.parts, call.arguments)}
        addresses.update((f, b.address) for f, b in zip(self.changed, call.results))
        for f, bind in to.binders.items():
            bind(addresses[f])

    def on_host(self, call: _xla.Call) -> None:
        to = self.bound(self.device or "host", call)
        with to.lock:
            to.plan.restart()
            for f, b in zip(self.changed, call.results):
                given = call.arguments[self.parts.index(f)]
                if given.address != b.address:
                    c.memmove(b.address, given.address, math.prod(b.shape) * NUMPY[b.type].itemsize)
            self.bind(to, call)
            for a, b in zip(self.arrays, call.arguments[len(self.parts):]):
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
            for a, b in zip(self.arrays, call.arguments[len(self.parts):]):
                to.plan[a] = self.fetch(call, b)
            to.plan(self.steps, wait=False)

    def fetch(self, call: _xla.Call, b: _xla.Buffer) -> np.ndarray:
        """A launch-time array from the device: the call waits for it."""
        out = np.empty(b.shape, NUMPY[b.type])
        self.driver(call).fetch(out.ctypes.data, b.address, out.nbytes)
        return out

    def pull(self, call: _xla.Call, of: Sequence[str], by: Sequence[str], on_gpu: bool) -> None:
        """From the arguments, with the derivatives by what parts `of` end as behind them, to those by the arguments `by`. The plan does not run: it
        says what the run that is derived begins with."""
        names = self.parts + self.arrays
        to = self.bound(self.gpu(call) if on_gpu else self.device or "host", call)
        get = (lambda b: self.fetch(call, b)) if on_gpu else _array
        with to.lock:
            to.plan.restart()
            if on_gpu:
                to.plan.stream = call.stream
            for f, b in zip(self.parts, call.arguments):
                to.binders[f](b.address)
            for a, b in zip(self.arrays, call.arguments[len(self.parts):]):
                to.plan[a] = get(b)
            bars = self.fields.whole({f: get(b) for f, b in zip(of, call.arguments[len(names):])}, _join)
            wanted = [f for f in self.fields.names if set(self.fields.of(f)) & set(by)] + [a for a in self.arrays if a in by]
            found = self.fields.in_parts(to.plan.pull(self.steps, bars, to=wanted, memory=self.memory))
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
        """The derivatives by the arguments `by`, from those by parts at the end."""
        names, n = self.parts + self.arrays, len(self.parts) + len(self.arrays)

        def once(*given):
            at = dict(zip(names, given))
            shapes = [jax.ShapeDtypeStruct(at[name].shape, at[name].dtype) for name in by]
            return ffi.ffi_call(self.pull_name(list(bars), by), shapes, vmap_method="sequential")(*given)

        def many(f, given):
            found = f.derive(given[:n], dict(zip(bars, given[n:])), by)
            return [found[name] for name in by]
        alone = self.memory is not None or set(by) & set(self.arrays)       # what is kept of one run is bounded; members would share the derivative
        return dict(zip(by, self.mapped(once, None if alone else many, [name in self.arrays for name in names] + [False] * len(bars))(*values, *bars.values())))

    def mapped(self, once: Callable[..., Any], many: Optional[Callable[["_Function", Sequence[Any]], Any]], shared: Sequence[bool]) -> Callable[..., Any]:
        """`once`, which jax.vmap makes a call of a function with members: `many(function, arguments)`. shared: by argument, do members share it? Where there
        is no such function, or what members share differs, it makes one call after the other."""
        f = jax.custom_batching.custom_vmap(once)

        @f.def_vmap
        def rule(n, batched, *values):
            to = None if many is None or any(b and s for b, s in zip(batched, shared)) else self.root.families.of(n * (self.size or 1))
            if many is None or to is None:
                made = jax.vmap(once, [0 if b else None for b in batched])(*values)
                return made, [True] * len(made)
            one = self.size == 0            # an argument has its members in front of the shape, or among those that it has

            def spread(v, b):
                v = v if b else jax.numpy.broadcast_to(v, (n, *v.shape))
                return v if one else v.reshape(n * self.size, *v.shape[2:])
            made = many(to, [v if s else spread(v, b) for v, b, s in zip(values, batched, shared)])
            return [v if one else v.reshape(n, self.size, *v.shape[1:]) for v in made], [True] * len(made)
        return f

    def call(self, *values):
        at = {self.parts.index(f): i for i, f in enumerate(self.changed)}

        def once(*given):
            shapes = [jax.ShapeDtypeStruct(given[i].shape, given[i].dtype) for i in at]
            return ffi.ffi_call(self.name, shapes, input_output_aliases=at, vmap_method="sequential")(*given)
        return self.mapped(once, lambda f, given: f.call(*given), [False] * len(self.parts) + [True] * len(self.arrays))(*values)

    def take(self, values: Sequence[Any]) -> List[Any]:
        """The arrays of parts and the launch-time arrays, from the arguments, checked."""
        names = self.fields.names + self.arrays
        if len(values) != len(names):
            raise TypeError(f"{self.program.name} takes {', '.join(names)}, but {len(values)} arrays were given")
        values = [jax.numpy.asarray(v) for v in values]
        for name, v in zip(names, values):
            want = self.types[name] if name in self.types else self.fields.type(name)
            found = _COMPLEX.get(v.dtype.name) or type_name(v.dtype)
            if found != want:
                raise TypeError(f"{name} is of type {want}, but the array is of {v.dtype}; convert it first: a.astype(...)")
        return [part for name, v in zip(names, values) for part in ((v.real, v.imag) if name in self.fields.complex else (v,))]


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
    gives = list(outputs) if outputs is not None else [name for name in f.fields.names if f.fields.of(name)[0] in f.changed]
    for name in gives:
        if name not in f.fields.names:
            raise ValueError(f"there is no field {name!r} to give; there are {', '.join(f.fields.names)}")

    given = [part for name in gives for part in f.fields.of(name)]
    names = f.parts + f.arrays

    @jax.custom_vjp
    def call(*values):
        changed = dict(zip(f.changed, f.call(*values)))
        return tuple(changed[part] if part in changed else values[f.parts.index(part)] for part in given)

    def forward(*arguments):
        values = tuple(jax.numpy.asarray(v.value) for v in arguments)
        return call(*values), (values, tuple(() if v.perturbed else None for v in arguments))       # () and None are no arrays, but structure

    def backward(kept, bars):
        values, wanted = kept
        by = [name for name, w in zip(names, wanted) if w is not None and _is_float(f.types[name])]
        known = {name: bar for name, bar in zip(given, bars) if not isinstance(bar, SymbolicZero) and _is_float(f.types[name])}
        found = f.derive(values, known, by) if known and by else {}
        return tuple(found.get(name) for name in names)

    call.defvjp(forward, backward, symbolic_zeros=True)

    def whole(*values):
        parts = iter(call(*f.take(values)))
        made = tuple(jax.lax.complex(next(parts), next(parts)) if name in f.fields.complex else next(parts) for name in gives)
        return made if len(made) != 1 else made[0]
    setattr(whole, "families", f.families)
    return whole
