"""Images of kinetics, of a series and the activity of plasma.

>>> import isocenter.images, isocenter.kinetics
>>> series = isocenter.images.read_nifti("series.nii.gz")                       # with the times of its frames
>>> times = numpy.stack([series.starts, series.starts + series.durations], axis=1)
>>> found = isocenter.kinetics.patlak(series.image, times, isocenter.kinetics.read_plasma("plasma.csv"), start=20)
>>> found.ki, found.intercept                                                   # ml/ml/min, ml/ml

``python -m isocenter.kinetics series.nii.gz --plasma plasma.csv --start 20 -o ki.nii.gz`` is the same as a command.
"""
from ._patlak import Patlak, patlak
from ._plasma import read_plasma

__all__ = ["Patlak", "patlak", "read_plasma"]
