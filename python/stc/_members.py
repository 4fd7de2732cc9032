"""What torch's and JAX's functions do with arrays that have an axis more, in front: a run for each element of it, all of them in one, as members of
the program; and with complex fields, whose parts have arrays of their own."""
from __future__ import annotations

import re
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ._errors import StcError
from ._library import lib
from ._manifest import check_single
from ._program import Program


class Fields:
    """The fields that a function of arrays takes. names: as the program has them, but for temps. parts: the arrays that a plan takes for them, `z.re` and
    `z.im` for a complex field z. complex: its parts by its name. about: what the manifest says of each part."""

    def __init__(self, program: Program, manifest: Mapping[str, Any], name: str, what: str):
        check_single(manifest, name, what)
        self.complex: Dict[str, List[str]] = {r["name"]: [x["field"] for x in r["components"]] for r in manifest["records"]}
        self.types: Dict[str, str] = {r["name"]: r["type"] for r in manifest["records"]}
        self.about = {f["name"]: f for f in manifest["fields"]}
        if any("frames" in f for f in self.about.values()):
            raise ValueError(f"{name}fields that are series of frames cannot be {what}; use program.plan(...)")
        self.names = [f for f in program.fields if not self.about[self.of(f)[0]]["temp"]]
        self.parts = [part for f in self.names for part in self.of(f)]

    def of(self, name: str) -> List[str]:
        """The parts of field `name`."""
        return self.complex.get(name, [name])

    def type(self, name: str) -> str:
        return self.types.get(name) or self.about[name]["type"]

    def whole(self, parts: Mapping[str, Any], join: Callable[[Any, Any], Any]) -> Dict[str, Any]:
        """Values of fields from those of their parts; of a complex field one part may be missing, None for `join`."""
        got = {name: [parts.get(part) for part in self.of(name)] for name in self.names}
        return {name: join(*v) if len(v) > 1 else v[0] for name, v in got.items() if any(x is not None for x in v)}

    def in_parts(self, whole: Mapping[str, Any]) -> Dict[str, Any]:
        """Values of the parts from those of fields, of which others than fields stay."""
        return {part: (v.real, v.imag)[i] if name in self.complex else v for name, v in whole.items() for i, part in enumerate(self.of(name))}


def reason_against(program: Program, manifest: Mapping[str, Any]) -> Optional[str]:
    """Why runs of the program cannot be members of one; None: they can, as far as is known before it is compiled for them."""
    if program._again is None or "members" in manifest:
        return "it has members already"
    if lib.stc_program_reduction_count(program._handle) or program.scalars:
        return "calls of it have values of reduce, until and scalar of their own"
    if re.search(r"= (random|normal)\b", program.emit("sir")):
        return "each member has random numbers of its own"
    return None


class Families:
    """What `make` makes of the program with members, by their number."""

    def __init__(self, program: Program, manifest: Mapping[str, Any], make: Callable[[Program, int], Any]):
        self.program, self.make, self.lock = program, make, threading.Lock()
        self.against = reason_against(program, manifest)
        self.made: Dict[int, Any] = {}

    def of(self, n: int) -> Optional[Any]:
        """That for `n` members; None: the program cannot have members."""
        with self.lock:
            if self.against is None and n not in self.made:
                try:
                    assert self.program._again is not None
                    self.made[n] = self.make(self.program._again(n), n)
                except StcError as e:
                    self.against = str(e)
            return self.made.get(n)


def shape_has_axis(about: Mapping[str, Any], names: Sequence[str], shapes: Mapping[str, Sequence[int]]) -> Optional[int]:
    """The length of the axis that arrays have in front of what their fields have; None: none has one more."""
    more = {n: len(shapes[n]) - len(about[n]["extents"]) for n in names}
    for n in names:
        if more[n] > 1:
            raise ValueError(f"the array of field {n} has {more[n]} dimensions more than the field, and one, in front, can be that of members: make one of them "
                             "by reshape, or use vmap for each")
    found = {shapes[n][0] for n in names if more[n] > 0}
    if len(found) > 1:
        raise ValueError(f"the arrays have axes of {', '.join(map(str, sorted(found)))} members in front, which must be one number")
    if 0 in found:
        raise ValueError("the arrays have an axis of 0 members in front; there is one member at least")
    return found.pop() if found else None
