#!/usr/bin/python3 -B
"""The manual pages. Goal: man shows them without a warning, and each option of --help, and each key
of the file, stands in its page under its own name. Method: the pages that the build made, and what
the programs print.

    man_page_test.py FOLDER-OF-PAGES PROGRAM [CLASS]

Where there is no man, only its warnings go unseen.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

PAGES = pathlib.Path(sys.argv.pop(1))
PROGRAM = sys.argv.pop(1)


def printed(*command):
    wrapper = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # in a cross build
    return subprocess.run([*wrapper, *command], capture_output=True, text=True, check=True).stdout


def plain(page):
    """The page without its fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", (PAGES / page).read_text()).replace("\\-", "-")


class EveryPageTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("man"), "there is no man here")
    def test_man_has_nothing_to_warn_of(self):
        for page in sorted(PAGES.glob("clockoo*.[158]")):
            done = subprocess.run(["man", "-l", "--warnings", "-E", "UTF-8", page], text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env=os.environ | {"LC_ALL": "C.UTF-8", "MANROFFSEQ": ""})
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)

    def test_every_option_of_help_has_its_paragraph(self):
        name = pathlib.Path(PROGRAM).name
        page = {"clockoo": "clockoo.8", "clockoo-load": "clockoo-load.1"}[name]
        options = set(re.findall(r"^ .*?(--[a-z][a-z0-9-]*)", printed(PROGRAM, "--help"), re.M))
        heads = set(re.findall(r"^\.TP\n(?:-\w, )?(--[a-z0-9-]+)", plain(page), re.M))
        self.assertGreater(len(options), 20)
        if name == "clockoo":
            self.assertEqual(options, heads)
        else:  # it names the port's options in one paragraph
            self.assertLessEqual(heads, options)
            self.assertLessEqual(options, set(re.findall(r"--[a-z0-9-]+", plain(page))))


class AppliancePageTest(unittest.TestCase):
    def test_every_way_to_call_it_that_help_shows_is_in_the_synopsis(self):
        ways = re.findall(r"^  clockoo( \w+)?(?: [a-z|]+)? \[option", printed(PROGRAM, "--help"), re.M)
        self.assertIn(" doctor", ways)
        synopsis = plain("clockoo.8").partition(".SH SYNOPSIS")[2].partition(".SH DESCRIPTION")[0]
        self.assertEqual(re.findall(r"^\.B clockoo( \w+)?$", synopsis, re.M), ways)

    def test_every_key_of_the_file_has_its_paragraph(self):
        text = printed(PROGRAM, "--config", "none", "--print-config")
        keys = re.findall(r"^  #?([a-z0-9_]+): ", text, re.M)
        self.assertGreater(len(keys), 20)
        self.assertEqual(keys, re.findall(r"^\.TP\n([a-z0-9_]+): ", plain("clockoo.yaml.5"), re.M))


if __name__ == "__main__":
    unittest.main()
