#!/usr/bin/env python3
"""Checks that files and names of the C interface are there which pages put in backticks. Run from the project's root.

usage: page_names.py PAGE...    PAGE: a Markdown file
"""

import pathlib
import re
import sys

from page_links import prose

CODE = re.compile(r"`([^`\n]+)`")
# Of the project; a star stands for anything.
PATH = re.compile(r"(?:benches|cbindings|crates|docs|fuzz|include|kernels|packaging|program|scripts|src|tests)/[\w./*-]*")
# A function, type or constant, and its field.
NAME = re.compile(r"(?:isoc|ISOC)_[A-Za-z0-9_]+(?:\.\w+)?")
HEADER = pathlib.Path("include/isocenter.h")


def missing(page):
    words = set(re.findall(r"\w+", HEADER.read_text(encoding="utf-8")))
    for code in CODE.findall(prose(page)):
        if PATH.fullmatch(code) and not any(pathlib.Path().glob(code.rstrip("/"))):
            yield f"{page}: names {code}, which is not there"
        elif NAME.fullmatch(code) and not words.issuperset(code.split(".")):
            yield f"{page}: names {code}, which {HEADER} does not have"


def main():
    pages = [pathlib.Path(name) for name in sys.argv[1:]]
    faults = [fault for page in pages for fault in missing(page)]
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return bool(faults) or not pages


if __name__ == "__main__":
    sys.exit(main())
