#!/usr/bin/env python3
"""Writes the C++ of a page as one program: its blocks go on from each other, within main. A block with a main of its own must be an
example file, word for word.

usage: page_code.py PAGE.md EXAMPLES OUTPUT.cpp
"""
import re
import sys
from pathlib import Path


def main():
    page, examples, output = map(Path, sys.argv[1:4])
    includes, body = [], []
    for block in re.findall(r"^```cpp\n(.*?)^```$", page.read_text(), re.S | re.M):
        if "int main(" in block:
            if all(block != example.read_text() for example in examples.glob("*.cpp")):
                sys.exit(f"{page}: this program is none of {examples}:\n{block}")
            continue
        lines = block.splitlines()
        includes += [line for line in lines if line.startswith("#include")]
        body += [line for line in lines if not line.startswith("#include")]
    output.write_text("\n".join(includes + ["int main() {"] + body + ["}", ""]))


main()
