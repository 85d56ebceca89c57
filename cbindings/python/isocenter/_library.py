"""Finds and loads libisocenter, and declares its functions."""
import ctypes
import ctypes.util
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

from . import _abi

ENVIRONMENT = "ISOCENTER_LIBRARY"
# The library's names, that with its major and minor version first where names have them; where a package has it; what the loader searches.
if sys.platform == "win32":
    NAMES, INSTALLED, SEARCHED = ("isocenter.dll",), "bin\\isocenter.dll", "PATH"
elif sys.platform == "darwin":
    NAMES, INSTALLED, SEARCHED = ("libisocenter.0.1.dylib", "libisocenter.dylib"), "lib/libisocenter.dylib", "DYLD_LIBRARY_PATH"
else:
    NAMES, INSTALLED, SEARCHED = ("libisocenter.so.0.1", "libisocenter.so"), "lib/libisocenter.so", "LD_LIBRARY_PATH, ldconfig"


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
        f"dynamic loader ({SEARCHED}). Where it is installed in FOLDER, set "
        f"{ENVIRONMENT}={os.path.join('FOLDER', INSTALLED)}; from its sources, `make install PREFIX=FOLDER` installs it.")


def _processor_of(file):
    """What a library was built for, from its first bytes; None where they say nothing. Loaders tell of it in words that help nobody."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(4096)
    except OSError:
        return None
    if head[:4] == b"\x7fELF":
        machine = head[18:20]
    elif head[:2] == b"MZ":
        at = int.from_bytes(head[60:64], "little")
        machine = head[at + 4:at + 6]
    elif head[:4] == b"\xcf\xfa\xed\xfe":
        machine = head[4:8]
    else:
        return None
    return {b"\x3e\x00": "x86_64", b"\xb7\x00": "arm64", b"\x64\x86": "x86_64", b"\x64\xaa": "arm64",
            b"\x07\x00\x00\x01": "x86_64", b"\x0c\x00\x00\x01": "arm64"}.get(machine)


def _processor():
    """What this Python was built for."""
    if struct.calcsize("P") != 8:
        return "32 bits"
    return {"AMD64": "x86_64", "aarch64": "arm64", "ARM64": "arm64"}.get(platform.machine(), platform.machine())


def _open(file, said):
    try:
        return ctypes.CDLL(str(file))
    except OSError as e:
        built, own = _processor_of(file), _processor()
        if built and built != own:
            other = f", or take the library for {own}" if own in ("x86_64", "arm64") else ""
            raise ImportError(f"{said} does not load: it was built for {built}, and this Python for {own}; install a Python for {built}{other}") from None
        raise ImportError(f"{said} does not load: {e}") from None


def _declare(library):
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}: it is older than this package, or no libisocenter") from None
        function.restype, function.argtypes = result, arguments
        if name == "isoc_abi_version" and function() != _abi.ISOC_ABI_VERSION:
            library.isoc_version.restype = ctypes.c_char_p
            raise ImportError(
                f"{library._name} is version {library.isoc_version().decode()} with ABI {function()}, and this package needs ABI "
                f"{_abi.ISOC_ABI_VERSION}: install the library and the package of one version, or name another library in {ENVIRONMENT}")
    return library


lib = _declare(_load())
