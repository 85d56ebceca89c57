#!/usr/bin/env python3
"""Finds files that import each other, in circles of any length, within each crate.

A type that two files share has a file of its own, so that a reader can begin with the files that import nothing and go up from there.
Between crates there is nothing to look for: cargo refuses circles of crates, and a crate can name only those that its Cargo.toml lists, so
that the layers, and modalities that do not know each other, are kept by the compiler.

Paths are read from the text: `use` declarations and paths in code, comments left out. A path counts for the file that defines what it
names: `super::Y`, where the module above has `use x::Y`, counts for x. A module's list of what is in it (`mod x;`, `pub use x::Y`) is no
import, and tests do not count.

usage: imports.py [SOURCES...]    folders with a lib.rs; by default src/ and crates/*/src/
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[path = \"([^\"]*)\"\]\s*)?(?:pub(?:\([^)]*\))? )?mod (\w+);")
TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.S)
VISIBILITY = re.compile(r"\bpub\([^)]*\)")
DECLARED = re.compile(r"\bmod (\w+);")
USE = re.compile(r"\b(pub(?:\([^)]*\))? )?use ([^;]+);")
MACRO = re.compile(r"#\[macro_export\]\s*macro_rules! (\w+)")
IN_CODE = re.compile(r"(?<![\w:])(\w+(?:::\w+)+)")


def leaves(tree, head=()):
    """The paths of a `use` declaration with the names that they get: `a::{b, c as d}` is (a, b) as b and (a, c) as d."""
    depth, item = 0, ""
    for c in tree + ",":
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c != "," or depth:
            item += c
            continue
        item = item.strip()
        if item.endswith("}"):
            path, inner = item[:-1].split("{", 1)
            yield from leaves(inner, (*head, *path.strip().removesuffix("::").split("::")))
        elif item:
            path, _, name = (part.strip() for part in item.partition(" as "))
            parts = (*head, *path.split("::"))
            if parts[-1] == "self":
                parts = parts[:-1]
            yield parts, name or parts[-1]
        item = ""


class File:
    def __init__(self, path, at):
        self.path, self.at = path, at
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        # Where files of tests lie: beside this one, or where `mod` looks for them.
        beside, below = (at, at) if path.name in ("mod.rs", "lib.rs") else (at[:-1], at)
        self.tests = [(*beside, pathlib.Path(named).stem) if named else (*below, name) for named, name in TEST_FILE.findall(text)]
        self.macros = set(MACRO.findall(text))
        text = VISIBILITY.sub("pub", TEST_MODULE.sub("", TEST_FILE.sub("", text)))
        self.children = set(DECLARED.findall(text))
        uses = [(bool(public), *leaf) for public, tree in USE.findall(text) for leaf in leaves(tree)]
        # What is defined elsewhere, by the name that it has here.
        self.named = {name: parts for _, parts, name in uses}
        self.paths = [parts for public, parts, _ in uses if not (public and set(parts[:2]) & self.children)]
        self.paths += [tuple(path.split("::")) for path in IN_CODE.findall(USE.sub("", text))]


class Crate:
    def __init__(self, source):
        self.files = {}
        for path in source.rglob("*.rs"):
            at = path.relative_to(source).with_suffix("").parts
            at = at[:-1] if at[-1] in ("mod", "lib") else at
            self.files[at] = File(path, at)
        for test in [at for file in self.files.values() for at in file.tests]:
            self.files = {at: file for at, file in self.files.items() if at[: len(test)] != test}
        # Exported macros are named as if the crate's root had them.
        self.macros = {name: at for at, file in self.files.items() for name in file.macros}

    def start(self, file, parts):
        """The module where a path begins, and the rest of it; None where it leaves the crate or begins with a name of no file."""
        base, first = file.at, parts[0]
        if first in file.children:
            return base, parts
        if first == "crate":
            return (), parts[1:]
        if first in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                base, parts = base[: -1 if parts[0] == "super" else None], parts[1:]
            return base, parts
        named = file.named.get(first, (first,))
        return self.start(file, (*named, *parts[1:])) if named[0] in ("crate", "self", "super") else None

    def defines(self, base, parts):
        """The file that defines what `parts` of module `base` names; None of a folder, whose files are named by what is used of it."""
        while True:
            while parts and (*base, parts[0]) in self.files:
                base, parts = (*base, parts[0]), parts[1:]
            if not parts and base in self.files and self.files[base].path.name == "mod.rs":
                return None
            if base == () and parts and parts[0] in self.macros:
                return self.macros[parts[0]]
            file = self.files.get(base)
            if file is None:
                return None
            named = file.named.get(parts[0]) if parts else None
            start = named and self.start(file, named)
            if not start or (start[0] == base and start[1][:1] == parts[:1]):
                return base
            base, parts = start[0], (*start[1], *parts[1:])

    def imports(self, file):
        """Files that `file` imports, each with the paths that name it."""
        found = {}
        for parts in file.paths:
            start = self.start(file, parts)
            at = start and self.defines(*start)
            if at is not None and at != file.at:
                found.setdefault(at, set()).add("::".join(parts))
        return found


def circles(tree):
    """Strongly connected components of more than one node, by Tarjan's algorithm (SIAM J. Comput. 1, 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in tree[node]:
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in tree:
        if node not in number:
            visit(node)
    return sorted(found)


def main():
    sources = [pathlib.Path(name) for name in sys.argv[1:]] or [ROOT / "src", *sorted(ROOT.glob("crates/*/src"))]
    sys.setrecursionlimit(10000)
    faults = 0
    for source in sources:
        crate = Crate(source)
        tree = {at: crate.imports(file) for at, file in crate.files.items()}
        for circle in circles(tree):
            faults += 1
            print(f"{len(circle)} files of {source} import each other in a circle:")
            for at in circle:
                for other in sorted(set(tree[at]) & set(circle)):
                    names = ", ".join(sorted(tree[at][other]))
                    print(f"  {crate.files[at].path.relative_to(source)} imports {crate.files[other].path.relative_to(source)}: {names}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
