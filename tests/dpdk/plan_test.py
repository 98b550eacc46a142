#!/usr/bin/python3 -B
"""Plans and diagnoses for recorded servers.

Goal: what --plan and doctor print for a server is right to the word, and doctor's exit status says
how bad it is; neither needs root, DPDK or the server. Method: tests/machines/*.machine against
golden texts, the Intel paper's machine among them; a table of mistakes and their one line; the same
machine as a folder and as a text gives the same plan; a machine that breaks in one place is worse
by one line. With --write the golden texts are written anew.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MACHINES = pathlib.Path(__file__).resolve().parents[1] / "machines"
NIC = MACHINES.parents[1] / "tools/nic"
PAPER = ["--port", "0000:04:00.0", "-m", "4096", "-U", "11211"]

NETWORK = ["--address", "10.0.9.9/16"]
FLEET = ",".join(f"10.0.{i // 10}.{i % 10}:11211:{1 + i // 11}" for i in range(1, 13))

# Plans that depend on DPDK's release: the release from which on they are others.
UNTIL = {"gve.plan": (24, 3)}
NOT_READY = 1  # exit status of --plan: a warning says why a start would fail

# Golden text, machine, what is asked, exit status.
GOLDEN = [
    # The Intel paper's machine as it comes, with all cores of the NIC's socket.
    ("paper.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "8"], 0),
    # A plan for all 16 cores, half of them on the other NUMA node.
    ("paper-16.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "16"], 0),
    ("paper-tuned.plan", "xeon-e5-2660-tuned", ["--plan", *PAPER, "-t", "7"], 0),
    ("paper-threads.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "10", "--hyperthreads",
                                            "workers"], 0),
    ("interleaved.plan", "xeon-6130-interleaved", ["--plan", "--port", "af:00.1", "-m", "2048",
                                                   "-t", "6"], NOT_READY),
    ("mlx5.plan", "xeon-e5-2660v2-mlx5", ["--plan", "--port", "05:00.0", "-m", "8192", "-t", "8"],
     0),
    # A front on the same NIC, whose kernel keeps all frames that are not for the cache.
    ("mlx5-nic.plan", "xeon-e5-2660v2-mlx5", ["--plan", "--port", "05:00.0", "-m", "8192", "-t", "8", "-U", "11211",
                                              "--kernel", "nic", *NETWORK, "--front-servers", "10.0.0.9:11211:1"], 0),
    # A core for each UDP port, by rules of the NIC.
    ("paper-udp.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "8", "--udp-port-per-core"], 0),
    # TCP by classes of the clients' ports, by rules of the NIC.
    ("paper-director.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "4", "--steering",
                                             "flow-director"], 0),
    # Half of the items on each node, and hugepages on one of them alone.
    ("paper-numa.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "1", "--numa", "interleave"], 0),
    # Before a fleet that others may write to, with two other fronts.
    ("paper-front-plain.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "4", *NETWORK, "--front-servers", FLEET,
                                                 "--front-peers", "10.0.3.1:11211,10.0.3.2:11211"], 0),
    # No others write to it; the hash that is nutcracker's default.
    ("paper-front.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "4", *NETWORK, "--front-servers", FLEET, "--front-mode", "sole",
                                           "--front-items", "auto",
                                           "--front-auto-eject-hosts", "--front-gutter", "10.0.2.1:11211:1"], 0),
    # A second tier on an NVMe device, its buffers in hugepages.
    ("paper-flash.plan", "xeon-e5-2660", ["--plan", *PAPER, "-t", "4", "--flash-device", "/dev/nvme0n1", "--flash-size",
                                           "64g", "--flash-budget", "20", "--flash-state", "/dev/hugepages/state"], 0),
    ("vm.plan", "vm", ["--plan", "--iface", "eth0"], 0),
    # Clouds' NICs, and functions of NICs: what the driver cannot, and what is done instead.
    ("ena.plan", "ec2-c7i", ["--plan", "--port", "0000:00:06.0", "-m", "2048", "-t", "3"], 0),
    ("gve.plan", "gce-c3", ["--plan", "--port", "0000:00:05.0", "-m", "2048", "-t", "3"], 0),
    ("mana.plan", "azure-d8-mana", ["--plan", "--port", "7870:00:00.0", "-m", "2048", "-t", "3"], 0),
    ("netvsc.plan", "azure-d8-mlx5", ["--plan", "--port", "d4a1:00:02.0", "--profile", "netvsc", "-m", "2048", "-t", "3"], 0),
    ("iavf.plan", "vm-iavf", ["--plan", "--port", "0000:06:00.0", "-m", "2048", "-t", "4"], 0),
    ("bnxt.plan", "oci-bnxt", ["--plan", "--port", "0000:61:00.0", "-m", "4096", "-t", "6"], 0),
    ("igb.plan", "igb", ["--plan", "--port", "0000:02:00.0", "-m", "1024", "-t", "3"], 0),
    ("igbvf.plan", "vm-igbvf", ["--plan", "--port", "0000:00:05.0", "-m", "512", "-t", "2"], 0),
    ("paper.doctor", "xeon-e5-2660", ["doctor", *PAPER, "-t", "8"], 1),
    ("paper-tuned.doctor", "xeon-e5-2660-tuned", ["doctor", *PAPER, "-t", "7"], 0),
    ("interleaved.doctor", "xeon-6130-interleaved", ["doctor", "--port", "af:00.0", "-m", "2048",
                                                     "-t", "6"], 2),
]

# Options for the paper's machine, the exit status, and the one line on stderr.
MISTAKES = [
    (["--plan", "--port", "0000:04:00.0", "-t", "33"], 1, "-t: 33 cores requested, 32 CPUs available"),
    (["--plan", "--port", "0000:04:00.0", "--lcores", "0@40"], 1, "--lcores: there is no CPU 40"),
    (["--plan", "--port", "0000:04:00.0", "--numa", "1,2"], 1,
     "--numa: there is no node 2; nodes with memory: 0-1"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "/no/such"], 1,
     "--front-servers: cannot read /no/such: No such file or directory"),
    (["--plan", "--port", "0000:04:00.0", "--address", "10.0.1.9/24", "--front-servers", "10.0.1.8:11211:1,10.0.1.9:11211:1"],
     1, "--front-servers: 10.0.1.9:11211 is the front itself"),
    (["--plan", "--port", "0000:04:00.0", *NETWORK, "--front-servers", "10.0.0.1:1:1,10.1.0.1:1:1"], 1,
     "--front-servers: 10.1.0.1:1 is not on the network of --address, and there is no --gateway"),
    (["--plan", "--port", "0000:04:00.0", "--address", "none", "--address6", "2001:db8::9/64", "--front-servers", "10.0.0.1:1:1"],
     1, "--front-servers: 10.0.0.1:1 is an IPv4 address, and --address is none"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "127.0.0.2:1:1"], 1,
     "--front-servers: 127.0.0.2:1 is a loopback address, which a NIC does not reach"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "::1:1:1"], 1,
     "--front-servers: ::1:1 is a loopback address, which a NIC does not reach"),
    (["--plan", "--port", "user", "--front-servers", "127.0.0.1:1:1"], 1,
     "--front-servers: 127.0.0.1:1 is a loopback address: on port user this host is 10.0.2.2"),
    (["--plan", "--port", "0000:04:00.0", *NETWORK, "--front-servers", "10.0.255.255:1:1"], 1,
     "--front-servers: 10.0.255.255:1 is the address of many hosts: name one"),
    (["--plan", "--port", "0000:04:00.0", *NETWORK, "--front-servers", "2001:db8::1:1:1"], 1,
     "--front-servers: 2001:db8::1:1 is an IPv6 address, and IPv6 is off: give --address6"),
    *[(["--plan", "--port", "0000:04:00.0", *NETWORK, "-U", "11211", "--front-servers", "10.0.0.1:1:1", "--front-peers",
        f"10.0.0.2:11211,{peer}"], 1, f"--front-peers: number 2 is {why}")
      for peer, why in (("10.0.9.9:1", "the front itself"), ("10.0.0.2:11211", "there twice"), ("127.0.0.1:1", "a loopback address"),
                        ("224.0.0.1:1", "the address of many hosts"), ("255.255.255.255:1", "the address of many hosts"),
                        ("10.0.255.255:1", "the address of many hosts"), ("ff02::1:1", "the address of many hosts"),
                        ("2001:db8::1:1", "an IPv6 address, and IPv6 is off"), ("10.1.0.1:1", "not on the network of --address"))],
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1,A:1:1 b"], 1, "--front-servers: A:1 is there twice"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1", "--front-auto-eject-hosts", "--front-gutter", "a:1:2"],
     1, "--front-gutter: a:1 is a server of the fleet"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1,b:1:2", "--front-distribution", "jump"],
     1, "--front-distribution: jump, and server a:1 has weight 1, b:1 has 2; it knows equal weights only"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1,b:1:1", "--front-distribution", "jump",
      "--front-auto-eject-hosts"], 1, "--front-distribution: jump, with --front-auto-eject-hosts"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1", "--front-gutter", "b:1:1"], 1,
     "--front-gutter without --front-auto-eject-hosts"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1", "--front-peers", "10.0.0.9:11211"], 1,
     "--front-peers: fronts tell each other by lines of text over UDP; give a UDP port"),
    (["--plan", "--port", "0000:04:00.0", "-U", "11211", "--front-servers", "a:1:1", "--front-mode", "sole",
      "--front-peers", "10.0.0.9:11211"], 1, "--front-peers with --front-mode sole"),
    (["--plan", "--port", "0000:04:00.0", "--front-servers", "a:1:1", "--front-warm", "60s"], 1,
     "--front-warm with --front-mode shared"),
    (["--plan", "--port", "0000:04:00.0", "--flash-device", "/dev/nvme0n1"], 1,
     "--flash-device: --sysfs does not tell how large it is: give --flash-size"),
    (["--plan", "--port", "0000:04:00.0", "--control-cpu", "99"], 1,
     "--control-cpu: there is no CPU 99"),
    (["--plan", "--port", "0000:04:00.0", "--kernel", "nic"], 1, "--kernel nic: port ixgbe cannot leave frames to the kernel"),
    (["--plan", "--port", "0000:04:00.0", "--kernel", "nic", "--vlan", "7"], 1, "--kernel nic: VLANs need a tap interface"),
    (["--plan", "--port", "0000:04:00.0", "--kernel", "nic", "--bond", "lacp", "--bond-member", "0000:04:00.1"], 1,
     "--kernel nic: a bond needs a tap interface"),
    (["--plan", "--port", "0000:04:00.0", "--kernel", "nic", "--steering", "none"], 1, "--kernel nic: --steering: expected auto"),
    (["doctor", "--no-such-option"], 2, "--no-such-option: unknown option"),
    (["-v", "doctor"], 1, "doctor: a command, not an option; it stands before all options"),
]

# A changed line of the tuned machine (old, new), what doctor must print then, and its status.
BREAKS = [
    ("sys/devices/system/cpu/isolated = 1-7,17-23", "", "warn  isolation", 1),
    ("/bus/pci/drivers/vfio-pci", "/bus/pci/drivers/ixgbe", "FAIL  driver", 2),
    ("free_hugepages = 8192", "free_hugepages = 12", "FAIL  hugepages", 2),
    ("0000:04:00.0/current_link_width = 8", "0000:04:00.0/current_link_width = 4", "warn  PCIe", 1),
    # Without an IOMMU vfio makes a group, which isolates nothing.
    ("sys/devices/system/cpu/isolated", "sys/kernel/iommu_groups/27/name = vfio-noiommu\n"
     "sys/devices/system/cpu/isolated", "warn  IOMMU", 1),
    ("no_turbo = 0", "no_turbo = 1", "warn  turbo", 1),
    ("proc/1/comm = systemd", "proc/1/comm = irqbalance", "ok    irqbalance", 0),
]

OWN_MEMORY = re.compile(r"^memory|^and|MB needed|^ +(connections|frames|tables) |tools/nic hugepages")
OWN_MEMORY_SHARE = 0.05


def run(clockoo, machine, words):
    first, rest = words[:1], words[1:]
    done = subprocess.run([clockoo, *first, "--config", "none", "--sysfs", str(machine), *rest],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def unpack(text, folder):
    """The recorded text as files: what lib/topology makes of it, written a second time."""
    def numbers(words):
        for part in words.split(","):
            first, _, last = part.partition("-")
            yield from range(int(first), int(last or first) + 1)

    for line in text.splitlines():
        found = re.match(r"([^#\s].*?) (=|->) ?(.*)", line)
        if found is None:
            continue
        path, kind, value = found.groups()
        braces = re.search(r"\{([-\d,]+)\}", path)
        each = list(numbers(braces[1])) if braces else [None]
        for i, number in enumerate(each):
            at = pathlib.Path(folder, path if number is None else
                              path.replace(braces[0], str(number)))
            at.parent.mkdir(parents=True, exist_ok=True)

            def entry(m, i=i):
                entries = list(numbers(m[1]))
                return str(entries[i % len(entries)])
            words = re.sub(r"\{([-\d,]+)\}", entry, value)
            if kind == "->":
                at.symlink_to(words)
            else:
                with open(at, "a") as f:
                    f.write(words.strip() + "\n")


def same(text, golden):
    """Word by word; but what memory our own modules want may change by a little with them."""
    lines, wanted = text.splitlines(), golden.splitlines()
    if len(lines) != len(wanted):
        return False
    for line, want in zip(lines, wanted):
        if line == want:
            continue
        numbers, wants = ([int(n) for n in re.findall(r"\d+", words)] for words in (line, want))
        if OWN_MEMORY.search(want) is None or re.sub(r"\d+", "", line) != re.sub(r"\d+", "", want):
            return False
        if any(abs(n - w) > max(2, w * OWN_MEMORY_SHARE) for n, w in zip(numbers, wants)):
            return False
    return True


def golden(clockoo):
    """The rows of GOLDEN for the release of DPDK that the program has."""
    version = subprocess.run([clockoo, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    release = tuple(int(n) for n in re.search(r"DPDK (\d+)\.(\d+)", version).groups())
    return [row for row in GOLDEN if release < UNTIL.get(row[0], (99, 0))]


def check_golden(clockoo, write):
    for name in {row[0] for row in GOLDEN} - {row[0] for row in golden(clockoo)}:
        print(f"skipped - {name}: it is of an earlier release of DPDK")
    for name, machine, words, status in golden(clockoo):
        got, out, err = run(clockoo, MACHINES / f"{machine}.machine", words)
        path = MACHINES / name
        if write:
            path.write_text(out)
        good = got == status and err == "" and path.exists() and same(out, path.read_text())
        yield f"{name} is as written", good, f"status {got}\n{out}{err}"


def check_handover(clockoo):
    got, out, err = run(clockoo, MACHINES / "xeon-e5-2660.machine",
                        ["--plan", *PAPER, "-t", "8", "--steering", "software"])
    yield ("cores that hand frames over have one pool", got == 0 and "one pool for all" in out and
           "for each queue" not in out.split("memory")[1], out + err)
    words = [*PAPER, "-t", "32", "--hyperthreads", "workers", "--steering", "software"]
    got, out, err = run(clockoo, MACHINES / "xeon-e5-2660.machine", ["--plan", *words])
    memory = out.split("\nmemory")[1].split("\nwarnings")[0]
    total = int(re.search(r"(\d+) MB on node", memory)[1])
    parts = [int(found[1]) if found else 0 for found in (
        re.search(rf"{what} (\d+) MB", memory)
        for what in ("items", "requests", "tables of the cores", "frames", "EAL", "rings between cores"))]
    # Each part is rounded up by itself.
    yield ("the rings between 32 cores are part of the memory", parts[-1] > 2 * len(parts) and
           -len(parts) <= total - sum(parts) <= len(parts), memory)
    out = run(clockoo, MACHINES / "xeon-e5-2660.machine", ["doctor", *words])[1]
    yield "doctor wants as much memory as --plan", f"{total} MB needed" in out, out


def check_mistakes(clockoo):
    for words, status, line in MISTAKES:
        got, out, err = run(clockoo, MACHINES / "xeon-e5-2660.machine", words)
        good = got == status and line in err and err.count("\n") == 1 and out == ""
        yield f"{' '.join(words)} is refused", good, f"status {got}\n{out}{err}"
    got, out, err = run(clockoo, "/nonexistent", ["--plan"])
    yield "a machine that is not there is refused", got == 1 and "--sysfs: /nonexistent" in err, err


def check_too_much(clockoo):
    """A configuration that asks too much of the machine has its reason in the first line of doctor's table, before all others."""
    for words, line, cores in (
            (["-t", "33"], "-t: 33 cores requested, 32 CPUs available", 32),
            (["--lcores", "0@40"], "--lcores: there is no CPU 40", 1),
            (["--control-cpu", "99"], "--control-cpu: there is no CPU 99", 1)):
        got, out, err = run(clockoo, MACHINES / "xeon-e5-2660.machine", ["doctor", *PAPER, *words])
        good = (got == 2 and err == "" and out.startswith(f"FAIL  configuration    {line}") and
                f"checked for -t {cores}\n" in out and "ok    ports" in out and
                out.splitlines()[-1].split(", ")[2] == "1 failure")
        yield f"doctor {' '.join(words)} has its table", good, f"status {got}\n{out}{err}"


def check_folder(clockoo):
    for name, machine, words, status in golden(clockoo):
        with tempfile.TemporaryDirectory() as folder:
            unpack((MACHINES / f"{machine}.machine").read_text(), folder)
            got, out, err = run(clockoo, folder, words)
            yield (f"{name} is the same from a folder",
                   got == status and same(out, (MACHINES / name).read_text()), out + err)


def check_breaks(clockoo):
    tuned = (MACHINES / "xeon-e5-2660-tuned.machine").read_text()
    for old, new, line, status in BREAKS:
        with tempfile.NamedTemporaryFile("w", suffix=".machine") as machine:
            assert old in tuned, old
            machine.write(tuned.replace(old, new, 1))
            machine.flush()
            got, out, err = run(clockoo, machine.name, ["doctor", *PAPER, "-t", "7"])
            yield f"doctor says: {line}", got == status and line in out, f"{got}\n{out}{err}"


def check_record(clockoo):
    """A server goes into a folder, tools/nic records it, and the plan is still the same. Who listens
    and what may be locked is not recorded."""
    for name, machine, words, status in GOLDEN:
        if name not in ("paper.plan", "paper-tuned.doctor", "mlx5.plan", "vm.plan"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            unpack((MACHINES / f"{machine}.machine").read_text(), folder)
            record = subprocess.run([NIC, "--root", folder, "record"], capture_output=True,
                                    text=True, stdin=subprocess.DEVNULL)
            path = pathlib.Path(folder, "recorded")
            path.write_text(record.stdout)
            got, out, err = run(clockoo, path, words)
            yield (f"{name} is the same from tools/nic record", record.returncode == 0 and
                   got == status and same(out, (MACHINES / name).read_text()),
                   record.stderr + out + err)


def check_tls(clockoo):
    """The sum has what OpenSSL may take: all connections amid a record, and all places for handshakes taken."""
    machine = MACHINES / "xeon-e5-2660.machine"
    refusal = run(clockoo, machine, ["--plan", *PAPER, "-Z"])[2]
    if "without OpenSSL" in refusal or shutil.which("openssl") is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".pem") as pem:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=plan",
                        "-keyout", pem.name, "-out", f"{pem.name}.crt"], check=True, capture_output=True)
        try:
            ask = ["--port", "0000:04:00.0", "-m", "4096", "-U", "0", "-t", "2"]
            tls = ["-Z", "-o", f"ssl_chain_cert={pem.name}.crt,ssl_key={pem.name}"]
            plain = run(clockoo, machine, ["--plan", *ask, "-c", "3000"])[1]
            for conns, verify, handshakes in ((3000, 0, 1024), (3000, 2, 1024), (100, 0, 100)):
                got, out, err = run(clockoo, machine, ["--plan", *ask, *tls, "-c", str(conns), "-o", f"ssl_verify_mode={verify},ssl_ca_cert={pem.name}.crt"])
                # OpenSSL's memory depends on its release; tests/sim/test_tls_memory.c measures it.
                words = re.search(r"heap at most: (\d+) KB a connection amid a record, (\d+) KB amid a handshake, of which there are (\d+) at a time", out)
                record, each, at_once = map(int, words.groups()) if words else (0, 0, 0)
                most = -(-(handshakes * each + conns * record) // 1024)
                sums = [int(re.search(r"(\d+) MB in all", words)[1]) for words in (plain, out) if words]
                yield (f"--plan counts TLS of {conns} connections, verify mode {verify}", got == 0 and f"and        {most} MB of heap for TLS at most, " in out
                       and at_once == handshakes and record >= 30 and each >= (136 if verify else 72)
                       and (conns != 3000 or sums[1] >= sums[0] + most), f"status {got}, {most} MB, {sums}\n{out}{err}")
        finally:
            pathlib.Path(f"{pem.name}.crt").unlink(missing_ok=True)


def check_here(clockoo):
    """On the machine we are on there is no golden text, but there is a plan."""
    done = subprocess.run([clockoo, "--plan", "--config", "none", "--iface", "lo"],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    starts = "\n  FAIL " not in done.stdout
    good = done.returncode == (0 if starts else NOT_READY) and all(f"\n{word} " in f"\n{done.stdout}" for word in (
        "machine", "port", "cores", "control", "rings", "steering", "rules", "memory", "warnings"))
    yield "this machine has a plan", good, done.stdout + done.stderr


def main(argv):
    clockoo, write = argv[0], "--write" in argv
    failed = count = 0
    for cases in (check_golden(clockoo, write), check_handover(clockoo), check_mistakes(clockoo),
                  check_too_much(clockoo), check_folder(clockoo),
                  check_record(clockoo), check_breaks(clockoo), check_tls(clockoo), check_here(clockoo)):
        for words, good, detail in cases:
            count += 1
            print(f"{'ok' if good else 'not ok'} - {words}")
            if not good:
                failed += 1
                print(detail)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
