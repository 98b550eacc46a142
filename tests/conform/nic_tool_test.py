#!/usr/bin/python3 -B
"""tools/nic refuses a NIC that is in use, and binds and unbinds any other.

Goal: a NIC that carries a session, a route, or an interface above it is refused with one line, and nothing is
written; a free NIC is bound and given back, by devbind or by sysfs; hugepages are reserved now and for the next
boot. Method: veths in a network namespace stand for the kernel's interfaces, with real addresses, routes and
sessions; a folder stands for the PCI bus, and a stub for devbind, which logs its arguments. Every case runs in
/bin/sh; some run in busybox, too, if it is installed.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

NIC = pathlib.Path(__file__).resolve().parents[2] / "tools/nic"
SKIPPED = 77
DEVBIND = """#!/bin/sh
echo "$*" >>{root}/devbind.log
ln -sfn ../../../../bus/pci/drivers/$2 {root}/sys/bus/pci/devices/$3/driver
"""

# Each interface with its addresses and further commands for ip. The nth has the PCI address 0000:n:00.0.
IFACES = [
    ("free0", [], []),
    ("def0", ["10.1.0.2/24"], ["route add default via 10.1.0.1"]),
    ("addr0", ["10.2.0.2/24"], []),
    ("ses0", ["10.3.0.2/24"], []),
    ("ssh0", ["10.4.0.2/24"], []),
    ("six0", ["2001:db8:5::2/64"], []),
    ("sixdef0", ["2001:db8:6::2/64"], ["route add default via 2001:db8:6::1"]),
    ("sixses0", ["2001:db8:7::2/64"], []),
    ("slave0", [], []),
    ("trunk0", [], []),
    ("other0", ["10.9.0.2/24"], []),
    # A route in another table only; the second of two next hops; a link-local address only.
    ("table0", ["10.11.0.2/32"], ["route add default dev table0 table 100"]),
    ("hops0", [], ["route add default metric 7 nexthop via 10.1.0.1 dev def0 "
                   "nexthop via 10.1.0.9 dev hops0 onlink"]),
    ("link0", ["fe80::77/64"], []),
    # Two ports of a card in one IOMMU group; one with virtual functions.
    ("port0", [], []),
    ("port1", [], []),
    ("pf0", [], []),
]
AT = {name: f"0000:{n:02x}:00.0" for n, (name, _, _) in enumerate(IFACES)}
UNSEEN, BOUND, MLX, DISK, NOGROUP = ("0000:40:00.0", "0000:41:00.0", "0000:42:00.0",
                                     "0000:43:00.0", "0000:44:00.0")
CROWD, NEIGHBOUR = "0000:45:00.0", "0000:45:00.1"
LONE = "0000:46:00.0"
MANA = "0000:47:00.0"

# The arguments, exit status, required output, and the arguments that devbind must have been called with.
CASES = [
    (["bind", AT["free0"]], 0, "bound to vfio-pci", f"-b vfio-pci {AT['free0']}"),
    (["bind", AT["free0"][5:]], 0, "bound to vfio-pci", f"-b vfio-pci {AT['free0']}"),
    (["bind", AT["free0"], "uio_pci_generic"], 0, "bound to uio_pci_generic",
     f"-b uio_pci_generic {AT['free0']}"),
    (["bind", AT["def0"]], 1, "refused: def0 (0000:01:00.0): the default route leads over it", ""),
    (["bind", AT["addr0"]], 1, "refused: addr0 (0000:02:00.0): it has a route (ip addr flush dev "
     "addr0)", ""),
    (["bind", AT["ses0"]], 1, "refused: ses0 (0000:03:00.0): an SSH session runs over it", ""),
    (["bind", AT["ssh0"]], 1, "refused: ssh0 (0000:04:00.0): your SSH session from 10.4.0.9 runs",
     ""),
    (["bind", AT["six0"]], 1, "refused: six0 (0000:05:00.0): it has a route", ""),
    (["bind", AT["sixdef0"]], 1, "refused: sixdef0 (0000:06:00.0): the default route", ""),
    (["bind", AT["sixses0"]], 1, "refused: sixses0 (0000:07:00.0): 2 TCP sessions run", ""),
    (["bind", AT["slave0"]], 1, "refused: slave0 (0000:08:00.0): bond0 lies above it", ""),
    (["bind", AT["trunk0"]], 1, "refused: trunk0 (0000:09:00.0): trunk0.7 lies above it", ""),
    (["bind", AT["other0"]], 1, "refused: other0 (0000:0a:00.0): 1 TCP session runs", ""),
    (["bind", AT["table0"]], 1, "refused: table0 (0000:0b:00.0): the default route leads over it",
     ""),
    (["bind", AT["hops0"]], 1, "refused: hops0 (0000:0c:00.0): the default route leads over it",
     ""),
    (["bind", AT["link0"]], 1, "refused: link0 (0000:0d:00.0): 2 TCP sessions run", ""),
    (["bind", AT["port0"]], 0, f"of use once its IOMMU group is bound too: {AT['port1']}",
     f"-b vfio-pci {AT['port0']}"),
    (["bind", AT["pf0"]], 1, "refused: 0000:10:00.0: it has virtual functions", ""),
    (["bind", UNSEEN], 1, "its interface is not visible here", ""),
    (["bind", BOUND], 0, "bound to vfio-pci", ""),
    (["bind", MLX], 0, "stays with mlx5_core: DPDK drives it beside the kernel; network.kernel: nic leaves it all", ""),
    (["bind", MANA], 0, "stays with mana", ""),
    (["bind", NOGROUP], 1, "no IOMMU: switch on", ""),
    (["bind", CROWD], 1, f"shares its IOMMU group with {NEIGHBOUR}, which ixgbe drives", ""),
    (["bind", LONE], 0, "bound to vfio-pci", f"-b vfio-pci {LONE}"),
    (["bind", DISK], 1, "is no network controller", ""),
    (["bind", "0000:99:00.0"], 1, "there is no PCI device 0000:99:00.0", ""),
    (["bind", "../../../etc"], 1, "expected a PCI address", ""),
    (["bind", "0000:00:00.$"], 1, "expected a PCI address", ""),
    (["bind"], 1, "bind: expected a PCI address", ""),
    (["bind", AT["free0"], "ixgbe"], 1, "expected vfio-pci or uio_pci_generic", ""),
    (["bind", AT["free0"], "vfio-pci", AT["port0"]], 1, "an address and perhaps a driver, no more",
     ""),
    (["unbind", BOUND, AT["port0"]], 1, "expected an address, no more", ""),
    (["unbind", AT["free0"]], 0, "is the kernel's already, by ixgbe", ""),
    (["unbind", BOUND], 0, "back with e1000e", f"-b e1000e {BOUND}"),
    (["frob"], 1, "expected list, bind", ""),
    (["--frob", "list"], 1, "unknown option", ""),
]

CONNECT_TRIES, CONNECT_PAUSE_S = 1200, 0.05

# Starting processes takes most of the time, so busybox runs only the cases that depend on its awk, ip or sed.
IN_BUSYBOX = [["bind", AT["free0"]], ["bind", AT["def0"]], ["bind", AT["ses0"]],
              ["bind", AT["sixdef0"]], ["bind", AT["sixses0"]], ["bind", AT["other0"]],
              ["bind", AT["table0"]], ["bind", CROWD], ["unbind", BOUND]]


def connected(family, at):
    """Returns a client connected to our own address. On a busy machine a new address works only after a moment."""
    for _ in range(CONNECT_TRIES):
        client = socket.socket(family)
        if client.connect_ex(at) == 0:
            return client
        client.close()
        time.sleep(CONNECT_PAUSE_S)
    raise AssertionError(f"no connection to {at[0]}, which is ours")


def sessions():
    """Opens TCP sessions over some interfaces, from each interface's own address to itself. Returns the sockets."""
    made = []
    link = (0, socket.if_nametoindex("link0"))
    for at in (("10.3.0.2", 22), ("2001:db8:7::2", 4711), ("fe80::77", 4713, *link)):
        family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
        server = socket.socket(family)
        server.bind(at)
        server.listen()
        client = connected(family, at)
        made += [server, client, server.accept()[0]]
    # A server of both families: the kernel lists its IPv4 client in /proc/net/tcp6. The client has another address.
    server = socket.socket(socket.AF_INET6)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", 4712))
    server.listen()
    client = socket.socket()
    client.bind(("10.10.0.2", 0))
    client.connect(("10.9.0.2", 4712))
    return made + [server, client, server.accept()[0]]


def make_interfaces():
    lines = ["link set lo up", "addr add 10.10.0.2/32 dev lo"]
    for name, addresses, more in IFACES:
        lines += [f"link add {name} type veth peer name {name}-p", f"link set {name} up",
                  f"link set {name}-p up"]
        lines += [f"addr add {at} dev {name} {'nodad' * (':' in at)}" for at in addresses]
        lines += more
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)


def add_driver(root, address, driver):
    (root / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
    (root / "sys/bus/pci/devices" / address / "driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")


def add_device(root, address, driver, iface="", group="1", kind="0x020000"):
    at = root / "sys/bus/pci/devices" / address
    at.mkdir(parents=True)
    for name, text in (("class", kind), ("vendor", "0x8086"), ("device", "0x10fb"),
                       ("numa_node", "0"), ("driver_override", "(null)")):
        (at / name).write_text(text + "\n")
    if driver:
        add_driver(root, address, driver)
    if iface:
        (at / "net" / iface).mkdir(parents=True)
    if group:
        folder = root / "sys/kernel/iommu_groups" / group / "devices"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / address).symlink_to(f"../../../../bus/pci/devices/{address}")
        (at / "iommu_group").symlink_to(f"../../../../kernel/iommu_groups/{group}")


def make_tree(root):
    """Makes the folder of a PCI bus with the namespace's interfaces. /proc is the real one; tools/nic only reads it."""
    for name, _, _ in IFACES:
        add_device(root, AT[name], "ixgbe", name, group="pair" if "port" in name else name)
        (root / "sys/class/net" / name).mkdir(parents=True)
        (root / "sys/class/net" / name / "carrier").write_text("1\n")
        (root / "sys/class/net" / name / "speed").write_text("10000\n")
    (root / "sys/class/net/slave0/master").symlink_to("../bond0")
    (root / "sys/class/net/trunk0/upper_trunk0.7").symlink_to("../trunk0.7")
    (root / "sys/bus/pci/devices" / AT["pf0"] / "virtfn0").symlink_to("../0000:10:10.0")
    add_device(root, UNSEEN, "ixgbe", group="40")
    add_device(root, BOUND, "vfio-pci", group="41")
    add_device(root, MLX, "mlx5_core", group="42")
    add_device(root, MANA, "mana", group="")
    add_device(root, DISK, "ahci", group="43", kind="0x010601")
    add_device(root, NOGROUP, "", group="")
    add_device(root, CROWD, "", group="45")
    add_device(root, NEIGHBOUR, "ixgbe", group="45")
    add_device(root, LONE, "", group="46")
    add_device(root, "0000:46:01.0", "pcieport", group="46", kind="0x060400")
    (root / "run/clockoo-nic").mkdir(parents=True)
    (root / f"run/clockoo-nic/{BOUND}").write_text("e1000e\n")
    (root / "sys/module/vfio_pci").mkdir(parents=True)
    (root / "sys/module/uio_pci_generic").mkdir(parents=True)
    (root / "sys/bus/pci/drivers_probe").write_text("")
    (root / "proc").symlink_to("/proc")
    pages = root / "sys/devices/system/node/node1/hugepages/hugepages-2048kB"
    pages.mkdir(parents=True)
    (pages / "nr_hugepages").write_text("0\n")
    stub = root / "devbind"
    stub.write_text(DEVBIND.format(root=root))
    stub.chmod(0o755)


@contextlib.contextmanager
def a_tree():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        make_tree(root)
        yield root


def run(shell, root, words, devbind=True, ssh=""):
    env = {k: v for k, v in os.environ.items() if k != "SSH_CONNECTION"}
    if ssh:
        env["SSH_CONNECTION"] = ssh
    if len(shell) > 1:  # only programs of busybox are in PATH
        env["PATH"] = f"{root}/bin"
        (root / "bin").mkdir(exist_ok=True)
        for name in ("sh", "awk", "grep", "id", "ip", "ln", "ls", "mkdir", "readlink", "rm", "sed",
                     "sort", "tr"):
            if not (root / "bin" / name).is_symlink():
                (root / "bin" / name).symlink_to(shutil.which("busybox"))
    more = ["--devbind", str(root / "devbind")] if devbind else []
    done = subprocess.run([*shell, str(NIC), "--root", str(root), *more, *words], env=env,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def text(path):
    return path.read_text() if path.exists() else ""


def put_back(root, drivers):
    """Restores what a case may have changed in the tree: making a new tree takes longer than a case."""
    for link, target in drivers.items():
        if os.readlink(link) != target:
            link.unlink()
            link.symlink_to(target)
    (root / "devbind.log").unlink(missing_ok=True)
    (root / f"run/clockoo-nic/{BOUND}").write_text("e1000e\n")


def check_cases(shell):
    with a_tree() as root:
        drivers = {link: os.readlink(link) for link in root.glob("sys/bus/pci/devices/*/driver")}
        for words, status, must_say, bound in CASES:
            if len(shell) > 1 and words not in IN_BUSYBOX:
                continue
            got, said = run(shell, root, words, ssh="10.4.0.9 50000 10.4.0.2 22")
            calls = text(root / "devbind.log").strip()
            good = got == status and must_say in said and calls == bound
            if status != 0:
                good = good and said.count("\n") == 1
            yield f"{' '.join(words)}: {must_say}", good, f"status {got}\n{said}devbind: {calls}"
            put_back(root, drivers)


def check_sysfs(shell):
    """Without devbind tools/nic writes to sysfs. In a folder the driver does not change by that, which the tool must
    notice."""
    at = AT["free0"]
    with a_tree() as root:
        got, said = run(shell, root, ["bind", at], devbind=False)
        device = root / "sys/bus/pci/devices" / at
        wrote = (text(device / "driver_override"), text(device / "driver/unbind"),
                 text(root / "sys/bus/pci/drivers_probe"), text(root / "run/clockoo-nic" / at))
        yield ("sysfs: override, unbind, probe, and the kernel's driver is noted",
               wrote == ("vfio-pci\n", f"{at}\n", f"{at}\n", "ixgbe\n"), f"{wrote} {said}")
        yield ("a driver that did not change is noticed",
               got == 1 and "bound to ixgbe afterwards, not to vfio-pci" in said, said)
    with a_tree() as root:
        (root / "devbind").write_text("#!/bin/sh\nexit 3\n")
        got, said = run(shell, root, ["bind", at])
        yield "a failure of devbind is reported", got == 1 and "could not bind it" in said, said


def check_keep(shell):
    at = AT["free0"]
    rule = (f'ACTION=="add", SUBSYSTEM=="pci", KERNEL=="{at}", '
            'ATTR{driver_override}="vfio-pci"\n')
    with a_tree() as root:
        got, said = run(shell, root, ["--keep", "bind", at])
        rules = root / f"etc/udev/rules.d/60-clockoo-{at}.rules"
        yield ("bind --keep binds at every boot", got == 0 and text(rules) == rule and
               text(root / "etc/modules-load.d/clockoo.conf") == "vfio-pci\n", said + text(rules))


def check_keep_two(shell):
    """A second kept NIC may have another driver. Without an IOMMU, vfio needs an option at boot."""
    with a_tree() as root:
        flag = root / "sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
        flag.parent.mkdir(parents=True)
        flag.write_text("Y\n")
        said = [run(shell, root, ["--keep", "bind", *words])
                for words in ([AT["free0"]], [AT["port0"], "uio_pci_generic"], [AT["free0"]])]
        yield ("every driver kept is loaded at boot, once", [got for got, _ in said] == [0] * 3 and
               text(root / "etc/modules-load.d/clockoo.conf") == "vfio-pci\nuio_pci_generic\n" and
               text(root / "etc/modprobe.d/clockoo.conf") == "", str(said))
        got, words = run(shell, root, ["--keep", "bind", NOGROUP])
        yield ("without an IOMMU vfio gets its option at boot", got == 0 and
               text(root / "etc/modprobe.d/clockoo.conf") ==
               "options vfio enable_unsafe_noiommu_mode=1\n", words)


def check_notes(shell):
    """The kernel's former driver of a NIC is noted, even if another NIC of its group has a different driver."""
    with a_tree() as root:
        other = root / "sys/bus/pci/devices" / AT["port1"] / "driver"
        other.unlink()
        other.symlink_to("../../../../bus/pci/drivers/vfio-pci")
        got, said = run(shell, root, ["bind", AT["port0"]])
        yield ("the kernel's driver is noted", got == 0 and
               text(root / "run/clockoo-nic" / AT["port0"]) == "ixgbe\n", said)


def check_open(shell):
    """vfio-pci would wait for the end of the program that has the device."""
    with a_tree() as root:
        (root / "proc").unlink()
        (root / "proc/77/fd").mkdir(parents=True)
        (root / "proc/77/fd/5").symlink_to("/dev/vfio/41")
        got, said = run(shell, root, ["unbind", BOUND])
        yield ("a NIC that a program uses is not unbound", got == 1 and
               "a program is using it" in said and text(root / "devbind.log") == "", said)


def check_iommu(shell):
    """The advice names the IOMMU's switch as the CPU's vendor does."""
    with a_tree() as root:
        (root / "proc").unlink()
        (root / "proc").mkdir()
        for model, must_say in (
                ("AMD EPYC 7763 64-Core Processor", "the IOMMU (AMD-Vi) in the BIOS and add iommu=pt"),
                ("Intel(R) Xeon(R) CPU", "VT-d in the BIOS and add intel_iommu=on iommu=pt"),
                ("", "the IOMMU in the firmware and add iommu.passthrough=1")):
            (root / "proc/cpuinfo").write_text(f"model name\t: {model}\n")
            got, said = run(shell, root, ["bind", NOGROUP])
            yield f"no IOMMU on {model or 'another CPU'}", got == 1 and must_say in said, said
        (root / "sys/class/iommu/smmu3.0x0000000009050000").mkdir(parents=True)
        (root / "sys/bus/pci/devices" / BOUND / "iommu_group").unlink()
        (root / "sys/bus/pci/devices" / BOUND / "driver").unlink()
        add_driver(root, BOUND, "uio_pci_generic")
        got, said = run(shell, root, ["bind", BOUND])
        yield "a bound NIC outside every IOMMU group has no IOMMU", got == 1 and "no IOMMU" in said, said
        got, said = run(shell, root, ["bind", NOGROUP])
        yield ("a NIC without a driver gets its IOMMU group from vfio-pci", got == 0 and "bound to vfio-pci" in said,
               said)


def check_hugepages(shell):
    file = "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
    with a_tree() as root:
        conf = root / "etc/tmpfiles.d/clockoo-node1-2048kB.conf"
        got, said = run(shell, root, ["hugepages", "1", "2M", "512"])
        yield ("hugepages are reserved now and at boot", got == 0 and
               text(root / file) == "512\n" and text(conf) == f"w /{file} - - - - 512\n", said)
        got, said = run(shell, root, ["hugepages", "1", "2M", "0"])
        yield ("hugepages are given back", got == 0 and text(root / file) == "0\n" and
               not conf.exists(), said)
        for words, must_say in ((["0", "2M", "5"], "there is no NUMA node 0"),
                                (["1", "1G", "5"], "has no pages of 1G"),
                                (["1", "3M", "5"], "expected 2M or 1G"),
                                (["1", "2M", "x"], "expected a node and a count"),
                                (["1", "2M", ""], "expected a node and a count"),
                                (["1", "2M"], "expected a node, a size and a count")):
            got, said = run(shell, root, ["hugepages", *words])
            yield (f"hugepages {' '.join(words)}: {must_say}", got == 1 and must_say in said and
                   text(root / file) == "0\n", said)


def check_hugeadm(shell):
    """hugeadm gets the total of all nodes' pages. With two nodes, numactl runs it on the chosen one."""
    file = "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"
    with a_tree() as root:
        for name, last in (("hugeadm", f"echo ${{4##*:}} >{root}/{file}"), ("numactl", "shift 2; \"$@\"")):
            (root / name).write_text(f"#!/bin/sh\necho {name} \"$*\" >>{root}/asked\n{last}\n")
            (root / name).chmod(0o755)
        words = ["--hugeadm", f"{root}/hugeadm", "--numactl", f"{root}/numactl", "hugepages", "1", "2M", "512"]
        got, said = run(shell, root, words)
        yield ("hugeadm reserves the pages of one node", got == 0 and
               text(root / "asked") == "hugeadm --verbose 1 --pool-pages-min 2M:512\n", said)
        other = root / file.replace("node1", "node0")
        other.parent.mkdir(parents=True)
        other.write_text("100\n")
        (root / "asked").unlink()
        (root / "hugeadm").write_text(f"#!/bin/sh\necho hugeadm \"$*\" >>{root}/asked\necho 512 >{root}/{file}\n")
        got, said = run(shell, root, words)
        asked = text(root / "asked").replace(str(root), "").splitlines()
        yield ("numactl chooses the node, and the other one keeps its pages", got == 0 and asked == [
            "numactl -m 1 /hugeadm --verbose 1 --obey-mempolicy --pool-pages-min 2M:612",
            "hugeadm --verbose 1 --obey-mempolicy --pool-pages-min 2M:612"], (said, asked))
        words[3] = f"{root}/no-numactl"
        (root / file).write_text("0\n")
        got, said = run(shell, root, words)
        yield ("without numactl two nodes are refused", got == 1 and "needs numactl to choose one" in said and
               text(root / file) == "0\n", said)


def check_list(shell):
    with a_tree() as root:
        (root / "sys/class/net/def0/speed").write_text("-1\n")
        got, said = run(shell, root, ["list"])
        lines = {line.split()[0]: line for line in said.splitlines()}
        yield ("list says what each is used for", got == 0 and DISK not in lines and
               lines[AT["free0"]].endswith(" free") and "free0" in lines[AT["free0"]] and
               "up 10000" in lines[AT["free0"]] and
               " up " in lines[AT["def0"]] and "-1" not in lines[AT["def0"]] and
               lines[AT["def0"]].endswith("the default route leads over it") and
               lines[BOUND].endswith("bound for user space"), said)


def check_doctor(shell):
    """An installed tools/nic runs `clockoo doctor` for check, and passes on its arguments and its exit status."""
    with a_tree() as root:
        (root / "sbin").mkdir()
        shutil.copy(NIC, root / "sbin/clockoo-nic")
        stub = root / "sbin/clockoo"
        stub.write_text("#!/bin/sh\necho \"$@\"\nexit 2\n")
        stub.chmod(0o755)
        done = subprocess.run([*shell, str(root / "sbin/clockoo-nic"), "--root", str(root), "check",
                               AT["free0"], "-t", "4"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{root}/sbin:{os.environ['PATH']}"})
        yield ("check asks the program", done.returncode == 2 and
               done.stdout == f"doctor --port {AT['free0']} --sysfs {root} -t 4\n",
               done.stdout + done.stderr)
        said = [subprocess.run([*shell, str(root / "sbin/clockoo-nic"), *words], capture_output=True,
                               text=True, stdin=subprocess.DEVNULL) for words in (["--help"], ["bind"])]
        said = "".join(done.stdout + done.stderr for done in said)
        yield ("installed, it calls itself by the name it has", "tools/nic" not in said and
               "clockoo-nic bind ADDRESS" in said and "clockoo-nic: bind: " in said, said)


def in_namespace(argv, program=__file__):
    """Runs the program again in a new network namespace. Returns its status, or SKIPPED."""
    user = ["-r"] if os.getuid() != 0 else []
    if subprocess.run(["unshare", *user, "-n", "true"], capture_output=True).returncode != 0:
        print("skipped: no network namespaces here\n0 passed, 0 failed")
        return SKIPPED
    return subprocess.run(["unshare", *user, "-n", sys.executable, "-B", program, "--inside",
                           *argv]).returncode


def main(argv):
    if "--inside" not in argv:
        return in_namespace(argv)
    make_interfaces()
    held = sessions()
    failed = count = 0
    shells = [["/bin/sh"]] + ([["busybox", "sh"]] if shutil.which("busybox") else [])
    for shell in shells:
        if len(shell) > 1:
            shell[0] = shutil.which("busybox")
        more = (check_keep, check_keep_two, check_notes, check_open, check_iommu, check_hugepages, check_hugeadm,
                check_list,
                check_doctor)
        for check in (check_cases, check_sysfs, *(more if len(shell) == 1 else ())):
            for words, good, detail in check(shell):
                count += 1
                print(f"{'ok' if good else 'not ok'} - {'busybox: ' * (len(shell) - 1)}{words}")
                if not good:
                    failed += 1
                    print(detail)
    for one in held:
        one.close()
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
