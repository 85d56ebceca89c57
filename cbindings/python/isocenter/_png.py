"""Greyscale PNG files."""
import struct
import zlib

import numpy


def encode(grey):
    """The bytes of a PNG file of uint8 (rows, columns), 0 black."""
    height, width = grey.shape
    lines = numpy.concatenate([numpy.zeros((height, 1), numpy.uint8), grey], axis=1).tobytes()  # filter 0 before each line
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(lines, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks)
