"""Mutated PETSIRD files for the reader. As a command: petsird_mutations.py EXECUTIONS [SEED]."""
import os
import random
import re
import struct
import sys
import tempfile
import tracemalloc
import warnings

import numpy as np

import petsird_files
from petsird_files import petsird

MEMORY = 1 << 25  # that reading a file may take; they have less than 64 KB, a byte of which becomes an object of some hundred bytes at most


def _events(rng, many):
    return np.stack([*np.sort(rng.integers(0, 120, (2, many)), axis=0)[::-1], rng.integers(0, 4, many)], axis=1)


def files(folder):
    """The bytes of valid ones, with all kinds of blocks, and where what follows their schema begins."""
    rng, path, made = np.random.default_rng(3), os.path.join(folder, "valid.petsird"), []
    interval = petsird.TimeInterval(start=0, stop=100)
    dead = petsird.AliveTimeFractions(singles_alive_time_fractions=[np.full(3, 0.9, np.float32)], module_pair_alive_time_fractions=[])
    others = [petsird.TimeBlock.DeadTimeTimeBlock(petsird.DeadTimeTimeBlock(time_interval=interval, alive_time_fractions=dead)),
              petsird.TimeBlock.BedMovementTimeBlock(petsird.BedMovementTimeBlock(time_interval=interval)),
              petsird.TimeBlock.GantryMovementTimeBlock(petsird.GantryMovementTimeBlock(time_interval=interval, transforms=[petsird_files.rotation(0.0)])),
              petsird.TimeBlock.ExternalSignalTimeBlock(petsird.ExternalSignalTimeBlock(time_interval=interval, signal_id=1, signal_values=[1.0, 2.0]))]
    edges = np.array([-60.0, -20.0, 0.0, 30.0, 60.0], np.float32)
    for words, blocks in ((dict(efficiencies=np.ones(120)), [(0, _events(rng, 60), _events(rng, 20)), (100, _events(rng, 60), _events(rng, 20))]),
                          (dict(energies=3), [(0, _events(rng, 1), _events(rng, 0)), (1000, _events(rng, 200), _events(rng, 0))])):
        described = petsird_files.scanner(edges, **words)
        if "efficiencies" in words:
            found = described.detection_efficiencies
            found.module_pair_sgidlut = [[[[-1 if k == m else (k + m) % 2 for m in range(k + 1)] for k in range(10)]]]
            found.module_pair_efficiencies_vectors = [[[petsird.ModulePairEfficiencies(values=np.full((12, 12), 0.5 + k, np.float32).tolist(), sgid=k) for k in (0, 1)]]]
        petsird_files.write(path, described, blocks, nuclide="^68^Gallium", others=others)
        with open(path, "rb") as file:
            data = file.read()
        made.append((data, data.rindex(b'"protocol"') + len(petsird.protocols.PETSIRDReaderBase.schema) - 1))
    return made


def mutated(rng, data, after):
    """Bits, bytes, numbers that are likely to hurt, pieces cut out, twice or of something else, and an early end: mostly behind the schema."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1) if rng.randrange(8) == 0 else rng.randrange(min(after, len(data)), len(data) + 1)
        size, way = rng.choice((1, 2, 4, 8, 48, 500)), rng.randrange(7)
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
        elif way == 5:  # numbers of 28 to 70 bits, infinity and what is none
            data[at:at + 4] = rng.choice((b"\xff\xff\xff\x7f", b"\xff" * 4 + b"\x0f", b"\xff" * 9 + b"\x7f", struct.pack("<f", np.inf), struct.pack("<f", np.nan)))
        else:
            del data[at:]
    return bytes(data)


def read(path):
    """As `quantify` reads it."""
    from isocenter.petsird import _events, _exam
    events = _events.Events(path, np.array([[0.0, 0.05], [0.05, 2.0]]))
    _exam.shift(events.said.alignment)
    return sum(len(part.kinds) for part in events), events.doubts


def run(executions, seed):
    """How many ended in which way; anything but the reader's own words comes out, with the file that made it."""
    rng, ends = random.Random(seed), {"whole": 0, "doubted": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        valid, path = files(folder), os.path.join(folder, "mutated.petsird")
        tracemalloc.start()
        try:
            for number in range(executions):
                data = mutated(rng, *rng.choice(valid))
                with open(path, "wb") as file:
                    file.write(data)
                tracemalloc.reset_peak()
                try:
                    ends["doubted" if read(path)[1] else "whole"] += 1
                except ValueError as e:
                    # Own words begin with the function, or with the file.
                    if e.__class__ is not ValueError or not str(e).startswith(path) and not re.match(r"[\w.]+: ", str(e)):
                        raise AssertionError(f"execution {number} of seed {seed}: {e!r}") from e
                    ends["refused"] += 1
                except Exception as e:
                    with open(os.path.join(tempfile.gettempdir(), "mutated.petsird"), "wb") as file:
                        file.write(data)
                    raise AssertionError(f"execution {number} of seed {seed}, of which the file is {file.name}: {e!r}") from e
                peak = tracemalloc.get_traced_memory()[1]
                if peak > MEMORY:
                    raise AssertionError(f"execution {number} of seed {seed} takes {peak} bytes for a file of {len(data)}")
        finally:
            tracemalloc.stop()
    return ends


if __name__ == "__main__":
    print(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
