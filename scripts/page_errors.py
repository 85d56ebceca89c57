#!/usr/bin/env python3
"""Writes the examples of docs/errors.md as one C program that makes each fail, and compares status, phrase and message with the page's.
Every status of the header must have a section. Messages without an example must be the sources', word for word.

usage: page_errors.py ERRORS.md isocenter.h OUTPUT.c
"""
import re
import sys
from pathlib import Path

# What no program can bring about on every machine.
UNPROVOKED = {"DRIVER_TOO_OLD", "NO_KERNEL_IMAGE", "CUDA", "INTERNAL"}

PROGRAM = r"""#include <isocenter.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char message[1000];
static int failures;

/* Whether the text is the pattern, in which "..." stands for anything. */
static int fits(const char *text, const char *pattern) {
    const char *gap = strstr(pattern, "...");
    if (!gap) return strcmp(text, pattern) == 0;
    if (strncmp(text, pattern, (size_t)(gap - pattern)) != 0) return 0;
    for (text += gap - pattern; !fits(text, gap + 3); text++)
        if (!*text) return 0;
    return 1;
}

static void compare(const char *name, isoc_status expected, const char *phrase, isoc_status status, const char *pattern) {
    const char *words = status ? message : "";
    if (status == expected && fits(words, pattern) && strcmp(isoc_status_string(expected), phrase) == 0) return;
    failures++;
    fprintf(stderr, "docs/errors.md, %s: got %d, %s: %s\n", name, status, isoc_status_string(expected), words);
}
"""

CASE = """
static isoc_status {name}(void) {{
{setup}{body}(void)p, (void)v;
snprintf(message, sizeof message, "%s", isoc_last_error());
isoc_ct_destroy(ct);
isoc_context_destroy(ctx);
return status;
}}
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    page, header, output = map(Path, sys.argv[1:4])
    text = page.read_text()
    statuses = {name: int(value) for name, value in re.findall(r"ISOC_STATUS_(\w+) = (\d+),", header.read_text())}
    del statuses["OK"]
    sections = re.split(r"^## ISOC_STATUS_", text, flags=re.M)
    [setup] = re.findall(r"^```c\n(.*?)^```$", sections[0], re.S | re.M)
    sources = "".join(source.read_text() for room in ("crates", "src") for source in (page.parent.parent / room).rglob("*.rs"))
    cases, calls, seen = [], [], set()
    for section in sections[1:]:
        name, value, phrase = re.match(r"(\w+) \((\d+)\): (.*)\n", section).groups()
        if statuses.get(name) != int(value) or name in seen:
            sys.exit(f"{page}: the header has no {name} = {value}, or the page has it twice")
        seen.add(name)
        blocks = re.findall(r"^```c\n(.*?)^```$", section, re.S | re.M)
        [message] = re.findall(r"^```text\n(.*)\n```$", section, re.M)
        if name in UNPROVOKED:
            missing = [words for words in message.split("...") if words.strip(" ();,") and words not in sources]
            if blocks or missing:
                sys.exit(f"{page}: {name}: not in the sources: {missing}")
            calls.append(f'compare("{name}", ISOC_STATUS_{name}, {quoted(phrase)}, ISOC_STATUS_{name}, "...");')
            continue
        cases += [block for block in blocks if block.startswith("static ")]
        body = "".join(block for block in blocks if not block.startswith("static "))
        cases.append(CASE.format(name=name.lower(), setup=setup, body=body))
        calls.append(f'compare("{name}", ISOC_STATUS_{name}, {quoted(phrase)}, {name.lower()}(), {quoted(message)});')
    if seen != set(statuses):
        sys.exit(f"{page}: no section for {sorted(set(statuses) - seen)}")
    end = [f'if (!failures) puts("docs/errors.md: {len(seen)} statuses as the page says");', "return failures != 0;"]
    output.write_text("\n".join([PROGRAM, *cases, "int main(void) {", *calls, *end, "}", ""]))


main()
