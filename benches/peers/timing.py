"""Cases timed in turns on a machine that may be busy, and tables of them. Progress goes to stderr."""
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

import numpy as np


class Runs:
    """Wall and processor seconds of one case, gathered over the rounds."""

    def __init__(self, name, call, rounds):
        self.name, self.call, self.rounds = name, call, rounds
        self.wall, self.cpu = [], []

    def once(self, settle=lambda: None):
        """settle: waits for work that was only begun."""
        settle()
        wall, cpu = time.perf_counter(), time.process_time()
        self.call()
        settle()
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    @property
    def seconds(self):
        return statistics.median(self.wall)

    @property
    def cpu_seconds(self):
        """Near the same on a busy machine."""
        return statistics.median(self.cpu)

    @property
    def cores(self):
        return sum(self.cpu) / sum(self.wall)

    @property
    def spread(self):
        return (max(self.wall) - min(self.wall)) / self.seconds

    def summary(self):
        return f"{self.seconds * 1e3:.3f} ms, {self.cores:.2f} cores"


class Load:
    """Processors that others kept busy since it was made, from the machine's own books."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        try:
            fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        except OSError:
            return None
        user, nice, system, _idle, _wait, irq, softirq, steal = (int(f) / os.sysconf("SC_CLK_TCK") for f in fields)
        return np.array([time.perf_counter(), user + nice + system + irq + softirq + steal - time.process_time()])

    def remark(self):
        if self.start is None:
            return "What other processes did meanwhile is not known."
        wall, busy = self.now() - self.start
        cores = max(0.0, busy / wall)
        advice = " **That is too much: run this again on a quiet machine.**" if cores > 0.1 else ""
        return f"Other processes kept {cores:.2f} cores busy meanwhile.{advice}"


def in_turns(cases, settle=lambda: None):
    """A B C A B C ...: whatever else the machine does meanwhile falls on all."""
    for case in cases:
        if case.rounds > 2:
            case.call()
    for k in range(max((case.rounds for case in cases), default=0)):
        for case in cases:
            if k < case.rounds:
                case.once(settle)
    for case in cases:
        print(f"  {case.name}: {case.summary()}", file=sys.stderr, flush=True)
    return cases


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def processor():
    """(model, file name part, facts)."""
    try:
        lscpu = subprocess.run(["lscpu"], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        facts = dict(re.findall(r"^\s*([^:\n]+):\s+(.+)$", lscpu.stdout, re.M))
    except (OSError, subprocess.CalledProcessError):
        facts = {}
    model = facts.get("Model name", platform.processor() or platform.machine())
    numbers = [facts.get("CPU family"), facts.get("Model")]
    slug = re.sub(r"\((r|tm)\)|\bcpu\b|@.*", " ", model.lower())
    slug = "-".join(re.findall(r"[a-z0-9]+", slug) + [n for n in numbers if n])
    about = f"{model}, family {numbers[0]}, model {numbers[1]}" if all(numbers) else model
    caches = ", ".join(f"{level} {facts[f'{level} cache']}" for level in ("L1d", "L2", "L3") if f"{level} cache" in facts)
    return about, slug, caches or "caches unknown"
