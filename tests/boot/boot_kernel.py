"""The guest's kernel: Debian's for clouds, taken apart, never installed.

It is smaller than the one for all machines, has what we need (vfio-pci, Intel's IOMMU, veth, bridge,
netem) and an entry for PVH, so QEMU may start the bare vmlinux: unpacking it in an emulated machine
would take longer than the boot. Kept under the build folder, so only the first run needs a network. Another
architecture's lies in the folder that its libraries are in (tools/py/cross.py); on arm64 it is packed in no way.
"""

import io
import os
import pathlib
import re
import struct
import subprocess
import tarfile
import tempfile

from boot_machine import MACHINES

MODULES = ("vfio_iommu_type1", "vfio-pci", "veth", "bridge", "sch_netem")
# The kernel for all machines has the drivers of NICs that no cloud has: here that of a physical function.
WHOLE_PACKAGE, WHOLE_MODULES = "linux-image-amd64", (*MODULES, "igb")
TAKE_MODULES = (*MODULES, "virtio_pci", "virtio_net", "tun", "8021q")
BOND_MODULES = (*MODULES, "virtio_pci", "virtio_net", "bonding")
FETCH_S = 120
UNPACKERS = {b"\x02\x21\x4c\x18": "lz4", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
LENGTH_BYTES = 4  # the unpacked kernel's length, behind the packed one

# Linux, Documentation/x86/boot.rst: "The Real-Mode Kernel Header".
SETUP_SECTS_AT, PAYLOAD_AT, SECTOR = 0x1F1, 0x248, 512


class Missing(Exception):
    """Why there can be no kernel here."""


def command(*words, cwd=None, data=b""):
    try:
        done = subprocess.run(words, cwd=cwd, input=data, capture_output=True, timeout=FETCH_S,
                              check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{words[0]}: {error}") from None
    if done.returncode != 0:
        raise Missing(f"{' '.join(words[:2])}: {done.stderr.decode().strip().splitlines()[-1:]}")
    return done.stdout


def package_name(meta):
    """The versioned package that today's meta package depends on. Images of containers often come
    without apt's lists: then they are read first."""
    missing = None
    for prepare in ((), ("apt-get", "-q", "update")):
        try:
            if prepare:
                command(*prepare)
            text = command("apt-cache", "depends", meta).decode()
        except Missing as why:
            missing = why
            continue
        found = re.search(r"Depends: (linux-image-\S+)", text)
        if found is not None:
            return found.group(1)
        missing = Missing(f"apt knows no {meta}")
    raise missing


def unpack_vmlinuz(image):
    """The ELF file inside a bzImage."""
    sectors = image[SETUP_SECTS_AT] or 4
    offset, length = struct.unpack_from("<II", image, PAYLOAD_AT)
    start = (sectors + 1) * SECTOR + offset
    payload = image[start:start + length - LENGTH_BYTES]
    for magic, unpacker in UNPACKERS.items():
        if payload.startswith(magic):
            return command(unpacker, "-dc", data=payload)
    raise Missing("the kernel is packed in an unknown way")


def module_name(name):
    return name.replace("-", "_")


def depends(module):
    """Returns what a module's .modinfo says that it needs."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return [module_name(n) for n in found.group(1).decode().split(",") if n] if found else []


def in_load_order(modules, wanted):
    """Names of the wanted modules and all they need, each after what it needs. What is not there is built in."""
    order = []

    def add(name):
        if name in order or name not in modules:
            return
        for other in depends(modules[name]):
            add(other)
        order.append(name)

    for name in wanted:
        add(module_name(name))
    return order


def take_apart(package, folder, wanted):
    with tarfile.open(fileobj=io.BytesIO(command("dpkg-deb", "--fsys-tarfile", package))) as tar:
        modules, vmlinux = {}, None
        for member in tar:
            base = member.name.rsplit("/", 1)[-1]
            if base.startswith("vmlinuz-"):
                vmlinux = unpack_vmlinuz(tar.extractfile(member).read())
            elif base.endswith(".ko"):
                modules[module_name(base[:-3])] = tar.extractfile(member).read()
    if vmlinux is None:
        raise Missing(f"{package} has no kernel")
    keep(folder, modules, vmlinux, wanted)


def keep(folder, modules, vmlinux, wanted=MODULES):
    folder.mkdir(parents=True, exist_ok=True)
    order = in_load_order(modules, wanted)
    for name in order:
        (folder / f"{name}.ko").write_bytes(modules[name])
    (folder / "order").write_text("".join(f"{name}.ko\n" for name in order))
    # Last, and at once: it says that all is there, to another process too.
    whole = folder / f"vmlinux.{os.getpid()}"
    whole.write_bytes(vmlinux)
    whole.rename(folder / "vmlinux")


def take(build, meta=MACHINES["amd64"].package, wanted=MODULES, under="boot"):
    """The folder with vmlinux, modules, and `order`, the names in the order to load them."""
    kept = sorted((build / under).glob("linux-*/vmlinux"))
    if kept:
        return kept[-1].parent
    name = package_name(meta)
    folder = build / under / name.removesuffix("-amd64").replace("linux-image-", "linux-")
    with tempfile.TemporaryDirectory(prefix="clockoo-kernel-") as fetched:
        command("apt-get", "-q", "download", name, cwd=fetched)
        take_apart(next(pathlib.Path(fetched).glob("*.deb")), folder, wanted)
    return folder


def take_from(tree, build):
    """Does what take() does, with the kernel of a folder that has another architecture's Debian."""
    kernels = sorted(tree.glob("boot/vmlinuz-*"))
    if not kernels:
        raise Missing(f"{tree.name} has no kernel")
    release = kernels[-1].name.removeprefix("vmlinuz-")
    folder = build / "boot" / f"linux-{release}"
    if not (folder / "vmlinux").exists():
        modules = {module_name(path.stem): path.read_bytes()
                   for path in tree.glob(f"lib/modules/{release}/kernel/**/*.ko")}
        keep(folder, modules, kernels[-1].read_bytes())
    return folder
