"""Programs, and what compiling takes."""
from __future__ import annotations

import ctypes as c
import errno
import os
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _arrays as arrays, _knobs
from ._context import Context, text_of
from ._errors import InputError, Message, Owner, error
from ._library import TYPES, CArray, COptions, lib, strings
from ._numbers import I64, defines as param_words, flag, text, whole, wholes
from ._plan import Plan, device_names

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._knob_types import Knobs      # made with the wheel of the table of knobs


def _free(context: Context, free, handle) -> None:
    free(handle)
    if free is lib.stc_program_free:
        lib.stc_context_free(context.handle)


def _looks_like_path(source: str) -> bool:
    text("the program", source)
    return "\n" not in source and ";" not in source and source.strip() != ""


def _real(real: Any) -> Any:
    """The type `real` as the command has it: "f64" for "float64", numpy.float64 and whatever else is that type to NumPy."""
    try:
        return real if real is None or isinstance(real, (int, bytes)) or real in ("f32", "f64") else {"f4": "f32", "f8": "f64"}.get(np.dtype(real).str[1:], real)
    except TypeError:
        return real


def _options(real, members, schedule, knobs, grid, opt_level, contract, fast_math, hoist, cache, check_finite, check_bounds, passes, arch,
             defines) -> Tuple[COptions, Dict[str, Any]]:
    o = COptions()
    words = {"real": real, "schedule": schedule, "passes": passes}
    if arch is not None and text("arch", arch):
        words["march"] = "nvptx" if arch.startswith("sm_") else "amdgpu" if arch.startswith("gfx") else arch
        words["mcpu"] = arch if arch.startswith(("sm_", "gfx")) else None
    for name, value in words.items():
        setattr(o, name, text(name, value) if value is not None else None)
    _knobs.fill(o, knobs)
    for d, n in enumerate(wholes("grid", grid, 1, I64, 4) if grid is not None else ()):
        o.grid[d] = n
    o.members = 0 if members is None else whole("members", members, 1, I64)
    o.opt_level = 0 if opt_level is None else whole("opt_level", opt_level, 0, 3) + 1
    o.check_finite = int(check_finite) if isinstance(check_finite, bool) else whole("check_finite", check_finite, 0)
    o.no_contract, o.no_hoist, o.no_cache = not flag("contract", contract), not flag("hoist", hoist), not flag("cache", cache)
    o.fast_math, o.check_bounds = flag("fast_math", fast_math), flag("check_bounds", check_bounds)
    o.defines, o.ndefines = strings(param_words(defines))
    return o, words


def _command_words(o: COptions, words: Mapping[str, Any], contract: bool, defines: Optional[Mapping[str, Any]]) -> List[str]:
    """The options as the command takes them."""
    flags = {"real": "freal", "passes": "passes"}
    out = [f"-{flags.get(n, n)}={v}" for n, v in words.items() if v is not None and (n, v) != ("march", "host")]
    out += _knobs.words(o)
    out += ["-for-grid=" + "x".join(str(n) for n in o.grid if n)] if o.grid[0] else []
    out += [f"-members={o.members}"] if o.members else []
    out += [f"-O{o.opt_level - 1}"] if o.opt_level else []
    out += [f"-fcheck=finite={o.check_finite}"] if o.check_finite else []
    out += ["-fno-contract"] * (not contract) + ["-ffast-math"] * bool(o.fast_math) + ["-fno-hoist"] * bool(o.no_hoist) + ["-fno-cache"] * bool(o.no_cache) + ["-fcheck=bounds"] * bool(o.check_bounds)
    return out + [f"-D{d}" for d in param_words(defines)]


@_knobs.takes_knobs
def compile(source: Union[str, os.PathLike], *, real: Any = None, members: Optional[int] = None, schedule: Optional[str] = None, grid: Optional[Sequence[int]] = None,
            opt_level: Optional[int] = None, contract: bool = True, fast_math: bool = False, hoist: bool = True, cache: bool = True,
            check_finite: Union[bool, int] = False, check_bounds: bool = False, passes: Optional[str] = None, arch: Optional[str] = None,
            defines: Optional[Mapping[str, Any]] = None, name: str = "program.stn", base: Union[str, os.PathLike, None] = None, **knobs: Unpack[Knobs]) -> "Program":
    """Reads and checks a program: a file's name, or its text.

    The options are the command's: real: "f32" or "f64", or NumPy's type of these, what the type `real` means. schedule: "auto", "naive", "overlap", "stream" or "warps".
    members: so many independent runs in one, as if `members n;` stood behind the program's grid: arrays have an axis more, in front.
    grid: the extents that the choice of a schedule is to suit. contract: a*b+c may be rounded once.
    hoist: what no step changes may be computed once, on the host. cache: the host's compiled kernels may be kept on disk.
    check_finite: look for NaN and infinities after every so many steps. arch: "host", "sm_90", "gfx942", ...: whose artifact `emit` gives; a plan takes its device's. defines: params'
    new defaults. name: what messages call a text. base: the folder from which a text includes files, by default that of its name.
    Raises InputError with file, line and column if the program is wrong.
    """
    _knobs.check("compile", knobs)
    options, keep = _options(_real(real), members, schedule, knobs, grid, opt_level, contract, fast_math, hoist, cache, check_finite, check_bounds, passes, arch, defines)
    context = Context()
    handle = c.c_void_p()
    is_path = isinstance(source, os.PathLike) or _looks_like_path(source)
    if is_path and not os.path.exists(source):
        raise FileNotFoundError(errno.ENOENT, "there is no such program (a program's text has a `;` behind each declaration)", os.fspath(source))
    if is_path:
        path = os.fsencode(source)
        read = lambda: lib.stc_compile_file(context.handle, path, c.byref(options), c.byref(handle))  # noqa: E731
    else:
        names = text("name", os.path.join(os.fspath(base), name) if base is not None else name), text("the program", source)
        read = lambda: lib.stc_compile_string(context.handle, *names, c.byref(options), c.byref(handle))  # noqa: E731
    status = context.make((options, keep, handle), read, lambda: lib.stc_program_free(handle))
    if status:
        lib.stc_context_free(context.handle)
    context.check(status)
    words = _command_words(options, words=keep, contract=contract, defines=defines)

    def again(n: int) -> "Program":
        return compile(source, real=real, members=n, schedule=schedule, grid=None if grid is None else [n, *wholes("grid", grid, 1, I64)], opt_level=opt_level,
                       contract=contract, fast_math=fast_math, hoist=hoist, cache=cache, check_finite=check_finite, check_bounds=check_bounds, passes=passes,
                       arch=arch, defines=defines, name=name, base=base, **knobs)
    return Program(context, handle, Path(source) if is_path else source, words, None if members else again)


class Program(Owner):
    """A compiled program. stc.compile makes it."""
    _copying = "plans share it as it is; stc.compile makes another one"
    _pickling = "keep its text and options, and call stc.compile there"

    def __init__(self, context: Context, handle: c.c_void_p, source: Union[str, "os.PathLike[str]"], words: Sequence[str] = (),
                 again: Optional[Callable[[int], "Program"]] = None):
        self._context, self._handle, self._source, self._words, self._again = context, handle, source, list(words), again
        self._finalizer = weakref.finalize(self, _free, context, lib.stc_program_free, handle)
        self._finalizer.atexit = False      # arrays and runs may use it until the process ends

    if not TYPE_CHECKING:      # so that type checkers find names that a program does not have
        def __getattr__(self, name: str) -> Any:
            known = not name.startswith("_") and (hasattr(Plan, name) or name in self.fields)
            raise AttributeError(f"a program has no attribute {name!r}" + ("; what runs it has: run = program.plan()" if known else ""))

        def __call__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("a program is not run by itself: run = program.plan(); run(steps)")

        def __getitem__(self, name: Any) -> Any:
            raise TypeError(f"a program has no values: run = program.plan(); run[{name!r}]")

        def __setitem__(self, name: Any, _: Any) -> None:
            self[name]

    @property
    def name(self) -> str:
        return text_of(lib.stc_program_name(self._handle))

    @property
    def rank(self) -> int:
        """Dimensions of the grid."""
        return lib.stc_program_rank(self._handle)

    @property
    def steps(self) -> int:
        """The number of time steps that the program's grid names."""
        return lib.stc_program_steps(self._handle)

    @property
    def fields(self) -> List[str]:
        """Names of the fields, older levels ("U@1") behind theirs."""
        return [text_of(lib.stc_program_field_name(self._handle, i)) for i in range(lib.stc_program_field_count(self._handle))]

    def outside(self, name: str) -> Optional[str]:
        """What reads beyond the field's edges give, as the program writes it behind `outside`: "clamp", "[mirror half odd .. 0.0, periodic]"; None: they are errors."""
        field = lib.stc_program_find_field(self._handle, text("a field's name", name))
        if field < 0:
            raise KeyError(f"the program has no field {name!r}; there are {', '.join(self.fields)}")
        rule = lib.stc_program_field_outside(self._handle, field)
        return None if rule is None else text_of(rule)

    @property
    def arrays(self) -> List[str]:
        """Names of the launch-time arrays."""
        return [text_of(lib.stc_program_array_name(self._handle, i)) for i in range(lib.stc_program_array_count(self._handle))]

    @property
    def scalars(self) -> List[str]:
        """Names of the scalars (`scalar`) that are kept from step to step."""
        found: List[str] = []
        while True:
            name = lib.stc_program_scalar(self._handle, len(found))
            if name is None:
                return found
            found.append(text_of(name))

    @overload
    def emit(self, what: Literal["obj"] = ...) -> bytes: ...
    @overload
    def emit(self, what: Literal["ast", "sir", "kir", "llvm", "asm", "manifest", "header", "plan"]) -> str: ...
    def emit(self, what: str = "obj") -> Union[str, bytes]:
        """What the compiler made: "ast", "sir", "kir", "llvm", "asm", "manifest", "header" and "plan" (which `schedule` of stc.compile takes) as text, "obj" (the artifact: PTX, a code object,
        an object file) as bytes."""
        kinds = ["ast", "sir", "kir", "llvm", "asm", "obj"]
        if what in ("manifest", "header", "plan"):
            text = c.c_char_p()
            self._context.check(self._context.make((self, text), lambda: getattr(lib, f"stc_program_{what}")(self._handle, c.byref(text))))
            return (text.value or b"").decode()
        if what not in kinds:
            raise ValueError(f"emit({what!r}): there are {', '.join(kinds)}, manifest, header and plan")
        data, size = c.c_void_p(), c.c_size_t()
        self._context.check(self._context.make((self, data, size),
                                               lambda: lib.stc_program_emit(self._handle, kinds.index(what), c.byref(data), c.byref(size))))
        made = c.string_at(data, size.value)
        return made if what == "obj" else made.decode()

    def plan(self, device: Union[str, Sequence[str]] = "host", *, split: Any = None, comm: Any = None, parts: bool = False, memory: Union[int, str, None] = None,
             **params: Any) -> "Plan":
        """The program on a device with fixed params: "host", "host:4" (threads), "cuda", "cuda:1", "hip", "sim", "ref". Code is loaded and memory
        allocated; run the plan as often as wanted.

        Several devices, ["cuda:0", "cuda:1"] or "cuda:0-1", have the grid cut into parts, with the same results; split says how: 4, (2, 2) or "2x2",
        or "2x2/8" to exchange after 8 steps. comm, an mpi4py communicator (True: all processes that mpirun started), cuts it over processes; with
        parts=True none of them has the whole grid, and fields are set and got by plan.parts.

        memory, bytes or "8GiB", is all that the plan takes of one device: where it needs more, its fields are in the computer's memory, and parts of
        the grid take turns on the device; split says how many, and how many steps a turn ("16/32")."""
        try:
            return Plan(self, device, params, split, comm, parts, memory)
        except InputError as e:
            for i, m in enumerate(e.messages):
                if "no param 'steps'" in m.text:
                    e.messages[i] = m._replace(text=f"{m.text}. Steps are given to the run: run({params.get('steps')})")
            raise type(e)(e.status, e.messages) from None

    def foresee(self, name: str, values: Any) -> None:
        """Tells values that a field will have in runs of plans made from now on, such as a mask's, or those of a field that one is made of: schedules then
        suit the part of the grid where the mask is true. Results do not depend on it, and a run takes the values that are set."""
        a = np.ascontiguousarray(arrays.to_numpy(values))
        kind = arrays.type_name(a.dtype)
        if kind not in TYPES:
            raise TypeError(f"{name}: values are wanted of a type that fields have, and these are of type {a.dtype}; convert them first: values.astype('f4')")
        array = CArray(a.ctypes.data, TYPES.index(kind), a.ndim, (c.c_int64 * max(a.ndim, 1))(*a.shape), None)
        self._context.check(lib.stc_program_foresee(self._handle, text("a field's name", name), c.byref(array)))

    def explain(self, *options: str, device: Union[str, Sequence[str], None] = None, **params: Any) -> "Explanation":
        """What the schedule comes to on a card, as `stc explain` says it, with a drawing of the tiles (SVG) that notebooks show: on the card that
        the options name ("--card=a100"), on a GPU at hand, device="cuda:1", or on this CPU,
        device="host", of which there is no drawing. The options that the program was compiled with hold, with further ones of the command's behind
        them."""
        words = [*self._words, *options] + ([] if device is None else [f"--device={text('device', device_names(device)).decode()}"])
        return Explanation(self._source, words + [f"-D{d}" for d in param_words(params)])

    def __repr__(self) -> str:
        return f"Program({self.name!r}, fields={self.fields})"


class Explanation:
    """What `stc explain` prints (str) and draws (svg)."""

    def __init__(self, source: Any, options: List[str]):
        with tempfile.TemporaryDirectory() as folder:
            path = source if isinstance(source, Path) else Path(folder, "program.stn")
            if not isinstance(source, Path):
                path.write_text(source)
            svg = Path(folder, "tiles.svg")
            drawn = [] if any(o.startswith(("--device=host", "-march=host")) for o in options) else ["--plot", str(svg)]    # of CPUs there is none
            done = subprocess.run([sys.executable, "-m", "stc", "explain", *drawn, *options, str(path)], capture_output=True, text=True)
            if done.returncode:
                raise error(done.returncode, [Message("error", None, 0, 0, None, done.stderr.strip())])
            self.text, self.svg = done.stdout, svg.read_text() if svg.exists() else ""

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape
        return f"<div>{self.svg}</div><pre>{escape(self.text)}</pre>"


def devices() -> str:
    """What there is to run on, a line for each, as `stc devices` prints it."""
    return subprocess.run([sys.executable, "-m", "stc", "devices"], capture_output=True, text=True, check=True).stdout
