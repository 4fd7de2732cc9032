"""Stencil programs as operators of PyTorch, which torch.compile takes."""
from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

import json

import torch

from ._expression import params_of_shapes
from ._program import Plan, Program, compile

_DTYPES = {"bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
           "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32}


class _Operator:
    """What the operator does. names: of the tensors it takes; outputs: of those that it gives."""

    def __init__(self, name: str, program: Program, params: Mapping[str, Any], outputs: Optional[Sequence[str]]):
        self.name, self.program, self.params = name, program, dict(params)
        self.manifest = json.loads(program.emit("manifest"))
        fields = {f["name"]: f for f in self.manifest["fields"]}
        if self.manifest["records"]:
            raise ValueError(f"{name}: fields of vectors and structs cannot be tensors of an operator; declare a field for each component")
        self.fields = [f for f in program.fields if not fields[f]["temp"]]
        self.outputs = list(outputs) if outputs is not None else [f for f in self.fields if not fields[f]["input"]]
        for f in self.outputs:
            if f not in self.fields:
                raise ValueError(f"{name}: there is no field {f!r} to give; there are {', '.join(self.fields)}")
        self.dtypes = {f: _DTYPES[fields[f]["type"]] for f in self.fields}
        self.inputs = {f for f in self.fields if fields[f]["input"]}
        self.arrays = program.arrays
        self.plans: Dict[Any, Plan] = {}

    def schema(self) -> str:
        """The operator's, in torch's words."""
        words = [f"Tensor {n.replace('@', '_')}" for n in self.fields + self.arrays] + ["int steps"]
        return f"({', '.join(words)}) -> ({', '.join(['Tensor'] * len(self.outputs))})"

    def plan(self, device: torch.device, shapes: Mapping[str, tuple]) -> Plan:
        """The plan for these shapes, which is kept."""
        params = {**params_of_shapes(self.manifest, shapes), **self.params}
        name = "host" if device.type == "cpu" else f"{'hip' if torch.version.hip else 'cuda'}:{device.index or 0}"
        key = (name, tuple(sorted(params.items())))
        if key not in self.plans:
            self.plans[key] = self.program.plan(device=name, **params)
        return self.plans[key]

    def __call__(self, *values):
        *tensors, steps = values
        given = dict(zip(self.fields + self.arrays, tensors))
        for f in self.fields:
            if given[f].dtype != self.dtypes[f]:
                raise TypeError(f"{self.name}: {f} is of {self.dtypes[f]}, but the tensor is of {given[f].dtype}")
        device = tensors[0].device
        plan = self.plan(device, {f: tuple(given[f].shape) for f in self.fields})
        plan.restart()
        if device.type != "cpu":
            plan.stream = torch.cuda.current_stream(device)
        work = {f: given[f].detach().contiguous() if f in self.inputs else given[f].detach().clone(memory_format=torch.contiguous_format)
                for f in self.fields}
        for f in self.fields:
            plan.bind(f, work[f])
        for a in self.arrays:
            plan[a] = given[a]
        plan(steps, wait=device.type == "cpu")
        made = tuple(work[f] for f in self.outputs)
        return made if len(made) > 1 else made[0]

    def fake(self, *values):
        """Tensors of the shapes that the call gives, without values."""
        given = dict(zip(self.fields, values))
        made = tuple(torch.empty_like(given[f], memory_format=torch.contiguous_format) for f in self.outputs)
        return made if len(made) > 1 else made[0]


def operator(name: str, program: Union[Program, str], *, outputs: Optional[Sequence[str]] = None,
             backward: Optional[Callable[..., Any]] = None, **params: Any) -> Callable[..., Any]:
    """Registers a program as the operator `name` ("mine::heat") and gives it back: op(A, ..., steps), with a tensor for each field that is not
    temp, older levels and then launch-time arrays behind them in the order of Program.fields and .arrays.

    It runs `steps` time steps from step 0 and gives new tensors of the fields in `outputs` (default: all that steps change); its arguments stay as
    they are. The params come from the tensors' shapes or from `params`. On a GPU it works in torch's current stream.

    backward(ctx, *gradients) gives the gradients of the arguments (None for `steps`), as torch.library.register_autograd takes it; ctx.steps is
    the number of steps and ctx.saved_tensors are the arguments. Without it the operator has no gradient.
    """
    o = _Operator(name, compile(program) if isinstance(program, str) else program, params, outputs)
    op = torch.library.custom_op(name, o.__call__, mutates_args=(), schema=o.schema())
    op.register_fake(o.fake)
    if backward is not None:
        def setup(ctx, inputs, output):
            ctx.steps = inputs[-1]
            ctx.save_for_backward(*inputs[:-1])
        op.register_autograd(backward, setup_context=setup)
    return op
