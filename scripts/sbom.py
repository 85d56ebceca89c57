#!/usr/bin/env python3
"""Writes the software bill of materials of the library, or of the command isocenter, in CycloneDX 1.5: everything that is linked in. The
same sources give the same bytes: a date is in it only where SOURCE_DATE_EPOCH gives one.

usage: sbom.py OUTPUT [--program] [--target TRIPLE] [--also NAME VERSION LICENCE]...    --also: a part that is no crate, and its licence in SPDX's words
"""
import argparse
import datetime
import hashlib
import json
import os
import re
import uuid
from pathlib import Path

from linked import LINUX, ROOT, crates, cuda, name, rust

NVIDIA = {"license": {"name": "CUDA Toolkit End User License Agreement", "url": "https://docs.nvidia.com/cuda/eula/"}}


def part(called, version, licence, url="", purl=""):
    found = {"type": "library", "bom-ref": purl or f"{called}@{version}", "name": called, "version": version,
             "licenses": [licence if isinstance(licence, dict) else {"expression": licence.replace("/", " OR ")}]}
    if purl:
        found["purl"] = purl
    if url:
        found["externalReferences"] = [{"type": "vcs", "url": url}]
    return found


def crate(package, checksums):
    purl = f"pkg:cargo/{package['name']}@{package['version']}" if package["source"] else ""
    found = part(package["name"], package["version"], package["license"], package["repository"] or "", purl)
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


def bill(program, target, also):
    packages, uses = crates(program, target)
    lock = (ROOT / "Cargo.lock").read_text()
    checksums = {tuple(named): sha for *named, sha in re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(\w+)"', lock)}
    made = {p["id"]: crate(p, checksums) for p in packages}
    subject = made.pop(next(p["id"] for p in packages if p["name"] == name(program)))
    subject["type"] = "application" if program else "library"
    others = [part("Rust standard library", rust(), "MIT OR Apache-2.0", "https://github.com/rust-lang/rust", f"pkg:github/rust-lang/rust@{rust()}")]
    kernels = cuda()
    if kernels:
        compiler, cub, _ = kernels
        others.append(part("CUDA libdevice", compiler, NVIDIA) | {"supplier": {"name": "NVIDIA Corporation"}})
        others.append(part("CUB", cub, "BSD-3-Clause", "https://github.com/NVIDIA/cccl", f"pkg:github/NVIDIA/cccl@v{cub}"))
    others += [part(*words) for words in also]
    refs = {p["id"]: p["source"] and made[p["id"]]["bom-ref"] or f"{p['name']}@{p['version']}" for p in packages}
    needs = [{"ref": refs[key], "dependsOn": [refs[other] for other in uses[key]]} for key in uses]
    for entry in needs:
        if entry["ref"] == subject["bom-ref"]:
            entry["dependsOn"] += [other["bom-ref"] for other in others]
        entry["dependsOn"].sort()
    metadata = {"component": subject}
    if "SOURCE_DATE_EPOCH" in os.environ:
        date = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
        metadata["timestamp"] = date.strftime("%Y-%m-%dT%H:%M:%SZ")
    found = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": metadata,
             "components": sorted([*made.values(), *others], key=lambda c: c["bom-ref"]), "dependencies": sorted(needs, key=lambda n: n["ref"])}
    digest = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    return found | {"serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}"}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--target", default=LINUX)
    parser.add_argument("--also", nargs=3, action="append", default=[])
    said = parser.parse_args()
    found = bill(said.program, said.target, said.also)
    said.output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
