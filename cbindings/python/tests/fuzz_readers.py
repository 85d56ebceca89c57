"""Readers of lists, by Atheris, which looks for bytes that reach new code: reading gives events or an error in the reader's own words, and nothing else, in bounded memory.

usage: fuzz_readers.py lists|petsird [libFuzzer's options, such as -runs=1000000 -seed=1]
"""
import os
import re
import sys
import tempfile
import tracemalloc
import warnings

import atheris

with atheris.instrument_imports(include=["isocenter.lists", "isocenter.petsird", "isocenter.lists.*", "isocenter.petsird.*"]):
    import isocenter.lists
    import isocenter.petsird  # noqa: F401
    from isocenter.petsird import _events  # noqa: F401

import list_mutations
import petsird_mutations


def main():
    of = {"lists": list_mutations, "petsird": petsird_mutations}[sys.argv.pop(1)]
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as corpus:
        valid = of.files(folder)
        for number, (path, _, whole, after) in enumerate(valid):
            # What comes before, such as a schema, stays as it is.
            with open(os.path.join(corpus, str(number)), "wb") as file:
                file.write(bytes([number]) + whole[after:])
        tracemalloc.start()

        def read(data):
            path, opened, whole, after = valid[data[0] % len(valid) if data else 0]
            with open(path, "wb") as file:
                file.write(whole[:after] + data[1:])
            tracemalloc.reset_peak()
            begun = tracemalloc.get_traced_memory()[0]
            try:
                of.read(opened)
            except ValueError as e:
                # Own words begin with the function, or with the file.
                if e.__class__ is not ValueError or not str(e).startswith(folder) and not re.match(r"[\w.]+: ", str(e)):
                    raise
            finally:
                with open(path, "wb") as file:
                    file.write(whole)
            more = tracemalloc.get_traced_memory()[1] - begun
            if more > of.MEMORY:
                raise MemoryError(f"{path}: {more} bytes of memory")

        given = any(os.path.isfile(word) for word in sys.argv[1:])  # to try again; libFuzzer takes files or folders
        atheris.Setup([sys.argv[0], *([] if given else [corpus]), *sys.argv[1:]], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
