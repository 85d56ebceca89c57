#!/usr/bin/env python3
"""Writes the C or C++ of a page as one program: its blocks go on from each other, within main. Includes, and blocks of C that begin with
one or with `static`, stay outside of main. A block with a main of its own must be an example file, word for word.

usage: page_code.py PAGE.md EXAMPLES OUTPUT.c|OUTPUT.cpp
"""
import re
import sys
from pathlib import Path


def main():
    page, examples, output = map(Path, sys.argv[1:4])
    language = output.suffix[1:]
    outside, body = [], []
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.S | re.M)
    if not blocks:
        sys.exit(f"{page}: no code in {language}")
    for block in blocks:
        if "int main(" in block:
            if all(block != example.read_text() for example in examples.glob(f"*.{language}")):
                sys.exit(f"{page}: this program is none of {examples}:\n{block}")
        elif language == "c" and re.match("#include|static ", block):
            outside.append(block)
        else:
            lines = block.splitlines(keepends=True)
            outside += [line for line in lines if line.startswith("#include")]
            body += [line for line in lines if not line.startswith("#include")]
    output.write_text("".join([*outside, "int main(void) {\n", *body, "return 0;\n}\n"]))


main()
