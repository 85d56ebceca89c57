"""Finds and loads libisocenter, and declares its functions."""
import ctypes
import ctypes.util
import os
import subprocess
from pathlib import Path

from . import _abi

ENVIRONMENT = "ISOCENTER_LIBRARY"
# The library's soname: its major and minor version.
NAMES = ("libisocenter.so.0.1", "libisocenter.so")


def _pkg_config():
    try:
        found = subprocess.run(["pkg-config", "--variable=libdir", "isocenter"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [Path(found.stdout.strip()) / name for name in NAMES]


def _load():
    """The first library that is there. One that is named, or lies where it should, but does not load, is an error."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return _open(named, f"{ENVIRONMENT}={named}")
    for place, files in (("beside the package", [Path(__file__).parent / name for name in NAMES]),
                         ("by pkg-config", _pkg_config())):
        for file in files:
            if file.exists():
                return _open(file, f"{file} (found {place})")
    for name in filter(None, (*NAMES, ctypes.util.find_library("isocenter"))):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise ImportError(
        f"libisocenter is not to be found. Looked for {NAMES[0]} in the environment variable {ENVIRONMENT} (the path of the "
        f"library; not set), beside the package ({Path(__file__).parent}), by pkg-config (PKG_CONFIG_PATH) and by the "
        "dynamic loader (LD_LIBRARY_PATH, ldconfig). Where it is installed in FOLDER, set "
        f"{ENVIRONMENT}=FOLDER/lib/libisocenter.so; from its sources, `make install PREFIX=FOLDER` installs it.")


def _open(file, said):
    try:
        return ctypes.CDLL(str(file))
    except OSError as e:
        raise ImportError(f"{said} does not load: {e}") from None


def _declare(library):
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}: it is older than this package, or no libisocenter") from None
        function.restype, function.argtypes = result, arguments
        if name == "isoc_abi_version" and function() != _abi.ISOC_ABI_VERSION:
            raise ImportError(f"{library._name} has ABI {function()}; this package needs {_abi.ISOC_ABI_VERSION}")
    return library


lib = _declare(_load())
