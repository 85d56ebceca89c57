#!/usr/bin/env python3
"""Runs the parts of `make test-release`, each `make release-PART`. A part that has passed is noted in target/release-run with its commit, and not
run again at that commit: an interrupted run goes on where it was. Nor is it where only scripts that other parts run have changed since, so that a mended script does not
cost the hours of all others. When all have passed, benches/results/test-release.tsv says so, with each part's commit. What runs while files differ from the commit is
not noted.

usage: release.py run ALL [SOME]    names of parts in one word each, with spaces between them: all that there are, and those to run now
       release.py age               how old the last whole run is, and what has changed since
"""
import datetime
import os
import subprocess
import sys
import time
from pathlib import Path

from phases import ROOT, clock, hardware, table

NOTES = ROOT / "target/release-run"
WHOLE = ROOT / "benches/results/test-release.tsv"
# Files that no part but these runs or looks at, beside `lint`.
OF_PARTS = {
    "scripts/release.py": (),
    "scripts/test_aarch64.sh": ("aarch64",),
    "scripts/test_packages.sh": ("packages",),
    "scripts/test_windows.sh": ("windows",),
    "scripts/gpu_bundle.sh": ("bundle",),
    "scripts/fuzz.sh": ("fuzz",),
    "kernels/expected.txt": ("kernels",),
    "CHANGELOG.md": ("consumer",),
    "CONTRIBUTING.md": ("consumer",),
}
# What the runs themselves write.
OWN = {"benches/results/test-release.tsv", "benches/results/phases.tsv"}


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout if done.returncode == 0 else None


def changed():
    """Files that differ from the commit, or are not in it."""
    return sorted({line[3:] for line in (git("status", "--porcelain", "--untracked-files=all") or "").splitlines()} - OWN)


def commit():
    """What is checked out; nothing where files differ from it."""
    return None if changed() else (git("rev-parse", "HEAD") or "").strip() or None


def holds(part, before, at):
    """Whether what passed at a commit before would pass at this one, by what has changed."""
    if before == at:
        return True
    names = git("diff", "--name-only", before, at) if git("merge-base", "--is-ancestor", before, at) is not None else None
    if names is None:
        return False
    changed = [name for name in names.splitlines() if name not in OWN]
    return all(name in OF_PARTS and part != "lint" and part not in OF_PARTS[name] for name in changed)


def passed(part, at):
    """(commit, seconds, day) of a part that has passed at a commit, or at one before that does not differ in what the part looks at."""
    note = NOTES / part
    if not at or not note.is_file():
        return None
    before, seconds, day = note.read_text().split("\t")
    return (before, int(seconds), day.strip()) if holds(part, before, at) else None


def run_part(part):
    """Whether it passes; what it says goes to the terminal and into a file."""
    environment = {key: value for key, value in os.environ.items() if key != "ISOC_CUDA_ARCHS"}
    environment |= {"CI": "true", "ISOC_TEST_RELEASE": "1"}
    words = [os.environ.get("MAKE", "make"), "--no-print-directory", f"release-{part}"]
    with open(NOTES / f"{part}.log", "w") as log:
        running = subprocess.Popen(words, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in running.stdout:
            print(line, end="", flush=True)
            log.write(line)
    return running.wait() == 0


def run(parts, some):
    unknown = set(some) - set(parts)
    if unknown:
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are: {' '.join(parts)}")
    NOTES.mkdir(parents=True, exist_ok=True)
    at, states = commit(), {}
    if not at:
        print(f"what passes now is not noted: these files differ from the commit: {', '.join(changed()[:5])}")
    for part in some or parts:
        if passed(part, at):
            continue
        print(f"=== {part} begins", flush=True)
        begun = time.monotonic()
        good = run_part(part)
        seconds = round(time.monotonic() - begun)
        states[part] = ("passed" if good else f"FAILED: {NOTES.relative_to(ROOT)}/{part}.log", seconds)
        print(f"=== {part}: {states[part][0]}, {clock(seconds)}", flush=True)
        if good and at and commit() == at:
            (NOTES / part).write_text(f"{at}\t{seconds}\t{datetime.date.today()}\n")
        elif good:
            states[part] = ("passed, not noted", seconds)
    rows = [("part", "time", "")]
    for part in parts:
        found = passed(part, at)
        state, seconds = states.get(part, (f"passed on {found[2]}", found[1]) if found else ("to do", 0))
        rows.append((part, clock(seconds) if seconds else "-", state))
    print()
    table(rows)
    if at and all(passed(part, at) for part in parts):
        machine = hardware()
        lines = ["day\tcommit\thardware\tpart\tseconds"]
        lines += [f"{day}\t{before}\t{machine}\t{part}\t{seconds}" for part in parts for before, seconds, day in [passed(part, at)]]
        WHOLE.write_text("\n".join(lines) + "\n")
        print(f"all of it has passed at {at[:12]}: {WHOLE.relative_to(ROOT)} says so")
    return any("FAILED" in state for state, _ in states.values())


def age():
    lines = WHOLE.read_text().splitlines()[1:] if WHOLE.exists() else []
    if not lines:
        print("make test-release has never run whole")
        return
    day, at = max(line.split("\t")[0] for line in lines), lines[-1].split("\t")[1]
    days = (datetime.date.today() - datetime.date.fromisoformat(day)).days
    said = f"make test-release ran whole on {day}, {'today' if days == 0 else f'{days} days ago' if days > 1 else 'yesterday'}, at {at[:12]}"
    if git("cat-file", "-e", at + "^{commit}") is None:
        print(f"{said}; that commit is not in this history{', which is shallow' if (git('rev-parse', '--is-shallow-repository') or '').strip() == 'true' else ''}: "
              "what has changed since is not known")
        return
    names = (git("diff", "--name-only", at, "HEAD") or "").splitlines()
    rooms = sorted({"/".join(name.split("/")[:2]) if name.startswith("crates/") else name.split("/")[0] for name in names if not name.startswith("benches/results/")})
    count = int(git("rev-list", "--count", f"{at}..HEAD") or 0)
    since = f"{count} {'commit' if count == 1 else 'commits'} since"
    print(f"{said}; {since}, {'which changed ' + ', '.join(rooms) if rooms else 'which changed nothing that it looks at'}")


def main():
    words = sys.argv[1:]
    if words == ["age"]:
        return age()
    if words[:1] == ["run"] and len(words) in (2, 3):
        return run(words[1].split(), " ".join(words[2:]).split())
    sys.exit(__doc__)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
