"""The code of docs/python.md runs, block after block."""
import contextlib
import io
import re
import unittest
from pathlib import Path

import isocenter

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


class Docs(unittest.TestCase):
    def test_code_runs(self):
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
        self.assertGreater(len(blocks), 6)
        scope = {}
        for block in blocks:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block, str(PAGE), "exec"), scope)
            except ModuleNotFoundError as e:
                self.assertEqual(e.name, "torch")
        self.assertIn("volume", scope)

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
