"""The package says what the installed header says."""
import ctypes
import inspect
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import isocenter
from isocenter import _abi, errors

HERE = Path(__file__).resolve().parents[1]
PACKAGE = Path(isocenter.__file__).parent


def pkg_config(*arguments):
    return subprocess.run(["pkg-config", *arguments, "isocenter"], check=True, capture_output=True, text=True).stdout.split()


HEADER = Path(pkg_config("--variable=includedir")[0]) / "isocenter.h"


class Abi(unittest.TestCase):
    def test_the_generated_file_is_what_the_header_makes(self):
        made = subprocess.run([sys.executable, HERE / "generate.py", HEADER], check=True, capture_output=True, text=True).stdout
        committed = (PACKAGE / "_abi.py").read_text()
        self.assertTrue(made == committed, "isocenter/_abi.py is stale: python3 cbindings/python/generate.py "
                                           "include/isocenter.h > cbindings/python/isocenter/_abi.py")

    def test_sizes_and_offsets_are_the_compilers(self):
        structs = {name: kind for name, kind in vars(_abi).items()
                   if isinstance(kind, type) and issubclass(kind, ctypes.Structure)}
        self.assertGreaterEqual(len(structs), 19)
        expected, lines = [], []
        for name, kind in structs.items():
            expected.append(ctypes.sizeof(kind))
            lines.append(f"sizeof({name})")
            for field, _ in kind._fields_:
                part = getattr(kind, field)
                expected += [part.offset, part.size]
                lines += [f"offsetof({name}, {field})", f"sizeof((({name} *)0)->{field})"]
        program = "#include <isocenter.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n"
        program += "".join(f'    printf("%zu\\n", {line});\n' for line in lines) + "    return 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            source, binary = Path(folder) / "sizes.c", Path(folder) / "sizes"
            source.write_text(program)
            subprocess.run([os.environ.get("CC", "cc"), source, "-o", binary, *pkg_config("--cflags")], check=True)
            found = [int(n) for n in subprocess.run([binary], check=True, capture_output=True, text=True).stdout.split()]
        self.assertEqual(found, expected)

    def test_every_function_is_called_somewhere(self):
        text = "".join(file.read_text() for file in PACKAGE.glob("*.py") if file.name != "_abi.py")
        declared = set(re.findall(r"^[a-z].*\b(isoc_[a-z0-9_]+)\(", HEADER.read_text(), re.M))
        self.assertEqual(declared, set(_abi.FUNCTIONS))
        self.assertEqual({name for name in declared if not re.search(rf"\blib\.{name}\b", text)}, set())

    def test_every_field_has_a_keyword(self):
        counted = {"axis_count", "response_count", "gpu_count", "radial_table_count", "body_count"}  # lengths of what is passed
        renamed = {"lambda": "lambda_", "progress_user": "progress", "log_user": "log"}
        renamed |= {f"{name}_{axis}": name for name in ("map_voxel", "map_centre") for axis in "xyz"}
        for struct, function in (
                (_abi.isoc_context_options, isocenter.Context), (_abi.isoc_ct_geometry, isocenter.CT.set_geometry),
                (_abi.isoc_ct_options, isocenter.CT.set_options), (_abi.isoc_mri_geometry, isocenter.MRI.set_geometry),
                (_abi.isoc_mri_options, isocenter.MRI.set_options), (_abi.isoc_coil_options, isocenter.coil_maps), (_abi.isoc_pet_geometry, isocenter.PET.set_geometry),
                (_abi.isoc_pet_response, isocenter.PET.set_response), (_abi.isoc_pet_options, isocenter.PET.set_options),
                (_abi.isoc_pet_prior, isocenter.PET.set_prior),
                (_abi.isoc_pet_body, isocenter.Body), (_abi.isoc_pet_scan, isocenter.Scan)):
            fields = {name for name, _ in struct._fields_} - counted - {"struct_size", "reserved"}
            keywords = set(inspect.signature(function).parameters)
            self.assertEqual({f for f in fields if renamed.get(f, f) not in keywords}, set(), struct.__name__)

    def test_every_status_has_an_exception(self):
        classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.Error) and c is not errors.Error]
        self.assertEqual({c.status for c in classes}, set(isocenter.enums.Status) - {isocenter.enums.Status.OK})
        self.assertTrue(all(c.__name__ in isocenter.__all__ for c in classes))

    def test_public_things_are_documented(self):
        for name in isocenter.__all__:
            thing = getattr(isocenter, name)
            self.assertTrue(thing.__doc__, name)
            if isinstance(thing, type):
                for method, value in vars(thing).items():
                    if callable(value) and not method.startswith("_"):
                        self.assertTrue(value.__doc__, f"{name}.{method}")

    def test_versions(self):
        self.assertEqual(isocenter.abi_version(), _abi.ISOC_ABI_VERSION)
        self.assertEqual(isocenter.version(), pkg_config("--modversion")[0])
        self.assertEqual(isocenter.version(), isocenter.__version__)
        self.assertIn(isocenter.version(), isocenter.build_info())
        self.assertEqual(isocenter.status_string(isocenter.enums.Status.CANCELLED), "cancelled by the progress callback")
        self.assertEqual(isocenter.status_string(-1), "unknown status")


if __name__ == "__main__":
    unittest.main()
