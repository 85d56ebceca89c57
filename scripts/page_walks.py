#!/usr/bin/env python3
"""Holds the walks of a page against the code. Run from the project's root.

usage: page_walks.py PAGE...    PAGE: a Markdown file

A walk is a numbered list of steps, in the order in which data pass them: each a file and its functions in backticks, then words.

    1. `src/ffi/ct/operators.rs` `isoc_ct_reconstruct`, `transform`: tensors become arrays

A method is `Type::name`. Each function has to be in its file, and is called by the function before it or, where that has returned, by the
next one further up that has not: in its body its name occurs as a call or is passed on, and its file knows who is called, by the name of the
type or of the trait that the type implements, or of the file, or has it in a field of that name, or was given it by a function before. So a
walk that leaves out a file on the way fails. A kernel, in a .cu file, is launched by a file that names its image or has its name, and is looked
up by a string of that folder; a walk that goes by a launcher goes by its kernel. What a walk cannot know is a branch that it leaves out whole.
"""

import functools
import pathlib
import re
import sys

ITEM = re.compile(r"^\d+\. `([\w/.]+\.(?:rs|cu))` (`[\w:]+`(?:, `[\w:]+`)*)")
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|r#".*?"#|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', re.S)
BLOCK = re.compile(r"\b(?:impl|trait)\b[^;{}]*\{")
FUNCTION = re.compile(r"\bfn (\w+)")


def blanked(text):
    """The same length, with comments and strings made blank."""
    return TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def end_of(text, start):
    """Where the block that is opened at `start` ends."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def function(text, start):
    """Signature and body of the function whose name ends at `start`; without a body where it is only declared."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        if depth == 0 and text[at] in "{;":
            return text[start:at], text[at:end_of(text, at)] if text[at] == "{" else ""
    return "", ""


def owner(head):
    """Type and trait of `impl<T: X> Trait<T> for Type<T> where T: Y {`; of a trait itself both."""
    head = head.rstrip("{").split(" where ")[0]
    while re.search(r"<[^<>]*>", head):
        head = re.sub(r"<[^<>]*>", "", head)
    words = [re.findall(r"\w+", part)[-1] for part in head.removeprefix("impl").removeprefix("trait").split(":")[0].split(" for ")]
    return words[-1], words[0]


class File:
    def __init__(self, path):
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self.text = blanked(self.source)
        self.words = set(re.findall(r"\w+", self.text))
        self.name = path.parent.name if path.name == "mod.rs" else path.stem
        blocks = [(m.start(), end_of(self.text, m.end() - 1), owner(m.group(0).replace("->", "")))
                  for m in BLOCK.finditer(self.text) if m.group(0).startswith(("impl<", "impl ", "trait "))
                  and self.text[:m.start()].rstrip(" ")[-1:] in ("\n", "", "e", "b", ")")]
        self.functions = {}
        for m in FUNCTION.finditer(self.text):
            at = next((names for start, end, names in blocks if start < m.start() < end), (None, None))
            self.functions.setdefault((at[0], m.group(1)), []).append((at[1], *function(self.text, m.end())))


@functools.cache
def file(path):
    return File(pathlib.Path(path))


def parts(step):
    """File, type or None, and function."""
    kind, _, name = step[1].rpartition("::")
    return file(step[0]), kind or None, name


def is_there(step):
    if step[0].endswith(".cu"):
        return re.search(rf"\b{step[1]}(?:_?##|_\w+[,(]|\s*[,(])", file(step[0]).text)
    of, kind, name = parts(step)
    return (kind, name) in of.functions


def launches(caller, step):
    of, kernel = file(caller[0]), file(step[0])
    knows = of.name == kernel.path.stem or re.search(rf"\bimages::{kernel.path.stem.upper()}\b|{re.escape(step[0])}", of.source)
    _, *own = parts(caller)
    starts = any(re.search(r"\b(?:launch\w*|each)\s*\(", text) for *_, text in of.functions[tuple(own)])
    words = step[1].split("_")
    names = "|".join("_".join(words[:n]) for n in range(len(words), 0, -1))
    beside = [path.read_text(encoding="utf-8") for path in of.path.parent.glob("*.rs")]
    return knows and starts and any(re.search(rf'"(?:{names})[_"{{]', source) for source in beside)


def calls(caller, given, step):
    """`given`: words of what the caller got from functions that it called before."""
    if step[0].endswith(".cu"):
        return launches(caller, step)
    (at, *own), (of, kind, name) = parts(caller), parts(step)
    # A function that is no method is not called on a value, nor by another file's name.
    before = r"(?<!fn )(?<!\w)" if kind else rf"(?<!fn )(?<![\w.])(?<!(?<!{of.name})::)"
    call = re.compile(rf"{before}{name}\s*(?:::<[^;{{}}]*?>)?\s*\(|::{name}\b(?!\s*\()")
    bodies = [text for *_, text in at.functions[tuple(own)] if call.search(text)]
    if not bodies or at is of:
        return bool(bodies)
    if not kind:
        return of.name in at.words
    field = re.compile(rf"\.{re.sub(r'(?<!^)(?=[A-Z])', '_', kind).lower()}\b")
    known = {kind, *(trait for trait, *_ in of.functions[kind, name])}
    return bool(known & (at.words | given)) or any(field.search(text) for text in bodies)


def own_kernel(path):
    """The kernel of a launcher, which has its name."""
    match = re.fullmatch(r"crates/(\w+)/src/gpu/(?:\w+/)*(\w+)\.rs", path)
    return match and next((str(kernel) for room in (match[1], "common") for kernel in pathlib.Path("kernels", room).glob(f"{match[2]}.cu")), None)


def walks(page):
    """Lists of steps: file and function."""
    walk = []
    for line in page.read_text(encoding="utf-8").splitlines():
        item = ITEM.match(line)
        if item:
            walk += [(item.group(1), name) for name in re.findall(r"[\w:]+", item.group(2))]
        elif walk and not line.startswith(" "):
            yield walk
            walk = []
    if walk:
        yield walk


def faults(page):
    found = list(walks(page))
    if not found:
        yield f"{page}: has no walks"
    for walk in found:
        under_way = []
        for kernel in sorted({own_kernel(path) for path, _ in walk} - {None} - {path for path, _ in walk}):
            yield f"{page}: a walk goes by a launcher of {kernel} and leaves the kernel out"
        for step in walk:
            where = f"{page}: {step[0]} {step[1]}"
            if not pathlib.Path(step[0]).is_file():
                yield f"{where}: there is no such file"
                break
            if not is_there(step):
                yield f"{where}: the file does not define it"
                break
            last = under_way[-1:]
            while under_way and not calls(*under_way[-1], step):
                under_way.pop()
            if last and not under_way:
                (path, name), _ = last[0]
                yield f"{where}: neither {path} {name} calls it nor what called that"
                break
            if not step[0].endswith(".cu"):
                of, *own = parts(step)
                if under_way:
                    under_way[-1][1].update(word for _, head, _ in of.functions[tuple(own)] for word in re.findall(r"\w+", head))
                under_way.append((step, set()))


def main():
    pages = [pathlib.Path(name) for name in sys.argv[1:]]
    found = [fault for page in pages for fault in faults(page)]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return bool(found) or not pages


if __name__ == "__main__":
    sys.exit(main())
