"""Builds for another architecture: prepares a folder with its Debian libraries, a compiler, an emulator, and
the file that describes them to meson.

The folder is made once by mmdebstrap from the archive of this machine's apt, and kept beside the build folder.
No script of a package runs in it: the compiler and the emulator only read it.
"""

import os
import platform
import shutil
import subprocess

import apt_source
import build_tree
from progress import Failed

FAMILIES = {"arm64": "aarch64"}  # Debian's name of an architecture, and the kernel's
# Groups of tools/packages that the tree has: libraries for the build, and programs for the image that tests/boot boots.
GROUPS = ("build", "http", "tls", "test")
IMAGE = ("busybox-static", "ethtool", "iproute2", "linux-image-cloud-{arch}")
NOTE = "clockoo.packages"  # file in the tree that lists its packages
CROSS_NAME = "clockoo.ini"
CROSS_FILE = """[binaries]
c = {compiler}
ar = '{gnu}-gcc-ar'
strip = '{gnu}-strip'
objcopy = '{gnu}-objcopy'
pkgconfig = 'pkg-config'
exe_wrapper = {emulator}
[properties]
sys_root = '{tree}'
pkg_config_libdir = '{tree}/usr/lib/{gnu}/pkgconfig:{tree}/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '{family}'
cpu = '{family}'
endian = 'little'
"""


class Missing(Exception):
    """Why such a build cannot be made here."""


def is_native(arch):
    return FAMILIES[arch] == platform.machine()


def folder(arch):
    return build_tree.beside_default(arch)


def tree(arch):
    return build_tree.beside_default(f"{arch}-debian")


def emulator(arch):
    """Returns the command that runs a program of that architecture. Debian links the emulator statically only up to
    release 12."""
    names = (f"qemu-{FAMILIES[arch]}-static", f"qemu-{FAMILIES[arch]}")
    program = next((name for name in names if shutil.which(name)), names[0])
    return [program, "-L", str(tree(arch))]


def compiler(arch):
    return f"{FAMILIES[arch]}-linux-gnu-gcc"


def packages(arch):
    """Returns the libraries with their headers, as tools/packages names them."""
    rows = (line.split() for line in (build_tree.ROOT / "tools/packages").read_text().splitlines())
    return sorted({row[1] for row in rows if len(row) == 2 and row[0] in GROUPS
                   and row[1].startswith("lib") and row[1].endswith("-dev")} | {name.format(arch=arch) for name in IMAGE})


def take_tree(arch):
    """Returns the folder of libraries. Makes it if it is missing or lacks a package of today's list."""
    for program in (compiler(arch), emulator(arch)[0], "mmdebstrap"):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not installed: tools/install {arch}")
    at, wanted = tree(arch), "\n".join(packages(arch)) + "\n"
    note = at / NOTE
    if note.exists() and note.read_text() == wanted:
        return at
    try:
        suite = apt_source.release()
        apt_source.remove(at)
        apt_source.make_tree(at, suite, f"making {at.name}, Debian's libraries for {arch}", "--variant=extract",
                             f"--architectures={arch}", f"--include={','.join(packages(arch))}")
    except (apt_source.Missing, subprocess.CalledProcessError, OSError) as why:
        raise Missing(f"no {arch} libraries from Debian's archive: {why}") from None
    note.write_text(wanted)
    return at


def _cross_file(arch):
    """Writes the file only if it differs: meson sets a build up again if its cross file is newer."""
    at = tree(arch) / CROSS_NAME
    cached = ["ccache"] if shutil.which("ccache") else []
    text = CROSS_FILE.format(gnu=f"{FAMILIES[arch]}-linux-gnu", family=FAMILIES[arch], tree=tree(arch),
                             compiler=[*cached, compiler(arch), f"--sysroot={tree(arch)}"], emulator=emulator(arch))
    if not at.exists() or at.read_text() != text:
        at.write_text(text)
    return at


def build(arch, at, options=build_tree.RELEASE, **how):
    """Builds as build_tree.build does. PKG_CONFIG_PATH names libraries of this machine, which meson heeds only for itself."""
    take_tree(arch)
    build_tree.build(at, ["--cross-file", str(_cross_file(arch)), *options], **how)


def ldd(arch):
    """Returns the command that prints the libraries of a program by their paths in the tree."""
    return [*emulator(arch), str(tree(arch) / f"lib/ld-linux-{FAMILIES[arch]}.so.1"), "--list"]
