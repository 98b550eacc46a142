"""The appliance's image: a first process of fifty lines of shell, busybox, clockoo with the libraries
it needs, a few modules. A file system in the format that the kernel unpacks at start
(Documentation/driver-api/early-userspace/buffer-format.rst), written here so that no root, no cpio
and no folder of staged files are needed.
"""

import os
import pathlib
import re
import stat
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
APPLETS = ("sh", "cat", "cut", "dmesg", "echo", "grep", "insmod", "kill", "ln", "ls", "mkdir", "mount",
           "poweroff", "readlink", "sed", "sleep", "stty", "tail", "test", "basename", "dirname",
           "printf", "pidof", "start-stop-daemon", "chown", "tr", "wc", "id", "sync",
           "awk", "head", "setsid", "sort", "cp", "mv", "rm", "chmod")
CLOCKOO_UID = "999"
USERS = f"root:x:0:0::/:/bin/sh\nclockoo:x:{CLOCKOO_UID}:{CLOCKOO_UID}::/:/bin/sh\n"
FOLDERS = ("bin", "dev", "etc", "proc", "run", "run/netns", "sys", "tmp", "var", "modules")
PATHS = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]


class Missing(Exception):
    """Why there can be no image here."""


class Archive:
    """Files by their path in the image; each is written once."""

    def __init__(self):
        self._entries = {}

    def folder(self, path):
        parent = os.path.dirname(path)
        if parent and parent not in self._entries:
            self.folder(parent)
        self._entries.setdefault(path, (stat.S_IFDIR | 0o755, b""))

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self._entries.setdefault(path, (stat.S_IFLNK | 0o777, target.encode()))

    def file(self, path, data, mode=0o755):
        self.folder(os.path.dirname(path))
        self._entries.setdefault(path, (stat.S_IFREG | mode, data))

    def tree(self, root, left_out):
        """A whole folder, but for paths in it that begin with one of left_out."""
        for folder, folders, files in os.walk(root):
            inside = os.path.relpath(folder, root)
            for name in [*folders, *files]:
                path, full = os.path.normpath(os.path.join(inside, name)), os.path.join(folder, name)
                if path.startswith(left_out):
                    continue
                if os.path.islink(full):
                    self.link(path, os.readlink(full))
                elif os.path.isdir(full):
                    self.folder(path)
                elif os.path.isfile(full):
                    self.file(path, pathlib.Path(full).read_bytes(), os.stat(full).st_mode & 0o7777)
            folders[:] = [name for name in folders if not os.path.normpath(
                os.path.join(inside, name)).startswith(left_out)]

    def copy(self, source, origin):
        """A file at the path it has at its origin, with the links that lead to it. Links stay
        links: a driver that EAL finds under two names is loaded twice, which ends it."""
        path = os.path.join(os.path.realpath(f"{origin.root}/{os.path.dirname(source)}"), os.path.basename(source))
        there = path.removeprefix(origin.root)
        # An unpacked Debian has no merged /usr; the image has.
        inside = f"usr{there}" if there.startswith("/lib/") else there.lstrip("/")
        if os.path.islink(path):
            target = os.readlink(path)
            self.link(inside, target)
            self.copy(os.path.join(os.path.dirname(there), target), origin)
        else:
            self.file(inside, pathlib.Path(path).read_bytes())

    def bytes(self):
        out = bytearray()
        for number, (path, (mode, data)) in enumerate([*self._entries.items(), ("TRAILER!!!", (0, b""))], 1):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
            out += b"070701" + b"".join(b"%08X" % f for f in fields) + name
            out += b"\0" * (-len(out) % 4) + data
            out += b"\0" * (-len(out) % 4)
        return bytes(out)


class Origin:
    """The source of programs and their libraries: this machine, or a folder with another architecture's Debian and a
    command that names a program's libraries in it, as ldd does."""

    def __init__(self, root="/", ldd=("ldd",)):
        self.root, self._ldd = os.path.realpath(root).rstrip("/"), ldd

    def tool(self, name):
        for folder in PATHS:
            path = f"{self.root}/{folder}/{name}"
            if os.path.islink(path) and os.readlink(path).startswith("/"):  # absolute in the origin's root
                path = self.root + os.readlink(path)
            if os.access(path, os.X_OK):
                return path
        raise Missing(f"{name} is not installed: tools/install boot")

    def libraries(self, program):
        """Paths of the shared libraries a program needs, the loader among them."""
        done = subprocess.run([*self._ldd, program], capture_output=True, text=True, check=False)
        if "not found" in done.stdout:
            raise Missing(f"{program}: {done.stdout}")
        # A loader that was started by its path here names itself by that.
        return [path.removeprefix(self.root) for path in re.findall(r"(/\S+) \(0x", done.stdout)]


HERE_INSTALLED = Origin()


def tool(name):
    return HERE_INSTALLED.tool(name)


def add_program(archive, source, path, origin):
    for library in origin.libraries(source):
        archive.copy(library, origin)
    archive.file(path, pathlib.Path(source).read_bytes())


def add_modules(archive, kernel):
    names = (kernel / "order").read_text().split()
    for name in [*names, "order"]:
        archive.file(f"modules/{name}", (kernel / name).read_bytes(), 0o644)


def make(image, kernel, programs, scripts, origin=HERE_INSTALLED):
    """Write the image; programs, with their libraries, and scripts are {path in the image: path here}.
    Returns its size in bytes."""
    archive = Archive()
    for folder in FOLDERS:
        archive.folder(folder)
    # Debian's merged /usr: a library's path may name either.
    for name in ("lib", "lib64", "sbin"):
        archive.folder(f"usr/{name}")
        archive.link(name, f"usr/{name}")
    archive.file("bin/busybox", pathlib.Path(origin.tool("busybox")).read_bytes())
    for applet in APPLETS:
        archive.link(f"bin/{applet}", "busybox")
    for name in ("ip", "tc", "ethtool"):
        add_program(archive, os.path.realpath(origin.tool(name)), f"usr/bin/{name}", origin)
    for path, source in programs.items():
        add_program(archive, source, path, origin)
    for path, source in scripts.items():
        archive.file(path, source.read_bytes())
    for profile in sorted((ROOT / "drivers-config").glob("*.yaml")):
        archive.file(f"usr/share/clockoo/drivers-config/{profile.name}", profile.read_bytes(), 0o644)
    add_modules(archive, kernel)
    archive.file("etc/passwd", USERS.encode(), 0o644)
    archive.link("var/run", "/run")
    for name, path in (("guest_init", "init"), ("guest_control", "guest_control")):
        archive.file(path, (HERE / name).read_bytes())
    data = archive.bytes()
    image.write_bytes(data)
    return len(data)
