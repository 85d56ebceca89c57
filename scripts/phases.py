#!/usr/bin/env python3
"""Prints how long each phase of the last `make test` took, beside what benches/results/phases.tsv says that it took, and names those that failed
or took twice as long.

usage: phases.py [--keep]    --keep: writes that file anew from the last run, which must have passed
"""
import datetime
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "target/phases.tsv"
KEPT = ROOT / "benches/results/phases.tsv"
# Of a phase of a second or two, twice the time is chance.
LEAST = 10


def hardware():
    """The machine in a few words."""
    cpu = Path("/proc/cpuinfo")
    text = cpu.read_text() if cpu.exists() else ""
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    words = re.sub(r"\((?:R|TM)\)|\b(?:CPU|Processor|\d+-Core)\b|@.*", "", model[1]) if model else os.uname().machine
    virtual = " VM" if re.search(r"^flags\s*:.*\bhypervisor\b", text, re.M) else ""
    return f"{len(os.sched_getaffinity(0))}-core {' '.join(words.split())}{virtual}"


def table(rows):
    """Columns of text, the first to the left, the others to the right, and after them a remark."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    for first, *others, remark in rows:
        cells = [first.ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        print("  ".join([*cells, remark]).rstrip())


def clock(seconds):
    return f"{seconds // 60}:{seconds % 60:02}"


def of_run():
    """(name, seconds, processors' seconds, status) of each phase in the order in which they began, and of the whole, which is named as the run."""
    if not RUN.exists():
        return []
    lines = [line.split("\t") for line in RUN.read_text().splitlines()]
    phases = sorted(((name, *map(int, figures)) for name, *figures in lines), key=lambda phase: phase[1])
    if not phases:
        return []
    whole = max(begun + seconds for _, begun, seconds, *_ in phases) - phases[0][1]
    failed = max(abs(status) for *_, status in phases)
    found = [(name, seconds, processor, status) for name, _, seconds, processor, status in phases]
    return [*found, (os.environ.get("ISOC_RUN", "make test"), whole, sum(phase[2] for phase in found), failed)]


def of_file():
    """{name: (seconds, day, hardware)}"""
    lines = KEPT.read_text().splitlines()[1:] if KEPT.exists() else []
    return {name: (int(seconds), day, machine) for name, seconds, day, machine in (line.split("\t") for line in lines)}


def report():
    kept, machine, phases = of_file(), hardware(), of_run()
    if not phases:
        print("no phase has run")
        return
    rows, slow, failed = [("phase", "wall", "processor", "kept", "")], [], []
    for name, seconds, processor, status in phases:
        before = kept.get(name)
        remarks = []
        if status:
            remarks.append("FAILED")
            failed.append(name)
        if before and seconds >= max(2 * before[0], LEAST):
            remarks.append("TWICE ITS TIME OR MORE")
            slow.append(f"{name} took {clock(seconds)}, and {clock(before[0])} on {before[1]}")
        if before and before[2] != machine:
            remarks.append(f"kept on {before[2]}")
        rows.append((name, clock(seconds), clock(processor), clock(before[0]) if before else "-", ", ".join(remarks)))
    print()
    table(rows)
    print(f"on {machine}; phases run beside each other")
    for line in slow:
        print(f"slower: {line}")
    if failed:
        print(f"FAILED: {', '.join(failed[:-1] or failed)}; what it said is in target/phases")


def keep():
    phases = of_run()
    if not phases or phases[-1][3]:
        sys.exit("the last run did not pass, or there was none: its times are not kept")
    day, machine = datetime.date.today().isoformat(), hardware()
    lines = ["phase\tseconds\tday\thardware"]
    lines += [f"{name}\t{seconds}\t{day}\t{machine}" for name, seconds, _, _ in phases]
    KEPT.write_text("\n".join(lines) + "\n")
    print(f"{len(phases)} times kept in {KEPT.relative_to(ROOT)}")


def main():
    if sys.argv[1:] not in ([], ["--keep"]):
        sys.exit(__doc__)
    keep() if sys.argv[1:] else report()


if __name__ == "__main__":
    main()
