"""The program behind the shell script tools/package.

A table lists the contents of the package; the rest are the files that dpkg-deb needs.
"""

import argparse
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import build_tree
import progress
import trained_tree
from progress import Failed, Step

ROOT = build_tree.ROOT
NAME = "clockoo"
# The maintainer is the builder, as with Debian's own tools.
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'Clockoo')} <{os.environ.get('DEBEMAIL', 'root@localhost')}>"
# Paths in the build folder.
PROGRAMS = ("app/clockoo", "tests/load/clockoo-load")
# The build writes these pages from the programs' tables.
MAN_PAGES = ("app/clockoo.8", "tests/load/clockoo-load.1", "app/clockoo.yaml.5")
NIC_PAGE = "clockoo-nic.8"
SCRIPTS = ("postinst", "prerm", "postrm")
CONFFILE = "etc/clockoo/clockoo.yaml"
# (where it is, below tools/debian; where it goes)
DATA = (("clockoo.service", "lib/systemd/system/clockoo.service"),
        ("clockoo-memory.service", "lib/systemd/system/clockoo-memory.service"),
        ("clockoo.sysusers", "usr/lib/sysusers.d/clockoo.conf"),
        ("clockoo.rules", "lib/udev/rules.d/60-clockoo.rules"))
# Documents for an operator, and their names in the package.
DOCS = {"README.md": "README.md", "app/README.md": "options.md", "lib/proto/COMMANDS.md": "COMMANDS.md",
        "lib/admin/STATS.md": "STATS.md", "tests/load/README.md": "clockoo-load.md",
        "drivers-config/README.md": "drivers-config.md", "drivers-config/TUNING.md": "TUNING.md", "drivers-config/ACCESS.md": "ACCESS.md",
        "drivers-config/RESTARTS.md": "RESTARTS.md", "drivers-config/TIER.md": "TIER.md", "drivers-config/FRONTS.md": "FRONTS.md",
        "drivers-config/FLEET.md": "FLEET.md", "drivers-config/INCIDENTS.md": "INCIDENTS.md", "drivers-config/monitoring/README.md": "monitoring.md",
        "tools/debian/README.md": "service.md"}
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)")
# How documents name the programs, and their names where the package is installed.
CALLED = (("build/app/clockoo", "clockoo"), ("tools/nic ", "clockoo-nic "),
          ("tools/bench plot ", "/usr/share/clockoo/charts.py "))
# The default configuration, until a NIC is named: the host's own sockets, and saved items, which a restart keeps.
MEMORY_SAVE = "/var/lib/clockoo/items"
# Where the figures are shown to this machine's monitor, and as a page.
HTTP = "127.0.0.1:9150"
# Packages with programs that the unit calls: kill for a reload, hugeadm for mounts and pages.
OTHERS = "systemd | systemd-standalone-sysusers, passwd, procps, libhugetlbfs-bin"
DESCRIPTION = """memcached-compatible cache appliance on its own network stack
 Speaks memcached's text, meta and binary protocols over TCP and UDP, and takes
 its frames straight from the NIC: DPDK below, its own TCP/IP in between, no
 kernel in the path. One core, one queue, one loop.
 .
 The service is started by its operator. Until /etc/clockoo/clockoo.yaml names a
 NIC it serves on 127.0.0.1, by this host's own sockets. clockoo-load, a load generator without a kernel, is part of it."""


def checked(*command, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def version(build):
    project = json.loads(checked("meson", "introspect", "--projectinfo", str(build)))
    return project["version"]


def packed(data):
    """Compresses a document as Debian requires: equal bytes give equal files."""
    return gzip.compress(data, 9, mtime=0)


def changelog(text):
    return (f"{NAME} ({text}) unstable; urgency=medium\n\n  * Built from its sources; git log has "
            f"what changed.\n\n -- {MAINTAINER}  Thu, 01 Jan 1970 00:00:00 +0000\n").encode()


def as_installed(source):
    """Returns a page of the source tree for a reader who has only the package: links to pages that the package lacks
    become plain text."""
    def relinked(link):
        path = (ROOT / source).parent / link[2]
        name = DOCS.get(os.path.relpath(path, ROOT))
        return f"[{link[1]}]({name}.gz)" if name else f"{link[1]} ({os.path.relpath(path, ROOT)} of the sources)"

    text = LINK.sub(relinked, (ROOT / source).read_text())
    for here, there in CALLED:
        text = text.replace(here, there)
    return text


def documents():
    """Returns {name below /usr/share/doc/clockoo: text}, not compressed."""
    return {f"{name}.gz": as_installed(source) for source, name in DOCS.items()}


def http_options(build):
    """Returns the options of telemetry.http, which a program built without libmicrohttpd refuses."""
    linked = checked("ldd", str(build / "app/clockoo"))
    return ["--telemetry-http", HTTP] if "libmicrohttpd" in linked else []


def has_tls(build):
    """Returns True if the program was built with OpenSSL; otherwise it refuses -Z."""
    return "libssl" in checked("ldd", str(build / "app/clockoo"))


def contents(build, number):
    """Returns {path in the package: (bytes, mode)}."""
    files = {}
    for path in (build / name for name in PROGRAMS):
        files[f"usr/bin/{path.name}"] = (stripped(path), 0o755)
    for path in (build / name for name in MAN_PAGES):
        files[f"usr/share/man/man{path.suffix[1:]}/{path.name}.gz"] = (packed(path.read_bytes()), 0o644)
    for source, path in DATA:
        files[path] = ((ROOT / "tools/debian" / source).read_bytes(), 0o644)
    files[CONFFILE] = (checked(build / "app/clockoo", "--config", "none", "--port", "user",
                               "--memory-save", MEMORY_SAVE,
                               *http_options(build), "--print-config").encode(), 0o644)
    for path in sorted([*(ROOT / "drivers-config").rglob("*.yaml"), *(ROOT / "drivers-config").rglob("*.json")]):
        files[f"usr/share/clockoo/{path.relative_to(ROOT)}"] = (path.read_bytes(), 0o644)
    files["usr/share/clockoo/charts.py"] = ((ROOT / "tools/py/charts.py").read_bytes(), 0o755)
    files["usr/sbin/clockoo-nic"] = ((ROOT / "tools/nic").read_bytes(), 0o755)
    files[f"usr/share/man/man8/{NIC_PAGE}.gz"] = (packed((ROOT / "tools/debian" / NIC_PAGE).read_bytes()),
                                                  0o644)
    doc = f"usr/share/doc/{NAME}"
    for name, text in documents().items():
        files[f"{doc}/{name}"] = (packed(text.encode()), 0o644)
    files[f"{doc}/copyright"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    files[f"{doc}/changelog.gz"] = (packed(changelog(number)), 0o644)
    return files


def stripped(program):
    """Removes line numbers and variables, and keeps the names that a crash's backtrace needs."""
    with tempfile.NamedTemporaryFile() as out:
        checked("strip", "--strip-debug", "--remove-section=.comment", "-o", out.name, str(program))
        return pathlib.Path(out.name).read_bytes()


def depends(build):
    """Returns the packages of the shared libraries."""
    with tempfile.TemporaryDirectory() as folder:
        debian = pathlib.Path(folder) / "debian"
        debian.mkdir()
        (debian / "control").write_text(f"Source: {NAME}\n\nPackage: {NAME}\nArchitecture: any\n")
        out = checked("dpkg-shlibdeps", "-O", *(f"-e{build / p}" for p in PROGRAMS), cwd=folder)
    found = re.search(r"shlibs:Depends=(.*)", out)
    if found is None:
        raise Failed("dpkg-shlibdeps named no libraries")
    return f"{found.group(1)}, {OTHERS}"


def control(number, arch, needs, files):
    kb = sum((len(data) + 1023) // 1024 for data, _ in files.values())
    return (f"Package: {NAME}\nVersion: {number}\nArchitecture: {arch}\nMaintainer: {MAINTAINER}\n"
            f"Installed-Size: {kb}\nDepends: {needs}\nRecommends: ethtool, numactl, pciutils\n"
            f"Suggests: dpdk, driverctl, python3-matplotlib\nSection: net\nPriority: optional\nDescription: {DESCRIPTION}\n")


def write(path, data, mode):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def stage(root, files, number, arch, needs):
    for path, (data, mode) in files.items():
        write(root / path, data, mode)
    write(root / "DEBIAN/control", control(number, arch, needs, files).encode(), 0o644)
    write(root / "DEBIAN/conffiles", f"/{CONFFILE}\n".encode(), 0o644)
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {path}\n"
                   for path, (data, _) in sorted(files.items()) if path != CONFFILE)
    write(root / "DEBIAN/md5sums", sums.encode(), 0o644)
    for name in SCRIPTS:
        write(root / "DEBIAN" / name, (ROOT / "tools/debian" / name).read_bytes(), 0o755)


def make(build, out, plain=False):
    """Builds the programs and the package. Returns its path."""
    targets = [*PROGRAMS, *MAN_PAGES]
    if plain:
        build_tree.build(build, build_tree.TESTED, targets)
    else:
        trained_tree.build(build, targets)
    number = version(build)
    arch = checked("dpkg", "--print-architecture").strip()
    package = out / f"{NAME}_{number}_{arch}.deb"
    with Step(f"packing {package.name}"), tempfile.TemporaryDirectory(prefix="clockoo-deb-") as folder:
        root = pathlib.Path(folder) / "root"
        root.mkdir(mode=0o755)
        stage(root, contents(build, number), number, arch, depends(build))
        out.mkdir(parents=True, exist_ok=True)
        # The best compression takes seconds, which a package for a test does not need.
        checked("dpkg-deb", *(["-z1"] if plain else []), "--root-owner-group", "--build", str(root), str(package))
    return package


def main():
    os.umask(0o022)
    parser = argparse.ArgumentParser(prog="tools/package")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--plain", action="store_true")
    args = parser.parse_args()
    default = build_tree.default_folder() if args.plain else trained_tree.default_folder()
    build = (args.build or default).absolute()
    try:
        print(make(build, (args.out or build).absolute(), args.plain))
    except Failed as failed:
        progress.say(str(failed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
