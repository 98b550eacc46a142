"""An emulated machine: QEMU's own CPU, no KVM, so that it runs wherever a process may.

The console goes to a file. The second serial port is a socket: a line sent is run by the guest's
shell (guest_init), its output comes back.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from boot_machine import MACHINES, TCG

# Limits in the emulator's own time (OwnTime), after which nothing comes any more.
BOOT_S = 60         # our image, which is up after 3 s
DEBIAN_BOOT_S = 240  # a whole Debian, which is up after 15 s
COMMAND_S = 240
LOST_TIMER_S = 20   # any of these, once the guest's kernel has said that a CPU got no timer interrupt
LOOK_S = 5       # how often it is asked for how long it waited
WAITED_MAX = 3   # how much longer a limit may last at most, for that
END_S = 10
MEMORY_MB = 768
CPUS = 2
NICE = 5         # at 10, a guest beside three tests at a time had a fifteenth of a CPU
IN_PART, SENT_MAX = 999, 5  # guest_control's status for a line that lost bytes
DONE = re.compile(rb"(?:^|\n)@@ (\d+)\r?\n")

VIRTIO = "virtio-net-pci,mq=on,rss=on,vectors=8,disable-legacy=on,iommu_platform=on"
NICS = {"e1000e": ("e1000e", 1), "virtio": (VIRTIO, 2), "virt": (VIRTIO, 2), "take": (VIRTIO, 1)}  # by parts: device, queues
# QEMU fills these NICs' checksums in; else it leaves that to the kernel outside, which does not for
# who reads raw frames there.
WHOLE_CHECKSUMS = ("e1000e", "take")
DISK = "nvme,drive=disk{0},serial=clockoo{0}"  # /dev/nvme0n1 and on; Debian's cloud kernel has its driver built in
MAC = "52:54:00:44:00:02"


def control_line(line):
    """Returns the bytes that make guest_control run a line of ASCII."""
    line = line.strip()
    return f"{len(line)} {line}\n".encode("ascii")


class GuestFault(Exception):
    """The guest did not come up, did not answer, or went away."""


class EmulatorFault(GuestFault):
    """The guest did not boot, or its kernel says that a CPU got no timer interrupt, which is the emulator's to give."""


# QEMU's TCG with several CPUs loses one now and then, on a busy machine; then that CPU sleeps for ever.
LOST_TIMER = "kthread timer wakeup didn't happen"


def in_a_machine(tally, body):
    """body(), and once more where the emulator stood still: what was found of that machine is forgotten."""
    before = tally.passed, tally.failed
    try:
        body()
    except EmulatorFault as fault:
        tally.passed, tally.failed = before
        print(f"   the emulator stood still, another machine: {str(fault).splitlines()[0]}", flush=True)
        body()


class OwnTime:
    """A clock that stands still while a process has no CPU to run on: the time that its longest waiting thread
    was ready to run and did not is left out (/proc/PID/task/*/schedstat, second number, nanoseconds)."""

    def __init__(self, pid):
        self._tasks = pathlib.Path(f"/proc/{pid}/task")

    def _waited(self):
        longest = 0
        for path in self._tasks.glob("*/schedstat"):
            try:
                longest = max(longest, int(path.read_text().split()[1]))
            except (OSError, IndexError):  # a thread that ended, a kernel that does not say
                continue
        return longest / 1e9

    def limit(self, seconds):
        """Returns a function that returns how many of these seconds are left."""
        begun, waited = time.monotonic(), self._waited()

        def left():
            passed = time.monotonic() - begun
            own = passed - max(self._waited() - waited, 0)
            return min(seconds - own, WAITED_MAX * seconds - passed)
        return left


class Guest:
    """with Guest(...) as guest: guest.run(LINE) is (status, output)."""

    def __init__(self, kernel, image, folder, nic=None, tap=None, memory_mb=MEMORY_MB, nodes=1, disk=None, boot_s=BOOT_S,
                 arch="amd64", emulator=None, devices=()):
        """disk: a file that is the guest's disk, and outlives the guest; or several, the first of them /dev/nvme0n1.
        emulator: the command line of another QEMU; devices: more of its words, NICs behind the IOMMU."""
        self._boot_s = boot_s
        self.console = pathlib.Path(folder) / "console"
        self._control_path = pathlib.Path(folder) / "control"
        self._heard = b""
        self.monitor_path = pathlib.Path(folder) / "monitor"
        disks = disk if isinstance(disk, list) else [disk] if disk is not None else []
        machine = MACHINES[arch]
        network = [*machine.iommu, *devices] if devices else []
        if nic is not None:
            device, queues = NICS[nic]
            network = [*machine.iommu, "-netdev", f"tap,id=wire,ifname={tap},script=no,downscript=no,vhost=off"
                       + (f",queues={queues}" if queues > 1 else "")
                       + (",vnet_hdr=off" if nic in WHOLE_CHECKSUMS else ""),
                       "-device", f"{device},netdev=wire,mac={MAC}"]
        self._args = [
            *(emulator or [machine.emulator]), *TCG, *machine.words, "-m", str(memory_mb), "-smp", str(CPUS), "-nodefaults",
            "-no-user-config", "-display", "none", "-no-reboot",
            "-serial", f"file:{self.console}", "-qmp", f"unix:{self.monitor_path},server=on,wait=off",
            "-chardev", f"socket,id=control,path={self._control_path},server=on,wait=off", *machine.control,
            "-kernel", str(kernel / "vmlinux"), "-initrd", str(image), "-append", machine.kernel_words,
            *network, *(word for i, file in enumerate(disks) for word in (
                "-drive", f"file={file},format=raw,if=none,id=disk{i}", "-device", DISK.format(i))),
            *(word for node in range(nodes) if nodes > 1 for word in (
                "-object", f"memory-backend-ram,id=node{node},size={memory_mb // nodes}M",
                "-numa", f"node,memdev=node{node},cpus={node}"))]

    def __enter__(self):
        self.begun = time.monotonic()
        self._process = subprocess.Popen(self._args, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         preexec_fn=lambda: os.nice(NICE))
        self._own_time = OwnTime(self._process.pid)
        try:
            self._control = self._connect()
            self._answer(self._boot_s)
        except GuestFault as fault:  # before it has run anything of ours
            self._end()
            raise EmulatorFault(str(fault)) from None
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._control.close()
        self._end()

    def _end(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def _said(self):
        return self.console.read_text(errors="replace")[-2000:] if self.console.exists() else ""

    def _fault(self, words):
        said = self._said()
        return (EmulatorFault if LOST_TIMER in said else GuestFault)(f"{words}\n{said}")

    def _connect(self):
        left = self._own_time.limit(self._boot_s)
        while left() > 0:
            if self._process.poll() is not None:
                raise self._fault(f"QEMU: {self._process.stdout.read().decode(errors='replace')}")
            control = socket.socket(socket.AF_UNIX)
            try:
                control.connect(str(self._control_path))
                return control
            except OSError:
                control.close()
                time.sleep(0.05)
        raise self._fault("QEMU opened no control port")

    def _answer(self, seconds):
        left = self._own_time.limit(seconds)
        while (found := DONE.search(self._heard)) is None:
            if left() <= 0:
                raise self._fault(f"no answer for {seconds} s of its own time; last: {self._heard[-500:]}")
            self._control.settimeout(LOOK_S)
            try:
                more = self._control.recv(65536)
            except TimeoutError:
                if seconds > LOST_TIMER_S and LOST_TIMER in self._said():
                    seconds = LOST_TIMER_S
                    left = self._own_time.limit(seconds)
                continue
            if not more:
                raise self._fault("the guest went away")
            self._heard += more
        output = self._heard[:found.start()].replace(b"\r", b"").decode(errors="replace")
        self._heard = self._heard[found.end():]
        return int(found.group(1)), output

    def _send(self, line):
        self._control.sendall(control_line(line))

    def run(self, line, seconds=COMMAND_S):
        """Returns the status and the output of a line. One that arrives in part is sent again."""
        for _ in range(SENT_MAX):
            self._send(line)
            status, output = self._answer(seconds)
            if status != IN_PART:
                break
        return status, output

    def must(self, line, seconds=COMMAND_S):
        """The output of a line that has to succeed."""
        status, output = self.run(line, seconds)
        if status != 0:
            raise self._fault(f"in the guest: {line}: status {status}: {output}")
        return output

    def ends(self, line, seconds=COMMAND_S):
        """A line by which the guest reboots: QEMU ends instead (-no-reboot)."""
        self._send(line)
        left = self._own_time.limit(seconds)
        while left() > 0:
            try:
                self._process.wait(LOOK_S)
                return
            except subprocess.TimeoutExpired:
                continue
        raise self._fault(f"{line}: it runs on for {seconds} s")
