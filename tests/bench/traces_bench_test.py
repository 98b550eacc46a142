#!/usr/bin/python3 -B
"""Tests of the part traces of tools/bench store, and of the names of figures that differ from the referee's.

Goal: each format is read into its requests, without lines that are none; a package that cannot be fetched is named.
Method: packages made up here, in a folder as the fetch leaves it.
"""

import contextlib
import gzip
import io
import lzma
import pathlib
import struct
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
import zipfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "tools/py")]

import progress  # noqa: E402
import referee_bench  # noqa: E402
import traces_bench as tb  # noqa: E402


class Readers(unittest.TestCase):
    def test_a_line_without_a_number_is_no_request(self):
        self.assertEqual(list(tb.column(0)(b"7\n8\n*\n\n7\n")), [b"7", b"8", b"7"])
        self.assertEqual(list(tb.column(1)(b"# time, object\n0, 130, 737\n1, 61\n2\n")), [b"130", b"61"])

    def test_numbers_of_equal_size_are_cut_apart_and_half_a_one_is_none(self):
        self.assertEqual(list(tb.fixed(4)(b"aaaabbbbcc")), [b"aaaa", b"bbbb"])

    def test_records_give_their_objects(self):
        data = tb.RECORD.pack(1, 9, 100, 0) + tb.RECORD.pack(2, 1 << 60, 1, 0)
        self.assertEqual(list(tb.records(data)), [9, 1 << 60])

    def test_what_is_written_is_in_the_referees_format(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace"
            self.assertEqual(tb.write([b"x", b"y", b"x"], path), (3, 2))
            rows = list(struct.iter_unpack("<IQIQ", path.read_bytes()))
            self.assertEqual(rows, [(0, 1, 1, tb.NEVER), (1, 2, 1, tb.NEVER), (2, 1, 1, tb.NEVER)])


class Packages(unittest.TestCase):
    def setUp(self):
        progress.quiet = True
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def test_a_trace_comes_out_of_its_package(self):
        with tarfile.open(self.folder / "libcachesim-0.3.5.tar.gz", "w:gz") as package:
            entry = tarfile.TarInfo(tb.IN_SDIST + "a.csv")
            entry.size = 2
            package.addfile(entry, io.BytesIO(b"hi"))
        (self.folder / "m2/org").mkdir(parents=True)
        with zipfile.ZipFile(self.folder / "m2/org/simulator-3.1.8.jar", "w") as package:
            package.writestr(tb.IN_JAR + "b.gz", gzip.compress(b"zipped"))
            package.writestr(tb.IN_JAR + "c.xz", lzma.compress(b"packed"))
        packages = tb.Packages(self.folder, "python3")
        self.assertEqual(packages.data("sdist", "a.csv"), b"hi")
        self.assertEqual(packages.data("jar", "b.gz"), b"zipped")
        self.assertEqual(packages.data("jar", "c.xz"), b"packed")
        self.assertEqual(packages.reasons, {})

    def test_a_package_that_cannot_be_had_has_a_reason(self):
        packages = tb.Packages(self.folder / "none", "false")
        with unittest.mock.patch("shutil.which", return_value=None):
            self.assertIsNone(packages.data("jar", "b.gz"))
        self.assertIsNone(packages.data("sdist", "a.csv"))
        self.assertEqual(packages.reasons, {"jar": "no mvn", "sdist": "failed"})


class Apart(unittest.TestCase):
    def shown(self, apart):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            apart.show("tests")
        return out.getvalue()

    def test_a_figure_that_differs_by_more_than_a_fifth_of_a_point_is_named(self):
        apart = referee_bench.Apart()
        apart.compare("zipf", {"lru": 0.30, "fifo": 0.4021, "store, 2q": 0.2}, {"lru": 0.3019, "fifo": 0.40, "2q": 0.9})
        said = self.shown(apart)
        self.assertIn("1 of 2", said)
        self.assertIn("zipf, fifo: 40.21 %, libCacheSim 40.00 %", said)
        self.assertNotIn("lru", said)
        self.assertAlmostEqual(apart.most, 0.0021)
        self.assertIn("0 of 0", self.shown(apart))


if __name__ == "__main__":
    unittest.main()
