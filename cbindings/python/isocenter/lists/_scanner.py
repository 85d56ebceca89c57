"""Scanners whose crystals events of a list name."""
import dataclasses

import numpy

#: Half the speed of light, mm/ps.
HALF_LIGHT = 0.149896229
#: Full width at half maximum over the standard deviation.
FWHM = 2.354820


@dataclasses.dataclass(frozen=True)
class Scanner:
    """Crystals and time bins, in the order in which a list's events name them; of a PETSIRD file by type of module, module and element.

    Attributes
    ----------
    positions, normals : array
        (crystals, 3): middles of crystals, mm, or places at a depth; and the direction of their depth, either way.
    crystal_width, crystal_height : float
        Of a crystal's face, mm.
    time_edges : array or None
        Of t2 - t1, ascending, ps; one bin of a scanner without time of flight. None: events have times in ps.
    first : tuple of int
        The number of the first crystal of each type of module.
    energies : tuple of int
        Energy bins of each type.
    model : str
    tof_fwhm : float
        Of the time difference, full width at half maximum without what bins add, ps; 0 where the file does not say.
    energy_resolution, energy_lower, energy_upper : float
        Full width at half maximum at 511 keV over that, and the window in keV; 0 where the file does not say.
    efficiencies : array or None
        Of crystals, the sum over their energy bins. None: the file has none.
    pairs : Pairs or None
        Which pairs of modules are in coincidence, and efficiencies of their crystals' pairs, as `PET.set_pairs` takes them; None: all are, with 1.
    turn : array
        (3, 3) of 0 and 1: from the file's axes to those of positions and normals, of which z is the scanner's.
    time_step : float
        That times in ps are rounded to; 0 of exact ones.
    window : float
        The largest time difference of an event in ps, where there are no bins to tell; 0 where the file does not say.
    crystal_sizes : array or None
        (crystals, 2): width and height of each, mm, where they differ; `crystal_width` and `crystal_height` are the medians then.
    has_widths : bool
        Whether each event has a width of its time, since pairs of types of modules differ: times are in ps then.
    doubts : tuple of str
        What of the scanner is not as the image is made.
    """
    positions: numpy.ndarray
    normals: numpy.ndarray
    crystal_width: float
    crystal_height: float
    time_edges: object
    first: tuple
    energies: tuple
    model: str
    tof_fwhm: float = 0.0
    energy_resolution: float = 0.0
    energy_lower: float = 0.0
    energy_upper: float = 0.0
    efficiencies: object = None
    pairs: object = None
    turn: numpy.ndarray = dataclasses.field(default_factory=lambda: numpy.eye(3))
    time_step: float = 0.0
    window: float = 0.0
    crystal_sizes: object = None
    has_widths: bool = False
    doubts: tuple = ()

    def set_on(self, pet, centre=(0.0, 0.0, 0.0)):
        """Sets the plan's scanner, with the lattice's centre at a place of the file's frame, mm."""
        size = dict(crystal_width=self.crystal_width, crystal_height=self.crystal_height) if self.crystal_sizes is None else dict(crystal_sizes=self.crystal_sizes)
        pet.set_scanner(self.positions - centre, self.normals, time_edges=self.time_edges, **size)
        if self.pairs is not None:
            pet.set_pairs(*self.pairs)

    def without_times(self):
        """Of a list whose events have no times: one bin, of all times that there are within the scanner."""
        widest = float(numpy.linalg.norm(self.positions, axis=1).max()) / HALF_LIGHT
        return dataclasses.replace(self, time_edges=numpy.array([-widest, widest]), tof_fwhm=0.0, window=0.0)

    @property
    def bin_fwhm(self):
        """What bins add to the time's width, full width at half maximum, ps: an event's own place in its bin, and the one that it is given."""
        if self.time_edges is None:
            return FWHM * self.time_step / 12 ** 0.5  # as it is rounded, alone
        return FWHM * float(numpy.diff(self.time_edges).mean()) / 6 ** 0.5

    @property
    def has_times(self):
        """Whether where an event was along its line is told."""
        return self.time_edges is None or len(self.time_edges) > 2
