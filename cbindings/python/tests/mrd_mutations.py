"""Mutated sessions for the parser of MRD messages. As a command: mrd_mutations.py EXECUTIONS [SEED]."""
import random
import struct
import sys
import tracemalloc

import numpy as np

from isocenter.raw.server import _messages

MOST = 1 << 16  # bytes of a session
MEMORY = 1 << 21  # that a session may take: its bytes, and Python's objects of 1 KB for each message


def _readout(rng, samples, channels, dims):
    head = np.zeros((), _messages.ACQUISITION_HEAD)
    head["number_of_samples"], head["active_channels"], head["trajectory_dimensions"] = samples, channels, dims
    return struct.pack("<H", 1008) + head.tobytes() + rng.randbytes(4 * samples * dims + 8 * samples * channels)


def sessions(rng):
    """Valid ones, of all messages."""
    image = np.zeros((), _messages.IMAGE_HEAD)
    image["data_type"], image["channels"], image["matrix_size"] = 2, 1, (3, 2, 1)
    waveform = np.zeros((), _messages.WAVEFORM_HEAD)
    waveform["number_of_samples"], waveform["channels"] = 3, 2
    name = struct.pack("<H1024s", 1, b"default")
    texts = {kind: struct.pack("<HI", kind, len(data)) + data for kind, data in ((2, b'{"iterations": 3}'), (3, b"<ismrmrdHeader/>"), (5, b"asleep\0"))}
    readouts = [_readout(rng, *sizes) for sizes in ((4, 2, 2), (0, 0, 0), (7, 1, 0), (3, 3, 3))]
    between = struct.pack("<H", 1022) + image.tobytes() + struct.pack("<Q", 5) + b"<a/>\0" + bytes(12) + struct.pack("<H", 1026) + waveform.tobytes() + bytes(24)
    close = struct.pack("<H", 4)
    return [name + texts[3] + b"".join(readouts) + close, texts[2] + texts[3] + texts[5] + readouts[0] + between + readouts[2] + close, name + close,
            texts[5] + between * 2 + texts[2] + close]


def mutated(rng, data):
    """Bits, bytes, numbers that are likely to hurt, pieces cut out, twice, moved or of something else, and an early end."""
    data = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 2, 4, 8, 40, 342))
        way = rng.randrange(7)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at:at + size] = rng.randbytes(size)
        elif way == 2:
            data[at:at + size] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * size
        elif way == 3:
            del data[at:at + size]
        elif way == 4:
            data[at:at] = data[at:at + size]
        elif way == 5:
            data[at:at + 2] = struct.pack("<H", rng.choice((1, 2, 3, 4, 5, 1008, 1022, 1026, 65535)))
        else:
            del data[at:]
    return bytes(data)


def parsed(data, rng):
    """Messages of the bytes, which come in pieces of any size."""
    at = 0

    def read(size):
        nonlocal at
        size = min(size, rng.choice((1, 3, 17, 1 << 20, 1 << 20, 1 << 20)))
        at += size
        return data[at - size:at]

    return list(_messages.Reader(read, MOST).messages())


def run(executions, seed):
    """How many ended in which way; anything but the parser's own exceptions comes out, with the session that made it."""
    rng = random.Random(seed)
    valid, ends = sessions(rng), {"whole": 0, "ended": 0, "refused": 0}
    tracemalloc.start()
    try:
        for number in range(executions):
            data = mutated(rng, rng.choice(valid))
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                parsed(data, rng)
                ends["whole"] += 1
            except _messages.Ended:
                ends["ended"] += 1
            except _messages.Refused:
                ends["refused"] += 1
            except Exception as e:
                raise AssertionError(f"execution {number} of seed {seed}: {data!r}") from e
            taken = tracemalloc.get_traced_memory()[1] - before
            if taken > MEMORY:
                raise AssertionError(f"execution {number} of seed {seed} took {taken} bytes: {data!r}")
    finally:
        tracemalloc.stop()
    return ends


if __name__ == "__main__":
    print(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
