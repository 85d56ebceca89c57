#!/usr/bin/env python3
"""No file of src/ imports a file that imports it: a type that two files need has a file of its own.

Paths are read from the text, comments left out; a path counts for the deepest file that it names. Modules' own lists (`mod x;`) and
tests inside a file do not count."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"


def module(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


FILES = {module(path): path for path in ROOT.rglob("*.rs")}


def paths(text):
    """Paths that begin with crate, super or self, groups in braces expanded."""
    for start in re.finditer(r"\b(?:crate|super|self)(?:::\w+)*(::\{)?", text):
        head = start.group(0).removesuffix("::{")
        if not start.group(1):
            yield head.split("::")
            continue
        depth, end = 1, start.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        level, item = 0, ""
        for c in text[start.end():end - 1] + ",":
            level += {"{": 1, "}": -1}.get(c, 0)
            if c == "," and not level:
                first = re.match(r"\s*([\w:]+)", item)
                if first:
                    yield (head + "::" + first.group(1).rstrip(":")).split("::")
                item = ""
            else:
                item += c


def imports(at, path):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    text = re.sub(r"#\[cfg\(test\)\]\s*(?:#\[path[^\]]*\]\s*)?mod \w+\s*(?:;|\{.*)", "", text, flags=re.S)
    found = set()
    for parts in paths(text):
        base = list(at)
        if parts[0] == "crate":
            base = []
        while parts and parts[0] in ("crate", "super", "self"):
            if parts[0] == "super":
                base = base[:-1]
            parts = parts[1:]
        name = (*base, *parts)
        while name and name not in FILES:
            name = name[:-1]
        if name and name != at and FILES[name].name not in ("mod.rs", "lib.rs"):
            found.add(name)
    return found


def main():
    tree = {at: imports(at, path) for at, path in FILES.items() if "tests" not in path.stem}
    circles = sorted({tuple(sorted((a, b))) for a, found in tree.items() for b in found if a in tree.get(b, ())})
    for a, b in circles:
        print(f"{FILES[a].relative_to(ROOT.parent)} and {FILES[b].relative_to(ROOT.parent)} import each other")
    return bool(circles)


if __name__ == "__main__":
    sys.exit(main())
