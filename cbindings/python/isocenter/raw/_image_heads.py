"""Heads of images as ISMRMRD has them, for its files and for its streaming protocol."""
from xml.sax.saxutils import escape

import numpy

PLACES = [(name, "<f4", 3) for name in ("position", "read_dir", "phase_dir", "slice_dir", "patient_table_position")]
USER = [("user_int", "<i4", 8), ("user_float", "<f4", 8)]
# The format's structure without gaps, 198 bytes.
IMAGE_HEAD = numpy.dtype([
    ("version", "<u2"), ("data_type", "<u2"), ("flags", "<u8"), ("measurement_uid", "<u4"), ("matrix_size", "<u2", 3), ("field_of_view", "<f4", 3),
    ("channels", "<u2"), *PLACES, *[(name, "<u2") for name in ("average", "slice", "contrast", "phase", "repetition", "set")], ("acquisition_time_stamp", "<u4"),
    ("physiology_time_stamp", "<u4", 3), ("image_type", "<u2"), ("image_index", "<u2"), ("image_series_index", "<u2"), *USER, ("attribute_string_len", "<u4")])

FLOAT, COMPLEX = 5, 7  # types of images' numbers
MAGNITUDE, COMPLEX_IMAGE = 1, 5  # kinds of images
KINDS = ("magnitude", "complex")  # which a caller may choose
MOST_IMAGES = 0xffff  # which the format numbers in 16 bits


def head_of(raw, solved):
    """Of one image: with its place, and the counters and times of its first readout."""
    readouts, first = solved.readouts, raw._heads[solved.readouts.acquisitions[0]]
    head = numpy.zeros((), IMAGE_HEAD)
    for name in ("measurement_uid", "patient_table_position", "acquisition_time_stamp", "physiology_time_stamp"):
        head[name] = first[name]
    for name in ("position", "read_dir", "phase_dir", "slice_dir"):
        head[name] = getattr(readouts, name)
    for name, value in {"slice": solved.slice, **solved.frame}.items():
        head[name] = value
    head["version"], head["channels"], head["image_series_index"] = 1, 1, 1
    head["matrix_size"], head["field_of_view"] = solved.image.shape[::-1], raw.recon.field_of_view[::-1]
    return head


def finished(head, index, kind):
    """(head, attributes in XML) of the image with this number, of "magnitude" or "complex" values."""
    head = head.copy()
    head["image_index"] = index
    head["data_type"], head["image_type"] = (COMPLEX, COMPLEX_IMAGE) if kind == "complex" else (FLOAT, MAGNITUDE)
    meta = {"DataRole": ["Image"], "ImageProcessingHistory": ["isocenter"], "ImageRowDir": _numbers(head["read_dir"]), "ImageColumnDir": _numbers(head["phase_dir"]),
            "ImageSliceNormDir": _numbers(head["slice_dir"])}
    elements = "".join(f"<meta><name>{name}</name>" + "".join(f"<value>{escape(v)}</value>" for v in values) + "</meta>" for name, values in meta.items())
    attributes = f'<?xml version="1.0"?><ismrmrdMeta>{elements}</ismrmrdMeta>'
    head["attribute_string_len"] = len(attributes)
    return head, attributes


def values_of(image, kind):
    return numpy.ascontiguousarray(image if kind == "complex" else numpy.abs(image))


def _numbers(values):
    return [f"{v:.9g}" for v in values]
