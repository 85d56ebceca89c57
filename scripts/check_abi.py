#!/usr/bin/env python3
"""Compares the library and its C header with the ABI that programs were built against, which tests/abi.txt lists.

Adding is fine: functions, constants, types, fields at the end of structs that begin with struct_size. Changing and removing fail.

usage: check_abi.py LIBRARY HEADER [--bless]    --bless: write the list anew
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LIST = Path("tests/abi.txt")


def words(text):
    """A declaration in one line, with one space between words and none beside brackets."""
    return re.sub(r"\s*([(),*])\s*", r"\1", " ".join(text.split()))


def signature(text):
    """A function or a type of functions, without the names of its parameters, which are nobody's business."""
    before, parameters, after = re.fullmatch(r"(.*)\((.*)\)(.*)", words(text)).groups()
    return before + "(" + ",".join(re.sub(r"(?<=[ *])\w+$", "", p).strip() for p in parameters.split(",")) + ")" + after


def parse(header):
    """Constants, structs with their fields' types, and declarations whose words are the ABI."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"//.*", "", text)
    constants, declarations = re.findall(r"^\s+(ISOC_\w+) = ", text, re.M), []
    for name, value in re.findall(r"^#define (ISOC_\w+) (.+)$", text, re.M):
        if value.startswith("{"):
            declarations.append(f"initialiser {name} {value.strip()}")
        else:
            constants.append(name)
    structs = {}
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, re.S):
        structs[name] = [(words(line.rsplit(field, 1)[0]), field) for line, field in re.findall(r"^\s*(.*?\b(\w+);)", body, re.M)]
    for line in re.findall(r"^typedef (?!struct \{)[^;{]*;", text, re.M):
        line = line.removeprefix("typedef")
        declarations.append("type " + (signature(line) if "(" in line else words(line)))
    for line in re.findall(r"^(?!typedef)[a-z][^;{}#]*\bisoc_\w+\([^;]*\);", text, re.M):
        declarations.append("function " + signature(line))
    return constants, structs, declarations


def measure(header_path, constants, structs):
    """What a C compiler makes of the header: values, sizes and offsets."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{Path(header_path).resolve()}"', "int main(void) {"]
    lines += [f'    printf("constant {name} %lld\\n", (long long){name});' for name in constants]
    for name, fields in structs.items():
        growing = fields[0][1] == "struct_size"
        lines.append(f'    printf("{"growing" if growing else "struct"} {name} %zu\\n", sizeof({name}));')
        for kind, field in fields:
            lines.append(f'    printf("field {name}.{field} {kind} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    lines += ["    return 0;", "}", ""]
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work, "abi.c"), Path(work, "abi")
        source.write_text("\n".join(lines))
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", source, "-o", program], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def symbols(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return ["symbol " + line.split()[-1] for line in out.splitlines()]


def breaks(old, new):
    """What a program built against the old list would stumble over in the new one."""
    new_lines = set(new)
    sizes = {line.split()[1]: int(line.split()[2]) for line in new if line.startswith("growing ")}
    old_sizes = {line.split()[1]: int(line.split()[2]) for line in old if line.startswith(("growing ", "struct "))}
    old_growing = {line.split()[1] for line in old if line.startswith("growing ")}
    old_fields = {line.split()[1] for line in old if line.startswith("field ")}
    for line in old:
        kind, name = line.split()[:2]
        if line not in new_lines and not (kind == "growing" and sizes.get(name, 0) >= old_sizes[name]):
            yield f"changed or removed: {line}"
    for line in new:
        if line.startswith("field ") and line.split()[1] not in old_fields:
            struct, offset = line.split()[1].split(".")[0], int(line.split()[-2])
            if struct in old_sizes and struct not in old_growing:
                yield f"added to a struct without struct_size: {line}"
            elif struct in old_sizes and offset < old_sizes[struct]:
                yield f"added within what struct_size counted already: {line}"


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--bless"]):
        sys.exit(__doc__)
    library, header = sys.argv[1:3]
    constants, structs, declarations = parse(Path(header).read_text())
    new = sorted(declarations + symbols(library)) + measure(header, constants, structs)
    if sys.argv[3:]:
        LIST.write_text("\n".join(new) + "\n")
        print(f"ABI: {len(new)} lines written to {LIST}")
        return
    old = LIST.read_text().splitlines()
    found = list(breaks(old, new))
    if found:
        sys.exit("\n".join(found) + "\nThe ABI changed. If that is meant: a new soname, and `scripts/check_abi.py LIBRARY HEADER --bless`.")
    print(f"ABI: {len(old)} facts hold, {len(set(new) - set(old))} are new")


main()
