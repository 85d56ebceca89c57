"""A client of MRD servers for tests, which writes and reads with the package ismrmrd."""
import socket
import struct

import ismrmrd
import numpy as np


def pack(kind, data=b""):
    return struct.pack("<H", kind) + data


def text(kind, words):
    data = words if isinstance(words, bytes) else words.encode() + b"\0"
    return pack(kind, struct.pack("<I", len(data)) + data)


def name(words):
    return pack(1, struct.pack("<1024s", words.encode()))


def readout(acquisition):
    parts = []
    acquisition.serialize_into(lambda data: parts.append(bytes(data)))
    return pack(1008, b"".join(parts))


def scan(header, acquisitions, config=None):
    """All of a session's messages, up to close."""
    return b"".join([name("default") if config is None else text(2, config), text(3, header), *map(readout, acquisitions), pack(4)])


def exactly(file, size):
    data = file.read(size)
    if len(data) != size:
        raise EOFError(f"{len(data)} of {size} bytes")
    return data


def image(file):
    """The format has the length of attributes twice."""
    head, length = exactly(file, 198), exactly(file, 8)
    if struct.unpack("<Q", length)[0] != struct.unpack_from("<I", head, 194)[0]:
        raise ValueError("attributes of two lengths")
    pieces = iter((head, length))
    return ismrmrd.Image.deserialize_from(lambda size: next(pieces, None) or exactly(file, size))


def answers(connection):
    """(images, texts) up to close, and that nothing comes after it."""
    images, texts = [], []
    with connection.makefile("rb") as file:
        while True:
            kind = struct.unpack("<H", exactly(file, 2))[0]
            if kind == 4:
                break
            if kind == 5:
                texts.append(exactly(file, struct.unpack("<I", exactly(file, 4))[0]).rstrip(b"\0").decode())
            elif kind == 1022:
                images.append(image(file))
            else:
                raise ValueError(f"message {kind}")
        if file.read(1):
            raise ValueError("bytes after close")
    return images, texts


def asked(address, data, timeout=60):
    """What a server answers to these bytes."""
    with socket.create_connection(address, timeout) as connection:
        connection.sendall(data)
        return answers(connection)


def values(image):
    """(z, y, x)"""
    return np.asarray(image.data)[0]
