"""Which kind a list is, by what is in the file, else by its name."""
import os

from ..errors import wrong
from ..petsird import _hdf5
from ..petsird._list import PETSIRD
from . import _castor, _hroot, _safir, _siemens, _unpacked
from ._castor import CASToR
from ._gate import GATE
from ._hroot import Hroot
from ._list import EXCLUDED
from ._others import other
from ._safir import SAFIR
from ._siemens import Siemens

#: Bytes by which kinds are told.
_BEGIN = 1 << 16


def open_list(path, *, scanner=None, depth=None, duration=None, exclude=(), tree=None, delays=None, norm=None):
    """Opens a list of events.

    Parameters
    ----------
    path : path
        A PETSIRD file; CASToR's header (.Cdh), or the data beside it; SAFIR's list (.clm.safir), or STIR's parameters of it; a ROOT file of GATE's, or STIR's header of it (.hroot); the header of a Siemens
        list (.l.hdr), or DICOM that has it. Any of them may be compressed by gzip.
    scanner : path, optional
        The scanner's file, of lists that do not have it: CASToR's .hscan, .geom or .lut, of SAFIR a crystal map. None: CASToR's is found by its name.
    depth : float, optional
        How far behind their inner faces crystals detect photons on average, mm; None: as the file says, else in their middles.
    duration : float, optional
        Of the scan, s. None: as the file says.
    exclude : sequence of {"randoms", "scatter"}
        What a simulation knows of its events, and is left out.
    tree, delays : str, optional
        Of GATE, names of the trees of prompts and delayed coincidences. None: Coincidences, and delay if there is one.
    norm : path, optional
        Of Siemens, the header of the scanner's norm (.n.hdr), of which efficiencies of crystals are taken.

    Returns
    -------
    List

    Raises
    ------
    ValueError
        Of a file of another kind, which names what converts it; of one that is empty or damaged; of words that are for another kind of files.
    ImportError
        Of a ROOT file without the package uproot, of DICOM without pydicom, and of PETSIRD in HDF5 without h5py.
    """
    exclude = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    for name in exclude:
        if name not in EXCLUDED:
            raise wrong(ValueError, f"exclude is {name!r}; it must be of {', '.join(EXCLUDED)}")
    kind = _kind(path)
    given = {name: value for name, value in dict(scanner=scanner, depth=depth, duration=duration, exclude=exclude, tree=tree, delays=delays, norm=norm).items() if value not in (None, ())}
    for name in given:
        if name not in kind.OPTIONS:
            raise wrong(ValueError, f"{name} is not for lists of {kind.__name__}, and {path} is one: leave it out")
    return kind(path, **given)


def _kind(path):
    if os.path.isdir(path):
        raise wrong(ValueError, f"{path} is a folder; it must be a list's file")
    begun = _unpacked.begin(path, _BEGIN)
    if _castor.is_data(path):
        return CASToR
    if not begun:
        raise wrong(ValueError, f"{path} is empty")
    is_petsird = begun.startswith(b"yardl") or (begun.startswith(_hdf5.MAGIC) and _hdf5.is_protocol(path, begun))
    for there, kind in ((is_petsird, PETSIRD), (begun.startswith(b"root"), GATE), (_safir.is_list(begun) or _safir.is_parameters(begun), SAFIR),
                        (_siemens.is_header(begun) or _siemens.is_wrapped(path, begun), Siemens), (_hroot.is_header(begun), Hroot), (_castor.is_header(begun), CASToR)):
        if there:
            return kind
    raise wrong(ValueError, f"{path} {other(path, begun)}")
