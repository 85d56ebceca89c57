"""Headers and data of BART's files with bytes changed at random: reading them gives an array or an error in words, and nothing else.

usage: fuzz_cfl.py [EXECUTIONS] [SEED]
"""
import math
import os
import random
import sys
import tempfile

from isocenter.bart import readcfl
from isocenter.bart._cfl import check_size, parsed
from isocenter.raw._header import Unreadable

PIECES = [b"# Dimensions\n", b"# Command\n", b"# Files\n", b"# Creator\n", b"# Data\n", b"# MultiDimensions\n", b"#", b"\n", b"\r\n", b" ", b"-0", b"-1", b"0", b"nan", b"inf", b"1e3", b"0x10",
          b"1_0", b"+2", b"9223372036854775807", b"9223372036854775808", b"4294967296 4294967296", b"1 " * 17, b"\0", b"\xff\xfe", "٣".encode(), b"2", b"3 2 1"]
SEEDS = [b"# Dimensions\n2 3 1 1 1 1 1 1 1 1 1 1 1 1 1 1 \n# Command\npics -l1 -r0.01 a b c\n# Files\n >c <b <a\n# Creator\nBART v0.8.00\n", b"# Dimensions\n4\n", b"# Dimensions\n1 2 3\n# Creator\nBART"]


def mutated(text, chance):
    """A text with some of its bytes replaced, left out or doubled, and pieces put in."""
    text = bytearray(text)
    for _ in range(chance.randint(1, 5)):
        at, way = chance.randint(0, len(text)), chance.random()
        end = min(len(text), at + chance.randint(0, 8))
        if way < 0.4:
            text[at:at] = chance.choice(PIECES)
        elif way < 0.6:
            del text[at:end]
        elif way < 0.8:
            text[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
        else:
            text[at:at] = text[at:end]
    return bytes(text)


def executed(folder, executions, seed):
    """How many were read, and how many refused; each hundredth from files. Raises what is neither, with the bytes that did it."""
    chance, name, counts = random.Random(seed), os.path.join(folder, "f"), [0, 0]
    for k in range(executions):
        header, size = mutated(chance.choice(SEEDS), chance), chance.choice((48, 48, 32, 16, 8, 0, 47, 49))
        try:
            dimensions = from_files(name, header, chance.randbytes(size)) if k % 100 == 0 else in_memory(header, size)
            if not 1 <= len(dimensions) <= 16 or math.prod(dimensions) * 8 != size:
                raise AssertionError(f"dimensions {dimensions} of {size} bytes")
            counts[0] += 1
        except Unreadable:
            counts[1] += 1
        except Exception as e:
            raise AssertionError(f"header {header!r}, {size} bytes") from e
    return counts


def in_memory(header, size):
    dimensions = parsed(header).dimensions
    check_size(dimensions, size, "f.cfl")
    return dimensions


def from_files(name, header, data):
    for ending, content in ((".hdr", header), (".cfl", data)):
        with open(name + ending, "wb") as file:
            file.write(content)
    return readcfl(name).shape


def main():
    executions, seed = (int(sys.argv[k]) if len(sys.argv) > k else default for k, default in ((1, 1_000_000), (2, 0)))
    with tempfile.TemporaryDirectory() as folder:
        read, refused = executed(folder, executions, seed)
    print(f"{executions} executions, {read} read, {refused} refused")


if __name__ == "__main__":
    main()
