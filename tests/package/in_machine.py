"""The installed package in a machine of its own: systemd, udev, a NIC on vfio-pci.

A clean Debian with the package in it is the guest's whole file system; QEMU and the kernel are those of tests/boot. So
anything that the unit's sandbox forbids fails here.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "boot"))

import boot_client  # noqa: E402
import boot_image   # noqa: E402
import boot_kernel  # noqa: E402
import boot_tap     # noqa: E402
import machine_restart  # noqa: E402
from boot_guest import DEBIAN_BOOT_S, Guest, in_a_machine  # noqa: E402, F401

Missing = (boot_image.Missing, boot_kernel.Missing)
MEMORY_MB = 2048
START_S = 300  # more than the unit's TimeoutStartSec, 180 s
# Files that the guest does not need: it takes long to unpack them.
LEFT_OUT = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/i18n",
            "usr/share/perl", "usr/lib/x86_64-linux-gnu/perl", "usr/lib/gcc", "usr/lib/locale",
            "usr/lib/x86_64-linux-gnu/gconv", "var/lib/apt", "var/lib/dpkg/info", "var/cache",
            "var/log", "proc/", "sys/", "dev/", "run/", "tmp/", "init")
CONFIG = """network:
  address: {address}/24
port:
  nic: "{nic}"
cores:
  yield: yes
memory:
  limit: 32
  file: /var/lib/hugetlbfs/user/clockoo/pagesize-2MB/clockoo
  save: /var/lib/clockoo/items
  keep_for: 3600
protocol:
  conn_limit: 256
"""
WATCHDOG_S = 4
DISK_MB = 64  # twice the saved items of a full cache
FLASH_MB = 256  # the least size; little of it is written
PACKAGE = "clockoo.deb"


def loose(package):
    """Returns the package uncompressed, as an emulated machine takes long to unpack it."""
    with tempfile.TemporaryDirectory(prefix="clockoo-package-") as folder:
        inside, out = f"{folder}/inside", f"{folder}/out.deb"
        for command in (("-R", package, inside), ("-Znone", "-b", inside, out)):
            subprocess.run(["dpkg-deb", *command], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return pathlib.Path(out).read_bytes()


def make_image(image, kernel, root, package):
    archive = boot_image.Archive()
    archive.tree(root, LEFT_OUT)
    for folder in ("proc", "sys", "dev", "run", "tmp", "var/log"):
        archive.folder(folder)
    archive.file("bin/busybox" if not (root / "bin").is_symlink() else "usr/bin/busybox",
                 pathlib.Path(boot_image.tool("busybox")).read_bytes())
    boot_image.add_modules(archive, kernel)
    # The package is installed again later, for which dpkg needs its records.
    archive.file(PACKAGE, loose(package), 0o644)
    for path in sorted(root.glob("var/lib/dpkg/info/clockoo.*")):
        archive.file(str(path.relative_to(root)), path.read_bytes(), path.stat().st_mode & 0o7777)
    archive.file("init", (HERE / "machine_init").read_bytes())
    archive.file("guest_control", (HERE.parent / "boot/guest_control").read_bytes())
    name = "machine_control.service"
    archive.file(f"etc/systemd/system/{name}", (HERE / name).read_bytes(), 0o644)
    archive.link(f"etc/systemd/system/multi-user.target.wants/{name}", f"../{name}")
    data = archive.bytes()
    image.write_bytes(data)
    return len(data)


def state(guest, *names):
    text = guest.must("systemctl show clockoo " + " ".join(f"-p {name}" for name in names))
    return dict(line.split("=", 1) for line in text.split())


def make_disks(folder):
    disks = [pathlib.Path(folder) / name for name in ("disk", "flash")]
    for disk, size in zip(disks, (DISK_MB, FLASH_MB)):
        with open(disk, "wb") as file:
            file.truncate(size << 20)
    subprocess.run([boot_image.tool("mkfs.ext4"), "-q", disks[0]], check=True, stdin=subprocess.DEVNULL)
    return disks


def configure(guest):
    """Binds the NIC, and mounts the disk where the unit lets the service write. Returns the NIC and its driver."""
    nic = boot_tap.find_nic(guest)
    bound = boot_tap.bind(guest, nic, "clockoo-nic")
    guest.must("udevadm settle && mkdir -p /var/lib/clockoo && mount -t ext4 /dev/nvme0n1 /var/lib/clockoo")
    text = CONFIG.format(address=boot_tap.GUEST_IP, nic=nic).replace("\n", "\\n")
    guest.must(f"printf '{text}' >/etc/clockoo/clockoo.yaml")
    return nic, bound


def before_a_nic(tally, guest):
    """Tests the installed configuration, which names no NIC: the service uses 127.0.0.1, and a port in use ends it
    without restarts."""
    guest.must("busybox ip link set lo up && systemctl start clockoo", START_S)
    text = guest.must("printf 'version\\r\\nquit\\r\\n' | busybox nc 127.0.0.1 11211")
    tally.check("in a machine: as installed it serves on 127.0.0.1", "VERSION" in text, text)
    guest.must("systemctl stop clockoo && systemd-run -q --unit=other -p Type=notify /usr/bin/clockoo --config none "
               "--port user --file-prefix other -m 8", START_S)
    status, text = guest.run("systemctl start clockoo; journalctl -o cat -n 20 -u clockoo", START_S)
    now = state(guest, "NRestarts", "ExecMainStatus")
    tally.check("in a machine: where the port is taken, one line says so and systemd does not try again",
                "another program serves there" in text and now == {"NRestarts": "0", "ExecMainStatus": "71"}, f"{now} {text}")
    guest.must("systemctl stop other; systemctl reset-failed clockoo; true", START_S)


def service(tally, guest, clock):
    nic, bound = configure(guest)
    tally.check(f"in a machine: clockoo-nic binds the NIC {nic} to vfio-pci", bound == "vfio-pci", bound)
    owner = guest.must("stat -c %G:%a /dev/vfio/[0-9]*").strip()
    tally.check("in a machine: the NIC is the service's to open", owner == "clockoo:660", owner)
    status, text = guest.run("systemctl start clockoo; s=$?; "
                             "[ $s = 0 ] || journalctl -o cat -n 20 -u clockoo; exit $s", START_S)
    if not tally.check("in a machine: systemctl start waits until it is ready", status == 0, text):
        return
    print(f"   the service is ready after {clock():.0f} s", flush=True)
    owner = guest.must("stat -c %U:%a /var/lib/hugetlbfs/user/clockoo/pagesize-2MB").strip()
    tally.check("in a machine: the mount of memory.file is the service's alone", owner == "clockoo:700", owner)
    conns = boot_client.over_tcp(boot_tap.GUEST_IP, 2)
    tally.check("in a machine: a client outside stores and reads every byte", True)
    status, text = guest.run("systemctl reload clockoo", START_S)
    now = state(guest, "ActiveState", "SubState", "NRestarts", "User")
    tally.check("in a machine: a reload ends and the service goes on",
                status == 0 and now == {"ActiveState": "active", "SubState": "running",
                                        "NRestarts": "0", "User": "clockoo"},
                f"{text} {now} {guest.must('journalctl -o short-monotonic -u clockoo')}")
    boot_client.expect(conns[0], b"mn\r\n", b"MN\r\n")
    status, text = guest.run("systemctl stop clockoo; s=$?; systemctl show -p Result clockoo; "
                             "exit $s", START_S)
    tally.check("in a machine: stopped, it closed its connections and ended well",
                status == 0 and text.strip() == "Result=success"
                and all(conn.recv(1) == b"" for conn in conns), text)
    text = guest.must("journalctl -o cat -u clockoo")
    tally.check("in a machine: the journal has its words",
                "clockoo 0." in text and " ready: tcp " in text, text)


def watchdog(tally, guest):
    """Tests that a program whose cores are stopped is killed and started again."""
    guest.must("mkdir -p /run/systemd/system/clockoo.service.d && printf "
               f"'[Service]\\nWatchdogSec={WATCHDOG_S}\\n' >/run/systemd/system/clockoo.service.d/w.conf "
               "&& systemctl daemon-reload && systemctl start clockoo", START_S)
    # Waits for a process: on a slow machine the watchdog may have killed it already, and pid 0 would mean the shell
    # itself.
    guest.must("for i in $(seq 100); do pid=$(systemctl show -P MainPID clockoo); [ $pid != 0 ] && break; sleep 0.5; done; "
               "[ $pid != 0 ] && kill -STOP $pid")
    status, text = guest.run(f"for i in $(seq {30 * WATCHDOG_S}); do sleep 1; "
                             "[ $(systemctl show -P NRestarts clockoo) != 0 ] && "
                             "[ $(systemctl show -P ActiveState clockoo) = active ] && exit 0; done; exit 1",
                             START_S)
    tally.check("in a machine: standing still, it is ended and started again", status == 0,
                text + guest.run("journalctl -o cat -n 20 -u clockoo")[1])


def crash(tally, guest):
    """Tests a crash by a signal: the journal has its report, systemd restarts the service, and a core file exists if
    enabled."""
    guest.must("systemctl start clockoo", START_S)
    before = guest.must("systemctl show -P NRestarts clockoo").strip()
    limits = guest.must("grep core.file /proc/$(systemctl show -P MainPID clockoo)/limits").split()
    tally.check("in a machine: a core file is left to who asks for one", limits[-3:] == ["0", "unlimited", "bytes"], limits)
    status, text = guest.run("pid=$(systemctl show -P MainPID clockoo); [ $pid != 0 ] && kill -SEGV $pid; for i in $(seq 100); do sleep 0.5; "
                             f"[ $(systemctl show -P NRestarts clockoo) != {before} ] && "
                             "[ $(systemctl show -P ActiveState clockoo) = active ] && break; done; "
                             "journalctl -o cat -n 40 -u clockoo", START_S)
    tally.check("in a machine: a crash has last words in the journal, and it is started again",
                status == 0 and "clockoo: crash: signal 11 (SIGSEGV)" in text and "clockoo: crash: backtrace" in text
                and "status=11/SEGV" in text, text)
    guest.must("systemctl stop clockoo; systemctl reset-failed clockoo", START_S)


def flash(tally, guest):
    """Tests that the unit may not open a block device until a drop-in allows it."""
    drop_in = "/run/systemd/system/clockoo.service.d/flash.conf"
    device = "/dev/nvme1n1"
    guest.must("systemctl stop clockoo; chown clockoo " + device + f" && printf 'flash:\\n  device: {device}\\n' "
               ">>/etc/clockoo/clockoo.yaml", START_S)
    status, _ = guest.run("systemctl start clockoo", START_S)
    guest.must("systemctl stop clockoo; systemctl reset-failed clockoo", START_S)
    text = guest.must("journalctl -o cat -n 20 -u clockoo")
    tally.check("in a machine: a block device is closed to the unit, and a line says how to allow it",
                status != 0 and f"flash.device: {device}: Operation not permitted; a service's unit must allow it (DeviceAllow)"
                in text, text)
    guest.must(f"mkdir -p $(dirname {drop_in}) && printf '[Service]\\nDeviceAllow={device} rw\\n' >{drop_in} "
               "&& systemctl daemon-reload", START_S)
    status, text = guest.run("systemctl start clockoo; s=$?; journalctl -o cat -n 20 -u clockoo; exit $s", START_S)
    tally.check("in a machine: a drop-in of one line allows it", status == 0
                and f"flash.device: {device}: starts empty: it is new" in text, text)
    guest.must(f"systemctl stop clockoo && rm {drop_in} && systemctl daemon-reload && "
               "sed -i '/^flash:/,$d' /etc/clockoo/clockoo.yaml", START_S)


def take_kernel(build):
    """Gets the kernel, over the network the first time. Raises Missing if no machine can be emulated here."""
    boot_tap.allowed()
    return boot_kernel.take(build)


def run(tally, build, root, kernel, package, clock):
    """Runs all tests in the machine. clock() returns the seconds since the begin."""
    image = build / "boot/debian.cpio"
    size = make_image(image, kernel, root, package)
    print(f"   an image of {size / 1e6:.0f} MB", flush=True)
    boot_tap.make(1)
    try:
        with tempfile.TemporaryDirectory(prefix="clockoo-machine-") as folder:
            machine = kernel, image, folder, "e1000e", boot_tap.NAME, MEMORY_MB, 1, make_disks(folder), DEBIAN_BOOT_S
            with Guest(*machine) as guest:
                print(f"   systemd is up after {clock():.0f} s", flush=True)
                before_a_nic(tally, guest)
                service(tally, guest, clock)
                machine_restart.kept(tally, guest, boot_tap.GUEST_IP, clock)
                crash(tally, guest)
                flash(tally, guest)
                watchdog(tally, guest)
                items = machine_restart.reboot(guest, boot_tap.GUEST_IP)
            with Guest(*machine) as guest:
                print(f"   it is up again after {clock():.0f} s", flush=True)
                configure(guest)
                machine_restart.loaded(tally, guest, boot_tap.GUEST_IP, items, clock)
    finally:
        boot_tap.remove()
        image.unlink()
