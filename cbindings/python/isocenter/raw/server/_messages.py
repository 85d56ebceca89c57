"""Messages of the MRD streaming protocol: a number of 16 bits that says which, and what belongs to it; all numbers are little-endian."""
import struct
from collections import namedtuple

import numpy

from .._image_heads import COMPLEX, FLOAT, IMAGE_HEAD, PLACES, USER

CONFIG_FILE, CONFIG_TEXT, HEADER, CLOSE, TEXT, ACQUISITION, IMAGE, WAVEFORM = 1, 2, 3, 4, 5, 1008, 1022, 1026

_COUNTERS = [(name, "<u2") for name in ("kspace_encode_step_1", "kspace_encode_step_2", "average", "slice", "contrast", "phase", "repetition", "set", "segment")]
# The format's structures without gaps: 340 and 40 bytes.
ACQUISITION_HEAD = numpy.dtype([
    ("version", "<u2"), ("flags", "<u8"), ("measurement_uid", "<u4"), ("scan_counter", "<u4"), ("acquisition_time_stamp", "<u4"),
    ("physiology_time_stamp", "<u4", 3), ("number_of_samples", "<u2"), ("available_channels", "<u2"), ("active_channels", "<u2"), ("channel_mask", "<u8", 16),
    ("discard_pre", "<u2"), ("discard_post", "<u2"), ("center_sample", "<u2"), ("encoding_space_ref", "<u2"), ("trajectory_dimensions", "<u2"),
    ("sample_time_us", "<f4"), *PLACES, ("idx", [*_COUNTERS, ("user", "<u2", 8)]), *USER])
WAVEFORM_HEAD = numpy.dtype({"names": ["number_of_samples", "channels"], "formats": ["<u2", "<u2"], "offsets": [28, 30], "itemsize": 40})

NAME_BYTES = 1024  # of a configuration's name, with zeros after it
MOST_TEXT = 1 << 24  # bytes of a text
PIECE = 1 << 20  # bytes that are read at a time: memory is taken for what has come, not for what was announced
KEPT_BESIDE = 1024  # bytes that a readout takes beside its own
COMPRESSED = 0b1111 << 52  # flags of Gadgetron's compressed readouts
SIZES = {1: 2, 2: 2, 3: 4, 4: 4, FLOAT: 4, 6: 8, COMPLEX: 8, 8: 16}  # bytes of images' numbers

Acquisition = namedtuple("Acquisition", "head trajectory data repetition")  # the first three as bytes
Message = namedtuple("Message", "kind body")
Message.__doc__ = "`body` is the text of a name, a configuration or a text, the bytes of a header, an `Acquisition`, or None."


class Refused(Exception):
    """What the client is told, after which the session ends."""


class Ended(Exception):
    """The connection ended inside of a message, or before the message that closes it."""


class Reader:
    """Messages from `read(n)`, which gives up to n bytes and none at the end, within `most` bytes in all."""

    def __init__(self, read, most):
        self._read, self._left, self.most = read, most, most

    def messages(self):
        """All up to CLOSE, which is the last."""
        while True:
            kind = struct.unpack("<H", self._take(2))[0]
            body = self._BODIES.get(kind, Reader._unknown)
            yield Message(kind, body(self, kind))
            if kind == CLOSE:
                return

    def _take(self, size):
        """So many bytes; what has not come takes no memory."""
        parts = []
        while size:
            part = self._read(min(size, PIECE))
            if not part:
                raise Ended("the connection ended before the message that closes it")
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _skip(self, size):
        while size:
            size -= len(self._take(min(size, PIECE)))

    def _allow(self, size, what):
        """Before bytes are read."""
        if size > self._left:
            raise Refused(f"{what} takes {size} bytes, more than the {self._left} that are left of {self.most} for a session: start the server with a larger --max-bytes")
        self._left -= size

    def _name(self, _):
        self._allow(NAME_BYTES, "a configuration's name")
        return _text(self._take(NAME_BYTES).partition(b"\0")[0], "a configuration's name")

    def _long(self, kind):
        what = {CONFIG_TEXT: "a configuration", HEADER: "a header", TEXT: "a text"}[kind]
        size = struct.unpack("<I", self._take(4))[0]
        if size > MOST_TEXT:
            raise Refused(f"{what} of {size} bytes is longer than texts may be, {MOST_TEXT}")
        self._allow(size, what)
        text = self._take(size).rstrip(b"\0")
        return text if kind == HEADER else _text(text, what)

    def _nothing(self, _):
        return None

    def _acquisition(self, _):
        head = self._take(ACQUISITION_HEAD.itemsize)
        fields = numpy.frombuffer(head, ACQUISITION_HEAD)[0]
        if int(fields["flags"]) & COMPRESSED:
            raise Refused("readouts are compressed, which this server does not read: send them without the client's compression")
        samples, channels, dims = (int(fields[name]) for name in ("number_of_samples", "active_channels", "trajectory_dimensions"))
        along, data = 4 * samples * dims, 8 * samples * channels
        self._allow(len(head) + along + data + KEPT_BESIDE, f"a readout of {samples} samples, {channels} coils and {dims} dimensions")
        return Acquisition(head, self._take(along) if along else b"", self._take(data) if data else b"", int(fields["idx"]["repetition"]))

    def _image(self, _):
        head = numpy.frombuffer(self._take(IMAGE_HEAD.itemsize), IMAGE_HEAD)[0]
        attributes = struct.unpack("<Q", self._take(8))[0]
        if int(head["data_type"]) not in SIZES:
            raise Refused(f"an image has numbers of type {head['data_type']}; the format has 1 to 8")
        size = attributes + SIZES[int(head["data_type"])] * int(head["channels"]) * numpy.prod(head["matrix_size"].astype(object))
        self._allow(size, "an image")
        self._skip(size)

    def _waveform(self, _):
        head = numpy.frombuffer(self._take(WAVEFORM_HEAD.itemsize), WAVEFORM_HEAD)[0]
        size = 4 * int(head["number_of_samples"]) * int(head["channels"])
        self._allow(size, "a waveform")
        self._skip(size)

    def _unknown(self, kind):
        raise Refused(f"message {kind} is none that this server knows: 1 to 5, 1008, 1022 and 1026. Whatever came after it cannot be read")

    _BODIES = {CONFIG_FILE: _name, CONFIG_TEXT: _long, HEADER: _long, CLOSE: _nothing, TEXT: _long, ACQUISITION: _acquisition, IMAGE: _image, WAVEFORM: _waveform}


def _text(data, what):
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused(f"{what} is no text in UTF-8") from None


def close():
    return struct.pack("<H", CLOSE)


def text(words):
    data = words.encode() + b"\0"  # as python-ismrmrd-server ends texts
    return struct.pack("<HI", TEXT, len(data)) + data


def image(head, attributes, values):
    """A finished head with its attributes, and `values` (z, y, x) of float32 or complex64."""
    words = attributes.encode()
    return b"".join((struct.pack("<H", IMAGE), head.tobytes(), struct.pack("<Q", len(words)), words, values.tobytes()))
