"""Stencil programs in JAX: functions that jax.jit takes. They call back to the host, where the program runs on `device`; arrays of a GPU are
copied there and back."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, Optional, Sequence, Union

import jax
import numpy as np

from ._expression import params_of_shapes
from ._program import Plan, Program, compile


def function(program: Union[Program, str], *, steps: Optional[int] = None, outputs: Optional[Sequence[str]] = None, device: str = "host",
             **params: Any) -> Callable[..., Any]:
    """f(A, ...): takes an array for each field that is not temp, in the order of Program.fields, then the launch-time arrays; runs `steps` time steps
    (None: the program's) from step 0, and gives new arrays of the fields in `outputs` (default: all that steps change). Params come from the
    shapes, or from `params`."""
    p = compile(program) if isinstance(program, str) else program
    manifest = json.loads(p.emit("manifest"))
    about = {f["name"]: f for f in manifest["fields"]}
    if manifest["records"]:
        raise ValueError("fields of vectors and structs cannot be arguments; declare a field for each component")
    fields = [f for f in p.fields if not about[f]["temp"]]
    gives = list(outputs) if outputs is not None else [f for f in fields if not about[f]["input"]]
    plans: Dict[Any, Plan] = {}

    def on_host(*values):
        bound = {**params_of_shapes(manifest, {f: np.shape(v) for f, v in zip(fields, values)}), **params}
        key = tuple(sorted(bound.items()))
        if key not in plans:
            plans[key] = p.plan(device=device, **bound)
        plan = plans[key]
        plan.restart()
        for name, v in zip(fields + p.arrays, values):
            plan[name] = np.asarray(v)
        plan(steps)
        made = tuple(np.array(plan[f]) for f in gives)
        return made if len(made) > 1 else made[0]

    def call(*values):
        if len(values) != len(fields) + len(p.arrays):
            raise TypeError(f"{p.name} takes {', '.join(fields + p.arrays)}, but {len(values)} arrays were given")
        given = dict(zip(fields, values))
        shapes = [jax.ShapeDtypeStruct(given[f].shape, given[f].dtype) for f in gives]
        return jax.pure_callback(on_host, tuple(shapes) if len(shapes) > 1 else shapes[0], *values)

    return call
