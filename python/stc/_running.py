"""Calls of libstc's that take long, made so that Ctrl-C ends them: the main thread waits in Python, where signals are handled, while another
thread is in the call."""
from __future__ import annotations

import atexit
import functools
import os
import queue
import threading
import weakref
from typing import Any, Callable, List, Type, TypeVar

GRACE = 0.15                    # seconds that a call has to end after it was told to stop, before the main thread goes on without it
_idle: List["_Worker"] = []
_calls: "weakref.WeakSet[Call]" = weakref.WeakSet()
_plans: "weakref.WeakSet[Any]" = weakref.WeakSet()
_python_ends = False


class Call:
    """A call under way. owner: what must live as long as it; stop: has it end soon."""

    def __init__(self, owner: Any, function: Callable[[], int], stop: Callable[[], None]):
        self.owner, self.stop = owner, stop
        self.function: Any = function       # None once it has been called
        self.ended, self.status = threading.Event(), 0
        self.begun = self.dropped = False
        _calls.add(self)

    def make(self) -> None:
        try:
            self.status = 130 if self.dropped else self.function()
        finally:
            self.owner = self.function = None
            self.ended.set()

    def begin(self) -> None:
        """Has a worker make it."""
        try:
            worker = _idle.pop()
        except IndexError:
            worker = _Worker()
        worker.calls.put(self)
        self.begun = True

    def drop(self) -> bool:
        """Has it end soon; True once it has, after a moment at most, also if no worker ever got it."""
        self.dropped = True
        self.stop()
        return self.ended.wait(GRACE) or not self.begun


class _Worker(threading.Thread):
    """A thread that makes calls, one after the other. A daemon: Python's end does not wait for it, but for its call, which is told to stop."""

    def __init__(self):
        super().__init__(daemon=True, name="stc")
        self.calls: "queue.SimpleQueue[Call]" = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while True:
            call = self.calls.get()
            call.make()
            del call
            _idle.append(self)


_Method = TypeVar("_Method", bound=Callable[..., Any])
_Class = TypeVar("_Class")
_SPECIAL = ("__call__", "__contains__", "__getitem__", "__setitem__", "_get", "_is_set", "_to_dlpack")
_FREE = ("busy", "device", "program")       # they ask nothing of libstc's that a run changes


def _in_turn(method: _Method) -> _Method:
    """The method of a plan, which waits while another thread is in one. Where a function makes a frame it does not wait: the run waits for that
    function, and the method says so. Nor does it when Python ends: a thread may have been left in the middle of a method."""
    @functools.wraps(method)
    def waiting(plan: Any, *given: Any, **named: Any) -> Any:
        if _python_ends or plan._giving == threading.get_ident():
            return method(plan, *given, **named)
        with plan._turn:
            return method(plan, *given, **named)
    return waiting  # type: ignore[return-value]


def in_turn(plan_class: Type[_Class]) -> Type[_Class]:
    """Has the class's methods and properties wait for each other, by the lock `_turn` of each object: libstc's calls let other threads go on, and
    two of them must not be in one plan."""
    for name, of in list(vars(plan_class).items()):
        if name in _FREE or (name.startswith("_") and name not in _SPECIAL):
            continue
        if isinstance(of, property):
            setattr(plan_class, name, property(of.fget and _in_turn(of.fget), of.fset and _in_turn(of.fset), doc=of.__doc__))
        elif callable(of):
            setattr(plan_class, name, _in_turn(of))
    return plan_class


def is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def watch(plan: Any, on: bool = True) -> None:
    """Has the plan's runs stop when Python ends, or not."""
    (_plans.add if on else _plans.discard)(plan)


def stay_at_end(plan: Any) -> None:
    """For a call of the plan's that failed. Once Python's end has stopped the plan, a thread other than the main one does not come back from
    here: what it would do next, raise an exception and print it, fails while Python is being taken apart, and may abort the process. The wait
    has no end and does not hold the interpreter's lock, and the process ends without the thread, a daemon: others have ended before."""
    if _python_ends and plan in _plans and not is_main_thread():
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


def _all(those: "weakref.WeakSet[Any]") -> List[Any]:
    """Those that there are; other threads may add some meanwhile."""
    while True:
        try:
            return list(those)
        except RuntimeError:
            pass


def _end() -> None:
    """Before Python takes itself apart: nothing of libstc's runs on."""
    global _python_ends
    _python_ends = True
    for plan in _all(_plans):
        plan._stop_for_good()
    for call in _all(_calls):
        if not call.ended.is_set():
            call.stop()
            call.ended.wait(10)


atexit.register(_end)
def _begin_child() -> None:
    """In a process that a fork made, where the other threads are not: no worker is there, and nobody is in a plan."""
    _idle.clear()
    for plan in _all(_plans):
        plan._turn = threading.RLock()


os.register_at_fork(after_in_child=_begin_child)
