"""Mutated PETSIRD files for the reader. As a command: petsird_mutations.py EXECUTIONS [SEED]."""
import os
import sys

import numpy as np

import mutations
import petsird_files
from petsird_files import petsird

MEMORY = 1 << 25  # that reading a file may take; they have less than 64 KB, a byte of which becomes an object of some hundred bytes at most


def _events(rng, many):
    return np.stack([*np.sort(rng.integers(0, 120, (2, many)), axis=0)[::-1], rng.integers(0, 4, many)], axis=1)


def files(folder):
    """Valid ones, with all kinds of blocks: where they go, what is opened, their bytes, and where what follows their schema begins."""
    rng, path, made = np.random.default_rng(3), os.path.join(folder, "valid.petsird"), []
    interval = petsird.TimeInterval(start=0, stop=100)
    others = [
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
        bins = 120 * words.get("energies", 1)
        rates = [petsird_files.dead_time(0, 100, [np.linspace(0.5, 0.9, bins)], [[[np.linspace(0.5, 1.0, k + 1) for k in range(10)]]]), petsird_files.dead_time(100, 2000, [np.full(bins, 0.9)])]
        if "energies" in words:
            petsird_files.has_singles(described, "module", [np.arange(10) // 2], edges=(350.0, 435.0, 585.0))
            rates += [petsird_files.singles(0, 2000, units=[[7, 100 + k] for k in range(5)])]
        else:
            petsird_files.has_singles(described, "all")
            rates += [petsird_files.singles(0, 100, bins=[np.arange(120)]), petsird_files.singles(100, 2000, bins=[1000 * np.arange(120)])]
        petsird_files.write(path, described, blocks, nuclide="^68^Gallium", others=[*others, *rates])
        with open(path, "rb") as file:
            data = file.read()
        made.append((path, path, data, data.rindex(b'"protocol"') + len(petsird.protocols.PETSIRDReaderBase.schema) - 1))
    return made


def read(path):
    """As `quantify` reads it."""
    from isocenter.lists import _alignment, _dead
    from isocenter.petsird import _events
    events = _events.Events(path, np.array([[0.0, 0.05], [0.05, 2.0]]))
    _alignment.shift(events.said.alignment)
    told, doubts = list(events), []
    if not any(events.blocks):
        return events.doubts  # `quantify` ends: there are no events
    dead = _dead.Dead(events.scanner, events, None, 6586.0, doubts.append)
    for k, blocks in enumerate(events.blocks):
        if events.measured[k] > 0:
            own = dead.of(events.names[k], blocks, 1)
            if events.singles:
                doubts += filter(None, [*events.singles.doubts(blocks, own.scanner), events.singles.of(blocks, own.scanner, events.names[k])[1]])
    return told and events.doubts + doubts


def run(executions, seed):
    return mutations.run(files, read, executions, seed, MEMORY)


if __name__ == "__main__":
    print(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
