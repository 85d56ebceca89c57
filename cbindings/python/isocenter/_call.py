"""Calls into the C library: errors, callbacks, Ctrl-C, and owners of handles.

ctypes releases the interpreter's lock during a call; it is taken back for callbacks alone.
"""
import atexit
import contextlib
import ctypes
import difflib
import inspect
import os
import re
import signal
import threading
import weakref

from ._abi import Status, isoc_log_fn, isoc_progress_fn
from ._library import lib
from ._tensor import Tensor
from ._words import in_python, of_elements, of_shape
from .errors import InvalidHandleError, called, error, wrong

_thread = threading.local()
_forks = 0

# Calls in progress on other threads than the main one. The interpreter must not end before them: a callback would find none.
_others, _others_running, _ending = threading.Condition(), 0, False


def _after_fork():
    global _forks, _others, _others_running
    _forks, _others, _others_running = _forks + 1, threading.Condition(), 0


@atexit.register
def _cancel_and_wait():
    global _ending
    with _others:
        _ending = True
        _others.wait_for(lambda: not _others_running)


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_after_fork)


@contextlib.contextmanager
def _counted():
    global _others_running
    if threading.current_thread() is threading.main_thread():
        yield
        return
    with _others:
        if _ending:
            raise SystemExit  # of this thread
        _others_running += 1
    try:
        yield
    finally:
        with _others:
            _others_running -= 1
            _others.notify_all()


class Running:
    """A call in progress on this thread. What a callback or a signal handler raises waits here until the call has returned."""

    def __init__(self, progress, log):
        self.progress, self.log, self.raised, self.in_callback = progress, log, None, False

    @contextlib.contextmanager
    def guarded(self):
        """About the body of a callback: through C no exception can pass."""
        try:
            self.in_callback = True
            yield
        except BaseException as e:
            self.raised = self.raised or e
        finally:
            self.in_callback = False

    def check(self):
        """In a body, first of all: a signal that came in C, before the body could be ended by it, ends it now."""
        if self.raised is not None:
            raise self.raised


def running():
    return _thread.calls[-1]


@isoc_progress_fn
def report_progress(_user, fraction, stage):
    call, stop = running(), False
    with call.guarded():
        if call.progress and not call.raised:
            stop = bool(call.progress(fraction, stage.decode()))
        if _ending and threading.current_thread() is not threading.main_thread():
            raise SystemExit
    return stop or any(c.raised is not None for c in _thread.calls)


@isoc_log_fn
def report_log(_user, level, message):
    call = running()
    with call.guarded():
        # To say it in Python's words takes as long as a small calculation.
        if call.log and not getattr(_thread, "quiet", False) and getattr(call.log, "hears", lambda _: True)(level):
            call.log(level, f"{called()}: {in_python(message.decode())}")


@contextlib.contextmanager
def quietly():
    """Calls of this thread, in here, log nothing: what they would doubt was not a caller's choice."""
    before, _thread.quiet = getattr(_thread, "quiet", False), True
    try:
        yield
    finally:
        _thread.quiet = before


@contextlib.contextmanager
def _interruptible(call):
    """In the main thread the signal handler (Python's own raises KeyboardInterrupt) runs inside callbacks. What it raises is
    kept, since outside of a callback's `try`, at its first instruction, ctypes would drop it; within, it also ends the callback."""
    handler = None
    if threading.current_thread() is threading.main_thread():
        handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return

    def keep(number, frame):
        try:
            handler(number, frame)
        except BaseException as e:
            call.raised = call.raised or e
            if call.in_callback:
                raise

    try:
        signal.signal(signal.SIGINT, keep)
    except ValueError:  # a sub-interpreter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def invoke(function, *arguments, context=None):
    """Calls a function that returns a status, with arguments as ctypes takes them, and tensors; raises what a callback raised,
    or the status as an exception."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    call = Running(*(context._callbacks if context else (None, None)))
    if not hasattr(_thread, "calls"):
        _thread.calls = []
    _thread.calls.append(call)
    try:
        with _counted(), _interruptible(call):
            status = function(*(a.pointer if isinstance(a, Tensor) else a for a in arguments))
            # This thread's message, before anything else can fail on it.
            message = lib.isoc_last_error().decode() if status else ""
    finally:
        _thread.calls.pop()
    if call.raised is not None:
        raise call.raised
    if status:
        if status == Status.TENSOR_DTYPE:
            message = _dtype_message(message, tensors)
        elif status in (Status.TENSOR_SHAPE, Status.TENSOR_NDIM):
            message = of_shape(message, tensors)
        raise error(status, of_elements(in_python(message), tensors))


def _dtype_message(message, tensors):
    """The library's message in NumPy's words, with what to write instead."""
    allowed = re.findall(r"(?:float|complex|uint)\d+", in_python(message.rpartition("must be")[2]))
    odd = [t for t in tensors if t.dtype and t.dtype not in allowed]
    odd.sort(key=lambda t: not message.startswith(t.name))
    if not allowed or not odd:
        return message
    if "uint16" in allowed and odd[0].dtype.startswith(("int", "uint")):  # which would wrap what is too large or negative
        counts = ' with set_options(input="counts")' if odd[0].name == "projections" else ""
        wanted = "float32" if "float32" in allowed else max((kind for kind in allowed if kind.startswith("uint")), key=lambda kind: int(kind[4:]))
        return f"{odd[0].name} is {odd[0].dtype} where {' or '.join(allowed)} is needed: {odd[0].advice(wanted)}{counts}"
    counts = [kind for kind in allowed if kind.startswith("uint")]
    wanted = counts[0] if counts and odd[0].dtype.startswith(("int", "uint")) else allowed[0]  # integers are counts
    return f"{odd[0].name} is {odd[0].dtype} where {' or '.join(allowed)} is needed: {odd[0].advice(wanted)}"


class Handle:
    """Owner of a C handle: closed by `close`, at the end of a `with` block, or with the object. May be used from any thread."""

    def __init__(self, destroy, address):
        self._destroy, self._address, self._born = destroy, address, _forks
        self._own()

    def _own(self):
        self._finalizer = weakref.finalize(self, _finalize, self._destroy, self._address, self._born)
        self._finalizer.atexit = False  # threads may still use it; the process's end frees it

    @property
    def _handle(self):
        name = type(self).__name__
        if self._born != _forks:
            raise wrong(InvalidHandleError, f"this {name} was made before the process forked, and its threads are not here: make "
                                            "another one after the fork, or start processes by multiprocessing's \"spawn\"")
        if not self._finalizer.alive:
            raise wrong(InvalidHandleError, f"this {name} is closed")
        return self._address

    @property
    def closed(self):
        """Whether it can no longer be used."""
        return not self._finalizer.alive

    def __setattr__(self, name, value):
        if name.startswith("_"):
            return super().__setattr__(name, value)
        own = next(c for c in type(self).__mro__ if c.__module__.partition(".")[0] == __package__)
        setters = {f.__name__: inspect.signature(f).parameters for f in map(own.__dict__.get, own.__dict__)
                   if inspect.isfunction(f) and f.__name__.startswith("set_")}
        known = name in dir(own) or any(name in keywords for keywords in setters.values())
        if type(self) is not own and not known:  # classes of a user's own may have more attributes
            return super().__setattr__(name, value)
        raise wrong(AttributeError, f"{name} is no attribute that can be set{_instead(own, name, setters)}")

    def close(self):
        """Frees it. Calls in progress on other threads come to their end; later ones raise InvalidHandleError. A second close
        does nothing."""
        if self._finalizer.detach() is None or self._born != _forks:
            return
        try:
            invoke(self._destroy, self._address)
        except BaseException:
            self._own()
            raise

    def __enter__(self):
        self._handle  # raises if closed
        return self

    def __exit__(self, *_):
        self.close()

    def __reduce__(self):
        raise wrong(TypeError, f"a {type(self).__name__} holds threads and memory, and cannot be copied or pickled: make another one, "
                               "in each process its own")


def _instead(own, name, setters):
    """What to write in the place of `object.name = ...`."""
    if not setters:  # of a context
        keywords = list(inspect.signature(own).parameters)
        near = difflib.get_close_matches(name, keywords, 1, 0.8)
        return f": write {own.__name__}({near[0]}=...)" if near else f"; {own.__name__} takes " + ", ".join(keywords)
    if f"set_{name}" in setters:
        return f": write set_{name}(...)"
    for word in (name, *difflib.get_close_matches(name, {k for keywords in setters.values() for k in keywords} - {"self"}, 1, 0.8)):
        found = [f"{setter}({word}=...)" for setter, keywords in setters.items() if word in keywords]
        if found:
            return f": write {found[0]}"
    return ": what a plan has is set by " + ", ".join(setters)


def _finalize(destroy, address, born):
    if born == _forks:
        destroy(address)


def new_handle(create, *before, context=None):
    """Address of the handle that `create(*before, &handle)` makes."""
    out = ctypes.c_void_p()
    invoke(create, *before, ctypes.byref(out), context=context)
    return out.value
