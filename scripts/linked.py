"""What is linked into the library, or into the command isocenter."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import fat_binaries

ROOT = Path(__file__).resolve().parent.parent
LINUX = "x86_64-unknown-linux-gnu"


def said(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def crates(program, target):
    """What `cargo metadata` says of the crates that end up in library or command, without those of builds and tests; and which of them each
    depends on, by their ids, those of the project among them."""
    cargo, of = os.environ.get("CARGO", "cargo"), ["--all-features"] if program else []
    tree = said(cargo, "tree", "--package", name(program), "--edges", "normal,no-proc-macro", "--prefix", "none", "--target", target, "--locked", *of)
    found = {tuple(line.split()[:2]) for line in tree.splitlines()}
    told = json.loads(said(cargo, "metadata", "--format-version", "1", "--filter-platform", target, "--locked", *of))
    packages = sorted((p for p in told["packages"] if (p["name"], "v" + p["version"]) in found), key=lambda p: (p["name"], p["version"]))
    ids = {p["id"] for p in packages}
    normal = lambda dep: any(kind["kind"] is None for kind in dep["dep_kinds"])
    uses = {node["id"]: sorted({dep["pkg"] for dep in node["deps"] if dep["pkg"] in ids and normal(dep)}) for node in told["resolve"]["nodes"]}
    return packages, {key: uses[key] for key in ids}


def name(program):
    return "isocenter-program" if program else "isocenter"


def rust():
    """The version of Rust's standard library."""
    return said(os.environ.get("RUSTC", "rustc"), "--version").split()[1]


def cuda():
    """Of what comes with CUDA's compiler and is in the kernels: the compiler's version, which is libdevice's, CUB's version and its licence;
    None where the library is built without kernels."""
    nvcc = None if os.environ.get("ISOC_NVCC") == "none" else fat_binaries.find("nvcc")
    if not nvcc:
        return None
    include = Path(nvcc).resolve().parent.parent / "include"
    cub = next((folder for folder in (include / "cccl/cub", include / "cub") if folder.is_dir()), None) or sys.exit(f"CUB is not in {include}")
    number = int(re.search(r"define CUB_VERSION (\d+)", (cub / "version.cuh").read_text())[1])
    comment = (cub / "block/block_radix_sort.cuh").read_text().split("*/")[0]
    licence = "\n".join(re.sub(r"^/?\s?\*+ ?", "", line) for line in comment.splitlines()).strip()
    compiler = re.search(r"V([\d.]+)", said(nvcc, "--version"))[1]
    return compiler, f"{number // 100000}.{number // 100 % 1000}.{number % 100}", licence
