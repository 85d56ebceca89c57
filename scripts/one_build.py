#!/usr/bin/env python3
"""What the library is made of has to be built with the same features for the library, for its tests and for the command: else cargo compiles it,
and all that depends on it, once more for each. Where they differ, crates/base asks for the features that the others ask for."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ["--package", "isocenter", "--edges", "normal,build"]
OTHERS = {
    "tests": ["--workspace", "--exclude", "isocenter-program", "--exclude", "isocenter-benches"],
    "the command": ["--package", "isocenter-program", "--features", "mpi", "--edges", "normal,build"],
    "the command's tests": ["--package", "isocenter-program", "--features", "mpi"],
}


def features(words):
    """{(package, version): sets of features, as text}; those of build scripts may differ from those that are linked."""
    command = [os.environ.get("CARGO", "cargo"), "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", *words]
    text = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in text.splitlines():
        package, _, list_of = line.removesuffix(" (*)").partition("|")
        if package:
            found.setdefault(tuple(package.split()[:2]), set()).add(list_of)
    return found


def main():
    library, wrong = features(LIBRARY), []
    for who, words in OTHERS.items():
        theirs = features(words)
        wrong += [f"{' '.join(key)} has features {' / '.join(sorted(sets)) or 'none'} in the library, and {' / '.join(sorted(theirs.get(key, ())))} for {who}"
                  for key, sets in library.items() if not sets <= theirs.get(key, set())]
    print(*wrong or [f"{len(library)} crates of the library have the same features for all"], sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
