"""Mutated files for readers."""
import os
import random
import re
import struct
import tempfile
import tracemalloc
import warnings

import numpy as np


def mutated(rng, data, after):
    """Bits, bytes, numbers that are likely to hurt, pieces cut out, twice or of something else, and an early end: mostly behind what is not `after` yet."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1) if rng.randrange(8) == 0 else rng.randrange(min(after, len(data)), len(data) + 1)
        size, way = rng.choice((1, 2, 4, 8, 48, 500)), rng.randrange(7)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at:at + size] = rng.randbytes(size)
        elif way == 2:
            data[at:at + size] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80", b"9")) * size
        elif way == 3:
            del data[at:at + size]
        elif way == 4:
            data[at:at] = data[at:at + size]
        elif way == 5:  # numbers of 28 to 70 bits, infinity and what is none
            data[at:at + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\xff" * 4 + b"\x0f", b"\xff" * 9 + b"\x7f", struct.pack("<f", np.inf), struct.pack("<f", np.nan)))
        else:
            del data[at:]
    return bytes(data)


def run(files, read, executions, seed, memory):
    """How many ended in which way; anything but the reader's own words comes out, with the file that made it.

    `files` makes in a folder (path, data, after) of each file that is mutated; `read` of a path brings doubts; so many bytes of `memory` may reading take.
    """
    rng, ends = random.Random(seed), {"whole": 0, "doubted": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        valid = files(folder)
        tracemalloc.start()
        try:
            for number in range(executions):
                path, opened, whole, after = rng.choice(valid)
                data = mutated(rng, whole, after)
                with open(path, "wb") as file:
                    file.write(data)
                tracemalloc.reset_peak()
                try:
                    ends["doubted" if read(opened) else "whole"] += 1
                except ValueError as e:
                    # Own words begin with the function, or with the file.
                    if e.__class__ is not ValueError or not str(e).startswith(folder) and not re.match(r"[\w.]+: ", str(e)):
                        raise AssertionError(f"execution {number} of seed {seed}: {e!r}") from e
                    ends["refused"] += 1
                except Exception as e:
                    with open(os.path.join(tempfile.gettempdir(), "mutated-" + os.path.basename(path)), "wb") as file:
                        file.write(data)
                    raise AssertionError(f"execution {number} of seed {seed}, of which the file is {file.name}: {e!r}") from e
                finally:
                    with open(path, "wb") as file:
                        file.write(whole)
                peak = tracemalloc.get_traced_memory()[1]
                if peak > memory:
                    raise AssertionError(f"execution {number} of seed {seed} takes {peak} bytes for a file of {len(data)}")
        finally:
            tracemalloc.stop()
    return ends
