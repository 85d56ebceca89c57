"""ROOT files, by the package uproot."""
import contextlib

from ..errors import wrong

#: Bytes of events that are brought at a time.
_AT_ONCE = "64 MB"


class Root:
    """A ROOT file: its trees.

    Parameters
    ----------
    path : path
    name : path
        By which messages call it.
    """

    def __init__(self, path, name):
        try:
            import uproot
        except ImportError:
            raise wrong(ImportError, f"{name} is a ROOT file, which needs the package uproot: pip install uproot") from None
        self._name = name
        with self._read():
            self._file = uproot.open(path)
            self.trees = [key.partition(";")[0] for key, of in self._file.classnames(recursive=False).items() if of.startswith("TTree")]

    def branches(self, tree):
        with self._read():
            return set(self._file[tree].keys())

    def count(self, tree):
        with self._read():
            return int(self._file[tree].num_entries)

    def parts(self, tree, branches):
        """Dictionaries of arrays, of so many entries as suit memory."""
        with self._read():
            parts = self._file[tree].iterate(list(branches), library="np", step_size=_AT_ONCE)
        while True:
            with self._read():
                part = next(parts, None)
            if part is None:
                return
            for name, of in part.items():
                if of.dtype.kind not in "iuf" or of.ndim != 1:
                    raise wrong(ValueError, f"{self._name} has a branch {name} that is not one number for each coincidence")
            yield part

    def close(self):
        self._file.close()

    @contextlib.contextmanager
    def _read(self):
        """Whatever is wrong with a file's bytes comes out of uproot as some exception."""
        try:
            yield
        except Exception as e:
            words = " ".join(str(e).split())[:200]
            raise wrong(ValueError, f"{self._name} is a ROOT file that cannot be read: {words or type(e).__name__}") from None
