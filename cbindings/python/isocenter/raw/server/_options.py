"""What a client may choose by a configuration: arguments of `isocenter.raw.reconstruct`, as JSON."""
import difflib
import json
import os
import re

import numpy

from ..._words import Wanted
from .. import _image_heads
from .._delays import checked, parsed
from .._reconstruction import METHODS, NLINV, PENALTIES
from .._sampling import KINDS, numbers
from .._shift import parsed as parsed_shift
from .._trajectory import UNITS
from ._messages import Refused

NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
DEFAULTS = ("", "isocenter", "default")  # names of no configuration of their own


def _integer(value):
    if isinstance(value, bool) or int(value) != float(value):
        raise Wanted("a whole number")
    return int(value)


def _real(value):
    if isinstance(value, bool):
        raise Wanted("a number")
    return float(value)


def _yes_or_no(value):
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise Wanted("true or false")
    return found


def _one_of(choices):
    def chosen(value):
        if value not in choices:
            raise Wanted("one of " + ", ".join(choices))
        return value
    return chosen


def _coils(value):
    return numbers(value) if isinstance(value, str) else [_integer(v) for v in value]


def _lines(value):
    return value if value == NLINV else _integer(value)


def _delays(value):
    return parsed(value) if isinstance(value, str) else checked(value)


def _shift(value):
    return parsed_shift(value) if isinstance(value, str) else [_real(v) for v in value]


def _whitening(value):
    """False; or the name of a file."""
    return False if value in (False, "none", "False", "false") else value


KNOWN = {name: (_integer, "a whole number") for name in (
    "slice", "contrast", "phase", "repetition", "set", "encoding", "virtual_coils", "iterations", "map_sets")}
KNOWN |= {name: (_real, "a number") for name in ("regularisation", "crop", "tikhonov")}
KNOWN |= {name: (_yes_or_no, "true or false") for name in ("navigators", "partial_fourier")}
KNOWN |= {name: (_one_of(of), "one of " + ", ".join(of)) for name, of in (
    ("kind", KINDS), ("unit", UNITS), ("penalty", PENALTIES), ("method", METHODS), ("images", _image_heads.KINDS))}
KNOWN |= {"calibration": (_lines, "a whole number of lines, or nlinv")}
KNOWN |= {"coils": (_coils, "a list of numbers, or a text such as 0,1,4-7")}
KNOWN |= {"delays": (_delays, "auto, keep, or two or three numbers of samples")}
KNOWN |= {"shift": (_shift, "two or three numbers in mm, along read_dir, phase_dir and slice_dir")}
ARRAYS = ("trajectory", "maps", "weights", "whitening")
KNOWN |= {name: (_whitening, "the name of a .npy file in the server's --configs" + ", or false" * (name == "whitening")) for name in ARRAYS}
AS_DEFAULT = "the scan is reconstructed with the defaults, and with options that come as JSON"
# Words of other servers' configurations that say nothing here.
IGNORED = ("config", "customconfig", "version")


def _object(words):
    try:
        given = json.loads(words)
    except (ValueError, RecursionError) as e:
        raise Refused(f"the configuration is no JSON ({e})") from None
    given = given.get("parameters", given) if isinstance(given, dict) else given
    if not isinstance(given, dict):
        raise Refused('the configuration must be a JSON object of options, such as {"parameters": {"iterations": 20}}')
    return given


class Options:
    """`values` for `reconstruct`, of all configurations that came, the later ones first; `folder` has presets and arrays, or is None."""

    def __init__(self, folder=None):
        self.folder, self.values = folder, {}

    def named(self, name):
        """Takes a preset; texts for the client, of what was not there."""
        stem = re.sub(r"\.(json|xml)$", "", name)
        if stem in DEFAULTS:
            return []
        try:
            path = self._path(stem + ".json")
            if path is None:
                return [f"the configuration {name[:80]!r} is none of this server's{self._presets()}: {AS_DEFAULT}"]
            with open(path, encoding="utf-8") as file:
                words = file.read()
        except (OSError, UnicodeDecodeError) as e:
            raise Refused(f"the configuration {name[:80]!r} cannot be read ({e})") from None
        return self._take_all(_object(words))

    def text(self, words):
        """Takes JSON: an object of options, or one whose "parameters" has them. Texts for the client, of options that are none."""
        if not words.strip():
            return []
        if words.lstrip().startswith("<"):
            return [f"the configuration is XML, which is for Gadgetron: {AS_DEFAULT}"]
        given = _object(words)
        named = [given[word] for word in ("config", "customconfig") if isinstance(given.get(word), str)]
        return [line for name in named for line in self.named(name)] + self._take_all(given)

    def _take_all(self, given):
        return [line for name, value in given.items() for line in self._take(name, value)]

    def _take(self, name, value):
        if name in IGNORED:
            return []
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, 1)
            return [f"{name[:80]!r} is no option of this server" + (f": do you mean {near[0]!r}? It" if near else ": it has " + ", ".join(KNOWN) + ". It") + " is not used"]
        convert, wanted = KNOWN[name]
        if value is None:
            self.values.pop(name, None)
            return []
        try:
            self.values[name] = convert(value)
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise Refused(f"the option {name!r} is {str(value)[:80]!r}; it must be {wanted}") from None
        if name in ARRAYS and self.values[name] is not False:
            self.values[name] = self._array(name, value)
        return []

    def _array(self, name, value):
        path = self._path(value) if isinstance(value, str) else None
        if path is None:
            raise Refused(f"the option {name!r} is {str(value)[:80]!r}; it must be {KNOWN[name][1]}")
        try:
            return numpy.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as e:
            raise Refused(f"the option {name!r} is {value!r}, which is no array of NumPy ({e})") from None

    def _path(self, name):
        """Of a file in the folder: by a plain name, so that no other folder's can be named."""
        if self.folder is None or not NAME.fullmatch(name):
            return None
        path = os.path.join(self.folder, name)
        return path if os.path.isfile(path) else None

    def _presets(self):
        found = sorted(name[:-5] for name in os.listdir(self.folder) if name.endswith(".json")) if self.folder else []
        return f", which has {', '.join(found)}" if found else ", which has none"


def in_options(message):
    """A message that asks for arguments of Python's functions, in the words of a configuration."""
    def option(match):
        name, word, after = match.groups()
        if name not in KNOWN:
            return match[0]
        return f'"{name}"' + (f': "{word}"' if word else f": {after}" if after.isalnum() else after)

    return re.sub(r"\bthe file\b", "the scan", re.sub(r"\b([a-z_]+)=(?:'(\w+)'|(\S?))", option, message))
