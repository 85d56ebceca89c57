"""What plans of all modalities have in common."""
import ctypes
import inspect

from . import _call
from ._tensor import tensor, zeros_like
from ._values import integer
from .context import Context
from .errors import wrong


class Plan(_call.Handle):
    """Handle, context, and the stream of a plan."""

    def __init__(self, create, destroy, context):
        if context is None:
            context = Context()
        elif not isinstance(context, Context):
            raise wrong(TypeError, f"context is {type(context).__name__}; it must be an isocenter.Context (geometry goes by "
                                   "keyword)")
        self._context, self._stream, self._stream_owner = context, 0, None
        super().__init__(destroy, _call.new_handle(create, context._handle, context=context))

    def _begin(self, given):
        """Sets the geometry if any of it is among a constructor's arguments, `given` by name."""
        chosen = {}
        for name, keyword in inspect.signature(self.set_geometry).parameters.items():
            value, default = given[name], None if keyword.default is keyword.empty else keyword.default
            # Arrays are compared element by element, so only what is of the default's own type is compared at all.
            if value is not default and not (type(value) is type(default) and value == default):
                chosen[name] = value
        if chosen:
            self.set_geometry(**chosen)  # says what is missing

    def _described(self, **facts):
        """For repr: what needs no call of the library, which would wait for one that runs."""
        if self.closed:
            return f"<isocenter.{type(self).__name__}: closed>"
        facts = [f"{name}={value!r}" for name, value in facts.items()] or ["no geometry"]
        return f"<isocenter.{type(self).__name__}: {', '.join(facts)}, device={self._context._settings['device']!r}>"

    @property
    def context(self):
        """The plan's Context."""
        return self._context

    def _in(self, array, name):
        return None if array is None else tensor(array, name, self._stream)

    def _out(self, array, name):
        return tensor(array, name, self._stream, written=True)

    def _run(self, function, *arguments):
        """`function(handle, *arguments)`."""
        _call.invoke(function, self._handle, *arguments, context=self._context)

    def _apply(self, function, source, target, shape, dtype="float32", before=(), between=(), after=()):
        """A function of one array in and one out, each a pair of name and array, with arguments before, between and after them; makes
        the output where there is none."""
        inward = tensor(source[1], source[0], self._stream)
        out = target[1]
        if out is None:
            out = zeros_like(source[1], shape(), dtype)
        self._run(function, *before, inward, *between, self._out(out, target[0]), *after)
        return out

    def _number(self, function, kind=ctypes.c_uint64):
        out = kind()
        self._run(function, ctypes.byref(out))
        return out.value

    def _memory(self, function, *arguments):
        """(host, gpu): bytes."""
        host, gpu = ctypes.c_uint64(), ctypes.c_uint64()
        self._run(function, *arguments, ctypes.byref(host), ctypes.byref(gpu))
        return host.value, gpu.value

    def _set_stream(self, function, stream):
        owner = stream
        if stream is None:
            stream = 0
        elif hasattr(stream, "__cuda_stream__"):
            stream = stream.__cuda_stream__()[1]
        else:
            stream = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))  # PyTorch, CuPy
        stream = integer(stream, "stream", ctypes.c_uint64)
        self._run(function, ctypes.c_void_p(stream))
        self._stream, self._stream_owner = stream, owner  # the stream has to live for as long as it is set
