"""The library's enumerations: options take their members' names, in lower case, or the members."""
from enum import IntEnum as _IntEnum

from . import _abi

__all__ = [name for name, value in vars(_abi).items() if isinstance(value, type) and issubclass(value, _IntEnum)
           and value is not _IntEnum]
globals().update({name: getattr(_abi, name) for name in __all__})
