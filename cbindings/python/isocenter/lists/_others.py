"""Lists of other kinds, and what makes of them one that can be read."""
import os

#: What files begin with, have near their beginning, or are called.
_BEGINS = ((b"\x89HDF\r\n\x1a\n", "is an HDF5 file without PETSIRD's group, as lists of GE's scanners are: STIR2PETSIRD (github.com/ETSIhackers/STIR2PETSIRD) makes PETSIRD of what STIR reads"),
           (b"{", "may be PETSIRD in JSON: convert it to the binary form or to HDF5"))
_INTERFILE = b"!interfile", "is an Interfile header of an image or of sinograms: there are no events in it"
_BARE = (".lm", ".dat", ".bin", ".raw"), "is a list without a header: PET.deposit_crystals takes arrays of crystals and times (docs/list-mode.md)"


def other(path, begun):
    """What a file is whose kind is none that can be read, and what to do with it."""
    for begin, words in _BEGINS:
        if begun.startswith(begin):
            return words
    if _INTERFILE[0] in begun[:4096].lower():
        return _INTERFILE[1]
    if os.fspath(path).lower().removesuffix(".gz").endswith(_BARE[0]):
        return _BARE[1]
    return "is no list that can be read: there are PETSIRD, CASToR (.Cdh), SAFIR (.clm.safir), GATE (ROOT, .hroot) and Siemens (.l.hdr)"
