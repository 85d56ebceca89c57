"""Reads the fat binaries that crates/nvcc makes: what is in them, how large, and each architecture's machine code."""
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "target/release/build/isocenter-kernels"
PTX, ELF = 1, 2


def find(name):
    """One of CUDA's programs: beside nvcc, where crates/nvcc looks for that one, or on PATH; or None."""
    homes = [Path(home) / "bin" for home in map(os.environ.get, ("CUDA_HOME", "CUDA_PATH")) if home]
    nvcc = Path(os.environ.get("ISOC_NVCC", ""))
    folders = [nvcc.parent] * (len(nvcc.parts) > 1) + homes
    local = ROOT / "target/cuda/nvidia/cu13/bin" / name
    found = next((str(f / name) for f in folders if (f / name).is_file()), None) or shutil.which(name)
    return found or (str(local) if local.is_file() else None)


def tool(name):
    return find(name) or sys.exit(f"{name} was not found: a part of CUDA, which `make cuda` fetches where there is no nvcc")


def newest(folder):
    """Fat binaries by the name of their source, as `ct/filter`: those that the last build took, by the lists that build scripts leave. The folder
    may hold others, of other architectures, that were made later."""
    found = {}
    for path in sorted(Path(folder).parent.glob("isocenter-*/out/images.rs"), key=lambda p: p.stat().st_mtime):
        found |= {name: Path(file) for name, file in re.findall(r'Image::new\("(\w+/\w+)", include_bytes!\("(.*?)"\)', path.read_text()) if Path(file).is_file()}
    return dict(sorted(found.items())) or sys.exit(f"no fat binaries in {folder}: build the library with a CUDA compiler")


def entries(data):
    """(PTX or ELF, architecture, bytes with the entry's header, bytes when unpacked) of all that one holds."""
    header, size = struct.unpack_from("<4xxxHQ", data)
    at, end = header, header + size
    while at < end:
        kind, head, payload, compressed, arch = struct.unpack_from("<HxxIQI8xI", data, at)
        unpacked = struct.unpack_from("<Q", data, at + 56)[0] if compressed else payload
        yield kind, arch, head + payload, unpacked
        at += head + payload


def extract(path, folder):
    """Unpacks one into a folder: {architecture: cubin}, and the text of its PTX."""
    for what in ("-xelf", "-xptx"):
        subprocess.run([tool("cuobjdump"), what, "all", str(Path(path).resolve())], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    cubins = {int(p.suffixes[-2].removeprefix(".sm_")): p for p in Path(folder).glob("*.cubin")}
    return dict(sorted(cubins.items())), "".join(p.read_text() for p in Path(folder).glob("*.ptx"))


def sections(data):
    """(name, contents) of an ELF file's sections that take room in it."""
    table, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    heads = [struct.unpack_from("<IIQQQQ", data, table + 64 * k) for k in range(count)]
    for name, kind, _, _, at, size in heads:
        text = heads[names][4] + name
        if kind != 8:
            yield data[text:data.index(b"\0", text)].decode(), data[at:at + size]
