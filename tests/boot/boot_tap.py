"""The wire between a guest's NIC and this side: a tap in the network namespace we are in, and how the
NIC at its other end is given to vfio-pci."""

import ctypes
import os
import subprocess

import boot_image
from boot_machine import MACHINES

CLONE_NEWNET = 0x40000000  # linux/sched.h
NAME = "wire"
HERE_IP, GUEST_IP, PREFIX_LEN = "10.44.0.1", "10.44.0.2", 24


def allowed(arch="amd64"):
    if os.geteuid() != 0 or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        raise boot_image.Missing("a tap needs root and /dev/net/tun")
    boot_image.tool(MACHINES[arch].emulator)


def enter_namespace():
    """A network of this process's own from now on; it goes with the process."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def make(queues):
    mode = ["multi_queue"] if queues > 1 else []
    for words in (["tuntap", "add", NAME, "mode", "tap", *mode],
                  ["addr", "add", f"{HERE_IP}/{PREFIX_LEN}", "dev", NAME], ["link", "set", NAME, "up"]):
        subprocess.run(["ip", *words], check=True, stdin=subprocess.DEVNULL)


def remove():
    subprocess.run(["ip", "link", "del", NAME], stdin=subprocess.DEVNULL, check=False)


def find_nic(guest):
    """Returns the PCI address of the guest's only network device (class 0x02)."""
    return guest.must("for d in /sys/bus/pci/devices/*; do "
                      "case $(cat $d/class) in 0x02*) basename $d ;; esac; done").strip()


def bind(guest, address, tool):
    """By tools/nic, as an operator would; the driver that has the NIC afterwards."""
    guest.must(f"{tool} bind {address}")
    return guest.must(f"basename $(readlink /sys/bus/pci/devices/{address}/driver)").strip()
