#!/usr/bin/env python3
"""No file of src/ imports a file that imports it: a type that two files need has a file of its own. And no room imports one above
it, or another modality: docs/code.md has the picture.

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
        # A room's own list of modules imports all of them.
        if name and name != at and (FILES[name].name not in ("mod.rs", "lib.rs") or name[0] != at[:1][0]):
            found.add(name)
    return found


# From the bottom up; `context` and `error` serve all.
LAYERS = [{"cpu", "gpu"}, {"array", "nufft", "phantom", "solve"}, {"ct", "mri", "pet"}, {"ffi"}]


def layer(at):
    return next((k for k, rooms in enumerate(LAYERS) if at[0] in rooms), None)


def upwards(tree):
    for at, found in tree.items():
        for other in found:
            if layer(at) is None or layer(other) is None or at[0] == other[0]:
                continue
            if layer(other) > layer(at) or layer(at) == layer(other) == 2:
                yield at, other


def main():
    tree = {at: imports(at, path) for at, path in FILES.items() if "tests" not in path.stem and at}
    circles = sorted({tuple(sorted((a, b))) for a, found in tree.items() for b in found if a in tree.get(b, ())})
    for a, b in circles:
        print(f"{FILES[a].relative_to(ROOT.parent)} and {FILES[b].relative_to(ROOT.parent)} import each other")
    above = sorted(upwards(tree))
    for a, b in above:
        print(f"{FILES[a].relative_to(ROOT.parent)} imports {FILES[b].relative_to(ROOT.parent)}, which is above or beside it")
    return bool(circles or above)


if __name__ == "__main__":
    sys.exit(main())
