"""The library's messages as users of Python read them: its functions, fields and numbers by the names that they have here."""
import itertools
import math
import operator
import re

_LISTS = {"body": "bodies", "ellipse": "ellipses", "ellipsoid": "ellipsoids", "gpu": "gpus", "view": "views", "weight": "weights"}
_KINDS = {"F": "float", "C": "complex", "U": "uint", "I": "int"}
# Sizes that are 1 unless the geometry says otherwise, which is easily forgotten.
_DEFAULTED = ("rows", "coils")


class Wanted(ValueError):
    """What an option has to be, for whoever knows its name."""


def _list(match):
    return f"{_LISTS.get(match[1], match[1])} has {match[2]} value{'s' * (match[2] != '1')}; it must have "


# In this order: what a pattern finds, and what stands there instead.
_RULES = [(re.compile(pattern), put) for pattern, put in (
    (r"\bisoc_(?:ct|mri|pet)_(?:get_)?([a-z]\w*)", r"\1"),
    (r"\boptions\.input says what they are: 1 \(counts, with a flat field\), 2 \(transmission\), 3 \(line_integrals\)",
     'set_options(input="counts"), which needs a flat field, set_options(input="transmission") or '
     'set_options(input="line_integrals") says what they are'),
    (r"\bset options\.input to 1 \(counts\), 2 \(transmission\) or 3 \(line_integrals\)",
     'write set_options(input="counts"), set_options(input="transmission") or set_options(input="line_integrals")'),
    (r"\bforget the flat field\b", "set_flat_field(None)"),
    (r"\bset_(\w+) is for counts and transmissions; turn it off, or set options\.input to 1 \(counts\) or 2 \(transmission\)",
     r'set_\1 is for counts and transmissions; write leave_\1(), set_options(input="counts") or set_options(input="transmission")'),
    (r"\boptions\.(group_\w+) is not NULL with group_count 0\b.*", r"\1 has 0 values; None means one group"),
    (r"\boptions\.monitor_count is (\d+); it must be the number of views, ", r"monitor has \1 values; it must have one a view, "),
    (r"\bdistortion\.shift_count is (\d+); it must be the number of views, ",
     r"x_shifts and y_shifts are of \1 views; there must be one value a view, "),
    (r"(?<=more than a turn): azimuths may be degrees.*", "; of degrees write numpy.deg2rad(views)"),
    (r"\bcall (?:isoc_ct_)?set_half_acquisition with NULL\b", "write leave_half_acquisition()"),
    (r"\boptions\.lambda\b", "lambda_"),
    (r"\b(?:blocks|distortion|geometry|iterative|options|output|outliers|phase|response|scan|scanner|matrix)\.([a-z]\w*)", r"\1"),
    (r"\b(map_voxel|map_centre)_([xyz])\b", r"\1 along \2"),
    (r"\b([a-z]\w*)_count is (-?\d+); it must be ", _list),
    (r"\b\d+ \(([a-z]\w*)\)", r"'\1'"),
    (r"\b([FCUI])(8|16|32|64|128)\b", lambda match: _KINDS[match[1]] + match[2]),
    (r"set the NaN policy to replace", 'make the plan with Context(nan_policy="replace")'),
    (r"\bNULL\b", "None"),
    (r"\b(\w+) or \w+_count\b", r"\1"),
    (r"\bthe same handle\b", "the same object"),
    (r"^((?:gpu_)?memory_cap) is", r"the context's \1 is"),
    (r"(?<=would fit ).*", lambda match: re.sub(r"cycles per field of view|(?:cycles|radians) per voxel",
                                               lambda unit: repr(unit[0].replace(" ", "_")), match[0])),
)]


def in_python(message):
    """A message of the library in the names of this package."""
    for pattern, put in _RULES:
        message = pattern.sub(put, message)
    return message


def of_elements(message, tensors):
    """A message's elements, with as many indices as the caller's arrays have: what they left out is 0 there."""
    ndims = {t.name: len(t.shape) for t in tensors}

    def element(match):
        index = match[2].split(", ")
        for _ in range(len(index) - ndims.get(match[1], len(index))):
            if "0" in index:
                index.remove("0")
        return f"{match[1]}[{', '.join(index)}]"

    return re.sub(r"\b(\w+)\[(\d+(?:, \d+)*)\]", element, message)


_NDIM = re.compile(r"^(\w+)\.ndim is -?\d+; it must be \d+ \(([\w, ]+)\)$")
_SHAPE = re.compile(r"^(\w+)\.(?:shape\[\d+\]|ndim) is -?\d+; it must be \d+ \(?\(([\w, ]+)\) = \(([\d, ]+)\)")


def of_shape(message, tensors):
    """A message of a shape that does not fit, with all of it, and with what to write where that is clear."""
    found = _SHAPE.match(message) or _NDIM.match(message)
    tensor = next((t for t in tensors if found and t.name == found[1]), None)
    if tensor is None:
        return message
    names = found[2].split(", ")
    if found.re is _NDIM:
        return _of_ndim(tensor, names)
    sizes = [int(n) for n in found[3].split(", ")]
    if names[0] == "frames" or names == ["views", "angles"]:  # of which there may be any number
        sizes[0] = None
    advice = "" if 0 in tensor.shape else _advice(tensor, names, sizes)
    said = ", ".join("n" if n is None else str(n) for n in sizes)
    return f"{tensor.name} has shape {tensor.shape}; it must be ({found[2]}) = ({said}){': ' * bool(advice)}{advice}"


def _of_ndim(tensor, names):
    """The same where any sizes will do, but not so many of them."""
    shape, advice = tensor.shape, ""
    ones = [k for k, n in enumerate(shape) if n == 1][::-1][:len(shape) - len(names)]
    if ones and len(ones) == len(shape) - len(names):
        index = ["0" if k in ones else ":" for k in range(len(shape))]
        while index[-1] == ":":
            index.pop()
        advice = f": write {tensor.name}[{', '.join(index)}]"
    return f"{tensor.name} has shape {shape}; it must be ({', '.join(names)}{',' * (len(names) == 1)}){advice}"


def _advice(tensor, names, sizes):
    """How the array would fit: with other axes, with a geometry that counts rows or coils, or in another shape."""
    axes = range(len(sizes))
    missing = [k for k in axes if sizes[k] in (1, None)]  # dimensions that the array may do without, and other ones
    for gone in itertools.combinations(missing, max(len(sizes) - len(tensor.shape), 0)):
        left = [k for k in axes if k not in gone]
        if len(left) == len(tensor.shape):
            advice = _reordered(tensor, [names[k] for k in left], [sizes[k] for k in left])
            if advice:
                return advice
            if len(left) == 1 and sizes[left[0]] == tensor.shape[0]:  # in the right place, but a row alone has too few
                return f"write {tensor.name}[None]"
    if None not in sizes and math.prod(tensor.shape) == math.prod(sizes):
        return _merged(tensor, sizes)
    return ""


def _merged(tensor, sizes):
    """A reshape that keeps axes whole, after such a turn of them as brings each to its place: coils to the front."""
    for order in itertools.permutations(range(len(tensor.shape))):  # the axes as they are come first
        if _merges([tensor.shape[k] for k in order], sizes):
            turned = "" if order == tuple(sorted(order)) else f".{tensor.transposed(order)}"
            said = "" if turned else "if its elements lie in that order, "
            return f"{said}write {tensor.name}{turned}.reshape({', '.join(map(str, sizes))})"
    return ""


def _merges(shape, sizes):
    """Whether a reshape only joins neighbouring axes, or only takes axes apart: ends of axes stay ends."""
    ends, wanted = (set(itertools.accumulate((n for n in of if n > 1), operator.mul)) for of in (shape, sizes))
    return ends >= wanted or ends <= wanted


def _reordered(tensor, names, sizes):
    for order in itertools.permutations(range(len(sizes))):  # the axes as they are come first
        seen = [tensor.shape[k] for k in order]
        off = [k for k in range(len(sizes)) if sizes[k] not in (seen[k], None)]
        if len(off) > 1 or any(sizes[k] != 1 or names[k] not in _DEFAULTED for k in off):
            continue
        settings = [f"{names[k]}={seen[k]}" for k in off]
        turned = "" if order == tuple(sorted(order)) else f"write {tensor.name}.{tensor.transposed(order)}"
        if turned and names[-1] == "bins" and order == (1, 0, 2) and "frames" not in names:
            settings.append('order="sinograms"' if names[0] == "views" else 'order="frames"')
            turned = "" if off else turned
        fits = f"set_geometry({', '.join(settings)}) makes a plan that takes it" if settings else ""
        return (", or " if turned and not off else "; ").join(filter(None, (turned, fits)))
    return ""
