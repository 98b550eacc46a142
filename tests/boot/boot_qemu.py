"""A QEMU that emulates today's NICs: the installed one if it is new enough, else Debian 13's, extracted once under the
build folder and run by its own loader. Nothing of it is installed."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import apt_source
import boot_image

RELEASE_LEAST = 8  # the first with igb
SUITE = "trixie"
PACKAGE = "qemu-system-x86"
PROGRAM = "qemu-system-x86_64"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
FIRMWARE = ("usr/share/qemu", "usr/share/seabios")


def _release(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.", done.stdout)
    return int(found.group(1)) if found else 0


def _in_tree(tree):
    """A command line. Modules of QEMU are looked for where none are: those of another build would end it."""
    loader = tree / LIBRARIES / "ld-linux-x86-64.so.2"
    return ["env", f"QEMU_MODULE_DIR={tree}/none", str(loader), "--library-path", str(tree / LIBRARIES),
            str(tree / "usr/bin" / PROGRAM), *(word for folder in FIRMWARE for word in ("-L", str(tree / folder)))]


def command(build):
    """The command line of a QEMU with NICS of today; raises Missing with the reason."""
    installed = boot_image.tool(PROGRAM)
    if _release(installed) >= RELEASE_LEAST:
        return [installed]
    tree = build / "boot" / f"{PACKAGE}-{SUITE}"
    if not tree.exists():
        try:
            apt_source.make_tree(tree, SUITE, f"QEMU of Debian's {SUITE}", "--quiet", "--mode=root", "--variant=extract",
                                 f"--include={PACKAGE}", '--aptopt=APT::Install-Recommends "false"')
        except apt_source.Missing as why:
            raise boot_image.Missing(f"QEMU {RELEASE_LEAST} or newer: {why}") from None
    return _in_tree(tree)
