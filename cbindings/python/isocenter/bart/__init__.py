"""BART's files, and its commands `pics` and `nufft`.

>>> import isocenter.bart
>>> kspace = isocenter.bart.readcfl("kspace")            # kspace.hdr and kspace.cfl: complex64, dimensions as in BART
>>> image = isocenter.bart.pics("-l1 -r0.01 -e", kspace, maps, trajectory=trajectory)
>>> isocenter.bart.writecfl("image", image)

``python -m isocenter.bart pics -l1 -r0.01 -e -t trajectory kspace maps image`` is the same as a command. Dimensions, units, scale, signs, iterations and
their number are BART's (0.8); an option that is not here is an error.
"""
from ._cfl import Header, readcfl, readheader, writecfl
from ._nufft import nufft
from ._pics import pics

__all__ = ["Header", "nufft", "pics", "readcfl", "readheader", "writecfl"]
