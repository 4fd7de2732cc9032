"""Stencil programs as operators of PyTorch, which torch.compile takes."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union

import json
import threading

import numpy as np

import torch

from ._expression import params_of_shapes
from ._gradient import memory_bytes
from ._members import Families, Fields, shape_has_axis
from ._program import Plan, Program, compile

_DTYPES = {"bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16,
           "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32,
           "c64": torch.complex64, "c128": torch.complex128}


class _Operator:
    """What the operator does. names: of the tensors it takes; outputs: of those that it gives. families: the operators that do it for tensors with an axis
    more, in front, as members of one run; None in these."""

    def __init__(self, name: str, program: Program, params: Mapping[str, Any], outputs: Optional[Sequence[str]], memory: Union[int, str, None],
                 of_members: bool = False):
        self.name, self.program, self.params, self.memory = name, program, dict(params), memory
        memory_bytes(memory)
        self.manifest = json.loads(program.emit("manifest"))
        self.of = Fields(program, self.manifest, f"{name}: ", "tensors of an operator")
        self.fields = self.of.names
        self.inputs = {f for f in self.fields if self.of.about[self.of.of(f)[0]]["input"]}
        self.outputs = list(outputs) if outputs is not None else [f for f in self.fields if f not in self.inputs]
        for f in self.outputs:
            if f not in self.fields:
                raise ValueError(f"{name}: there is no field {f!r} to give; there are {', '.join(self.fields)}")
        self.dtypes = {f: _DTYPES[self.of.type(f)] for f in self.fields}
        self.arrays = program.arrays
        self.plans: Dict[Any, Plan] = {}
        self.lock = threading.Lock()        # torch's threads take a plan one after the other
        self.families = None if of_members else Families(program, self.manifest, lambda p, n: _Operator(name, p, params, outputs, memory, True))

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
        """The plan, at its start, with the fields' parts bound to `work` and the arrays that are among `values`."""
        device = values[0].device
        plan = self.plan(device, {f: tuple(work[f].shape) for f in self.of.parts})
        plan.restart()
        if device.type != "cpu":
            plan.stream = torch.cuda.current_stream(device)
        for f in self.of.parts:
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
        made = self.run(tensors, steps) if self.members(tensors) is None else self.run_members(tensors, steps)
        return tuple(made) if len(made) > 1 else made[0]

    def run(self, tensors: Sequence[torch.Tensor], steps: int) -> List[torch.Tensor]:
        """The outputs after so many steps from what `tensors` have."""
        work = {}
        for f, t in zip(self.fields, tensors):
            for part, x in zip(self.of.of(f), _parts(t.detach())):
                work[part] = x.contiguous() if f in self.inputs else x.clone(memory_format=torch.contiguous_format)
        with self.lock:
            self.ready(tensors, work)(steps, wait=tensors[0].device.type == "cpu")
        return [torch.complex(*parts) if len(parts) > 1 else parts[0] for parts in ([work[part] for part in self.of.of(f)] for f in self.outputs)]

    # ---- tensors that have an axis more

    def members(self, tensors: Sequence[torch.Tensor]) -> Optional[int]:
        """The length of the axis that tensors of fields have in front of what the program says; None: none has one more."""
        if self.families is None:
            return None
        parts = {self.of.of(f)[0]: tuple(t.shape) for f, t in zip(self.fields, tensors)}
        return shape_has_axis(self.of.about, list(parts), parts)

    def has_axis(self, i: int, t: torch.Tensor) -> bool:
        """Has `t`, argument number `i`, that axis?"""
        return i < len(self.fields) and t.dim() > len(self.of.about[self.of.of(self.fields[i])[0]]["extents"])

    def one(self, tensors: Sequence[torch.Tensor], k: int) -> List[torch.Tensor]:
        """The arguments of member `k`."""
        return [t[k] if self.has_axis(i, t) else t for i, t in enumerate(tensors)]

    def spread(self, tensors: Sequence[torch.Tensor], n: int) -> List[torch.Tensor]:
        """The arguments for `n` members in one: each tensor of a field has the axis."""
        return [t if i >= len(self.fields) or self.has_axis(i, t) else t.expand(n, *t.shape) for i, t in enumerate(tensors)]

    def run_members(self, tensors: Sequence[torch.Tensor], steps: int) -> List[torch.Tensor]:
        """The outputs of as many runs as the axis says: in one where they can be members, else one after the other."""
        n = self.members(tensors) or 0
        many = self.families and self.families.of(n)
        if many:
            return many.run(self.spread(tensors, n), steps)
        return [torch.stack(made) for made in zip(*[self.run(self.one(tensors, k), steps) for k in range(n)])]

    # ---- derivatives

    def pull(self, bars: Sequence[torch.Tensor], values: Sequence[torch.Tensor], steps: int, to: Sequence[int]) -> List[torch.Tensor]:
        """From the derivatives by what the operator gives to those by its arguments number `to`."""
        n = self.members(values)
        if n is None:
            return self.pull_one(bars, values, steps, to)
        many = self.families and self.memory is None and self.families.of(n)
        if many:
            found = many.pull_one(bars, self.spread(values, n), steps, to)
            return [x if self.has_axis(i, values[i]) or i >= len(self.fields) else x.sum(0) for i, x in zip(to, found)]
        each = [self.pull_one([bar[k] for bar in bars], self.one(values, k), steps, to) for k in range(n)]
        return [torch.stack(x) if self.has_axis(i, values[i]) else torch.stack(x).sum(0) for i, x in zip(to, zip(*each))]

    def pull_one(self, bars: Sequence[torch.Tensor], values: Sequence[torch.Tensor], steps: int, to: Sequence[int]) -> List[torch.Tensor]:
        names = self.fields + self.arrays
        work = {part: x.contiguous() for f, t in zip(self.fields, values) for part, x in zip(self.of.of(f), _parts(t.detach()))}
        with self.lock:
            plan = self.ready(values, work)
            found = plan.pull(steps, {f: _numpy(bar) for f, bar in zip(self.outputs, bars) if _is_derived(self.dtypes[f])},
                              to=[names[i] for i in to], memory=self.memory)
        return [torch.as_tensor(found[names[i]]).to(values[i].device, values[i].dtype) for i in to]

    def fake(self, *values):
        """Tensors of the shapes that the call gives, without values."""
        given, n = list(values[:len(self.fields)]), self.members(values[:-1])
        given = given if n is None else self.spread(given, n)
        made = tuple(torch.empty_like(given[self.fields.index(f)], memory_format=torch.contiguous_format) for f in self.outputs)
        return made if len(made) > 1 else made[0]

    def batched(self, op: Any, info: Any, in_dims: Sequence[Optional[int]], *values: Any) -> Any:
        """torch.vmap of the operator: the axis is that of members; where launch-time arrays have it, too, or tensors have members already, one call after the
        other."""
        *tensors, steps = values
        front = [t if d is None else t.movedim(d, 0) for t, d in zip(tensors, in_dims)]
        alone = any(d is not None and (i >= len(self.fields) or self.has_axis(i, t[0])) for i, (t, d) in enumerate(zip(front, in_dims)))
        if alone or self.members([t if d is None else t[0] for t, d in zip(front, in_dims)]) is not None:
            each = [op(*(t if d is None else t[k] for t, d in zip(front, in_dims)), steps) for k in range(info.batch_size)]
            made = [torch.stack(x) for x in zip(*each)] if len(self.outputs) > 1 else torch.stack(each)
        else:
            made = op(*front, steps)
        return made, (0,) * len(self.outputs) if len(self.outputs) > 1 else 0


def _parts(t: torch.Tensor) -> Sequence[torch.Tensor]:
    """The real and the imaginary part of a tensor of complex numbers; another one itself."""
    return torch.view_as_real(t.resolve_conj()).unbind(-1) if t.is_complex() else (t,)


def _is_derived(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _numpy(t: torch.Tensor) -> np.ndarray:
    """The tensor's values, which plans take."""
    values = t.detach().cpu().resolve_conj().resolve_neg().contiguous()
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
    op.register_vmap(lambda *given: o.batched(op, *given))
    if backward == "auto":
        _derive(op, o)
    elif backward is not None:
        op.register_autograd(backward, setup_context=_keep)
    return op
