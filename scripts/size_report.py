#!/usr/bin/env python3
"""Tells where the library's bytes are: its sections, Rust's code by crate and module, GPU kernels by family and architecture.

usage: size_report.py LIBRARY [FOLDER]    LIBRARY: not stripped; FOLDER: of the fat binaries in it
"""
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from fat_binaries import BUILT, PTX, entries, newest, sections

# What a section is for, by the beginning of its name.
PARTS = [(".text", "machine code of Rust"), (".debug", "lines for backtraces"), (".symtab", "names of symbols"), (".strtab", "names of symbols"),
         (".eh_frame", "unwinding"), (".gcc_except", "unwinding"), (".rodata", "constants, kernels among them")]


def table(title, rows, columns=("KiB",)):
    """Prints rows of (name, bytes for each column)."""
    print(f"\n| {title} | {' | '.join(columns)} |\n|{'---|' * (1 + len(columns))}")
    for name, *sizes in rows:
        print(f"| {name} | {' | '.join(f'{size / 1024:.0f}' for size in sizes)} |")


def largest(counts, most):
    """The largest, and the sum of the others."""
    rows = counts.most_common()
    others = sum(size for _, size in rows[most:])
    return rows[:most] + [(f"{len(rows) - most} others", others)] * bool(others)


def of_sections(library):
    parts = collections.Counter()
    for name, contents in sections(library.read_bytes()):
        parts[next((what for head, what in PARTS if name.startswith(head)), "the rest")] += len(contents)
    return parts


def of_functions(library):
    """Bytes of functions by crate, and of the project's by module. A generic function counts for the crate that wrote it."""
    text = subprocess.run(["nm", "-SC", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    crates, modules = collections.Counter(), collections.Counter()
    for size, name in re.findall(r"^\w+ (\w+) [tTwW] (.+)$", text, re.M):
        path = re.search(r"\b[a-z_]\w*(?:::\w+)+", name)
        crate, module = path[0].split("::")[:2] if path else (("isocenter", "C functions") if name.startswith("isoc_") else ("libc and unwinder", ""))
        crates[crate] += int(size, 16)
        if crate.split("_")[0] == "isocenter":
            modules[f"{crate}::{module}"] += int(size, 16)
    return crates, modules


def main():
    words = sys.argv[1:]
    if not 1 <= len(words) <= 2:
        sys.exit(__doc__)
    library = Path(words[0])
    with tempfile.TemporaryDirectory() as work:
        stripped = Path(work) / "stripped"
        subprocess.run(["strip", "--strip-unneeded", "-o", stripped, library], check=True)
        rows = [("total", library.stat().st_size, stripped.stat().st_size)]
        whole, less = of_sections(library), of_sections(stripped)
    table("part", rows + [(part, size, less[part]) for part, size in whole.most_common()], ("KiB", "stripped"))
    crates, modules = of_functions(library)
    table("functions of crate", largest(crates, 12))
    table("functions of the project's crates, by module", largest(modules, 16))

    images, families, unpacked = collections.Counter(), collections.defaultdict(collections.Counter), collections.Counter()
    for image, path in newest(words[1] if words[1:] else BUILT).items():
        for kind, arch, size, plain in entries(path.read_bytes()):
            column = "PTX" if kind == PTX else f"sm_{arch}"
            images[image] += size
            families[image.split("/")[0]][column] += size
            unpacked[column] += plain
    columns = sorted(unpacked, key=lambda name: (name == "PTX", len(name), name))
    rows = [(family, *(of[c] for c in columns), sum(of.values())) for family, of in sorted(families.items())]
    rows.append(("all", *(sum(of[c] for of in families.values()) for c in columns), sum(images.values())))
    rows.append(("all, unpacked", *(unpacked[c] for c in columns), sum(unpacked.values())))
    table("kernels, compressed", rows, (*columns, "KiB"))
    table("largest images", largest(images, 10))


if __name__ == "__main__":
    main()
