"""ISMRMRD files of images."""
import os

import numpy

from ..errors import wrong
from ._hdf5 import packages
from ._image_heads import KINDS, MOST_IMAGES, finished, values_of

NAME = "image_1"  # the first series, as the format's clients name it


def write_ismrmrd(path, made, *, images="magnitude", group="dataset"):
    """Writes images as an ISMRMRD file (HDF5), as clients of Gadgetron and python-ismrmrd-server write what they are answered: `group`/image_1 has
    ``header``, ``data`` (images, 1, z, y, x) and ``attributes``, and ``ismrmrd.Dataset(path, group).read_image("image_1", number)`` reads one. A stack of planes has an
    image a slice, in the order of `slices`, frame after frame; a volume has one a frame.

    Parameters
    ----------
    path : path
        A file of images that is there is replaced.
    made : Reconstruction
    images : {"magnitude", "complex"}
        float32, or complex64.
    group : str

    Raises
    ------
    ImportError
        Without the package ismrmrd.
    ValueError
        Where the file that is there has acquisitions, which would be lost; for more than 65535 images; and for images of another size than those of `reconstruct`.
    """
    h5py, ismrmrd = packages()
    if images not in KINDS:
        raise wrong(ValueError, f"images is {images!r}; it must be one of " + ", ".join(map(repr, KINDS)))
    shape = _sizes(made)
    keep_scans(path)
    values = values_of(made.images, images).reshape(made.heads.size, 1, *shape)
    ended = [finished(head, number, images) for number, head in enumerate(made.heads.ravel(), 1)]
    whole = {"header": numpy.array([head for head, _ in ended], ismrmrd.hdf5.image_header_dtype),
             "data": values.view([("real", "<f4"), ("imag", "<f4")]) if images == "complex" else values,
             "attributes": numpy.array([words for _, words in ended], h5py.special_dtype(vlen=str))}
    with h5py.File(path, "w") as file:
        folder = file.create_group(f"{group}/{NAME}")
        for name, array in whole.items():  # others may append
            folder.create_dataset(name, data=array, dtype=array.dtype, maxshape=(None, *array.shape[1:]))


def _sizes(made):
    """(z, y, x) of each image."""
    frames, each = made.heads.shape
    found = (made.images.shape[1] // max(each, 1), *made.images.shape[2:])
    if made.heads.size > MOST_IMAGES:
        raise wrong(ValueError, f"there are {made.heads.size} images, of which the format numbers {MOST_IMAGES}: choose some of them by their counters")
    if len(made.images) != frames or made.images.shape[1] % each or (made.heads["matrix_size"] != found[::-1]).any():
        raise wrong(ValueError, f"images are {made.images.shape}, and heads are of {frames} frames of {each} image{'s' * (each > 1)} of "
                                f"{tuple(int(n) for n in made.heads['matrix_size'].ravel()[2::-1])} voxels: their places would be wrong")
    return found


def keep_scans(path):
    """Refuses to replace raw data."""
    h5py = packages()[0]
    if not os.path.isfile(path) or not h5py.is_hdf5(path):
        return
    with h5py.File(path, "r") as file:
        found = []
        file.visititems(lambda name, item: found.append(name) if "head" in (getattr(getattr(item, "dtype", None), "names", None) or ()) else None)
    if found:
        raise wrong(ValueError, f"{os.fspath(path)} has acquisitions ({found[0]}), which would be lost: choose another name")
