"""Mutated lists of CASToR, SAFIR and Siemens, with their headers, scanners and norms, and STIR's headers of ROOT files, for the readers. As a command: list_mutations.py EXECUTIONS [SEED]."""
import os
import sys

import numpy as np

import isocenter.lists
import list_files
import mutations
import siemens_files
from test_lists_hroot import hroot

MEMORY = 1 << 26  # that reading may take; files have less than 200 KB, and arrays of one chunk of records are many times as long as a record


def files(folder):
    """Where each goes, the list that is opened, its bytes, and where a mutation may begin."""
    rng, opened = np.random.default_rng(5), {}
    crystals, seconds = rng.integers(0, list_files.CRYSTALS, (300, 2)), np.linspace(0, 600, 300)
    fields = [("Coincidence kind flag", "B", rng.integers(0, 5, 300)), ("Normalization correction flag", "f", rng.uniform(1, 2, 300))]
    plain = list_files.castor(folder, crystals, rng.normal(0, 300, 300), seconds, "plain", **{"Scanner name": "TABLE"})
    more = list_files.castor(folder, crystals, rng.normal(0, 300, 300), seconds, "more", "d", fields, **{"Maximum axial difference mm": 40, "POI correction flag": "0,0,0"})
    opened[plain] = [plain, os.path.join(folder, "plain.Cdf"), list_files.lut(folder, "TABLE"), os.path.join(folder, "TABLE.lut")]
    opened[more] = [more, os.path.join(folder, "more.Cdf"), list_files.geom(folder)]
    listed, table, parameters, template = (os.path.join(folder, name) for name in ("scan.clm.safir", "crystals.txt", "list.par", "muppet.hs"))
    list_files.safir(listed, [(3, 0, 7, 2, 0, 0, 0), ("time", 1200), (1, 2, 5, 4, 0, 0, 1), (0, 0, 0, 7, 0, 0, 0), ("time", 5000)] * 20)
    with open(table, "w") as file:
        file.writelines(f"{ring}\t{place}\t{20 * np.cos(place):.4f}\t{20 * np.sin(place):.4f}\t{ring}\n" for ring in range(4) for place in range(8))
    list_files.text(parameters, {"CListModeDataSAFIR Parameters": "", "listmode data filename": "scan.clm.safir", "template projection data filename": "muppet.hs"}, ":= ")
    list_files.text(template, {"!INTERFILE": "", "Name of crystal map": "crystals.txt", "Distance between crystals in axial direction (cm)": 0.22}, " := ")
    opened[parameters] = [parameters, listed, table, template]
    words = np.column_stack([siemens_files.time(0) + np.arange(0, 60_000, 500), siemens_files.event(0) + rng.integers(0, 344 * 252 * 4084, 120), siemens_files.event(0) + rng.integers(0, 10_000_000, 120)])
    petlink = siemens_files.siemens(folder, words.ravel(), "siemens")
    opened[petlink] = [petlink, os.path.join(folder, "siemens.l"), siemens_files.norm(folder, np.ones((64, 504)))]
    if siemens_files.pydicom:
        with open(petlink, "rb") as head, open(os.path.join(folder, "siemens.l"), "rb") as data:
            head, data = head.read(), data.read()
        both = siemens_files.dicom(folder, head, data)
        with open(siemens_files.dicom(folder, head, name="apart"), "rb") as file:
            tailed = siemens_files.tailed(folder, data, file.read())
        opened |= {both: [both], tailed: [tailed]}
    if list_files.uproot:
        places = np.array([[0.0, 185.0, 10.0], [20.0, 184.0, -10.0]])
        list_files.root(os.path.join(folder, "scan.root"), {"Coincidences": list_files.gate(places, -places, np.zeros(2), np.array([1.0, 40.0]))})
        opened[hroot(folder)] = [hroot(folder)]
    made = []
    for list_, paths in opened.items():
        for path in paths:
            with open(path, "rb") as file:
                made.append((path, list_, file.read(), 0))
    return made


def read(path):
    """As `quantify` reads it."""
    norm = dict(norm=os.path.join(os.path.dirname(path), "norm.n.hdr")) if path.endswith("siemens.l.hdr") else {}
    with isocenter.lists.open_list(path, **norm) as listed:
        listed.scanner
        reading = listed.read(np.array([[0.0, 50.0], [50.0, 600.0]]))
        return list(reading) and reading.doubts


def run(executions, seed):
    return mutations.run(files, read, executions, seed, MEMORY)


if __name__ == "__main__":
    print(run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
