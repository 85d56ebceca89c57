#!/usr/bin/env python3
"""Looks at the machine code of every kernel for every architecture, and fails where it is not what the kernels' authors presumed:

  local    a kernel has a stack, or instructions that read or write it (STL, LDL): registers that were spilled, or arrays in local memory
  double   a kernel in single precision computes in f64 in an innermost loop: from 1/64 of the f32 rate on consumer GPUs
  tensor   a kernel that is meant to use tensor cores has none of their instructions, or one does that is not said to
  blocks   registers or static shared memory leave room for fewer blocks on a multiprocessor than `__launch_bounds__` asks for

kernels/expected.txt says what is expected, with a reason each. Its figures are of one compiler: what another has made is not looked at,
which on CI is a failure.

usage: check_sass.py [FOLDER] [--bless | --all]    FOLDER: of fat binaries; --bless: write the figures anew; --all: fails where an architecture is missing
"""
import array
import collections
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fat_binaries import BUILT, ROOT, extract, newest, sections, tool

LIST = ROOT / "kernels/expected.txt"
ARCHITECTURES = [80, 86, 90, 100, 120]
# Threads and KiB of shared memory of a multiprocessor: CUDA C++ Programming Guide 13.0, technical specifications per compute capability.
THREADS = {80: 2048, 86: 1536, 90: 2048, 100: 2048, 120: 1536}
SHARED = {80: 164, 86: 100, 90: 228, 100: 228, 120: 100}
DOUBLE = {"DADD", "DFMA", "DMUL", "DSETP"}
LOCAL = {"STL", "LDL"}
TENSOR = {"HMMA", "DMMA", "IMMA", "QMMA", "OMMA", "HGMMA", "UTCHMMA"}
# Of instructions of 16 bytes, the bits that say which one it is.
OPCODE = 0xFFF
# Kinds of lines, and whether they have a figure for each architecture.
FIGURES = {"local": True, "blocks": True, "double": False, "tensor": False}


def disassemble(arch, pieces):
    """[(address, mnemonic, operands)] of instructions that lie one after the other, as if from 2^28 on."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(pieces))
        file.flush()
        words = [tool("nvdisasm"), "-b", f"SM{arch}", "-base", str(1 << 28), file.name]
        text = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.findall(r"/\*([0-9a-f]{4,})\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z]\w*)([^;]*);", text)
    if len(found) != len(pieces):
        sys.exit(f"nvdisasm gave {len(found)} instructions of sm_{arch} for {len(pieces)}")
    return [(int(at, 16), name, operands) for at, name, operands in found]


class Code:
    """The instructions of all kernels of an architecture. Disassembling all of them would take minutes: one of each opcode tells the
    opcodes' names, and branches alone tell the loops."""

    def __init__(self, arch, kernels):
        opcodes = {name: [low & OPCODE for low in array.array("Q", code)[::2]] for name, code in kernels.items()}
        sample = {}
        for name, code in kernels.items():
            for k, opcode in enumerate(opcodes[name]):
                if opcode not in sample:
                    sample[opcode] = code[16 * k:16 * k + 16]
        names = {opcode: name for opcode, (_, name, _) in zip(sample, disassemble(arch, list(sample.values())))}
        self.names = {kernel: [names[opcode] for opcode in codes] for kernel, codes in opcodes.items()}
        branches = [(kernel, k) for kernel, mnemonics in self.names.items() for k, m in enumerate(mnemonics) if m == "BRA"]
        self.loops = collections.defaultdict(list)
        told = disassemble(arch, [kernels[kernel][16 * k:16 * k + 16] for kernel, k in branches])
        for (kernel, k), (at, _, operands) in zip(branches, told):
            target = k + (int(re.search(r"0x([0-9a-f]+)\s*$", operands)[1], 16) - at) // 16
            if target < k:
                self.loops[kernel].append((target, k))

    def count(self, kernel, which):
        """Instructions of these names: all, and those of innermost loops, which lie between a branch backwards and its target."""
        at = [k for k, name in enumerate(self.names[kernel]) if name in which]
        loops = self.loops[kernel]
        inner = [(a, b) for a, b in loops if not any((a, b) != (c, d) and a <= c and d <= b for c, d in loops)]
        return len(at), sum(any(a <= k <= b for a, b in inner) for k in at)


def resources(path):
    """{(architecture, kernel): (registers, bytes of stack, static shared memory)}"""
    text = subprocess.run([tool("cuobjdump"), "--dump-resource-usage", str(path)], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for part in re.split(r"^arch = sm_", text, flags=re.M)[1:]:
        for name, *figures in re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", part):
            registers, stack, shared, local = map(int, figures)
            found[int(part.split()[0]), name] = registers, stack + local, shared
    return found


def bounds(ptx):
    """{kernel: (threads, blocks)} of `__launch_bounds__`."""
    found = {}
    for name, head in re.findall(r"\.entry (\w+)\((.*?)\n\{", ptx, re.S):
        threads, blocks = re.search(r"\.maxntid (\d+)", head), re.search(r"\.minnctapersm (\d+)", head)
        # Without bounds, the compiler keeps to what the largest block may have.
        found[name] = int(threads[1]) if threads else 1024, int(blocks[1]) if blocks else 1
    return found


def resident(arch, threads, registers, shared):
    """Blocks that a multiprocessor has at a time. Its four parts have 512 registers for each lane of a warp, by eights."""
    warps = 4 * (512 // (-(-registers // 8) * 8)) // -(-threads // 32)
    # The system's share of each block's memory is among what kernels say from compute capability 9.0 on.
    taken = shared + (1024 if arch < 90 else 0)
    return min(warps, THREADS[arch] // threads, SHARED[arch] * 1024 // taken if taken else warps)


def measure(folder):
    """{kind: {(image, kernel): {architecture: figure}}} of all that is not as plain as could be; {(image, kernel): architectures} of all,
    all architectures, and versions of the compiler."""
    images, found, code = newest(folder), collections.defaultdict(lambda: collections.defaultdict(dict)), collections.defaultdict(dict)
    usage, asked, compilers = {}, {}, set()
    for image, path in images.items():
        with tempfile.TemporaryDirectory() as work:
            cubins, ptx = extract(path, work)
            for arch, cubin in cubins.items():
                for section, contents in sections(cubin.read_bytes()):
                    if section.startswith(".text."):
                        code[arch][image, section.removeprefix(".text.")] = contents
                    elif section == ".note.nv.tkinfo":
                        compilers |= {version.decode() for version in re.findall(rb", (V[\d.]+)", contents)}
        usage |= {(image, *key): value for key, value in resources(path).items()}
        asked |= {(image, name): value for name, value in bounds(ptx).items()}
    with ThreadPoolExecutor() as pool:
        codes = dict(zip(code, pool.map(lambda arch: Code(arch, code[arch]), code)))
    for arch, told in codes.items():
        for image, kernel in code[arch]:
            registers, stack, shared = usage[image, arch, kernel]
            threads, blocks = asked[image, kernel]
            key = image, kernel
            (spills, hot), (double, inner), (tensor, _) = (told.count(key, which) for which in (LOCAL, DOUBLE, TENSOR))
            if stack or spills:
                found["local"][key][arch] = f"{stack}/{spills}/{hot}"
            if inner:
                found["double"][key][arch] = inner
            if tensor:
                found["tensor"][key][arch] = tensor
            if resident(arch, threads, registers, shared) < blocks:
                found["blocks"][key][arch] = f"{resident(arch, threads, registers, shared)}/{blocks}"
    kernels = {key: sorted(arch for arch in code if key in code[arch]) for key in sorted(asked)}
    return found, kernels, sorted(code), ", ".join(sorted(compilers))


def read():
    """The list's comments, the compiler that it is of, and its lines: (kind, pattern of image, pattern of kernels, {architecture: figure},
    reason)."""
    head, lines, compiler = [], [], ""
    for line in LIST.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            head.append(line)
            continue
        if line.startswith("compiler "):
            compiler = line.removeprefix("compiler ")
            continue
        said, _, reason = line.partition("#")
        kind, image, kernel, *figures = said.split()
        if kind not in FIGURES or len(figures) not in (0, len(ARCHITECTURES)) or bool(figures) != FIGURES[kind]:
            sys.exit(f"{LIST.name}: {line}")
        lines.append((kind, image, kernel, dict(zip(ARCHITECTURES, figures)), reason.strip()))
    return head, compiler, lines


def numbers(figure):
    return [int(number) for number in figure.split("/")]


def matches(line, key):
    return fnmatch.fnmatchcase(key[0], line[1]) and fnmatch.fnmatchcase(key[1], line[2])


def bless(found, archs, compiler):
    if archs != ARCHITECTURES:
        sys.exit(f"figures are of all of {ARCHITECTURES}, not of {archs}")
    head, _, lines = read()
    kept = []
    for kind, image, kernel, figures, reason in lines:
        line = kind, image, kernel, figures, reason
        these = [of for key, of in found[kind].items() if matches(line, key)]
        if figures:
            for arch in archs:
                cells = [numbers(of[arch]) for of in these if arch in of]
                worst = [max(column) for column in zip(*cells)] if kind == "local" else min(cells, default=None)
                figures[arch] = "/".join(map(str, worst)) if cells else "-"
        if these:
            kept.append(line)
    for kind, kernels in found.items():
        for key, of in sorted(kernels.items()):
            if not any(line[0] == kind and matches(line, key) for line in kept):
                figures = {arch: of.get(arch, "-") for arch in ARCHITECTURES} if FIGURES[kind] else {}
                kept.append((kind, *key, figures, "?"))
    width = max((len(f"{kind:7}{image} {kernel}") for kind, image, kernel, *_ in kept), default=0)
    kept.sort(key=lambda line: (list(FIGURES).index(line[0]), line[1], line[2]))
    text = [f"{f'{kind:7}{image} {kernel}':{width}} " + "".join(f"{figure:>10} " for figure in figures.values()) + f" # {reason}"
            for kind, image, kernel, figures, reason in kept]
    columns = f"{'#':{width}} " + "".join(f"{f'sm_{arch}':>10} " for arch in ARCHITECTURES).rstrip()
    head = [line for line in head if "sm_" not in line]
    LIST.write_text("\n".join([*head, f"compiler {compiler}", columns, *text]) + "\n")


def complaints(found, kernels, archs):
    _, _, lines = read()
    for line in lines:
        if line[4] in ("", "?"):
            yield f"{LIST.name}: {line[0]} {line[1]} {line[2]} has no reason"
        if not any(matches(line, key) for key in kernels):
            yield f"{LIST.name}: no kernel is called {line[1]} {line[2]}"
    for key, of in kernels.items():
        if of != archs:
            yield f"{key[0]} {key[1]} is there for {of} of {archs}"
    words = {"local": "bytes of stack/STL and LDL/these in innermost loops", "double": "f64 instructions in innermost loops",
             "tensor": "tensor instructions", "blocks": "blocks on a multiprocessor/as its launch bounds ask"}
    for kind, of in found.items():
        for key, figures in sorted(of.items()):
            said = [line for line in lines if line[0] == kind and matches(line, key)]
            for arch, figure in figures.items():
                allowed = next((line[3].get(arch, "any") for line in said), "-")
                fine = allowed == "any"
                if not fine and allowed != "-":
                    pairs = list(zip(numbers(figure), numbers(allowed)))
                    fine = all(a <= b for a, b in pairs) if kind == "local" else pairs[0][0] >= pairs[0][1]
                if not fine:
                    yield f"{key[0]} {key[1]} sm_{arch}: {words[kind]}: {figure}; expected {allowed}"
    for line in lines:
        for key in kernels if line[0] == "tensor" else ():
            for arch in archs if matches(line, key) else ():
                if arch not in found["tensor"].get(key, {}):
                    yield f"{key[0]} {key[1]} sm_{arch}: no tensor instruction"


def main():
    words = sys.argv[1:]
    blessing, complete = "--bless" in words, "--all" in words
    folders = [word for word in words if word not in ("--bless", "--all")]
    if len(folders) > 1 or any(word.startswith("-") for word in folders):
        sys.exit(__doc__)
    found, kernels, archs, compiler = measure(folders[0] if folders else BUILT)
    if blessing:
        bless(found, archs, compiler)
    if complete and archs != ARCHITECTURES:
        sys.exit(f"the kernels were compiled for {archs}, not for all of {ARCHITECTURES}")
    _, expected, _ = read()
    if compiler != expected:
        print(f"skipped: the kernels were compiled by {compiler}, and {LIST.name} is of {expected}")
        return os.environ.get("CI") == "true"
    wrong = list(complaints(found, kernels, archs))
    print("\n".join(wrong + [f"{len(kernels)} kernels for {', '.join(f'sm_{arch}' for arch in archs)}: {len(wrong)} complaints"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
