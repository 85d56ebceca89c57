"""Lists of other kinds, and what makes of them one that can be read."""
import os

#: What files begin with, or have near their beginning.
_BEGINS = ((b"\x89HDF\r\n\x1a\n", "is an HDF5 file without PETSIRD's group, as lists of GE's scanners are: STIR2PETSIRD (github.com/ETSIhackers/STIR2PETSIRD) makes PETSIRD of what STIR reads"),
           (b"{", "may be PETSIRD in JSON: convert it to the binary form or to HDF5"))
_PETLINK = "is a header of a Siemens list (PETLINK): STIR2PETSIRD (github.com/ETSIhackers/STIR2PETSIRD) makes PETSIRD of what STIR reads"
_WITHIN = ((b"%sms-mi", _PETLINK), (b"petlink", _PETLINK), (b"root header", "is STIR's header of a ROOT file: give the ROOT file itself"),
           (b"!interfile", "is an Interfile header of an image or of sinograms: there are no events in it"))
_ENDINGS = {(".ptd", ".bf"): "is a Siemens list (PETLINK within DICOM): take the list and its header out of it, of which STIR2PETSIRD makes PETSIRD",
            (".l",): "is a list without its header: give the header, .l.hdr",
            (".lm", ".dat", ".bin", ".raw"): "is a list without a header: PET.deposit_crystals takes arrays of crystals and times (docs/list-mode.md)"}


def other(path, begun):
    """What a file is whose kind is none that can be read, and what to do with it."""
    for begin, words in _BEGINS:
        if begun.startswith(begin):
            return words
    if begun[128:132] == b"DICM":
        return "is a DICOM file: take the list within it and its header out of it, of which STIR2PETSIRD makes PETSIRD"
    for within, words in _WITHIN:
        if within in begun[:4096].lower():
            return words
    name = os.fspath(path).lower()
    for endings, words in _ENDINGS.items():
        if name.removesuffix(".gz").endswith(endings):
            return words
    return "is no list that can be read: there are PETSIRD, CASToR (.Cdh), SAFIR (.clm.safir) and GATE (ROOT)"
