"""A clean Debian of this machine's release, as debootstrap makes it, with the package's dependencies and nothing else.

It is made below the build folder, and again when the dependencies change; every test gets a copy. Commands run in a
mount namespace of their own, so their mounts end with them, and the copy can be removed as a folder.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/py"))

import apt_source  # noqa: E402
from apt_source import Missing, remove  # noqa: E402

MAKE_S, RUN_S = 900, 300
# Packages that debootstrap's smallest Debian lacks, and every Debian that boots has.
MACHINE = ["udev"]
# No service is started when a package is installed.
POLICY = "#!/bin/sh\nexit 101\n"
ENTER = """for m in proc sys dev; do mkdir -p "$0/$m"; mount --rbind "/$m" "$0/$m"; done
mount -t tmpfs tmpfs "$0/run"
exec chroot "$0" /bin/sh -c "$1"
"""


def run(root, command, seconds=RUN_S):
    """Runs a shell command in that root. Returns (status, output)."""
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-ec", ENTER, str(root), command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", timeout=seconds, check=False,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
             "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout


def depends_of(package):
    """Returns the names of the package's dependencies, and of alternatives the first."""
    text = subprocess.run(["dpkg-deb", "-f", str(package), "Depends"], capture_output=True, text=True,
                          check=True).stdout
    return [re.sub(r"\(.*?\)", "", one.split("|")[0]).strip() for one in text.split(",")]


def recipe(package):
    """Returns the ingredients of a clean Debian, which is made again if they change."""
    return "\n".join([apt_source.release(), *depends_of(package), *MACHINE, ENTER, POLICY]) + "\n"


def is_current(base, words):
    """Returns True if the folder was completed by this recipe."""
    note = recipe_of(base)
    return base.exists() and note.exists() and note.read_text() == words


def recipe_of(base):
    """Returns the file with the recipe, beside the root, which may have no files that Debian lacks."""
    return base.with_name(base.name + ".recipe")


def make(base, package):
    begun = base.with_name(base.name + ".begun")
    remove(begun)
    try:
        done = subprocess.run(["debootstrap", "--variant=minbase", apt_source.release(), str(begun), apt_source.archive()],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=MAKE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"debootstrap: {error}") from None
    if done.returncode != 0:
        raise Missing(f"debootstrap: {done.stdout.strip().splitlines()[-1:]}")
    policy = begun / "usr/sbin/policy-rc.d"
    policy.write_text(POLICY)
    policy.chmod(0o755)
    (begun / "etc/apt/apt.conf.d/90clockoo").write_text("".join(f"{line}\n" for line in apt_source.options()))
    status, text = run(begun, "apt-get -q update && apt-get -q -y --no-install-recommends "
                              "-o Dpkg::Use-Pty=0 install "
                              f"{' '.join(depends_of(package) + MACHINE)} && apt-get clean",
                       MAKE_S)
    if status != 0:
        raise Missing(f"apt-get: {text.strip().splitlines()[-1:]}")
    remove(base)
    begun.rename(base)
    recipe_of(base).write_text(recipe(package))


def take(build, package):
    """Returns a fresh copy, which the caller removes."""
    if os.geteuid() != 0:
        raise Missing("a clean root needs root")
    if shutil.which("debootstrap") is None:
        raise Missing("debootstrap is not installed: tools/install clean")
    base, copy = build / "clean-debian", build / "clean-debian.copy"
    if not is_current(base, recipe(package)):
        make(base, package)
    remove(copy)
    subprocess.run(["cp", "-a", "--reflink=auto", "--one-file-system", str(base), str(copy)], check=True)
    return copy
