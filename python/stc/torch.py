"""Stencil programs as operators of PyTorch, which torch.compile takes."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union

import json
import threading

import numpy as np

import torch

from ._expression import params_of_shapes
from ._gradient import memory_bytes
from ._manifest import check_single
from ._program import Plan, Program, compile

_DTYPES = {"bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
           "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32}


class _Operator:
    """What the operator does. names: of the tensors it takes; outputs: of those that it gives."""

    def __init__(self, name: str, program: Program, params: Mapping[str, Any], outputs: Optional[Sequence[str]], memory: Union[int, str, None]):
        self.name, self.program, self.params, self.memory = name, program, dict(params), memory
        memory_bytes(memory)
        self.manifest = json.loads(program.emit("manifest"))
        fields = {f["name"]: f for f in self.manifest["fields"]}
        check_single(self.manifest, f"{name}: ", "tensors of an operator")
        if any("frames" in f for f in fields.values()):
            raise ValueError(f"{name}: fields that are series of frames cannot be tensors of an operator; use program.plan(...)")
        self.fields = [f for f in program.fields if not fields[f]["temp"]]
        self.outputs = list(outputs) if outputs is not None else [f for f in self.fields if not fields[f]["input"]]
        for f in self.outputs:
            if f not in self.fields:
                raise ValueError(f"{name}: there is no field {f!r} to give; there are {', '.join(self.fields)}")
        self.dtypes = {f: _DTYPES[fields[f]["type"]] for f in self.fields}
        self.inputs = {f for f in self.fields if fields[f]["input"]}
        self.arrays = program.arrays
        self.plans: Dict[Any, Plan] = {}
        self.lock = threading.Lock()        # torch's threads take a plan one after the other

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

    def ready(self, values: Sequence[torch.Tensor], work: Mapping[str, torch.Tensor]) -> Plan:
        """The plan, at its start, with the fields bound to `work` and the arrays that are among `values`."""
        device = values[0].device
        plan = self.plan(device, {f: tuple(work[f].shape) for f in self.fields})
        plan.restart()
        if device.type != "cpu":
            plan.stream = torch.cuda.current_stream(device)
        for f in self.fields:
            plan.bind(f, work[f])
        for a, value in zip(self.arrays, values[len(self.fields):]):
            plan[a] = value
        return plan

    def __call__(self, *values):
        *tensors, steps = values
        given = dict(zip(self.fields, tensors))
        for f in self.fields:
            if given[f].dtype != self.dtypes[f]:
                raise TypeError(f"{self.name}: {f} is of {self.dtypes[f]}, but the tensor is of {given[f].dtype}")
        work = {f: given[f].detach().contiguous() if f in self.inputs else given[f].detach().clone(memory_format=torch.contiguous_format)
                for f in self.fields}
        with self.lock:
            self.ready(tensors, work)(steps, wait=tensors[0].device.type == "cpu")
        made = tuple(work[f] for f in self.outputs)
        return made if len(made) > 1 else made[0]

    def pull(self, bars: Sequence[torch.Tensor], values: Sequence[torch.Tensor], steps: int, to: Sequence[int]) -> List[torch.Tensor]:
        """From the derivatives by what the operator gives to those by its arguments number `to`."""
        names = self.fields + self.arrays
        with self.lock:
            plan = self.ready(values, {f: v.detach().contiguous() for f, v in zip(self.fields, values)})
            found = plan.pull(steps, {f: _numpy(bar) for f, bar in zip(self.outputs, bars) if self.dtypes[f].is_floating_point},
                              to=[names[i] for i in to], memory=self.memory)
        return [torch.as_tensor(found[names[i]]).to(values[i].device, values[i].dtype) for i in to]

    def fake(self, *values):
        """Tensors of the shapes that the call gives, without values."""
        given = dict(zip(self.fields, values))
        made = tuple(torch.empty_like(given[f], memory_format=torch.contiguous_format) for f in self.outputs)
        return made if len(made) > 1 else made[0]


def _numpy(t: torch.Tensor) -> np.ndarray:
    """The tensor's values, which plans take."""
    values = t.detach().cpu().contiguous()
    return values.view(torch.uint16).numpy() if values.dtype == torch.bfloat16 else values.numpy()


def _keep(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
    """Keeps what the backward run needs."""
    ctx.steps = inputs[-1]
    ctx.save_for_backward(*inputs[:-1])


def _derive(op: Any, o: _Operator) -> None:
    """Gives the operator its gradient, by one more operator, so that compiled graphs have it, too."""
    pull = torch.library.custom_op(f"{o.name}_pull", o.pull, mutates_args=(), schema="(Tensor[] bars, Tensor[] values, int steps, int[] to) -> Tensor[]")
    pull.register_fake(lambda bars, values, steps, to: [torch.empty_like(values[i], memory_format=torch.contiguous_format) for i in to])

    def backward(ctx, *bars):
        to = [i for i, needed in enumerate(ctx.needs_input_grad[:-1]) if needed]
        found = dict(zip(to, pull([bar.contiguous() for bar in bars], list(ctx.saved_tensors), ctx.steps, to)))
        return (*(found.get(i) for i in range(len(ctx.needs_input_grad) - 1)), None)
    op.register_autograd(backward, setup_context=_keep)


def operator(name: str, program: Union[Program, str], *, outputs: Optional[Sequence[str]] = None,
             backward: Union[Callable[..., Any], Literal["auto"], None] = None, memory: Union[int, str, None] = None,
             **params: Any) -> Callable[..., Any]:
    """Registers a program as the operator `name` ("mine::heat") and gives it back: op(A, ..., steps), with a tensor for each field that is not
    temp, older levels and then launch-time arrays behind them in the order of Program.fields and .arrays.

    It runs `steps` time steps from step 0 and gives new tensors of the fields in `outputs` (default: all that steps change); its arguments stay as
    they are. The params come from the tensors' shapes or from `params`. On a GPU it works in torch's current stream.

    backward: "auto": stc makes the program that goes back through the steps, and the operator has gradients by all floats that it takes; they make
    the forward run once more, and keep of it what `memory` allows, in bytes or as "8GiB" (None: what there is room for). Else backward(ctx, *gradients) gives the gradients of the arguments (None for `steps`), as
    torch.library.register_autograd takes it; ctx.steps is the number of steps and ctx.saved_tensors are the arguments. Without either the operator
    has no gradient.
    """
    if backward is not None and backward != "auto" and not callable(backward):
        raise ValueError(f'backward={backward!r}: "auto" is wanted, or a function of the context and the gradients')
    o = _Operator(name, compile(program) if isinstance(program, str) else program, params, outputs, memory)
    op = torch.library.custom_op(name, o.__call__, mutates_args=(), schema=o.schema())
    op.register_fake(o.fake)
    if backward == "auto":
        _derive(op, o)
    elif backward is not None:
        op.register_autograd(backward, setup_context=_keep)
    return op
