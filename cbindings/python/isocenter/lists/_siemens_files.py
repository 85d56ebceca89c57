"""Where Siemens' Interfile headers and their data are: two files, both within DICOM, or a header within DICOM and the data before it or beside it."""
import io
import os
import struct
import warnings

from ..errors import wrong
from ..raw._dicom import pydicom_package
from . import _unpacked
from ._keys import Keys

#: What a list ends with that DICOM follows; before it is the length of that.
_TAIL, _LENGTH = b"LARGE_PET_LM_RAWDATA", struct.Struct("<I")
#: Elements of DICOM that may be the header, and that with the data.
_HEADERS, _DATA = (0x00291010, 0x00291110), 0x7FE11010
#: Bytes of an element that is read before it is asked for, of a header, and of DICOM behind a list, at most.
_DEFERRED, _MOST, _MOST_BEHIND = 1 << 16, 1 << 20, 1 << 26
_BEGUN, _ENDINGS = 132, (".dcm", ".DCM", ".ima", ".IMA")
#: A length that is told by what comes after.
_UNDEFINED = 0xffffffff


class Found:
    """A header and its data.

    Parameters
    ----------
    path : path
        Of a header, in a file of its own or of DICOM; of a list that DICOM follows (.ptd); or of data (.l, .bf) with a header beside.

    Attributes
    ----------
    keys : Keys
    data : path
        Not compressed.
    first, size : int
        Bytes of it that are the data.
    missing : int
        Bytes that there should be after these.
    """
    missing = 0

    def __init__(self, path):
        given, path, self._plain = path, _header_of(path), []
        try:
            if _unpacked.begin(path, _BEGUN)[-4:] == b"DICM":
                self._in_dicom(path)
            elif is_tailed(path):
                self._before_dicom(path)
            else:
                self.keys = Keys(path, ":=", ";")
                # Data that were renamed are taken, whatever the header calls them.
                self._all_of(self.keys.file("name of data file") if given == path else given, self.keys.whole("data offset in bytes", default=0.0))
        except BaseException:
            self.close()
            raise

    def close(self):
        for plain in self._plain:
            plain.close()

    def _opened(self, path):
        self._plain.append(_unpacked.Plain(path))
        return self._plain[-1].path

    def _all_of(self, path, first=0):
        self.data, self.first = self._opened(path), first
        self.size = max(0, os.path.getsize(self.data) - first)

    def _in_dicom(self, path):
        plain = self._opened(path)
        self.keys, place = _dicom(path, _Bounded(io.FileIO(plain)))
        if place:
            self.data, (self.first, length) = plain, place
            self.size = max(0, min(length, os.path.getsize(plain) - self.first))
            self.missing = length - self.size
            return
        stem = os.path.splitext(os.fspath(path).removesuffix(".gz"))[0]
        beside = next((stem + ending for ending in (".bf", ".bf.gz", ".BF") if os.path.isfile(stem + ending)), None)
        if beside is None:
            raise wrong(ValueError, f"{path} has a header of Siemens' and not what it is of, and there is no {os.path.basename(stem)}.bf beside it")
        self._all_of(beside)

    def _before_dicom(self, path):
        self.data = self._opened(path)
        end = os.path.getsize(self.data) - len(_TAIL) - _LENGTH.size
        with open(self.data, "rb") as file:
            file.seek(max(0, end))
            tail = file.read()
            if tail[_LENGTH.size:] != _TAIL:
                raise wrong(ValueError, f"{path} does not end in {_TAIL.decode()}, as lists of Siemens' do that DICOM follows: it may be cut")
            self.first, self.size = 0, end - _LENGTH.unpack(tail[:_LENGTH.size])[0]
            if not 0 <= self.size or end - self.size > _MOST_BEHIND:
                raise wrong(ValueError, f"{path} ends in DICOM of {end - self.size} bytes, which there cannot be in {end}")
            file.seek(self.size)
            self.keys, _ = _dicom(path, io.BytesIO(file.read(end - self.size)))


def is_tailed(path):
    """Whether a list is one that DICOM follows, by its name."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(".ptd")


def is_data(path):
    """Whether a file has its header beside it, by its name."""
    return os.fspath(path).lower().removesuffix(".gz").endswith((".l", ".bf"))


def _header_of(path):
    if not is_data(path):
        return path
    plain = os.fspath(path).removesuffix(".gz")
    names = [plain[:-3] + ending for ending in _ENDINGS] if plain.lower().endswith(".bf") else [plain + ".hdr", plain + ".hdr.gz"]
    for name in names:
        if os.path.isfile(name):
            return name
    raise wrong(ValueError, f"{path} is a list of Siemens' without its header, which says what is in it: there is no {os.path.basename(names[0])} beside it")


class _Bounded(io.BufferedReader):
    """Of which no more memory is taken than there are bytes, whatever lengths are asked for."""

    def __init__(self, raw):
        super().__init__(raw)
        self._end = raw.seek(0, os.SEEK_END)
        raw.seek(0)

    def read(self, size=-1):
        left = max(0, self._end - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


def _dicom(path, file):
    """The Keys of a header in a DICOM file, and where in it the first byte of the data is and how many there are; None of none."""
    pydicom = pydicom_package()
    with warnings.catch_warnings(), file:
        warnings.simplefilter("ignore")  # of elements that are not asked for
        try:
            # As they are in the file, of which long ones are not read.
            raw = dict(pydicom.dcmread(file, defer_size=_DEFERRED, specific_tags=[*_HEADERS, _DATA]).items())
            header = next((value for tag in _HEADERS if tag in raw and b"!INTERFILE" in (value := _value(file, raw[tag]))), None)
            place = (raw[_DATA].value_tell, raw[_DATA].length) if _DATA in raw and raw[_DATA].length != _UNDEFINED else None
        except Exception as e:  # whatever is wrong with a file's bytes comes out of pydicom as some exception
            raise wrong(ValueError, f"{path} is DICOM that cannot be read: {' '.join(str(e).split())[:200] or type(e).__name__}") from None
    if header is None:
        raise wrong(ValueError, f"{path} is a DICOM file without a header of Siemens' lists, which is in (0029,1010) or (0029,1110)")
    return Keys(path, ":=", ";", header), place


def _value(file, element):
    """Bytes of an element, of one that is too long for a header none."""
    if element.length > _MOST:
        return b""
    file.seek(element.value_tell)
    return file.read(element.length)
