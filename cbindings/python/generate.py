#!/usr/bin/env python3
"""Writes isocenter/_abi.py, the ctypes view of include/isocenter.h: enumerations, structs and functions.

usage: generate.py HEADER > isocenter/_abi.py
       generate.py --names HEADER    what bindings call things after: a line for each enumeration, with its words, and for each struct, with
                                     its fields, which have the name of their enumeration behind a colon
tests/test_abi.py fails when the committed file is not what this makes of the header.
"""
import re
import sys

HEAD = '''"""The C ABI as ctypes sees it. Made from include/isocenter.h by generate.py: do not edit."""
import ctypes as c
from enum import IntEnum

'''

SCALARS = {"uint8_t": "c.c_uint8", "uint16_t": "c.c_uint16", "int32_t": "c.c_int32", "uint32_t": "c.c_uint32",
           "int64_t": "c.c_int64", "uint64_t": "c.c_uint64", "float": "c.c_float", "double": "c.c_double"}


class Header:
    """What the header declares, in its order."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.constants = re.findall(r"^#define (ISOC_\w+) (\d+)$", text, re.M)
        self.enums, self.structs, self.callbacks, self.functions = [], [], [], []
        self.chosen = {}  # the enumeration of (struct, field), by the field's comment
        self.known = dict(SCALARS)
        code = re.sub(r"^#.*$", "", text, flags=re.M)
        pattern = (r"typedef (?P<integer>\w+) (?P<enum>isoc_\w+);\nenum \{\n(?P<members>.*?)\n\};"
                   r"|typedef struct \{\n(?P<fields>.*?)\n\} (?P<struct>isoc_\w+);"
                   r"|typedef (?P<result>\w+) \(\*(?P<callback>isoc_\w+)\)\((?P<parameters>[^)]*)\);"
                   r"|^(?P<returns>(?:const )?\w+ \*?)(?P<function>isoc_\w+)\((?P<arguments>[^)]*)\);")
        for match in re.finditer(pattern, code, re.S | re.M):
            found = match.groupdict()
            if found["enum"]:
                self.known[found["enum"]] = SCALARS[found["integer"]]
                self.enums.append((found["enum"], self.members(found["enum"], found["members"])))
            elif found["struct"]:
                fields = re.findall(r"^\s*([^/\n]+?)(\w+);$", found["fields"], re.M)
                self.structs.append((found["struct"], [(name, self.type(kind)) for kind, name in fields]))
                self.known[found["struct"]] = found["struct"]
                for enum, field in re.findall(r"// (?:[\w, ]+: a|A)n (isoc_\w+)\b.*\n(?:\s*//.*\n)*\s*uint32_t (\w+);", found["fields"]):
                    self.chosen[found["struct"], field] = enum
            elif found["callback"]:
                self.known[found["callback"]] = found["callback"]
                kinds = [self.type(found["result"])] + self.parameters(found["parameters"])
                self.callbacks.append((found["callback"], kinds, len(self.structs)))
            else:
                self.functions.append((found["function"], self.type(found["returns"]), self.parameters(found["arguments"])))

    @staticmethod
    def members(enum, text):
        prefixes = [f"{name.upper()}_" for name in (enum, enum.removesuffix("_kind"))]
        found = []
        for comment, name, value in re.findall(r"((?:^\s*//[^\n]*\n)+)\s*(ISOC_\w+) = (\d+),", text, re.M):
            prefix = next(p for p in prefixes if name.startswith(p))
            words = " ".join(line.strip()[2:].strip() for line in comment.strip().splitlines())
            found.append((name.removeprefix(prefix), value, words))
        return found

    def type(self, text):
        words = text.replace("const", " ").split()
        stars = text.count("*")
        name = words[0].strip("*")
        if not stars:
            return "None" if name == "void" else self.known[name]
        if name == "char":
            return "c.c_char_p"
        # Handles, and arrays whose addresses NumPy knows, are plain addresses.
        return f"c.POINTER({name})" if stars == 1 and self.known.get(name) == name else "c.c_void_p"

    def parameters(self, text):
        text = " ".join(text.split())
        return [] if text == "void" else [self.type(re.sub(r"\w+$", "", p.strip())) for p in text.split(",")]


def camel(enum):
    return "".join(word.capitalize() for word in enum.removeprefix("isoc_").split("_"))


def wrapped(head, items, tail):
    """`head`, items with commas, and `tail`, in lines of at most 120 columns."""
    lines, line = [], head
    for k, item in enumerate(items):
        piece = item + (tail if k + 1 == len(items) else ", ")
        if len(line) + len(piece.rstrip()) > 120:
            lines.append(line.rstrip())
            line = " " * len(head)
        line += piece
    return "\n".join(lines + [line if items else head + tail]) + "\n"


def generate(text):
    header, out = Header(text), HEAD
    for name, value in header.constants:
        out += f"{name} = {value}\n"
    for name, members in header.enums:
        out += f"\n\nclass {camel(name)}(IntEnum):\n    \"\"\"{name}\"\"\"\n\n"
        for member, value, words in members:
            lines, line = [], "    #:"
            for word in words.split():
                if len(line) + 1 + len(word) > 120:
                    lines.append(line)
                    line = "    #:"
                line += " " + word
            out += "\n".join(lines + [line]) + f"\n    {member} = {value}\n"
    callbacks = list(header.callbacks)
    for k in range(len(header.structs) + 1):
        for name, kinds, _ in [b for b in callbacks if b[2] == k]:
            out += "\n\n" + wrapped(f"{name} = c.CFUNCTYPE(", kinds, ")").rstrip("\n") + "\n"
        if k < len(header.structs):
            name, fields = header.structs[k]
            out += f"\n\nclass {name}(c.Structure):\n"
            out += wrapped("    _fields_ = [", [f'("{field}", {kind})' for field, kind in fields], "]")
    out += "\n\n# Result and arguments of each function.\nFUNCTIONS = {\n"
    for name, returns, arguments in header.functions:
        out += wrapped(f'    "{name}": ({returns}, [', arguments, "]),")
    return out + "}\n"


def names(text):
    header = Header(text)
    out = [" ".join(["enum", enum, *(member.lower() for member, _, _ in members)]) for enum, members in header.enums]
    for struct, fields in header.structs:
        marked = [f"{field}:{header.chosen[struct, field]}" if (struct, field) in header.chosen else field for field, _ in fields]
        out.append(" ".join(["struct", struct, *marked]))
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    with open(sys.argv[-1], encoding="utf-8") as file:
        sys.stdout.write((names if sys.argv[1] == "--names" else generate)(file.read()))
