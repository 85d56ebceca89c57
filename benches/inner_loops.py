#!/usr/bin/env python3
"""Innermost loops of a library with their numbers of instructions, multiply-adds of vectors, loads and look-ups in tables, by the line of source that they come from.

usage: inner_loops.py LIBRARY x86|arm    the library with line tables (not stripped); needs llvm-symbolizer and objdump (aarch64-linux-gnu-objdump)
"""
import collections
import re
import subprocess
import sys
from pathlib import Path

SOURCES = str(Path(__file__).resolve().parent.parent / "crates") + "/"


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("x86", "arm"):
        sys.exit(__doc__)
    library, arm = sys.argv[1], sys.argv[2] == "arm"
    found = [loop for function in functions(library, arm) for loop in loops(function, arm)]
    chains = symbols(library, [first for _, first in found])
    rows = collections.defaultdict(list)
    for (body, first), chain in zip(found, chains):
        lines = [line for line in chain if not line.startswith("cpu/simd")]
        if lines:
            rows[lines[0], width(body, arm)].append((*counts(body, arm), " <- ".join(lines[1:3])))
    for (line, bits), each in sorted(rows.items()):
        for instructions, multiply_adds, loads, lookups, callers in each:
            print(f"{line:42} {bits:3} bits  instructions {instructions:4}  multiply-adds {multiply_adds:3}  loads {loads:3}  look-ups {lookups:3}  {callers}")


def functions(library, arm):
    """Lists of (address, instruction, operands)."""
    objdump = "aarch64-linux-gnu-objdump" if arm else "objdump"
    lines = subprocess.Popen([objdump, "-d", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True).stdout
    function = []
    for line in lines:
        if match := re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)$", line):
            function.append((int(match[1], 16), match[2], match[3]))
        elif line.endswith(">:\n"):
            yield function
            function = []
    yield function


def loops(function, arm):
    """Innermost loops with two multiply-adds or more: their instructions, and where the first multiply-add is."""
    place = {address: i for i, (address, _, _) in enumerate(function)}
    jumps = []
    for i, (_, name, operands) in enumerate(function):
        target = re.search(r"\b([0-9a-f]+) <", operands)
        branches = name.startswith("b.") or name in ("b", "cbz", "cbnz", "tbz", "tbnz") if arm else name.startswith("j")
        if target and branches and place.get(int(target[1], 16), i + 1) <= i:
            jumps.append((place[int(target[1], 16)], i))
    for first, last in jumps:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in jumps):
            body = function[first : last + 1]
            sums = [address for address, name, operands in body if multiply_add(name, operands, arm)]
            if len(sums) >= 2:
                yield body, sums[0]


def multiply_add(name, operands, arm):
    if arm:
        return name in ("fmla", "fmls") and (".4s" in operands or ".2d" in operands)
    return name.startswith(("vfmadd", "vfnmadd", "vfmsub")) and name.endswith(("ps", "pd"))


def counts(body, arm):
    sums = sum(multiply_add(name, operands, arm) for _, name, operands in body)
    if arm:
        loads = sum(name.startswith(("ldr", "ldp", "ld1", "ldur")) and bool(re.search(r"\b[qdsv]\d", o)) for _, name, o in body)
        lookups = sum(name == "tbl" for _, name, _ in body)
    else:
        # From memory: an operand in brackets that is not the last, which is written to.
        loads = sum("(%" in o and name != "lea" and not re.search(r",[^,]*\(%[^)]*\)$", o) for _, name, o in body)
        lookups = sum(name.startswith("vperm") for _, name, _ in body)
    return len(body), sums, loads, lookups


def width(body, arm):
    text = "".join(operands for _, _, operands in body)
    return 128 if arm else 512 if "zmm" in text else 256 if "ymm" in text else 128


def symbols(library, addresses):
    """Of each address, the lines of source that it comes from, innermost first."""
    asked = "\n".join(map(hex, addresses))
    words = ["llvm-symbolizer", f"--obj={library}", "--inlines", "--functions=linkage"]
    said = subprocess.run(words, input=asked, stdout=subprocess.PIPE, text=True, check=True).stdout
    for block in said.strip().split("\n\n"):
        lines = block.splitlines()[1::2]
        yield [re.sub(r":\d+$", "", line.removeprefix(SOURCES)) for line in lines if line.startswith(SOURCES)]


main()
