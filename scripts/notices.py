#!/usr/bin/env python3
"""Writes the licences of everything that is linked into the library, from `cargo metadata` and the crates' own licence files.

usage: notices.py OUTPUT [--also NAME FILE]...    --also: a part that is no crate, and the file with its licence
"""
import json
import os
import subprocess
import sys
from pathlib import Path

TARGET = "x86_64-unknown-linux-gnu"
KERNELS = """GPU kernels are machine code made by NVIDIA's CUDA compiler, with parts of its libdevice, which Attachment A of the CUDA
Toolkit's End User License Agreement allows to distribute in an application.
"""


def linked():
    """The packages that end up in the library: normal dependencies from the root on, without those of builds and tests."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    found, ahead = set(), [root]
    while ahead:
        package = ahead.pop()
        if package not in found:
            found.add(package)
            ahead += [d["pkg"] for d in nodes[package]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
    return sorted((p for p in metadata["packages"] if p["id"] in found - {root}), key=lambda p: p["name"])


def licence_files(package):
    """The file of the MIT licence where that may be chosen, else all of them; none is an error."""
    files = sorted(f for f in Path(package["manifest_path"]).parent.iterdir() if f.name.upper().startswith(("LICEN", "COPYING", "NOTICE")))
    if "MIT" in (package["license"] or "").replace("/", " OR ").split(" OR "):
        files = [f for f in files if "MIT" in f.name.upper()] or files
    if not files:
        sys.exit(f"{package['name']} {package['version']} ({package['license']}) has no licence file")
    return files


def main():
    arguments = sys.argv[1:]
    if not arguments or len(arguments) % 3 != 1 or any(word != "--also" for word in arguments[1::3]):
        sys.exit(__doc__)
    parts = []
    for package in linked():
        text = "\n\n".join(f.read_text(encoding="utf-8").strip() for f in licence_files(package))
        parts.append((f"{package['name']} {package['version']}", package["license"], package["repository"] or "", text))
    for name, file in zip(arguments[2::3], arguments[3::3]):
        parts.append((name, "", "", Path(file).read_text(encoding="utf-8").strip()))

    lines = ["Isocenter contains the following works of others. Where a choice of licences is offered, it takes them under the one that is", "given below.", ""]
    lines += ["    " + "  ".join(filter(None, part[:3])) for part in parts]
    lines += ["    Rust's standard library  MIT OR Apache-2.0  https://github.com/rust-lang/rust  (see rust-library.html, where it is)", "", KERNELS]
    texts = {}
    for name, _, _, text in parts:
        texts.setdefault("\n".join(line.rstrip() for line in text.splitlines()), []).append(name)
    for text, names in texts.items():
        lines += ["=" * 100, ", ".join(names), "", text, ""]
    Path(arguments[0]).write_text("\n".join(lines), encoding="utf-8")


main()
