"""The code of docs/python.md, docs/porting.md, docs/iterative.md, docs/coils.md, docs/series.md, docs/list-mode.md, docs/bart.md and docs/raw.md runs, block after block."""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import isocenter
from test_raw import ismrmrd

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


class Docs(unittest.TestCase):
    def test_code_runs(self):
        folder = tempfile.TemporaryDirectory()  # for the files that pages write
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        for page, least, made in ((PAGE, 7, "ct"), (PAGE.with_name("porting.md"), 1, "ct"), (PAGE.with_name("iterative.md"), 1, "ct"),
                                  (PAGE.with_name("coils.md"), 1, "maps"), (PAGE.with_name("series.md"), 3, "series"),
                                  (PAGE.with_name("list-mode.md"), 9, "becquerel"), (PAGE.with_name("bart.md"), 1, "found"),
                                  *([(PAGE.with_name("raw.md"), 3, "made")] if ismrmrd else [])):
            blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
            self.assertGreaterEqual(len(blocks), least)
            scope = {}
            for block in blocks:
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(block, str(page), "exec"), scope)
                except ModuleNotFoundError as e:
                    self.assertEqual(e.name, "torch")
            self.assertIn(made, scope)

    def test_three_commands_to_a_picture(self):
        commands = re.search(r"^Three commands.*?\n\n((?:    .*\n)+)", PAGE.read_text(encoding="utf-8"), re.M).group(1).splitlines()
        self.assertEqual(len(commands), 3)
        self.assertEqual(commands[0].split()[:2], ["make", "install"])
        for path in (commands[1].split()[0], commands[2].split()[-1]):
            self.assertTrue((PAGE.parents[1] / path).is_file(), path)

    def test_what_an_installed_folder_has(self):
        """share/isocenter/python of it is cbindings/python."""
        named = re.findall(r"FOLDER/share/isocenter/(\S+)", PAGE.read_text(encoding="utf-8"))
        self.assertEqual(len(named), 2)
        for path in named:
            self.assertTrue((PAGE.parents[1] / "cbindings" / path).exists(), path)

    def test_examples_become_notebooks(self):
        examples = PAGE.parents[1] / "cbindings" / "python" / "examples"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, examples / "notebooks.py", folder], check=True)
            for name in ("ct", "iterative", "mri", "pet", "raw"):
                cells = json.loads((Path(folder) / f"{name}.ipynb").read_text())["cells"]
                self.assertEqual(cells[0]["cell_type"], "markdown")
                self.assertTrue(cells[0]["source"][0].startswith("# "))
                code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
                self.assertIn(f'savefig("{name}.png"', code)
                compile(code, name, "exec")

    def test_every_exception_is_in_the_table(self):
        table = PAGE.read_text(encoding="utf-8").partition("## Errors")[2].partition("\n## ")[0]
        for name in isocenter.errors.__all__:
            exception = getattr(isocenter, name)
            row = next((line for line in table.splitlines() if line.startswith("|") and f"`{name}`" in line), "")
            if name != "Error":
                self.assertTrue(row, f"{name} is not in docs/python.md")
                also = [base.__name__ for base in exception.__bases__ if base is not isocenter.Error]
                self.assertEqual(re.findall("`(.*?)`", row.split("|")[2]), also, name)


if __name__ == "__main__":
    unittest.main()
