"""Files of BART: NAME.hdr, a text of sections, and NAME.cfl, complex64 in column-major order."""
import math
import os
import re
import tempfile
from collections import namedtuple

import numpy

from ..errors import wrong
from ..raw._header import Unreadable

DIMENSIONS = 16
ELEMENT = 8  # bytes of complex64
LONGEST = 1 << 20  # of a header, whose longest section is a command line
MAPPED = 1 << 24  # bytes from which on a file is mapped
NUMBER = re.compile(rb"[+-]?[0-9]{1,19}")
OTHERS = (".ra", ".coo", ".shm", ".mem")

Header = namedtuple("Header", "dimensions command files creator", defaults=("", (), ""))
Header.__doc__ = """What is in NAME.hdr: `dimensions`, 1 to 16 of them, without those of 1 at the end; the command that made the file; the files that this
read ("<name") and wrote (">name"); and the program."""


def readheader(name):
    """The `Header` of NAME.hdr. Raises ValueError where it is none, and OSError where there is none."""
    path = _stem(name) + ".hdr"
    with open(path, "rb") as file:
        text = file.read(LONGEST + 1)
    try:
        return parsed(text)
    except Unreadable as e:
        raise Unreadable(f"{path}: {e}") from None


def readcfl(name):
    """The array of NAME.hdr and NAME.cfl.

    Parameters
    ----------
    name : path
        Without the endings.

    Returns
    -------
    numpy.ndarray
        complex64, in Fortran's order, of the header's dimensions without those of 1 at the end. From 16 MiB on the file is mapped: what is read of the array is
        read from the file, and what is written into it does not reach the file.

    Raises
    ------
    ValueError
        Where the header is none, or NAME.cfl is shorter or longer than it says.
    OSError
    """
    header, path = readheader(name), _stem(name) + ".cfl"
    check_size(header.dimensions, os.stat(path).st_size, path)
    if math.prod(header.dimensions) * ELEMENT >= MAPPED:
        return numpy.memmap(path, "<c8", "c", shape=header.dimensions, order="F")
    with open(path, "rb") as file:
        content = file.read(math.prod(header.dimensions) * ELEMENT)
    check_size(header.dimensions, len(content), path)
    return numpy.frombuffer(bytearray(content), "<c8").reshape(header.dimensions, order="F")


def writecfl(name, array, *, command="", files=()):
    """Writes NAME.hdr and NAME.cfl, which take the place of those that there are once they are whole.

    Parameters
    ----------
    name : path
        Without the endings.
    array : array
        Of numbers, with 1 to 16 dimensions; complex64 is written, in column-major order.
    command : str
        For the header.
    files : sequence of str
        For the header: "<name" and ">name".

    Raises
    ------
    ValueError
        For an array of no elements or of more dimensions, and for numbers that are too large for complex64.
    """
    stem, array = _stem(name), numpy.asarray(array)
    if array.dtype.kind not in "biufc":
        raise wrong(TypeError, f"array has elements of {array.dtype}; they must be numbers")
    if array.ndim > DIMENSIONS:
        raise wrong(ValueError, f"array has {array.ndim} dimensions; BART's files have at most {DIMENSIONS}")
    if not array.size:
        raise wrong(ValueError, f"array has shape {array.shape}; each dimension must be at least 1")
    with numpy.errstate(over="ignore"):
        values = numpy.ascontiguousarray(array.T, "<c8")
    if array.dtype not in ("complex64", "float32") and not numpy.array_equal(numpy.isfinite(values), numpy.isfinite(array.T)):
        raise wrong(ValueError, "array has numbers beyond 3.4e38, which complex64 does not hold")
    dimensions = array.shape + (1,) * (DIMENSIONS - array.ndim)
    _replace(stem + ".cfl", values.tofile)
    _replace(stem + ".hdr", lambda file: file.write(_text(Header(dimensions, command, files)).encode()))


def parsed(content):
    """The `Header` of a file's bytes; Unreadable says what is wrong with it."""
    if len(content) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST} bytes: it is no header of BART's")
    sections = {}
    lines = None
    for line in content.split(b"\n"):
        if line.startswith(b"#"):
            keyword = line[1:].strip().lower()
            if keyword == b"dimensions" and keyword in sections:
                raise Unreadable("it has two sections '# Dimensions'")
            lines = sections[keyword] = []
        elif lines is not None:
            lines.append(line)
        elif line.strip():
            raise Unreadable(f"it begins with {_shown(line)}; a header of BART's begins with '# Dimensions'")
    if b"dimensions" not in sections:
        raise Unreadable("it has no section '# Dimensions'")
    for keyword, what in ((b"data", "keeps its data in another file, as BART's pipes do"), (b"multidimensions", "holds several arrays")):
        if keyword in sections:
            raise Unreadable(f"it {what} ('# {keyword.decode().capitalize()}'): write it to a file of its own with 'bart copy'")
    words = {keyword: b"\n".join(found).decode(errors="replace").strip() for keyword, found in sections.items() if keyword in (b"command", b"files", b"creator")}
    return Header(_dimensions(b"\n".join(sections[b"dimensions"]).split()), words.get(b"command", ""), tuple(words.get(b"files", "").split()), words.get(b"creator", ""))


def check_size(dimensions, size, path):
    """Of NAME.cfl in bytes."""
    needed = math.prod(dimensions) * ELEMENT
    if size != needed:
        raise Unreadable(f"{path} has {size} bytes; {' x '.join(map(str, dimensions))} complex numbers, as its header says, have {needed}: "
                         f"{'it was cut off, or' if size < needed else 'it is longer, so'} the two files do not belong together")


def _dimensions(words):
    sizes = []
    for place, word in enumerate(words):
        if not NUMBER.fullmatch(word):
            raise Unreadable(f"dimension {place} is {_shown(word)}, which is no integer of at most 19 digits")
        sizes.append(int(word))
        if sizes[-1] < 1:
            raise Unreadable(f"dimension {place} is {_shown(word)}; it must be at least 1")
        if place >= DIMENSIONS and sizes[-1] > 1:
            raise Unreadable(f"dimension {place} is {sizes[-1]}; only dimensions 0 to {DIMENSIONS - 1} may be above 1")
    if not sizes:
        raise Unreadable("its section '# Dimensions' has no numbers")
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    if math.prod(sizes) * ELEMENT >= 1 << 63:
        raise Unreadable(f"its dimensions {' x '.join(map(str, sizes))} are more bytes than a file can have")
    return tuple(sizes)


def _shown(word):
    return repr(word[:40].decode(errors="replace"))


def _stem(name):
    stem = os.fspath(name)
    if stem.endswith((".cfl", ".hdr")):
        stem = stem[:-4]
    if stem == "-" or stem.endswith(OTHERS):
        raise Unreadable(f"{stem} names another kind of BART's files than NAME.hdr with NAME.cfl; 'bart copy' writes these")
    return stem


def _text(header):
    lines = ["# Dimensions", " ".join(map(str, header.dimensions))]
    if header.command:
        lines += ["# Command", " ".join(header.command.split())]
    if header.files:
        lines += ["# Files", " " + " ".join(header.files)]
    from .. import __version__  # which the package defines last
    return "\n".join([*lines, "# Creator", f"Isocenter {__version__}", ""])


def _replace(path, write):
    """Writes a file beside it, and puts it in its place when it is whole: the array may lie in the old one."""
    handle, made = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".isocenter-", suffix=path[-4:])
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(made, 0o666 & ~mask)
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise
