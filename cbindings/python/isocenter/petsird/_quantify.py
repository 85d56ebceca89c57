"""From a PETSIRD file to an image in Bq/ml."""
from .. import lists
from ._list import PETSIRD


def quantify(path, attenuation=None, *, depth=None, **options):
    """The activity in Bq/ml of a PETSIRD file's events, at the start of the scan: `isocenter.lists.quantify` of it.

    Parameters
    ----------
    path : path
    attenuation
        As `isocenter.lists.quantify` takes it.
    depth : float, optional
        See `read_scanner`.
    options
        Those of `isocenter.lists.quantify`, but for those that open a list.

    Returns
    -------
    Quantified

    Raises
    ------
    ImportError
        Without nibabel, of a NIfTI file.
    ValueError
        As `isocenter.lists.quantify`.

    Warns
    -----
    UserWarning
        Of each of `Quantified.doubts`.
    """
    return lists.quantify(PETSIRD(path, depth), attenuation, **options)
