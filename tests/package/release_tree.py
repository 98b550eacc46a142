"""Another release of Debian as a folder: made once by mmdebstrap, kept, and entered with a copy of the sources.

It has only Debian's smallest system and the packages of tools/install, as for a user who tries the README's first
command. Commands run in a mount namespace of their own, so their mounts end with them.
"""

import os
import pathlib
import shutil
import subprocess

import apt_source
import clean_root

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = "clockoo"  # folder of the copied sources, below /
# Packages that the smallest Debian needs, in addition, to reach its archive.
BESIDE = "ca-certificates"
# Makes the folder a mount point, as a machine's / is, since tools make the mounts below it private.
ENTER = "mount --rbind \"$0\" \"$0\"\n" + clean_root.ENTER
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def command(tree, words):
    """Returns the command that runs a shell's words in the tree, in the folder of the sources."""
    return ["env", "-i", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), "unshare", "-m", "--propagation",
            "private", "sh", "-ec", ENTER, str(tree), f"cd /{SOURCES} && {words}"]


def make(tree, suite):
    """Makes the tree unless it exists."""
    if (tree / "etc/debian_version").exists():
        return
    apt_source.make_tree(tree, suite, f"making {tree.name}", "--mode=root", "--variant=minbase", f"--include={BESIDE}")


def _listed():
    """Returns what git tracks or would track."""
    done = subprocess.run(["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}", "ls-files", "-coz", "--exclude-standard"],
                          capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}


def copy_sources(tree):
    """Brings the tree's sources up to date. Files that have not changed keep their times, so they are not built
    again."""
    there, wanted = tree / SOURCES, _listed()
    for name in wanted:
        old, new = there / name, ROOT / name
        state = new.stat()
        if old.exists() and (old.stat().st_mtime_ns, old.stat().st_size) == (state.st_mtime_ns, state.st_size):
            continue
        old.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(new, old)
    for folder, folders, files in os.walk(there):
        if pathlib.Path(folder) == there:
            folders[:] = [name for name in folders if not name.startswith("build")]
        for name in files:
            path = pathlib.Path(folder, name)
            if str(path.relative_to(there)) not in wanted:
                path.unlink()
