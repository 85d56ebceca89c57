#!/usr/bin/env python3
"""Writes the licences of everything that is linked into the library, or into the command isocenter, from `cargo metadata` and the crates' own licence files.

usage: notices.py [--program] [--target TRIPLE] OUTPUT [--also NAME FILE]...    --also: a part that is no crate, and the file with its licence
"""
import argparse
import sys
from pathlib import Path

from linked import LINUX, crates, cuda

KERNELS = """GPU kernels are machine code made by NVIDIA's CUDA compiler, with parts of its libdevice, which Attachment A of the CUDA
Toolkit's End User License Agreement allows to distribute in an application.
"""


ROOT = Path(__file__).parent.parent


def licence_texts(package):
    """The text of the MIT licence where that may be chosen, else all of them. Where a crate comes without: MIT's with its authors, or Apache's,
    which are the same for all, or what CC0 is, of which no text has to go with a copy; else an error."""
    files = sorted(f for f in Path(package["manifest_path"]).parent.iterdir() if f.name.upper().startswith(("LICEN", "COPYING", "NOTICE")))
    choices = (package["license"] or "").replace("/", " OR ").split(" OR ")
    if "MIT" in choices:
        files = [f for f in files if "MIT" in f.name.upper()] or files
    texts = [f.read_text(encoding="utf-8").strip() for f in files]
    if choices == ["MIT"] and not any("Permission is hereby granted" in text for text in texts):
        holders = ", ".join(package["authors"]) or f"the authors of {package['name']}"
        lines = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8").strip().splitlines()
        texts.insert(0, "\n".join(f"Copyright (c) {holders}" if line.startswith("Copyright") else line for line in lines))
    if not texts and "Apache-2.0" in choices:
        texts = [(ROOT / "LICENSE-APACHE").read_text(encoding="utf-8").strip()]
    if not texts and choices == ["CC0-1.0"]:
        texts = ["Dedicated to the public domain by its authors, CC0 1.0 Universal: https://creativecommons.org/publicdomain/zero/1.0/legalcode"]
    if not texts:
        sys.exit(f"{package['name']} {package['version']} ({package['license']}) has no licence file")
    return texts


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--target", default=LINUX)
    parser.add_argument("output", type=Path)
    parser.add_argument("--also", nargs=2, action="append", default=[])
    said = parser.parse_args()
    parts = []
    packages, _ = crates(said.program, said.target)
    for package in filter(lambda p: p["source"], packages):
        text = "\n\n".join(licence_texts(package))
        parts.append((f"{package['name']} {package['version']}", package["license"], package["repository"] or "", text))
    kernels = cuda()
    if kernels:
        _, version, text = kernels
        parts.append((f"CUB {version}", "BSD-3-Clause", "https://github.com/NVIDIA/cccl", text))
    for name, file in said.also:
        parts.append((name, "", "", Path(file).read_text(encoding="utf-8").strip()))

    lines = ["Isocenter contains the following works of others. Where a choice of licences is offered, it takes them under the one that is", "given below.", ""]
    lines += ["    " + "  ".join(filter(None, part[:3])) for part in parts]
    lines.append("    Rust's standard library  MIT OR Apache-2.0  https://github.com/rust-lang/rust  (see rust-library.html, where it is)")
    lines += ["", KERNELS if kernels else ""]
    texts = {}
    for name, _, _, text in parts:
        texts.setdefault("\n".join(line.rstrip() for line in text.splitlines()), []).append(name)
    for text, names in texts.items():
        lines += ["=" * 100, ", ".join(names), "", text, ""]
    said.output.write_text("\n".join(lines), encoding="utf-8")


main()
