"""PETSIRD files: from a PET scanner's list-mode events to histo-images, and to an image in Bq/ml.

>>> import isocenter.petsird
>>> made = isocenter.petsird.quantify("scan.petsird", "attenuation.nii")     # made.image: (nz, ny, nx) in Bq/ml
>>> made.write("image.nii.gz"), made.write_report("image.html")

``python -m isocenter.petsird scan.petsird --attenuation attenuation.nii -o image.nii.gz`` is the same as a command. For steps of your own:

>>> scanner = isocenter.petsird.read_scanner("scan.petsird")
>>> scanner.set_on(pet)
>>> counted = isocenter.petsird.deposit(pet, "scan.petsird", frames=[0, 60, 300])   # s
>>> counted.prompts.shape, counted.delays.shape                 # (frames, views, nz, ny, nx) each

Files of versions 0.6 to 0.12 of PETSIRD, of the Emission Tomography Standardization Initiative, are read in one pass, in blocks of time, by the schema that
they have; the package petsird is not needed. They are in yardl's binary form, or in HDF5, which needs the package h5py.
"""
from .._isotopes import ISOTOPES, Isotope
from ..lists._attenuation import UNITS
from ..lists._quantified import Found, Quantified
from ..lists._scanner import Scanner
from ._deposit import Deposited, deposit
from ._file import read_scanner
from ._quantify import quantify

__all__ = ["Deposited", "Found", "ISOTOPES", "Isotope", "Quantified", "Scanner", "UNITS", "deposit", "quantify", "read_scanner"]
