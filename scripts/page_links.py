#!/usr/bin/env python3
"""Checks that the files and headings that pages link to are there.

usage: page_links.py PAGE...    PAGE: a Markdown file
"""

import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def prose(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """The names that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def broken(page):
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{page}: links to {link}, which is not there"
        elif anchor and anchor not in anchors(target):
            yield f"{page}: links to {link}; {target.name} has no such heading"


def main():
    pages = [pathlib.Path(name) for name in sys.argv[1:]]
    faults = [fault for page in pages for fault in broken(page)]
    print(*faults, sep="\n", end="\n" if faults else "", file=sys.stderr)
    return bool(faults) or not pages


if __name__ == "__main__":
    sys.exit(main())
