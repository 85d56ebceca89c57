"""PETSIRD files for tests: rings of blocks, events by hand, and simulated scans."""
import numpy as np

import isocenter

try:
    import petsird
except ImportError:
    petsird = None

HALF_LIGHT = 0.149896229  # mm/ps


def rotation(azimuth):
    cos, sin = np.cos(azimuth), np.sin(azimuth)
    return petsird.RigidTransformation(matrix=np.array([[cos, -sin, 0, 0], [sin, cos, 0, 0], [0, 0, 1, 0]], np.float32))


def scanner(edges, *, blocks=10, across=4, along=3, pitch=6.0, diameter=120.0, crystal=(20.0, 5.0, 6.0), z=0.0, energies=1, kinds=1, tof=40.0,
            efficiencies=None, name="ten blocks"):
    """Blocks about the axis of crystals of (depth, width, height) mm, in modules of rows of crystals. Time bins' edges and resolution are
    c (t1 - t2) / 2, mm; pairs of types of modules have wider ones."""
    depth, width, height = crystal
    corner = lambda x, y, z: petsird.Coordinate(c=np.array([x, y, z], np.float32))
    box = petsird.BoxShape(corners=[corner(x, y, z) for x in (0, depth) for y in (0, width) for z in (0, height)])
    move = lambda a, r: petsird.RigidTransformation(matrix=np.array(
        [[1, 0, 0, diameter / 2], [0, 1, 0, (a - (across - 1) / 2) * pitch - width / 2], [0, 0, 1, (r - (along - 1) / 2) * pitch - height / 2 + z]], np.float32))
    elements = petsird.ReplicatedBoxSolidVolume(object=petsird.BoxSolidVolume(shape=box, material_id=1),
                                                transforms=[move(a, r) for r in range(along) for a in range(across)])
    modules = petsird.ReplicatedDetectorModule(object=petsird.DetectorModule(detecting_elements=elements),
                                               transforms=[rotation(2 * np.pi * k / blocks) for k in range(blocks)])
    bins = lambda a, b: petsird.BinEdges(edges=edges if a == b else edges * 2)
    found = petsird.DetectionEfficiencies()
    if efficiencies is not None:
        found = petsird.DetectionEfficiencies(detection_bin_efficiencies=[np.asarray(efficiencies, np.float32)])
    return petsird.ScannerInformation(
        model_name=name, scanner_geometry=petsird.ScannerGeometry(replicated_modules=[modules] * kinds),
        tof_bin_edges=[[bins(a, b) for b in range(a + 1)] for a in range(kinds)], tof_resolution=[[tof] * (a + 1) for a in range(kinds)],
        event_energy_bin_edges=[petsird.BinEdges(edges=np.linspace(435, 585, energies + 1, dtype=np.float32))] * kinds,
        energy_resolution_at_511=[0.11] * kinds, detection_efficiencies=found, prompt_event_policy=petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES,
        delayed_event_policy=petsird.CoincidencePolicy.REJECT_HIGHER_MULTIPLES)


def exam(*, nuclides=(), position=None):
    """Isotopes as (value, meaning) or meanings, and the patient's position as (value, meaning) of gantry relationship, orientation and its modifier."""
    code = lambda given: petsird.DICOMBasicCodeSequence(**dict(zip(("code_value", "code_meaning"), ("", given) if isinstance(given, str) else given)))
    made = petsird.ExamInformation()
    made.radiopharmaceuticals = [petsird.DICOMRadiopharmaceuticalInformation(radionuclide_code_sequence=code(given)) for given in nuclides]
    if position:
        names = ("patient_gantry_relationship_code_sequence", "patient_orientation_code_sequence", "patient_orientation_modifier_code_sequence")
        made.patient_orientation = petsird.DICOMPatientOrientationInformation(**{name: code(given) for name, given in zip(names, position)})
    return made


def dead_time(start, stop, of_crystals=(), of_pairs=()):
    """A block from start to stop, ms, of fractions of crystals, a list for each type of modules, and of pairs of modules, rows of a matrix for each pair of types."""
    def matrix(rows):
        made = np.empty(1, object)
        made[0] = [np.asarray(row, np.float32).tolist() for row in rows]
        return made
    fractions = petsird.AliveTimeFractions(singles_alive_time_fractions=[np.asarray(values, np.float32) for values in of_crystals],
                                           module_pair_alive_time_fractions=[[matrix(rows) for rows in row] for row in of_pairs])
    return petsird.TimeBlock.DeadTimeTimeBlock(petsird.DeadTimeTimeBlock(time_interval=petsird.TimeInterval(start=start, stop=stop), alive_time_fractions=fractions))


def singles(start, stop, *, bins=(), units=()):
    """A block from start to stop, ms, of counts of detection bins, a list for each type of modules, or of units, a list of energy bins for each."""
    whole = lambda rows: [[int(n) for n in row] for row in rows]
    return petsird.TimeBlock.SinglesHistogramTimeBlock(petsird.SinglesHistogramTimeBlock(
        time_interval=petsird.TimeInterval(start=start, stop=stop), singles_per_detection_bin_histogram=whole(bins), singles_per_singles_unit_histogram=whole(units)))


def has_singles(described, level, units=(), edges=(435.0, 585.0)):
    """A scanner that stores histograms of single photons, of "all" crystals or of "module"s, the unit of each of which is in `units`, of each type."""
    described.singles_histogram_level = petsird.SinglesHistogramLevelType[level.upper()]
    described.module_singles_unit_idx_lu_ts = [[int(unit) for unit in row] for row in units]
    described.singles_histogram_energy_bin_edges = [petsird.BinEdges(edges=np.array(edges, np.float32))] * len(described.scanner_geometry.replicated_modules)
    return described


def write(path, described, blocks, *, length=100, nuclide="", others=(), between=(), said=None):
    """Blocks of (start in ms, prompts, delays), events of (bin, bin, time bin); `others` come before them, and `between` after the first. `said` is an `exam`."""
    events = lambda rows: [petsird.CoincidenceEvent(detection_bins=[int(p), int(q)], tof_idx=int(t)) for p, q, t in rows]
    of_time = [petsird.TimeBlock.EventTimeBlock(petsird.EventTimeBlock(
        time_interval=petsird.TimeInterval(start=start, stop=start + length), prompt_events=[[events(prompts)]], delayed_events=[[events(delays)]]))
        for start, prompts, delays in blocks]
    with petsird.BinaryPETSIRDWriter(str(path)) as writer:
        writer.write_header(petsird.Header(scanner=described, exam=said or exam(nuclides=[nuclide] * bool(nuclide))))
        writer.write_time_blocks([*others, *of_time[:1], *between, *of_time[1:]])


class Simulated:
    """A scan of a hot cylinder in a warm one in water, of a scanner of `blocks` of 8 x `along` crystals, with randoms and scatter.

    The phantom has two thirds of the scanner's length. All of a short scanner costs less, but what blurs along the axis, where its sensitivity falls, takes some percent from regions; a wider one has scatter at fewer places.

    Attributes
    ----------
    described : petsird.ScannerInformation
    prompts, delays : array
        (events, 3) as the file has them, in the order of time.
    pet : PET
        With `voxel` mm; `truth` Bq/ml (nz, ny, nx) of 600 s of F-18, and the map of attenuation, 1/mm.
    """
    SECONDS, VOXEL = 600.0, 5.0

    def __init__(self, path, events, *, blocks=24, along=8, efficiencies=True, z=0.0, seed=1, randoms=0.2):
        import isocenter.petsird
        rng = np.random.default_rng(seed)
        self.crystals, diameter, length, tilt = blocks * 8 * along, 15.0 * blocks, 5.5 * along, 6.75 * along / (15.0 * blocks)
        self.efficiencies = rng.uniform(0.6, 1.0, self.crystals) if efficiencies else None
        edges = np.linspace(-900, 900, 37) * HALF_LIGHT  # randoms are within the ring
        self.described = scanner(edges.astype(np.float32), blocks=blocks, across=8, along=along, pitch=5.5, diameter=diameter, crystal=(10.0, 5.5, 5.5), z=z,
                                 tof=300.0 * HALF_LIGHT, efficiencies=self.efficiencies, name=f"{blocks} blocks")
        write(path, self.described, [])
        found = isocenter.petsird.read_scanner(path)
        self.pet = isocenter.PET(isocenter.Context(log=lambda *_: None), nx=44, ny=44, nz=round(length / self.VOXEL), voxel_x=self.VOXEL, azimuths=12, max_tilt=tilt)
        self.pet.set_scanner(found.positions - (0, 0, z), found.normals, crystal_width=5.5, crystal_height=5.5, time_edges=found.time_edges)
        self.warm = isocenter.Body("cylinder", half_x=70.0, half_z=0.34 * length, activity=1.0)
        self.hot = isocenter.Body("cylinder", x=35.0, y=-10.0, half_x=20.0, half_z=0.34 * length, activity=2.0)
        water = isocenter.Body("cylinder", half_x=75.0, half_z=0.41 * length, attenuation=0.0096)
        bodies, cylinder = [self.warm, self.hot, water], dict(diameter=diameter + 10, axial_length=length, seed=seed)
        scan = isocenter.Scan(bodies, **cylinder, tof_fwhm=300.0, energy_resolution=0.11, randoms=randoms, random_window=900.0)
        self.prompts, self.tally = self._listed(scan, events, seed)
        self.delays = np.zeros((0, 3), int)
        if randoms:
            self.delays, _ = self._listed(isocenter.Scan(bodies[:2], **dict(cylinder, seed=seed + 1), randoms=0.999999, random_window=900.0), self.tally.randoms, seed + 1)
        shape = self.pet.phantom_image(bodies)
        k = np.log(2) * self.SECONDS / 6584.04
        becquerel = self.tally.decays / np.sin(tilt) / (self.SECONDS * 0.9686 * (1 - np.exp(-k)) / k)
        self.truth = shape * (becquerel / (shape.sum() * self.VOXEL ** 3 / 1000))
        self.map = self.pet.phantom_image(bodies, "attenuation")

    def _listed(self, scan, events, seed):
        first, second, times, tally = self.pet.simulate(scan, events)
        crystals, bins, _ = self.pet.detect(first, second, times, self.efficiencies, seed=seed)
        kept = crystals[:, 0] < self.crystals
        pairs, bins = crystals[kept].astype(int), bins[kept].astype(int)
        # A file has the larger number first; places are c (t1 - t2) / 2.
        turned = pairs[:, 0] < pairs[:, 1]
        return np.column_stack([np.where(turned[:, None], pairs[:, ::-1], pairs), np.where(turned, bins, 35 - bins)]), tally

    def write(self, path, blocks=10, **words):
        """All events in so many blocks of time."""
        length = int(1000 * self.SECONDS / blocks)
        parts = [np.array_split(rows, blocks) for rows in (self.prompts, self.delays)]
        write(path, self.described, [(k * length, *events) for k, events in enumerate(zip(*parts))], length=length, **words)
