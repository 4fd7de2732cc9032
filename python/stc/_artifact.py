"""An artifact and its manifest, run on the vendor's driver alone."""
from __future__ import annotations

import ctypes as c
import errno
import json
import math
import os
import re
import weakref
import zlib
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

import numpy as np

from . import _arrays as arrays
from ._adjoint import Adjoint, Gradient
from ._driver import DRIVERS
from ._errors import InputError, Message, Owner
from ._manifest import check
from ._numbers import I32, I64, whole
from ._expression import CTYPES, bind, bound, expression, extents, params_of_shapes
from ._weights import weights

MOST_VERSION = 18
WHITE = b" \t\r\n"


def _wrong(why: str) -> InputError:
    return InputError(3, [Message("error", None, 0, 0, None, why)])


def _check_writable(name: str, a: np.ndarray) -> None:
    """Refuses an array that values cannot be brought back to."""
    if not a.flags.writeable:
        raise _wrong(f"{name}: the array is read-only, and a run brings the field's values back to it; give a copy, as by numpy.array(a)")
    if any(n > 1 and s == 0 for n, s in zip(a.shape, a.strides)):
        raise _wrong(f"{name}: places of the array share memory, and each has a value of its own behind a run; give a copy, as by numpy.array(a)")


class ArtifactRun(NamedTuple):
    """What Artifact.run came to. steps: those made. until: the name of the `until` that ended it, or None. reductions: as in Plan.reductions.
    scalars: those that are kept, behind the last step."""
    steps: int
    until: Optional[str]
    reductions: Dict[str, np.ndarray]
    scalars: Dict[str, Any] = {}


def load(manifest: Union[str, os.PathLike], artifact: Union[str, os.PathLike, None] = None, device: int = 0) -> "Artifact":
    """An artifact that `stc -march=... FILE` made. manifest: its .json. artifact: the .ptx, .hsaco or .o; default: beside the manifest, by its
    name. device: the GPU's number. LLVM is not used: only libcuda.so.1 or libamdhip64.so (for .o a C compiler, which links it)."""
    path, number = Path(manifest), whole("device", device, 0, I32)
    data = _read(path)
    file = Path(artifact) if artifact else path.with_suffix("." + data["target"]["artifact"])
    if not file.exists():
        raise FileNotFoundError(errno.ENOENT, "the artifact that the manifest is of is not there", str(file))
    return Artifact(data, file, number)


def _read(path: Path) -> Dict[str, Any]:
    """The manifest, if it is as stc wrote it and this package can launch all of it."""
    text = path.read_bytes()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _wrong(f"{path} is no manifest of stc's: it is no JSON ({e})") from None
    if not isinstance(data, dict) or data.get("schema") != "stc-manifest":
        raise _wrong(f"{path} is no manifest of stc's")
    version = data.get("schema_version")
    if isinstance(version, int) and version > MOST_VERSION:
        raise _wrong(f"{path} has the schema version {version}, and this package knows those up to {MOST_VERSION}: update it")
    if "checksum" in data and not _is_as_written(text, data["checksum"]):
        raise _wrong(f"{path} is damaged, or was changed after stc wrote it: its checksum does not fit; make the artifact anew")
    what = check(data)
    if what:
        raise _wrong(f"{path} is damaged: {what}; make the artifact anew")
    return data


def _is_as_written(text: bytes, checksum: Any) -> bool:
    """Is that the CRC-32 of the text without white space, with zeros in its own place?"""
    before, found, behind = text.rpartition(b'"checksum"')
    behind, n = re.subn(rb'"[0-9a-f]{8}"', b'"00000000"', behind, count=1)
    return n == 1 and isinstance(checksum, str) and f"{zlib.crc32((before + found + behind).translate(None, WHITE)):08x}" == checksum


class Artifact(Owner):
    """Kernels and the manifest that says how to launch them. stc.load makes it."""
    _copying = "it keeps no values from run to run, so one will do; stc.load makes another"
    _pickling = "keep the name of the manifest, and call stc.load there"

    def __init__(self, manifest: Mapping[str, Any], path: Path, device: int):
        self.manifest = manifest
        self._path, self._device = path, device
        self._backward: Optional[Artifact] = None
        self._driver = DRIVERS[manifest["target"]["arch"]](device)
        self._driver.load(path, manifest)
        self._finalizer = weakref.finalize(self, self._driver.close)
        self._kernels = {k["name"]: k for k in manifest["kernels"]}
        self._fields = {f["name"]: f for f in manifest["fields"]}
        self._arrays = {a["name"]: a for a in manifest["arrays"]}

    @property
    def fields(self) -> List[str]:
        """The names of what has values from step to step; components of vectors and structs one by one ("v.0")."""
        derived = {l["field"] for l in self.manifest.get("points", [])}
        return [n for n, f in self._fields.items() if not f["temp"] and not f.get("once") and n not in derived]

    def run(self, fields: Mapping[str, Any], steps: Optional[int] = None, *, stream: Any = None, first_step: int = 0, **params: Any) -> ArtifactRun:
        """Runs time steps first_step .. first_step + steps - 1 (None: as many as the program says), in place.

        fields: arrays by the names of fields and launch-time arrays, dense, in C order. Arrays on the GPU are worked on where they are, NumPy
        arrays are copied in and out. A field that is not given begins as its init makes it, else as zeros; where first_step is not 0 no init is made,
        and a mask that is not given is false everywhere. stream: a CUDA or HIP stream; arrays on
        the GPU are then filled in it, and the call does not wait where there is neither a NumPy array nor a reduction. params: those that the
        shapes of the fields do not tell. A field that is a series of frames is given all of them, as an array with one axis more, in front, or
        as a function that makes frame j (with None behind the last); or one array without that axis, for all steps.
        """
        if "probes" in self.manifest["host"]:
            raise _wrong("the artifact has probes, which stc.load cannot read: use stc.compile, or stc run")
        count = None if steps is None else whole("steps", steps, 0)
        first = whole("first_step", first_step, 0, I64 - (count or 0))
        run = _Run(self, fields, first, params, arrays.stream_handle(stream))
        try:
            return run.all(run.program_steps() if count is None else count)
        finally:
            run.close()


    def gradient(self, fields: Mapping[str, Any], steps: Optional[int] = None, **params: Any) -> Gradient:
        """The losses' sum over steps 0 .. steps - 1 (None: as many as the program says), and its derivatives by what the program's `gradient` is to; by
        components of vectors and structs one by one ("v.0"). The arrays stay as they are. The backward artifact (p.back.ptx) stands beside the artifact.
        What the backward run needs of each step is kept on the device."""
        facts = self.manifest.get("gradient")
        if facts is None:
            raise _wrong("the artifact has no gradient: its program says none, or stc warned why when it made the artifact; use stc.compile and "
                         "run.gradient")
        backward = self._backward
        if backward is None:
            file = self._path.with_suffix("." + facts["artifact"])
            if not file.exists():
                raise FileNotFoundError(errno.ENOENT, "the artifact that computes the gradient is not there; `stc FILE` writes it beside the artifact", str(file))
            if facts.get("artifact_checksum", now := f"{zlib.crc32(file.read_bytes()):08x}") != now:
                raise _wrong(f"{file} is not the artifact that was written with this manifest: a gradient by both would be wrong; make them anew")
            backward = self._backward = Artifact(facts["program"], file, self._device)
        count = None if steps is None else whole("steps", steps, 0, I64 - 1)
        unknown = {n for n in fields if n not in self._arrays and n not in self.fields}
        extra = unknown & {a["name"] for a in facts["program"]["arrays"] if "role" not in a}
        run = _Run(self, {n: v for n, v in fields.items() if n not in extra}, 0, params, 0, aside=True)
        try:
            steps = run.program_steps() if count is None else count
            return Adjoint(run, lambda given, values: _Run(backward, given, 0, values, 0), facts, fields, steps).all()
        finally:
            run.close()


class _Series:
    """Frames: an array whose first axis is theirs, or a function that makes each. frame: the shape of one."""

    def __init__(self, value: Any):
        self.value = value
        self.made: Dict[Any, Any] = {}
        self.count = None if callable(value) else len(value)
        if self.count == 0:
            raise _wrong("a series of frames has one at least")
        self.frame = tuple(self.at(0, False).shape)

    def at(self, j: int, cycle: bool) -> Any:
        """The frame of number j: behind the last of an array it begins anew, or stays there."""
        if self.count is not None:
            return self.value[j % self.count if cycle else min(j, self.count - 1)]
        if j not in self.made:
            self.made = {**{k: v for k, v in self.made.items() if k == j - 1}, j: np.asarray(self.value(j))}
        return self.made[j]


class _Run:
    """One call of Artifact.run: buffers, scalars, the step. aside: arrays on the device are copied, and not worked on."""

    def __init__(self, artifact: Artifact, given: Mapping[str, Any], first_step: int, params: Mapping[str, Any], stream: int, aside: bool = False):
        self.a, self.m, self.driver, self.aside = artifact, artifact.manifest, artifact._driver, aside
        self.driver.current()
        self.driver.stream, self.step = stream, first_step
        for name in given:
            if name not in artifact._arrays and name not in artifact.fields:
                raise KeyError(f"{name!r} is no field or launch-time array of the artifact; there are {', '.join(artifact.fields + list(artifact._arrays))}")
        self.frames = {f["name"]: f["frames"] for f in self.m["fields"] if "frames" in f}
        self.held: Dict[str, int] = {}
        given = {n: self._series(n, v) if n in self.frames else v for n, v in given.items()}
        for n, v in given.items():
            if n in artifact._fields and not isinstance(v, _Series) and not hasattr(v, "shape"):
                raise TypeError(f"{n}: a {type(v).__name__} holds no values that a run could change; give numpy.array of it")
        shapes = {n: v.frame if isinstance(v, _Series) else tuple(np.shape(v) if isinstance(v, np.ndarray) else v.shape)
                  for n, v in given.items() if n in artifact._fields}
        self.env = bind(self.m, {**params_of_shapes(self.m, shapes), **params})
        self.own: List[int] = []
        self.home: Dict[str, int] = {}
        self.back: List[tuple] = []
        self.kept: List[Any] = []
        self.series: Dict[str, List[tuple]] = {}
        self.memory: Dict[str, int] = {}
        self.given = given
        self.live: Dict[str, int] = {}
        try:
            for b in self.m["buffers"]:
                self.memory[b["name"]] = self._memory_for(b)
            for points in self.m.get("points", []):
                self._place(points)
        except BaseException:
            self.close()
            raise

    def buffer_of(self, field: str) -> Optional[Mapping[str, Any]]:
        """The buffer that holds a field; None: no kernel uses it."""
        return next((b for b in self.m["buffers"] if b["kind"] == "field" and b["field"] == field and b["copy"] == 0), None)

    def _coordinates(self, points: Mapping[str, Any], d: int) -> Any:
        """Those of a list of points along dimension d: an array, or one number for all."""
        at = points["at"][d]
        if "number" in at:
            lower, upper = (bound(points["region"][side][d], self.env) for side in ("lower", "upper"))
            return np.arange(lower, max(upper + 1, lower))
        if "array" not in at:
            return bound(at, self.env)
        if at["array"] not in self.given:
            raise _wrong(f"launch-time array {at['array']}, of points, has no values")
        return np.ravel(arrays.to_numpy(self.given[at["array"]])).astype(np.int64)

    def _place(self, points: Mapping[str, Any]) -> None:
        """Fills the field that says which points of a list are at each cell, and the array of the next ones at the same place."""
        name, region = points["field"], points["region"]
        at = np.broadcast_arrays(*[self._coordinates(points, d) for d in range(len(region["lower"]))], np.zeros(1))[:-1]
        lower, upper = ([bound(x, self.env) for x in region[side]] for side in ("lower", "upper"))
        if any(((x < lo) | (x > hi)).any() for x, lo, hi in zip(at, lower, upper)):
            raise _wrong(f"{points['name']}: a point lies outside of the region")
        first, nexts, many = np.zeros(self._shape(name), np.int32), np.zeros(max(len(at[0]), 1), np.int32), np.zeros(self._shape(name), np.int32)
        for p in reversed(range(len(at[0]))):
            cell = tuple(int(x[p]) - lo for x, lo in zip(at, lower))
            nexts[p], first[cell] = first[cell], p + 1
            many[cell] += 1
            if 0 < points["most"] < many[cell]:
                raise _wrong(f"{points['name']}: more than {points['most']} points are at one place")
        for b in self.m["buffers"]:
            if b["kind"] == "field" and b["field"] == name or b["kind"] == "array" and b["array"] == points.get("next"):
                values = first if b["kind"] == "field" else nexts
                self.driver.put(self.memory[b["name"]], values.ctypes.data, values.nbytes)

    def _series(self, name: str, value: Any) -> Any:
        """What is given of a field with frames: the series, or a single array."""
        if "ahead_of" in self.frames[name]:
            raise _wrong(f"{name} has the frames ahead of {self.frames[name]['ahead_of']}: give them to that")
        rank = len(self.a._fields[name]["extents"])
        if not callable(value) and len(value.shape) <= rank:
            return value
        return _Series(value)

    def _check_frames(self, last: int) -> None:
        """Refuses a run whose last step has no frame."""
        for name, frames in self.frames.items():
            series = self.given.get(name)
            number = last // frames["every"]
            if isinstance(series, _Series) and series.count is not None and not frames["cycle"] and number >= series.count:
                raise _wrong(f"{name} has {series.count} frames of {frames['every']} steps each, but step {last} is in frame {number}")

    def _next_frames(self) -> None:
        """Has fields the frames of the step at hand."""
        for b in self.m["buffers"]:
            frames: Any = self.frames.get(b["field"]) if b["kind"] == "field" else None
            series = self.given.get(frames.get("ahead_of", b["field"])) if frames else None
            number = self.step // frames["every"] if frames else 0
            if isinstance(series, _Series) and self.held.get(b["name"]) != number:
                self._fill(self.memory[b["name"]], b["field"], series.at(number + ("ahead_of" in frames), frames["cycle"]), b)
                self.held[b["name"]] = number

    def program_steps(self) -> int:
        """As many as the program says."""
        steps = self.m["steps"]
        return whole("steps", self.env[steps] if isinstance(steps, str) else steps, 0, I64 - self.step)

    def _elements(self, b: Mapping[str, Any], most: int = 0) -> int:
        """Elements of a buffer; with most=1 with room for one in each empty dimension."""
        if b["kind"] == "field":
            return math.prod(max(n, most) for n in extents(self.a._fields[b["field"]], self.env))
        if b["kind"] == "array":
            return max(bound(self.a._arrays[b["array"]]["extent"], self.env), most)
        return b["elements"] * (bound(b["each"], self.env) if "each" in b else 1)

    def _memory_for(self, b: Mapping[str, Any]) -> int:
        """The buffer's memory: the caller's array where it is on the device, else fresh memory, filled where there are values."""
        name: Any = b.get("array") if b["kind"] == "array" else b.get("field") if b["kind"] == "field" and b["copy"] == 0 else None
        value = self.given.get(self.frames.get(name, {}).get("ahead_of", name)) if name else None
        value = None if isinstance(value, _Series) else value
        if b["kind"] == "array" and "first" in self.a._arrays[name]:
            first = np.asarray(self.env[self.a._arrays[name]["first"]] if value is None else value)
            value = np.array(np.broadcast_to(first, self._elements(b)), arrays.NUMPY[b["type"]])
        if b["kind"] == "array" and "weights" in self.a._arrays[name]:
            value = self._weights(self.a._arrays[name]["weights"])
        if b["kind"] == "array" and "values" in self.a._arrays[name]:
            value = self._values(self.a._arrays[name])
        on_device = value is not None and self._is_here(value)
        where = self._check(name, value, b) if on_device and b["kind"] == "field" else 0
        if where and not self.aside:
            self.home[b["name"]] = where
            return where
        p = self.driver.alloc(self._elements(b, 1) * b["element_bytes"] + b.get("lead", 0))
        self.own.append(p)
        p += b.get("lead", 0)
        if where:
            self.driver.copy(p, where, self._elements(b) * b["element_bytes"])
        elif value is not None:
            self._fill(p, name, value, b)
        elif b["kind"] == "array" and self.a._arrays[name].get("role") not in ("next", "series", "state"):
            raise _wrong(f"launch-time array {name} has no values: give {self._elements(b)} of type {b['type']}")
        else:
            self._clear(p, self._elements(b, 1) * b["element_bytes"])
        return p

    def _weights(self, of: Mapping[str, Any]) -> np.ndarray:
        """Weights that are made of coordinates, as docs/manifest.md says."""
        name = of["coordinates"]
        if name not in self.given:
            raise _wrong(f"launch-time array {name}, of coordinates, has no values")
        x = arrays.to_numpy(self.given[name])
        if x.shape != self._shape(name) or not np.all(np.isfinite(x)) or not np.all(np.diff(x) > 0):
            raise _wrong(f"the coordinates {name} are not {self._shape(name)[0]} numbers that rise")
        x = x.astype(arrays.NUMPY[self.a._arrays[name]["type"]]).astype(np.float64)
        return weights(x, of["derivative"], of["points"], of["side"], of["beyond"], of.get("half", 0))

    def _values(self, of: Mapping[str, Any]) -> np.ndarray:
        """The elements of an array that are computed from params."""
        count = max(bound(of["extent"], self.env), 0)
        return np.array([expression(of["values"], self.env, i) for i in range(count)], arrays.NUMPY[of["type"]])

    def _is_here(self, value: Any) -> bool:
        return not isinstance(value, np.ndarray) and self.driver.kind != arrays.CPU and arrays.is_on_gpu(value)

    def _shape(self, name: str) -> tuple:
        if name in self.a._arrays:
            of = self.a._arrays[name]
            return tuple(max(bound(e, self.env), 0) for e in of.get("shape", [of["extent"]]))
        return extents(self.a._fields[name], self.env)

    def _check(self, name: str, value: Any, b: Mapping[str, Any]) -> int:
        """The address of an array on the device that kernels can work on."""
        m = arrays.memory_of(value, name, self.driver.stream)
        self.kept.append(m.keep)
        dense = tuple(math.prod(m.shape[d + 1:]) for d in range(len(m.shape)))
        if m.type != b["type"] or not arrays.is_shape(m.shape, self._shape(name)):
            raise _wrong(f"{name} is of type {b['type']} and shape {self._shape(name)}, but the array is of {m.type} and {m.shape}")
        if m.strides is not None and any(n > 1 and s != d for n, s, d in zip(m.shape, m.strides, dense)):
            raise _wrong(f"{name}: the array is not dense in C order; give a contiguous copy")
        if m.address % b["alignment"]:
            raise _wrong(f"{name}: the array's address is no multiple of {b['alignment']} bytes, which the kernels need")
        return m.address

    def _fill(self, p: int, name: str, value: Any, b: Mapping[str, Any]) -> None:
        """Copies values in, and notes where those of a NumPy array go back."""
        dtype = arrays.NUMPY[b["type"]]
        source = arrays.to_numpy(value)
        if not arrays.is_shape(source.shape, self._shape(name)) or not np.can_cast(source.dtype, dtype, "same_kind"):
            raise _wrong(f"{name} is of type {b['type']} and shape {self._shape(name)}, but the array is of {source.dtype} and {source.shape}")
        if b["kind"] == "field" and not self.a._fields[b["field"]]["input"] and not self.aside:
            _check_writable(name, source)
            self.back.append((b["name"], value))
        dense = np.ascontiguousarray(source, dtype)
        self.driver.put(p, dense.ctypes.data, dense.nbytes)

    def _clear(self, p: int, size: int) -> None:
        zeros = np.zeros(size, np.uint8)
        self.driver.put(p, zeros.ctypes.data, size)

    # ---------------------------------------------------------------- launches

    def _chosen(self, name: str) -> Mapping[str, Any]:
        """The kernel that is launched under the params where the host part says `name`."""
        k = self.a._kernels[name]
        if all(bound(m["value"], self.env) % m["of"] == 0 for m in k["multiples"]):
            return k
        if not k.get("instead"):
            wrong = next(m for m in k["multiples"] if bound(m["value"], self.env) % m["of"])
            raise _wrong(f"kernel {name} needs {wrong['value']['text']} to be a multiple of {wrong['of']}")
        return self._chosen(k["instead"])

    def _launch(self, name: str, after: int = 0) -> None:
        k = self._chosen(name)
        points = [bound(g["extent"], self.env) for g in k["grid"]]
        grid = [-(-max(n - g.get("over", 0), min(n, 1), 0) // g["tile"]) for n, g in zip(points, k["grid"])]
        if "without" in k["grid"][0]:
            hole = math.prod(-(-max(bound(g["without"], self.env), 0) // g["tile"]) for g in k["grid"])
            grid = [1] * (len(grid) - 1) + [math.prod(grid) - hole]
        if k["name"] in self.live:
            grid[-1] = self.live[k["name"]]
        grid[-1] *= k.get("cluster", 1)
        if math.prod(grid) == 0:
            return
        values = [self.memory[a["buffer"]] if a["kind"] == "buffer" else self.env[a["scalar"]] if a["kind"] == "scalar" else self.step + after
                  for a in k["arguments"]]
        self.driver.launch(k, grid, values)

    def _swap(self, x: str, y: str) -> None:
        self.memory[x], self.memory[y] = self.memory[y], self.memory[x]

    def _sequence(self, sequence: Mapping[str, Any], after: int = 0) -> None:
        """Its operations, `after` steps behind the one at hand."""
        for op in sequence["operations"]:
            if "launch" in op:
                self._launch(op["launch"], after + op.get("after", 0))
            elif "repeat" in op:
                self._repeat(op["repeat"], after + op.get("after", 0))
            else:
                self._swap(*op["swap"])

    def _writes(self, kernel: str) -> set:
        """The fields that a kernel writes."""
        buffers = {b["name"]: b for b in self.m["buffers"]}
        return {buffers[a["buffer"]].get("field") for a in self.a._kernels[kernel]["arguments"]
                if a["kind"] == "buffer" and a["access"] != "read"} - {None}

    def _init(self) -> None:
        """host.init but for what is given alone; given values that it may have written are put back."""
        saved = []
        for b in self.m["buffers"]:
            if b["kind"] == "field" and b["copy"] == 0 and b["field"] in self.given and self.a._fields[b["field"]]["init"]:
                size = self._elements(b) * b["element_bytes"]
                aside = self.driver.alloc(size)
                self.own.append(aside)
                self.driver.copy(aside, self.memory[b["name"]], size)
                saved.append((b["name"], aside, size))
        buffers = {b["name"]: b for b in self.m["buffers"]}
        for op in self.m["host"]["init"]["operations"]:
            if "launch" in op and self._writes(op["launch"]) - set(self.given):
                self._launch(op["launch"])
            elif "swap" in op and buffers[op["swap"][0]].get("field") not in self.given:
                self._swap(*op["swap"])
        for name, aside, size in saved:
            self.driver.copy(self.memory[name], aside, size)

    def _once(self) -> None:
        """What is computed once, before the steps, and which blocks have something to do then, where the run is waited for."""
        self._sequence(self.m["host"].get("once", {"operations": []}))
        if self.driver.stream and not self.back and not self.m["host"]["reductions"]:
            return
        lists: Dict[str, int] = {}
        for k in self.m["kernels"]:
            tiles = k.get("tiles", {})
            if "list" in tiles and tiles["list"] not in lists:
                lists[tiles["list"]] = self._busy_rows(tiles)
            if "list" in tiles:
                self.live[k["name"]] = lists[tiles["list"]]
            elif tiles and not np.isin(self._tiles(tiles["classes"]), tiles["busy"]).any():
                self.live[k["name"]] = 0

    def _tiles(self, name: str) -> np.ndarray:
        """The values of a buffer of classes, or a list of tiles."""
        b = next(b for b in self.m["buffers"] if b["name"] == name)
        values = np.empty(self._elements(b), arrays.NUMPY[b["type"]])
        self.driver.fetch(values.ctypes.data, self.memory[name], values.nbytes)
        return values

    def _busy_rows(self, tiles: Mapping[str, Any]) -> int:
        """How many rows of a list of tiles are of a class for which the kernels do something; it begins with those then, in the order they had."""
        rows = self._tiles(tiles["list"]).reshape(-1, tiles["columns"])
        busy = np.ascontiguousarray(rows[np.isin(rows[:, 0], tiles["busy"])])
        self.driver.put(self.memory[tiles["list"]], busy.ctypes.data, busy.nbytes)
        return len(busy)

    # ---------------------------------------------------------------- the time loop

    def _reductions(self, loop: Optional[str]) -> List[Mapping[str, Any]]:
        """Those of the time steps (None), or of a loop's rounds."""
        return [r for r in self.m["host"]["reductions"] if r.get("loop") == loop]

    def _reduce(self, loop: Optional[str], done: int, after: int = 0) -> Optional[str]:
        """Evaluates what is due after so many steps, or rounds of a loop; the name of an `until` whose condition is met."""
        met = None
        when = f"after {done} {'steps' if loop is None else f'rounds of {loop}'}"
        for r in self._reductions(loop):
            if done % r["every"]:
                continue
            self._sequence(r["sequence"], after)
            values = (CTYPES[r["type"]] * (bound(self.m["members"], self.env) if r.get("each") else 1))()
            self.driver.fetch(c.addressof(values), self.memory[r["result"]], c.sizeof(values))
            self.env[r["scalar"]] = values[0]
            if r["kind"] in ("finite", "bounds"):
                if values[0] != r["good"]:
                    raise FloatingPointError(f"field {r['field']} is not finite everywhere {when}") if r["kind"] == "finite" else \
                        IndexError(f"an index of a launch-time array was out of range {when}")
                continue
            if loop is None or r.get("each"):
                self.series.setdefault(r["name"], []).append((done, list(values) if r.get("each") else values[0]))
            if r["kind"] == "until" and self._ends(r, values, when) and done > 0 and met is None:
                met = r["name"]
        return met

    def _ends(self, r: Mapping[str, Any], values: Any, when: str) -> bool:
        """Is the condition of an `until` met, by the values of all members if it has one of each?"""
        missing = next((k for k, v in enumerate(values) if isinstance(v, float) and math.isnan(v)), None)
        if missing is not None:
            where = f" in member {missing}" if r.get("each") else ""
            raise FloatingPointError(f"the value that `until` compares is NaN{where} {when}")
        ends = True
        for self.env[r["scalar"]] in values:
            ends = ends and bool(expression(r["stop"], self.env))
        return ends

    def _next(self, loop: Optional[str], sequences: List[Mapping[str, Any]], done: int, end: int) -> tuple:
        """The first sequence that goes neither beyond the end nor beyond the next evaluation; how many steps or rounds are done behind it."""
        count = "steps" if loop is None else "rounds"
        left = min([end - done] + [r["every"] - done % r["every"] for r in self._reductions(loop)]
                   + [f["every"] - done % f["every"] for f in self.frames.values() if loop is None])
        sequence = next(s for s in sequences if 0 < s[count] <= left)
        return sequence, done + sequence[count]

    def _repeat(self, name: str, after: int) -> None:
        """The rounds of a loop within a step, which count as steps, up or down, if it says so."""
        loop = next(l for l in self.m["host"]["loops"] if l["name"] == name)
        done, most, met = 0, bound(loop["most"], self.env), None
        first, steps = {"up": (0, 1), "down": (most, -1)}.get(loop.get("counting"), (0, 0))
        while done < most and met is None:
            at = after + first + steps * done - (steps < 0)
            sequence, done = self._next(name, loop["sequences"], done, most)
            self._sequence(sequence, at)
            met = self._reduce(name, done, after + first + steps * done)

    def begin(self, steps: int) -> Optional[str]:
        """What comes before so many steps; the name of an `until` whose condition is met."""
        if steps:
            self._check_frames(self.step + steps - 1)
        if self.step == 0:
            self._init()
        self._once()
        return self._reduce(None, 0) if self.step == 0 else None

    def advance(self, end: int) -> Optional[str]:
        """Makes steps until `end` of them are done, or one meets the condition of an `until`, whose name that is."""
        met = None
        while self.step < end and met is None:
            self._next_frames()
            sequence, done = self._next(None, self.m["host"]["sequences"], self.step, end)
            self._sequence(sequence)
            self.step = done
            met = self._reduce(None, done)
        return met

    def all(self, steps: int) -> ArtifactRun:
        """Inits before step 0, the steps, results where the caller wants them."""
        first = self.step
        met = self.begin(steps) or self.advance(first + steps)
        self._settle()
        for name, value in self.back:
            self._copy_back(name, value)
        series = {n: arrays.series(v) for n, v in self.series.items()}
        return ArtifactRun(self.step - first, met, series, self._scalars())

    def _scalars(self) -> Dict[str, Any]:
        """What scalars that are kept are now."""
        found: Dict[str, Any] = {}
        for b in self.m["buffers"]:
            if b["kind"] == "array" and "first" in self.a._arrays[b["array"]]:
                value = (CTYPES[b["type"]] * self._elements(b))()
                self.driver.fetch(c.addressof(value), self.memory[b["name"]], c.sizeof(value))
                found[b["array"]] = np.array(value[:]) if self.a._arrays[b["array"]].get("each") else value[0]
        return found

    def _settle(self) -> None:
        """Brings each field back to the caller's array, where swaps left it elsewhere."""
        aside = {}
        for name, home in self.home.items():
            if self.memory[name] != home:
                b = next(b for b in self.m["buffers"] if b["name"] == name)
                size = self._elements(b) * b["element_bytes"]
                if self.memory[name] in self.home.values():
                    aside[name] = (self.driver.alloc(size), size)
                    self.own.append(aside[name][0])
                    self.driver.copy(aside[name][0], self.memory[name], size)
                else:
                    aside[name] = (self.memory[name], size)
        for name, (p, size) in aside.items():
            self.driver.copy(self.home[name], p, size)

    def _copy_back(self, name: str, value: Any) -> None:
        b = next(b for b in self.m["buffers"] if b["name"] == name)
        out = np.empty(self._shape(b["field"]), arrays.NUMPY[b["type"]])
        self.driver.fetch(out.ctypes.data, self.memory[name], out.nbytes)
        if isinstance(value, np.ndarray):
            value[...] = out
        else:
            np.asarray(value)[...] = out

    def close(self) -> None:
        if self.own:
            self.driver.wait()
        for p in self.own:
            self.driver.free(p)
