#!/usr/bin/env python3
"""Makes Jupyter notebooks of the examples, at the cells that `# %%` begins: notebooks.py FOLDER."""
import json
import re
import sys
from pathlib import Path


def cell(text):
    kind, _, body = text.partition("\n")
    lines = body.strip("\n").splitlines(keepends=True)
    if "[markdown]" in kind:
        return {"cell_type": "markdown", "metadata": {}, "source": [re.sub("^# ?", "", line) for line in lines]}
    return {"cell_type": "code", "metadata": {}, "source": lines, "outputs": [], "execution_count": None}


def notebook(text):
    return {"cells": [cell(part) for part in re.split(r"^# %%", text, flags=re.M)[1:]], "nbformat": 4, "nbformat_minor": 4,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("ct", "iterative", "mri", "pet", "raw"):
        source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook(source), indent=1) + "\n", encoding="utf-8")
