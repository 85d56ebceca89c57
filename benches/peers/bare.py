"""Isocenter through its Python package, with nothing but the C call in what is timed.

The package hears Ctrl-C by the progress callback, for which the library computes on a thread other than the caller's; and it
describes the arrays anew in each call. Both take some 0.1 ms, which counts beside calls of less than a millisecond.
"""
import isocenter
from isocenter import _abi, _call
from isocenter._library import lib
from isocenter._tensor import Tensor
from isocenter._values import address, numbers, struct


class Context(isocenter.Context):
    """On the processor, or on GPUs; without callbacks, so that Ctrl-C waits for the end of a call."""

    def __init__(self, gpu=False, threads=0, gpus=(0,)):
        self._callbacks = None, None
        device, list_ = (_abi.ContextDevice.GPU, numbers(list(gpus), "gpus", "int32")) if gpu else (_abi.ContextDevice.CPU, None)
        options = struct(_abi.isoc_context_options, device=device, threads=threads, gpus=address(list_),
                         gpu_count=len(gpus) if gpu else 0)
        _call.Handle.__init__(self, lib.isoc_context_destroy, _call.new_handle(lib.isoc_context_create, options))


def call(method, *arrays, **more):
    """The C call that a plan's method makes of these arrays, to be made again and again: a function of nothing."""
    plan, calls = method.__self__, []
    plan._run = lambda *made: calls.append(made)  # in the place of the class's
    try:
        method(*arrays, **more)
    finally:
        del plan._run
    (function, *described), = calls
    arguments = plan._handle, *(a.pointer if isinstance(a, Tensor) else a for a in described)

    def run():
        if status := function(*arguments):
            raise isocenter.errors.error(status, lib.isoc_last_error().decode())

    run.keeps = plan, described
    return run
