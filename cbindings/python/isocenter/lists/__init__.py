"""Lists of events as PET scanners and simulations write them, and the image in Bq/ml of any of them.

>>> import isocenter.lists
>>> made = isocenter.lists.quantify("scan.Cdh", "attenuation.nii")               # made.image: (nz, ny, nx) in Bq/ml
>>> made.write("image.nii.gz"), made.write_report("image.html")

``python -m isocenter.lists scan.Cdh --attenuation attenuation.nii -o image.nii.gz`` is the same as a command. For steps of your own:

>>> with isocenter.lists.open_list("scan.Cdh") as listed:
...     listed.scanner.set_on(pet)
...     for part in listed.read():
...         pet.deposit_crystals(part.crystals, part.times, histo_images=histo, first_event=part.first)

Files of PETSIRD, CASToR, SAFIR, GATE and Siemens are told by what is in them, and may be compressed by gzip; docs/list-mode.md has what each needs.
"""
from .._isotopes import ISOTOPES, Isotope
from ._attenuation import UNITS
from ._list import List, Said
from ._open import open_list
from ._quantified import Found, Quantified
from ._quantify import quantify
from ._reading import Part, Reading
from ._scanner import Scanner

__all__ = ["Found", "ISOTOPES", "Isotope", "List", "Part", "Quantified", "Reading", "Said", "Scanner", "UNITS", "open_list", "quantify"]
