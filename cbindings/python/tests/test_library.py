"""How the library is found."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import isocenter

PACKAGE = Path(isocenter.__file__).parent
INSTALLED = Path(isocenter._library.lib._name)
NOT_POSIX = sys.platform == "win32"
PLACES = ("ISOCENTER_LIBRARY", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH")


class Library(unittest.TestCase):
    def load(self, package=PACKAGE, **places):
        """What a fresh interpreter prints: the library's path, or the error."""
        environment = {k: v for k, v in os.environ.items() if k not in PLACES} | {k: str(v) for k, v in places.items()}
        environment["PYTHONPATH"] = str(package.parent)
        code = "import isocenter; print(isocenter._library.lib._name)"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]

    @unittest.skipIf(NOT_POSIX, "places of POSIX")
    def test_each_place(self):
        folder = INSTALLED.resolve().parent
        self.assertEqual(self.load(ISOCENTER_LIBRARY=folder / "libisocenter.so"), str(folder / "libisocenter.so"))
        self.assertEqual(Path(self.load(PKG_CONFIG_PATH=folder / "pkgconfig")).resolve(), INSTALLED.resolve())
        self.assertEqual(self.load(LD_LIBRARY_PATH=folder), "libisocenter.so.0.1")
        with tempfile.TemporaryDirectory() as place:
            package = Path(shutil.copytree(PACKAGE, Path(place) / "isocenter"))
            beside = Path(shutil.copy(INSTALLED, package / "libisocenter.so.0.1"))
            self.assertEqual(self.load(package, PKG_CONFIG_PATH=folder / "pkgconfig"), str(beside))

    def test_the_error_names_all_places(self):
        said = self.load()
        if not said.startswith("ImportError"):
            self.skipTest(f"a library is installed where the loader finds it: {said}")
        for word in ("ISOCENTER_LIBRARY", "beside the package", "pkg-config", isocenter._library.SEARCHED, "make install",
                     f"set ISOCENTER_LIBRARY={Path('FOLDER') / isocenter._library.INSTALLED}"):
            self.assertIn(word, said)

    def test_a_wrong_library(self):
        for path in ("/nowhere/libisocenter.so", __file__):
            said = self.load(ISOCENTER_LIBRARY=path)
            self.assertRegex(said, "^ImportError: ISOCENTER_LIBRARY=.* does not load")
        foreign = "kernel32.dll" if NOT_POSIX else "libm.so.6"
        self.assertRegex(self.load(ISOCENTER_LIBRARY=foreign), f"^ImportError: {foreign} has no isoc_")

    def test_a_library_for_another_processor(self):
        with tempfile.TemporaryDirectory() as place:
            other = Path(place) / ("other" + INSTALLED.suffix)
            whole = bytearray(INSTALLED.resolve().read_bytes())
            built = isocenter._library._processor_of(INSTALLED.resolve())
            self.assertEqual(built, isocenter._library._processor())
            if NOT_POSIX:
                at = int.from_bytes(whole[60:64], "little") + 4
                whole[at:at + 2] = b"\x64\xaa"
            else:
                whole[18:20] = b"\xb7\x00" if built == "x86_64" else b"\x3e\x00"
            other.write_bytes(whole)
            said = self.load(ISOCENTER_LIBRARY=other)
            self.assertRegex(said, "^ImportError: ISOCENTER_LIBRARY=.* was built for (arm64|x86_64), .* install a Python for ")

    @unittest.skipIf(NOT_POSIX, "compiled by cc")
    def test_a_library_of_another_version(self):
        with tempfile.TemporaryDirectory() as place:
            source, other = Path(place) / "other.c", Path(place) / "libother.so"
            functions = [n for n in isocenter._abi.FUNCTIONS if n not in ("isoc_abi_version", "isoc_version")]
            source.write_text("".join(f"int {n}(void) {{ return 0; }}\n" for n in functions) +
                              "unsigned isoc_abi_version(void) { return 999; }\nconst char *isoc_version(void) { return \"9.8.7\"; }\n")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o", other], check=True)
            said = self.load(ISOCENTER_LIBRARY=other)
            for word in ("ImportError", "version 9.8.7", "ABI 999", f"needs ABI {isocenter._abi.ISOC_ABI_VERSION}", "one version", "ISOCENTER_LIBRARY"):
                self.assertIn(word, said)

    def test_files_that_are_no_library(self):
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "file"
            for head, expected in ((b"", None), (b"MZ", None), (b"MZ" + bytes(58) + b"\x80\0\0\0" + bytes(64) + b"PE\0\0\x64\x86", "x86_64"),
                                   (b"MZ" + bytes(58) + b"\xff\xff\xff\xff", None), (b"\xcf\xfa\xed\xfe\x0c\0\0\1", "arm64"), (b"\x7fELF", None)):
                file.write_bytes(head)
                self.assertEqual(isocenter._library._processor_of(file), expected, head)

    @unittest.skipIf(NOT_POSIX, "a DLL has none")
    def test_the_soname_is_the_librarys(self):
        self.assertEqual(isocenter._library.NAMES[0], f"libisocenter.so.{isocenter.version().rpartition('.')[0]}")


if __name__ == "__main__":
    unittest.main()
