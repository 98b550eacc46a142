"""Builds memcached with its proxy, which no Debian package has, from the source that Debian 13 packages."""

import shutil
import subprocess

import apt_source
from progress import Failed, Step

SUITE = "trixie"  # the route library of the proxy came after Debian 12's memcached
COMMANDS = (["./configure", "--enable-proxy", "--enable-tls"], ["make", "-j2", "-C", "vendor/lua/src", "linux"],
            ["make", "-j2", "memcached"])


def help_of(path):
    """Returns the program's help; empty for a file that cannot be run."""
    try:
        return subprocess.run([path, "-h"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    except OSError:
        return ""


def has_proxy(path):
    return "proxy_config" in help_of(path)


def why_not(path):
    """Returns why the file is not a memcached with a proxy and its route library; None: it is one."""
    if not has_proxy(path):
        return f"{path} is no memcached built with --enable-proxy"
    return None if "proxy_config=routelib" in help_of(path) else f"{path} has no route library (memcached 1.6.38 has one)"


def built(folder):
    """Returns the path of the program, which is built once below folder."""
    program = folder / "memcached"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tarball = apt_source.fetch_source(folder, SUITE, "memcached")
    except apt_source.Missing as why:
        raise Failed(f"memcached with a proxy: {why}") from None
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    with Step("building memcached with its proxy"):
        _run(["tar", "xf", str(tarball), "-C", str(tree), "--strip-components", "1"], tree)
        for command in COMMANDS:
            _run(command, tree)
    shutil.copy(tree / "memcached", program)
    return program


def _run(command, where):
    done = subprocess.run(command, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"memcached with a proxy: {' '.join(command)}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
