"""The program behind the shell script tools/image.

The root of the image is made as a folder, umoci makes a layer of it, and the layout is packed. Equal inputs give an
equal archive.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import build_tree
import cross
import trained_tree
from progress import Failed, Step

ROOT = build_tree.ROOT
NAME = "clockoo"
USER = 11211  # memcached's port, and a user ID that no distribution uses
# (GNU's name of the CPU, its loader, its tool that removes symbols)
ARCHES = {"amd64": ("x86_64-linux-gnu", "lib64/ld-linux-x86-64.so.2"), "arm64": ("aarch64-linux-gnu", "lib/ld-linux-aarch64.so.1")}
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
ELF_MACHINES = {62: "amd64", 183: "arm64"}
# Files that libraries open by name: programs of af_xdp, and parts of verbs for mlx4, mlx5 and mana.
OPENED = ("bpf/xdp-dispatcher.o", "bpf/xsk_def_xdp_prog.o", "bpf/xsk_def_xdp_prog_5.3.o", "libibverbs/libmlx4-rdmav*.so",
          "libibverbs/libmlx5-rdmav*.so", "libibverbs/libmana-rdmav*.so")
VERBS = ("mlx4", "mlx5", "mana")
NEEDED = re.compile(r"^\s+NEEDED\s+(\S+)", re.M)
CONFIG = f"""# What a container serves without a file of its own at this place: the sockets of its network, by port user.
# clockoo --help and drivers-config/README.md have the keys.
network:
  listen: "0.0.0.0"
port:
  nic: user
cores:
  yield: yes
memory:
  limit: 64
  no_huge: yes
telemetry:
  http: 0.0.0.0:9150
"""
PASSWD = f"root:x:0:0:root:/:/nonexistent\n{NAME}:x:{USER}:{USER}:Clockoo:/:/nonexistent\n"
GROUP = f"root:x:0:\n{NAME}:x:{USER}:\n"
EPOCH = "1970-01-01T00:00:00Z"


def checked(*command):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def arch_of(program):
    """Returns the CPU that a program is for, from its ELF header."""
    with open(program, "rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF" or len(head) < 20:
        raise Failed(f"{program}: not a program")
    return ELF_MACHINES.get(int.from_bytes(head[18:20], "little"), "another CPU")


def needed(path):
    """Returns the names of the libraries that a program or library is linked with."""
    return NEEDED.findall(checked("objdump", "-p", path))


class Libraries:
    """The libraries of a Debian, and which of them a program needs."""

    def __init__(self, root, arch):
        self.root, (self.triple, self.loader) = pathlib.Path(root), ARCHES[arch]
        self.found = {}  # {name: path of the file}

    def path(self, name):
        for folder in (f"usr/lib/{self.triple}", f"lib/{self.triple}", "usr/lib", "lib"):
            if (self.root / folder / name).exists():
                return self.real(self.root / folder / name)
        raise Failed(f"{name}: no such library below {self.root}: --libraries names a Debian that has it")

    def real(self, path):
        """Resolves a path of another root, whose links are followed inside of it."""
        for _ in range(16):
            if not path.is_symlink():
                return path
            to = os.readlink(path)
            path = self.root / to.lstrip("/") if to.startswith("/") else path.parent / to
        raise Failed(f"{path}: too many links")

    def add(self, program):
        for name in needed(program):
            if name not in self.found:
                self.found[name] = self.path(name)
                self.add(self.found[name])

    def opened(self):
        """Returns {path below the folder of libraries: file} of libraries that are opened by name, and of those
        that they need."""
        folder = self.root / "usr/lib" / self.triple
        files = {path.relative_to(folder): self.real(path) for words in OPENED for path in sorted(folder.glob(words))}
        for path in files.values():
            if path.suffix == ".so" or ".so." in path.name:
                self.add(path)
        return files


def put(root, path, data, mode=0o644):
    at = root / path
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_bytes(data)
    at.chmod(mode)


def stripped(program, triple):
    """Removes line numbers and variables, and keeps the names that a crash's backtrace needs."""
    tool = shutil.which(f"{triple}-strip") or "strip"
    with tempfile.NamedTemporaryFile() as out:
        checked(tool, "--strip-debug", "--remove-section=.comment", "-o", out.name, program)
        return pathlib.Path(out.name).read_bytes()


def notices(libraries):
    """Returns {package: its copyright} of the files that belong to Debian packages."""
    names = {name for path in libraries for name in (str(path), str(path).removeprefix("/usr"))}
    done = subprocess.run(["dpkg-query", "-S", *sorted(names)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    packages = set(re.findall(r"^([a-z0-9.+-]+)(?::\w+)?: /", done.stdout, re.M))
    texts = {package: pathlib.Path("/usr/share/doc") / package / "copyright" for package in packages}
    return {package: text.read_bytes() for package, text in texts.items() if text.exists()}


def make_root(root, program, libraries):
    """Makes the files of the image."""
    libraries.add(program)
    lib = pathlib.Path("usr/lib") / libraries.triple
    opened = libraries.opened()
    put(root, "usr/bin/clockoo", stripped(program, libraries.triple), 0o755)
    put(root, "usr" / pathlib.Path(libraries.loader), libraries.real(libraries.root / libraries.loader).read_bytes(), 0o755)
    for name, path in sorted(libraries.found.items()):
        if name != pathlib.Path(libraries.loader).name:
            put(root, lib / name, path.read_bytes())
    for name, path in sorted(opened.items()):
        put(root, lib / name, path.read_bytes())
    for name in VERBS:
        if (libraries.root / "etc/libibverbs.d" / f"{name}.driver").exists():
            put(root, f"etc/libibverbs.d/{name}.driver", (libraries.root / "etc/libibverbs.d" / f"{name}.driver").read_bytes())
    for path in sorted((ROOT / "drivers-config").glob("*.yaml")):
        put(root, f"usr/share/clockoo/drivers-config/{path.name}", path.read_bytes())
    put(root, "usr/share/doc/clockoo/copyright", (ROOT / "LICENSE").read_bytes())
    if libraries.root == pathlib.Path("/"):
        for package, text in sorted(notices([*libraries.found.values(), *opened.values()]).items()):
            put(root, f"usr/share/doc/{package}/copyright", text)
    put(root, "etc/clockoo/clockoo.yaml", CONFIG.encode())
    put(root, "etc/passwd", PASSWD.encode())
    put(root, "etc/group", GROUP.encode())
    for folder, mode in (("tmp", 0o1777), ("run", 0o1777), ("var/lib/clockoo", 0o1777), ("proc", 0o755), ("sys", 0o755), ("dev", 0o755)):
        (root / folder).mkdir(parents=True)
        (root / folder).chmod(mode)
    for folder in ("lib", "lib64"):
        if (root / "usr" / folder).exists():
            (root / folder).symlink_to(f"usr/{folder}")
    for path in [root, *root.rglob("*")]:
        os.utime(path, (0, 0), follow_symlinks=False)


def make_layout(layout, root, arch, number):
    image = f"{layout}:{number}"
    checked("umoci", "init", "--layout", layout)
    checked("umoci", "new", "--image", image)
    options = ["--rootless"] if os.geteuid() != 0 else []
    checked("umoci", "insert", *options, "--no-history", "--image", image, root, "/")
    checked("umoci", "config", "--no-history", "--image", image, "--created", EPOCH, "--os", "linux", "--architecture", arch,
            "--config.user", f"{USER}:{USER}", "--config.entrypoint", "/usr/bin/clockoo", "--config.workingdir", "/",
            "--config.stopsignal", "SIGTERM", "--config.exposedports", "11211/tcp", "--config.exposedports", "9150/tcp",
            "--config.label", f"org.opencontainers.image.title={NAME}", "--config.label", f"org.opencontainers.image.version={number}")
    checked("umoci", "gc", "--layout", layout)


def pack(layout, out):
    def anonymous(info):
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info

    # A reader must not find an archive that is half written.
    made = out.with_name(f".{out.name}.{os.getpid()}")
    with tarfile.open(made, "w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(layout.rglob("*")):
            tar.add(path, path.relative_to(layout), recursive=False, filter=anonymous)
    os.replace(made, out)


def project_version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def make(out, program, arch, libraries):
    if arch_of(program) != arch:
        raise Failed(f"{program}: it is for {arch_of(program)}, not for {arch}: --arch says for which, --program names the program")
    with Step(f"packing {out.name}"), tempfile.TemporaryDirectory(prefix="clockoo-image-") as folder:
        root, layout = pathlib.Path(folder) / "root", pathlib.Path(folder) / "layout"
        root.mkdir(mode=0o755)
        make_root(root, program, Libraries(libraries, arch))
        make_layout(layout, root, arch, project_version())
        pack(layout, out)


def main(argv):
    own = MACHINES.get(platform.machine(), "another CPU")
    p = argparse.ArgumentParser(prog="tools/image")
    p.add_argument("file", type=pathlib.Path)
    p.add_argument("--program", type=pathlib.Path)
    p.add_argument("--arch", choices=sorted(ARCHES), default=own)
    p.add_argument("--libraries", type=pathlib.Path)
    args = p.parse_args(argv)
    is_foreign = args.arch != own
    if is_foreign and args.arch not in cross.FAMILIES and (args.program is None or args.libraries is None):
        raise Failed(f"--arch {args.arch}: this machine is {own}: name the program by --program, and its Debian by --libraries")
    if args.program is None:
        folder = cross.folder(args.arch) if is_foreign else build_tree.default_folder()
        if is_foreign:
            cross.build(args.arch, folder, targets=["app/clockoo"], bench=False)
        else:
            trained_tree.build(folder, ["app/clockoo"])
        args.program = folder / "app/clockoo"
    make(args.file.absolute(), args.program, args.arch, args.libraries or (cross.tree(args.arch) if is_foreign else pathlib.Path("/")))
    print(args.file)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Failed, cross.Missing, OSError) as fault:
        print(f"tools/image: {fault}", file=sys.stderr)
        sys.exit(1)
