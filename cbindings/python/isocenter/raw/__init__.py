"""ISMRMRD raw data: from a file of several coils' k-space to images.

>>> import isocenter.raw
>>> made = isocenter.raw.reconstruct("scan.h5")          # made.images: (frames, z, y, x) of complex64
>>> isocenter.raw.write_png("scan.png", made)

`reconstruct` whitens noise, joins coils, finds their sensitivities and solves for the image (SENSE by conjugate gradient). `read` gives
samples, trajectory and geometry, for steps of your own. ``python -m isocenter.raw scan.h5 -o scan.png`` is the same as a command; ``-o scan.nii.gz``, ``-o scan.dcm`` and ``-o images.h5`` write
images with their place.
``python -m isocenter.raw.server`` takes scans over TCP by the format's streaming protocol, and answers with images.

Files need the package ismrmrd: ``pip install isocenter[ismrmrd]``.
"""
from ._dicom import write_dicom
from ._file import Raw, read
from ._header import Space
from ._images_file import write_ismrmrd
from ._nifti import write_nifti
from ._picture import upright, write_png
from ._reconstruction import Reconstruction, reconstruct
from ._sampling import KINDS, Readouts
from ._trajectory import UNITS

__all__ = ["KINDS", "UNITS", "Raw", "Readouts", "Reconstruction", "Space", "read", "reconstruct", "upright", "write_dicom", "write_ismrmrd", "write_nifti", "write_png"]
