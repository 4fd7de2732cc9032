"""What goes wrong, as exceptions that name the place in the program."""
from __future__ import annotations

import re
from typing import List, NamedTuple, Optional


class Message(NamedTuple):
    """A message of the compiler. line and column count from 1; 0: no place. source: the text of the line."""
    kind: str
    file: Optional[str]
    line: int
    column: int
    source: Optional[str]
    text: str

    def __str__(self) -> str:
        return self.told(self.kind + ": ")

    def told(self, kind: str = "") -> str:
        """The message with that before its text: nothing where the class of an exception or a warning says what it is."""
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        lines = [f"{place}{kind}{self.text}"]
        if self.source is not None and self.column > 0:
            before = "".join("\t" if c == "\t" else " " for c in self.source[:self.column - 1])
            lines += [f"  {self.source}", f"  {before}^"]
        return "\n".join(lines)


_CALLS = {"stc_plan_set": "plan[name] = values", "stc_plan_set_array": "plan[name] = values", "stc_plan_get": "plan[name]",
          "stc_plan_frames": "plan[name] = frames",
          "stc_plan_set_component": "plan[name] = values", "stc_plan_get_component": "plan[name]", "stc_plan_part_set": "part[name] = values",
          "stc_plan_part_get": "part[name]", "stc_plan_new_split": "program.plan(split=...)", "stc_plan_new": "program.plan(...)",
          "stc_program_plan": 'program.emit("plan")', "stc_plan_restart": "plan.restart()", "stc_program_manifest": 'program.emit("manifest")',
          "stc_program_header": 'program.emit("header")', "stc_program_emit": "program.emit(...)", "stc_plan_run": "plan.run(...)",
          "stc_plan_run_async": "plan.run(..., wait=False)", "stc_plan_wait": "plan.wait()", "stc_plan_busy": "plan.busy",
          "stc_plan_bind": "plan.bind(...)", "stc_plan_stream": "plan.stream", "stc_plan_first_step": "plan.first_step(...)",
          "stc_plan_new_ranks": "program.plan(comm=...)", "stc_plan_new_within": "program.plan(memory=...)", "stc_plan_probes": "plan.probes", "stc_plan_series": "plan.reductions",
          "stc_plan_schedule": "plan.schedule", "stc_plan_device": "plan.device", "stc_plan_gradient": "plan.gradient(...)",
          "stc_plan_pull": "plan.pull(...)",
          "stc_plan_rounds": "plan.rounds"}
_WORDS = {"no_contract": "contract=False", "no_hoist": "hoist=False", "no_cache": "cache=False", "march": "arch", "mcpu": "arch"}


def in_python(text: str) -> str:
    """The text of a message of the library's, with Python's names for the calls and options that it names. What Python does not have keeps its
    name."""
    text = re.sub(r"\bopt_level ([1-4])\b", lambda m: f"opt_level={int(m[1]) - 1}", text)
    text = re.sub(r"\bSTC_EMIT_([A-Z]+)\b", lambda m: f'program.emit("{m[1].lower()}")', text)
    text = re.sub(r"\bstc_(?:plan|program)_\w+", lambda m: _CALLS.get(m[0], m[0]), text)
    return re.sub(r"\b(no_contract|no_hoist|no_cache|march|mcpu)\b(?!['\"`])", lambda m: _WORDS[m[0]], text)


class StcError(Exception):
    """An error of the compiler or a device.

    messages: all that was said, in order. file, line, column, source: the place of the first error, where it has one (line 0: it has none).
    status: the number of stc.h's StcStatus, also the exit code of the command.
    """

    def __init__(self, status: int, messages: List[Message]):
        self.status, self.messages = status, messages
        first = next((m for m in messages if m.kind == "error"), None)
        self.file = first.file if first else None
        self.line, self.column = (first.line, first.column) if first else (0, 0)
        self.source = first.source if first else None
        super().__init__("\n".join(m.told() if m.kind == "error" else str(m) for m in messages) or f"stc failed with status {status}")

    def __reduce__(self):
        return type(self), (self.status, self.messages)


class OptionError(StcError, ValueError):
    """Malformed options, a field that there is not, an array that does not fit."""


class InputError(StcError, ValueError):
    """The program is wrong, or what it was given."""


class DeviceError(StcError, RuntimeError):
    """There is no such device, it has not enough memory, or a launch failed."""


class Owner:
    """What owns something of libstc's or of a driver's, so that a second object of it would use what the first gives back. Classes say in
    `_copying` and `_pickling` what to do in place of a copy."""
    _copying = _pickling = ""

    def __copy__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied: {self._copying}")

    def __deepcopy__(self, memo):
        raise TypeError(f"a {type(self).__name__} cannot be copied: {self._copying}")

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} cannot be pickled, nor be sent to another process: {self._pickling}")


class StcWarning(UserWarning):
    """A warning of the compiler."""


_CLASSES = {2: OptionError, 3: InputError, 4: DeviceError}


def error(status: int, messages: List[Message]) -> BaseException:
    """The exception for a status that is not 0."""
    if status == 130:
        return KeyboardInterrupt()
    if status == 6:
        return MemoryError("\n".join(m.told() for m in messages))
    return _CLASSES.get(status, StcError)(status, messages)
