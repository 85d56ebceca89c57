"""Global heaps of an HDF5 file, whose objects are vectors and texts: "GCOL", a version, three bytes, their size, and objects, each with its number, two numbers more, its size and its bytes."""
import collections
import os
import struct

from ._bytes import Damaged

_MAGIC, _HEAD, _OBJECT = b"GCOL", struct.Struct("<4sB3xQ"), struct.Struct("<HH4xQ")
#: Bytes that are looked at together, and heaps whose objects are known at a time.
_AT_ONCE, _KNOWN = 1 << 12, 16


class Heaps:
    """A file's heaps.

    Objects are referred to once each, so that all that is taken is no more than the file has: one that refers to an object again and again is refused.
    """

    def __init__(self, file):
        self._file, self._known = file, collections.OrderedDict()
        self._size = self._left = os.fstat(file.fileno()).st_size

    def bytes(self, begin, count):
        """So many of the file's, from one on."""
        self._left -= count
        if self._left < 0:
            raise Damaged("more values than a file of its size has")
        return self._read(begin, count)

    def object(self, heap, number, count):
        """The bytes of an object."""
        begin, size = self._objects(heap).get(number, (0, -1))
        if count > size:
            raise Damaged(f"no {count} bytes in object {number} of the heap at byte {heap}")
        return self.bytes(begin, count)

    def _objects(self, heap):
        """Begin and size of objects by their numbers."""
        if heap in self._known:
            self._known.move_to_end(heap)
            return self._known[heap]
        magic, version, size = _HEAD.unpack(self._read(heap, _HEAD.size))
        if magic != _MAGIC or version != 1 or size > self._size - heap:
            raise Damaged(f"no heap at byte {heap}")
        objects, at, end, window, first = {}, heap + _HEAD.size, heap + size, b"", 0
        while at + _OBJECT.size <= end:
            if not first <= at <= first + len(window) - _OBJECT.size:
                window, first = self._read(at, min(_AT_ONCE, end - at)), at
            number, _, length = _OBJECT.unpack_from(window, at - first)
            if not number:  # what is free, with its own head
                step = length
            else:
                objects[number] = at + _OBJECT.size, min(length, end - at - _OBJECT.size)
                step = _OBJECT.size + -(-length // 8) * 8
            if step < _OBJECT.size:
                raise Damaged(f"an object of {length} bytes in the heap at byte {heap}")
            at += step
        self._known[heap] = objects
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        return objects

    def _read(self, begin, count):
        if begin + count > self._size:
            raise Damaged(f"its end at byte {self._size}, where {count} bytes from byte {begin} on do not fit")
        self._file.seek(begin)
        data = self._file.read(count)
        if len(data) < count:
            raise Damaged(f"its end at byte {begin + len(data)}")
        return data
