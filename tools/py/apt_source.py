"""Finds the archive that this machine's apt uses, to make another Debian from it.

apt itself is asked, because sources are written in more than one way. Its options for reaching the archive (a
proxy, dates that are not checked) are used for the other Debian, too.
"""

import pathlib
import re
import subprocess

from progress import run_step

HANDED_ON = re.compile(r"^Acquire::(?:https?::|Check-|Retries)[^ ]* \".*\";$", re.M)


class Missing(Exception):
    """Why another Debian cannot be made here."""


def archive():
    """Returns the URI of Debian's archive, as the first source names it."""
    try:
        done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"],
                              capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"apt-get: {error}") from None
    if done.returncode != 0 or not done.stdout.strip():
        raise Missing("no source of apt is Debian's archive, or apt-get update has not read it")
    return done.stdout.split()[0].rstrip("/")


def options():
    """Returns apt's options for reaching the archive, as lines of its configuration file."""
    text = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    return HANDED_ON.findall(text)


def release():
    """Returns the name of this machine's Debian release."""
    found = re.search(r"^VERSION_CODENAME=(\w+)$", open("/etc/os-release").read(), re.M)
    if found is None:
        raise Missing("/etc/os-release names no release of Debian")
    return found[1]


def remove(root):
    """Removes a folder, unless there are mounts below it, which would be emptied."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    if root.exists() and f" {root}/" not in mounts and f" {root} " not in mounts:
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


def make_tree(tree, suite, words, *how):
    """Makes a folder with packages of suite by mmdebstrap with these options. A folder that exists is complete, and is
    used as it is."""
    begun = tree.with_name(tree.name + ".begun")
    remove(begun)
    tree.parent.mkdir(parents=True, exist_ok=True)
    apt = [f"--aptopt={line}" for line in options()]
    try:
        status, said = run_step(words, ["mmdebstrap", *how, *apt, suite, str(begun), f"deb {archive()} {suite} main"])
    except OSError as error:
        raise Missing(f"mmdebstrap: {error}") from None
    if status != 0:
        raise Missing(f"mmdebstrap: {said[-1:]}")
    begun.rename(tree)


def fetch_source(folder, suite, package):
    """Fetches the orig tarball of a package's current source in suite. apt uses lists of its own for this, so the
    machine's lists do not change. An existing tarball is not fetched again."""
    there = sorted(folder.glob(f"{package}_*.orig.tar.*"))
    if there:
        return there[0]
    lists = folder / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources = folder / "sources.list"
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    sources.write_text(f"deb-src [signed-by={keyring}] {archive()} {suite} main\n")
    at = ["-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null", "-o",
          f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]
    for words in (["update"], ["source", "--tar-only", package]):
        done = subprocess.run(["apt-get", "-q", *at, *words], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = (done.stderr.strip() or "no reason given").splitlines()
            raise Missing(f"apt-get {words[0]} for {package} of {suite}: {re.sub('//[^/ ]*', '//...', lines[-1])}")
    return sorted(folder.glob(f"{package}_*.orig.tar.*"))[0]
