#!/usr/bin/python3 -B
"""The documents of the package, for a reader who has nothing else. Goal: every link of a page leads to a page in the
package, no page calls a program by its path in the source tree, and clockoo-nic's manual page names each verb and
option of its --help. The unit waits for the clock, and writes no core file unless asked to. A clean Debian is made
again when a dependency changes. Method: pages and unit as they are packed, without building anything.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/py"))

sys.path.insert(0, str(ROOT / "tests/package"))

import clean_root    # noqa: E402
import package_main  # noqa: E402


class PackageDocsTest(unittest.TestCase):
    def test_every_link_leads_to_a_page_of_the_package(self):
        pages = package_main.documents()
        links = [(name, target) for name, text in pages.items()
                 for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("http")]
        self.assertGreater(len(links), 4)
        self.assertEqual([link for link in links if link[1].partition("#")[0] not in pages], [])

    def test_the_statistics_are_among_them(self):
        self.assertIn("nic_missed", package_main.documents()["STATS.md.gz"])

    def test_programs_are_called_as_they_are_installed(self):
        for name, text in package_main.documents().items():
            self.assertEqual(re.findall(r"build/app/\S+|tools/nic \S+", text), [], name)

    def test_the_page_of_clockoo_nic_has_what_its_help_has(self):
        told = subprocess.run([ROOT / "tools/nic", "--help"], capture_output=True, text=True).stdout
        page = (ROOT / "tools/debian/clockoo-nic.8").read_text().replace("\\", "")
        words = re.findall(r"^ +tools/nic (\w+)|^ +(--\w+)|^ +-h, (--\w+)", told, re.M)
        words = {next(filter(None, found)) for found in words}
        self.assertGreaterEqual(words, {"list", "bind", "unbind", "hugepages", "check", "record", "--keep",
                                        "--devbind", "--root", "--help"})
        for word in words:
            self.assertRegex(page, rf"(?m)^\.B[RI]? {word}\b")

    @unittest.skipUnless(shutil.which("man"), "there is no man here")
    def test_man_has_nothing_to_warn_of(self):
        done = subprocess.run(["man", "-l", "--warnings", "-E", "UTF-8", ROOT / "tools/debian/clockoo-nic.8"],
                              text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=os.environ | {"LC_ALL": "C.UTF-8", "MANROFFSEQ": ""})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class UnitTest(unittest.TestCase):
    def test_it_waits_for_the_clock_and_a_core_file_is_asked_for(self):
        unit = (ROOT / "tools/debian/clockoo.service").read_text().splitlines()
        self.assertIn("After=time-sync.target", unit)
        # Soft and hard limit: --enable-coredumps raises the soft one to the hard one.
        self.assertIn("LimitCORE=0:infinity", unit)


class CleanRootTest(unittest.TestCase):
    def test_a_clean_debian_is_as_old_as_what_the_package_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            base, needs = pathlib.Path(folder, "clean"), ["libnuma1", "libmicrohttpd12"]
            with unittest.mock.patch.object(clean_root, "depends_of", lambda _: needs):
                words = clean_root.recipe("package")
                self.assertFalse(clean_root.is_current(base, words))
                base.mkdir()
                self.assertFalse(clean_root.is_current(base, words))  # a folder of an older test, without a recipe
                clean_root.recipe_of(base).write_text(words)
                self.assertTrue(clean_root.is_current(base, clean_root.recipe("package")))
                needs.append("libmicrohttpd12t64")
                self.assertFalse(clean_root.is_current(base, clean_root.recipe("package")))


if __name__ == "__main__":
    unittest.main()
