"""Lists of Siemens for tests, by other formulas than the reader's: headers, words, norms and DICOM; of the Biograph mMR, and of a small scanner."""
import os
import struct

import numpy as np

import list_files
from isocenter.lists import _siemens_scanner

try:
    import pydicom
except ImportError:
    pydicom = None

#: Of 24 blocks of 8 crystals around, and 16 rings, those of list_files but for where the first is.
SMALL = _siemens_scanner.Design("Small", ("9001",), 16, 24, 8, 5.5, 5.5, 5.5, 5.0, 0.12)
MMR = _siemens_scanner.DESIGNS[0]


def header(design=MMR, **keys):
    """Lines of a header; of the keys "_" is a space."""
    farthest = keys.pop("farthest", 60 if design is MMR else design.rings - 1)
    table = [design.rings, *(design.rings - k for k in range(1, farthest + 1) for _ in "+-")]
    radius, spacing = (32.8, 0.40625) if design is MMR else (18.0, 0.55)
    there = {"!INTERFILE": "", "!originating system": design.systems[0], "%SMS-MI header name space": "PETLINK bin address", "!data offset in bytes": 0, "name of data file": "scan.l",
             "!type of data": "PET", "isotope name": "F-18", "isotope gamma halflife (sec)": 6586.2, "isotope branching factor": 0.97, "%patient orientation": "HFS", "PET data type": "Emission",
             "data format": "CoincidenceList", "horizontal bed translation": "stepped", "start horizontal bed position (mm)": 0, "end horizontal bed position (mm)": 0,
             "%energy window lower level (keV) [1]": 430, "%energy window upper level (keV) [1]": 610, "number of rings": design.rings, "distance between rings (cm)": spacing,
             "gantry tilt angle (degrees)": 0, "gantry crystal radius (cm)": radius, "%number of TOF time bins": 1, "%LM event and tag words format (bits)": 32, "%axial compression": 1,
             "%maximum ring difference": farthest, "%number of projections": 344 if design is MMR else design.blocks * (design.across + 1) // 3 * 2, "%number of views": design.blocks * (design.across + 1) // 2,
             "%number of segments": 2 * farthest + 1, "%segment table": "{" + ", ".join(map(str, table)) + "}"}
    return {**there, **keys}


def siemens(folder, words, name="scan", design=MMR, **keys):
    """A header, NAME.l.hdr, as the scanners' computers end lines, and its words."""
    np.asarray(words, "<u4").tofile(os.path.join(folder, f"{name}.l"))
    path = os.path.join(folder, f"{name}.l.hdr")
    with open(path, "wb") as file:
        file.write(lines(header(design, **{"name of data file": f"{name}.l", **keys})))
    return path


def lines(keys):
    return "".join(f"{key}:={value}\r\n" for key, value in keys.items() if value is not None).encode()


def time(ms):
    return 0b100 << 29 | ms


def event(bin, prompt=True):
    return int(prompt) << 30 | int(bin)


def norm(folder, table, name="norm", design=MMR, **keys):
    """A header, NAME.n.hdr, and its data: geometric effects and crystals' efficiencies (rings, places)."""
    geometric = np.full(344 * 127, 7.0, "<f4")
    with open(os.path.join(folder, f"{name}.n"), "wb") as file:
        file.write(geometric.tobytes() + np.asarray(table, "<f4").tobytes())
    path = os.path.join(folder, f"{name}.n.hdr")
    there = {"!INTERFILE": "", "!originating system": design.systems[0] + " ", "%SMS-MI header name space": "component norm", "name of data file": f"{name}.n", "%number of normalization components": 2,
             "%normalization component [1]": "geometric effects", "%normalization component [2]": "crystal efficiencies", "%matrix size [1]": "{344,127}",
             "%matrix size[2]": f"{{{design.blocks * (design.across + 1)},{design.rings}}}", "data offset in bytes[1]": 0, "data offset in bytes[2]": geometric.nbytes}
    with open(path, "wb") as file:
        file.write(lines({**there, **keys}))
    return path


def dicom(folder, head, data=None, name="scan"):
    """NAME.dcm with a header in (0029,1010), and data in (7FE1,1010) if there are any."""
    made = pydicom.Dataset()
    made.file_meta = pydicom.dataset.FileMetaDataset()
    made.file_meta.TransferSyntaxUID, made.file_meta.MediaStorageSOPClassUID = pydicom.uid.ExplicitVRLittleEndian, "1.3.12.2.1107.5.9.1"
    made.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    made.PatientName = "nobody"
    made.add_new((0x0029, 0x0010), "LO", "SIEMENS CSA HEADER")
    made.add_new((0x0029, 0x1010), "OB", head + b" " * (len(head) % 2))
    if data is not None:
        made.add_new((0x7FE1, 0x0010), "LO", "SIEMENS CSA NON-IMAGE")
        made.add_new((0x7FE1, 0x1010), "OB", data)
    path = os.path.join(folder, f"{name}.dcm")
    made.save_as(path, enforce_file_format=True)
    return path


def tailed(folder, data, of_dicom, name="scan"):
    """NAME.ptd: a list, and the bytes of DICOM after it."""
    path = os.path.join(folder, f"{name}.ptd")
    with open(path, "wb") as file:
        file.write(data + of_dicom + struct.pack("<I", len(of_dicom)) + b"LARGE_PET_LM_RAWDATA")
    return path


def small_places():
    """(rings, blocks, across, 3) middles of the small scanner's crystals, and directions outwards, one by one: the gap is above the axis, crystals come clockwise for who looks into the bore, where y is down; ring 0 is deepest,
    at the largest z."""
    made = np.zeros((2, 16, 24, 8, 3))
    for ring in range(16):
        for block in range(24):
            # Of nine places the crystals' middle is at 4.5, of 216 around.
            turn = np.exp(2j * np.pi * (9 * block + 4.5) / 216)
            for k in range(8):
                # A complex plane of how far above the axis, and how far to the right.
                at = turn * complex(list_files.RADIUS + list_files.DEPTH / 2, (k - 3.5) * 5.5)
                made[:, ring, block, k] = (at.imag, -at.real, (7.5 - ring) * 5.5), (turn.imag, -turn.real, 0)
    return made


def bins(first, second, rings, places, projections):
    """Of pairs of (ring, place of the sinogram): the bin of the line between them, found by its angle and how far it is from the axis; -1 of those that are not in the sinogram."""
    found = np.full(len(first), -1)
    for one, other in ((first, second), (second, first)):
        # How far the second is from the place opposite the first, in places: the line's distance from the axis in bins.
        off = (one[:, 1] - other[:, 1]) % places - places // 2
        view = (one[:, 1] - np.floor(off / 2).astype(int)) % places
        apart = one[:, 0] - other[:, 0]
        # Planes before: all of 0, then both ways of each difference; of one difference first those whose first ring is the larger.
        before = np.where(apart == 0, 0, rings + sum(2 * (rings - k) * (k < abs(apart)) for k in range(1, rings)) + (rings - abs(apart)) * (apart < 0))
        plane = before + np.minimum(one[:, 0], other[:, 0])
        there = (view < places // 2) & (-projections // 2 <= off) & (off < projections // 2)
        found = np.where(there, (plane * (places // 2) + view) * projections + off + projections // 2, found)
    return found
