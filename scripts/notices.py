#!/usr/bin/env python3
"""Writes the licences of everything that is linked into the library, or into the command isocenter, from `cargo metadata` and the crates' own licence files.

usage: notices.py [--program] [--target TRIPLE] OUTPUT [--also NAME FILE]...    --also: a part that is no crate, and the file with its licence
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

KERNELS = """GPU kernels are machine code made by NVIDIA's CUDA compiler, with parts of its libdevice, which Attachment A of the CUDA
Toolkit's End User License Agreement allows to distribute in an application.
"""


def linked(program, target):
    """The packages that end up in library or command, without those of builds and tests."""
    cargo, of = os.environ.get("CARGO", "cargo"), ["--all-features"] if program else []
    said = lambda *words: subprocess.run([cargo, *words, "--locked", *of], check=True, stdout=subprocess.PIPE, text=True).stdout
    name = "isocenter-program" if program else "isocenter"
    tree = said("tree", "--package", name, "--edges", "normal", "--prefix", "none", "--target", target)
    found = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = json.loads(said("metadata", "--format-version", "1", "--filter-platform", target))["packages"]
    found = [p for p in packages if (p["name"], "v" + p["version"]) in found and p["source"]]
    return sorted(found, key=lambda p: p["name"])


def licence_files(package):
    """The file of the MIT licence where that may be chosen, else all of them; Apache's own text where there is none; else an error."""
    files = sorted(f for f in Path(package["manifest_path"]).parent.iterdir() if f.name.upper().startswith(("LICEN", "COPYING", "NOTICE")))
    if "MIT" in (package["license"] or "").replace("/", " OR ").split(" OR "):
        files = [f for f in files if "MIT" in f.name.upper()] or files
    if not files and "Apache-2.0" in (package["license"] or ""):
        # The text of this licence is the same for all.
        files = [Path(__file__).parent.parent / "LICENSE-APACHE"]
    if not files:
        sys.exit(f"{package['name']} {package['version']} ({package['license']}) has no licence file")
    return files


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--target", default="x86_64-unknown-linux-gnu")
    parser.add_argument("output", type=Path)
    parser.add_argument("--also", nargs=2, action="append", default=[])
    said = parser.parse_args()
    parts = []
    for package in linked(said.program, said.target):
        text = "\n\n".join(f.read_text(encoding="utf-8").strip() for f in licence_files(package))
        parts.append((f"{package['name']} {package['version']}", package["license"], package["repository"] or "", text))
    for name, file in said.also:
        parts.append((name, "", "", Path(file).read_text(encoding="utf-8").strip()))

    lines = ["Isocenter contains the following works of others. Where a choice of licences is offered, it takes them under the one that is", "given below.", ""]
    lines += ["    " + "  ".join(filter(None, part[:3])) for part in parts]
    lines += ["    Rust's standard library  MIT OR Apache-2.0  https://github.com/rust-lang/rust  (see rust-library.html, where it is)", "", KERNELS]
    texts = {}
    for name, _, _, text in parts:
        texts.setdefault("\n".join(line.rstrip() for line in text.splitlines()), []).append(name)
    for text, names in texts.items():
        lines += ["=" * 100, ", ".join(names), "", text, ""]
    said.output.write_text("\n".join(lines), encoding="utf-8")


main()
