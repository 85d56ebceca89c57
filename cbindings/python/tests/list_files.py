"""Lists of CASToR, SAFIR and GATE for tests, written by hand; and a simulated scan of an asymmetric phantom in a scanner that a .geom describes."""
import os
import struct

import numpy as np

import isocenter

try:
    import uproot
except ImportError:
    uproot = None

#: Of a scanner of 24 sectors of 8 x 16 crystals of 5.5 x 5.5 x 10 mm, the first sector above the axis.
SECTORS, ACROSS, ALONG, PITCH, RADIUS, DEPTH = 24, 8, 16, 5.5, 180.0, 10.0
CRYSTALS = SECTORS * ACROSS * ALONG
GEOM = {"modality": "PET", "scanner name": "RING", "number of elements": CRYSTALS, "number of layers": 1, "scanner radius": RADIUS, "number of rsectors": SECTORS,
        "number of crystals transaxial": ACROSS, "number of crystals axial": ALONG, "crystals size depth": DEPTH, "crystals size transaxial": PITCH,
        "crystals size axial": PITCH}
CDH = {"Data filename": "scan.Cdf", "Number of events": 0, "Data mode": "list-mode", "Data type": "PET", "Start time (s)": 0, "Duration (s)": 600, "Scanner name": "RING",
       "Isotope": "F-18", "TOF information flag": 1, "TOF resolution (ps)": 300, "List TOF measurement range (ps)": 1800}


def text(path, keys, separator=": "):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{key}{separator}{value}\n" for key, value in keys.items() if value is not None)


def geom(folder, name="RING", **keys):
    path = os.path.join(folder, f"{name}.geom")
    text(path, {**GEOM, "scanner name": name, **{key.replace("_", " "): value for key, value in keys.items()}})
    return path


def places(crystals=np.arange(CRYSTALS)):
    """Middles of crystals of the .geom, one by one: ring by ring, clockwise from above the axis."""
    ring, place = np.divmod(crystals, SECTORS * ACROSS)
    sector, k = np.divmod(place, ACROSS)
    angle, side, out = 2 * np.pi * sector / SECTORS, (k - (ACROSS - 1) / 2) * PITCH, RADIUS + DEPTH / 2
    return np.stack([side * np.cos(angle) + out * np.sin(angle), out * np.cos(angle) - side * np.sin(angle), (ring - (ALONG - 1) / 2) * PITCH], axis=-1)


def lut(folder, name="RING", kind="<f4", **keys):
    """The table and its header of the same scanner."""
    middles = places()
    sector = np.arange(CRYSTALS) % (SECTORS * ACROSS) // ACROSS * 2 * np.pi / SECTORS
    looks = np.stack([np.sin(sector), np.cos(sector), 0 * sector], axis=1)
    np.column_stack([middles, looks]).astype(kind).tofile(os.path.join(folder, f"{name}.lut"))
    path = os.path.join(folder, f"{name}.hscan")
    there = ("modality", "number of elements", "number of layers", "crystals size depth", "crystals size transaxial", "crystals size axial")
    text(path, {"scanner name": name, **{key: GEOM[key] for key in there}, "number of crystals in layer(s)": CRYSTALS, **{key.replace("_", " "): value for key, value in keys.items()}})
    return path


def castor(folder, crystals, times, seconds, name="scan", real="f", fields=(), **keys):
    """A header and its records. `times` are t2 - t1, None without time of flight; `fields` of (key, format, values) come between the time and the crystals, in CASToR's order."""
    kinds, columns = "<I", [np.round(1000 * np.asarray(seconds)).astype(int)]
    flags = {}
    tof = () if times is None else [("TOF information flag", real, -np.asarray(times, float))]
    order = ("Attenuation correction flag", "Coincidence kind flag", "Scatter correction flag", "Random correction flag", "Normalization correction flag", "TOF information flag")
    for key, kind, values in sorted([*fields, *tof], key=lambda field: order.index(field[0])):
        kinds, flags[key] = kinds + kind, 1
        columns.append(values)
    columns += [crystals[:, 0], crystals[:, 1]]
    record = struct.Struct(kinds + "II")
    data = b"".join(record.pack(*row) for row in zip(*(column.tolist() for column in columns)))
    with open(os.path.join(folder, f"{name}.Cdf"), "wb") as file:
        file.write(data)
    path = os.path.join(folder, f"{name}.Cdh")
    text(path, {**CDH, "TOF information flag": int(times is not None), "Data filename": f"{name}.Cdf", "Number of events": len(crystals), **flags, **keys})
    return path


def safir(path, records, signature=b"SAFIR CListModeData"):
    """Records of ("time", ms) and (ring, ring, detector, detector, layer, layer, delayed)."""
    bits = 3 if signature.startswith(b"NeuroLF") else 4
    coded = [record[1] | 1 << 63 if record[0] == "time" else
             record[0] | record[1] << 8 | record[2] << 16 | record[3] << 32 | record[4] << 48 | record[5] << (48 + bits) | record[6] << 62 for record in records]
    with open(path, "wb") as file:
        file.write(signature.ljust(32, b"\0") + struct.pack(f"<{len(coded)}Q", *coded))
    return path


def root(path, trees):
    """Trees of dictionaries of arrays."""
    with uproot.recreate(path) as file:
        for name, branches in trees.items():
            file.mktree(name, {key: of.dtype for key, of in branches.items()})
            file[name].extend(branches)
    return path


def gate(first, second, times, seconds, **branches):
    """Branches of GATE's coincidences; `times` are t2 - t1 in ps."""
    seconds = np.asarray(seconds, float)
    return {**{f"globalPos{axis}{k}": np.ascontiguousarray(of[:, n], np.float32) for k, of in ((1, first), (2, second)) for n, axis in enumerate("XYZ")},
            "time1": seconds, "time2": seconds + 1e-12 * np.asarray(times, float), **branches}


class Simulated:
    """A warm cylinder with a hot ellipsoid to the right, below and in front of its middle, in water; all trues and nothing else, or with randoms.

    Attributes
    ----------
    pet : PET
        With `VOXEL` mm; `truth` Bq/ml (nz, ny, nx) of 600 s of F-18, and the map of attenuation, 1/mm.
    first, second, times, seconds : array
        Events' places on a cylinder about the crystals, t2 - t1 in ps, and when, s.
    """
    SECONDS, VOXEL, TILT = 600.0, 5.0, 0.22

    def __init__(self, folder, events, seed=1, randoms=0.0):
        self.scanner = isocenter.lists.open_list(castor(folder, np.zeros((1, 2), int), [0.0], [1.0], "empty"), scanner=geom(folder)).scanner
        self.pet = isocenter.PET(isocenter.Context(log=lambda *_: None), nx=40, ny=40, nz=18, voxel_x=self.VOXEL, azimuths=12, max_tilt=self.TILT)
        self.scanner.set_on(self.pet)
        warm = isocenter.Body("cylinder", half_x=60.0, half_z=30.0, activity=1.0)
        hot = isocenter.Body("ellipsoid", x=28.0, y=-16.0, z=10.0, half_x=18.0, activity=4.0)
        water = isocenter.Body("cylinder", half_x=66.0, half_z=36.0, attenuation=0.0096)
        self.bodies = [warm, hot, water]
        scan = isocenter.Scan(self.bodies, diameter=2 * RADIUS + 12, axial_length=88.0, tof_fwhm=300.0, seed=seed, randoms=randoms, random_window=900.0)
        self.first, self.second, self.times, self.tally = self.pet.simulate(scan, events)
        self.seconds = np.sort(np.random.default_rng(seed).uniform(0, self.SECONDS, len(self.times)))
        shape = self.pet.phantom_image(self.bodies)
        k = np.log(2) * self.SECONDS / 6584.04
        becquerel = self.tally.decays / np.sin(self.TILT) / (self.SECONDS * 0.9686 * (1 - np.exp(-k)) / k)
        self.truth = shape * (becquerel / (shape.sum() * self.VOXEL ** 3 / 1000))
        self.map = self.pet.phantom_image(self.bodies, "attenuation")

    def detected(self):
        """Crystals, t2 - t1 in ps between them, and seconds."""
        crystals, times, _ = self.pet.detect(self.first, self.second, self.times, bins=False)
        kept = crystals[:, 0] < CRYSTALS
        return crystals[kept].astype(int), times[kept], self.seconds[kept]

    def middle(self, image, voxel=VOXEL):
        """Of the hot ellipsoid: what is above what is about it, x, y, z in mm."""
        z, y, x = (voxel * (np.indices(image.shape)[k] - (image.shape[k] - 1) / 2) for k in (0, 1, 2))
        near = (x - 28) ** 2 + (y + 16) ** 2 + (z - 10) ** 2 < 24 ** 2
        weight = np.where(near, image, 0)
        return np.array([(weight * of).sum() / weight.sum() for of in (x, y, z)])
