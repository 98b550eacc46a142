"""Two servers behind a wire each, in network namespaces that end with this process.

This process is the peer: its ends have no address, so its kernel answers nothing. Behind one wire the kernel's TCP
serves Debian's memcached, behind the other the appliance serves itself; both have the same address.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from appliance import Appliance

SERVER, PREFIX_LEN = "10.64.0.1", 10
IN_OWN_NET = "CLOCKOO_LINUX_NET"
CONNS = 4096
PIECE = 50  # bytes of a value that are stored at a time, and twice
# The kernel must answer each segment, however often it arrives: answers that a rate limit suppresses could not be
# compared.
KERNEL = [
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv6.conf.default.disable_ipv6=1",
    "net.ipv4.tcp_invalid_ratelimit=0",
    "net.ipv4.tcp_comp_sack_nr=0",
    "net.ipv4.tcp_max_syn_backlog=8192",
    "net.core.somaxconn=8192",
    "net.ipv4.tcp_autocorking=0",
    "net.ipv4.tcp_fastopen=0",
]


def why_not():
    """Returns why no conversation can be held here, None if one can."""
    if shutil.which("memcached") is None:
        return "no memcached"
    if os.environ.get(IN_OWN_NET) is None:
        return "no network namespaces"
    return None


def in_own_net(script, argv):
    """Runs the program again in new namespaces, if the machine permits them."""
    for rights in ([], ["--user", "--map-root-user"]):
        words = ["unshare", *rights, "--net", "--mount"]
        tried = "ip link add v0 type veth peer name v1 && ethtool -K v0 tx off"
        if (
            os.environ.get(IN_OWN_NET) is None
            and subprocess.run([*words, "sh", "-c", tried], capture_output=True, stdin=subprocess.DEVNULL).returncode
            == 0
        ):
            os.environ[IN_OWN_NET] = "1"
            os.execvp("unshare", [*words, sys.executable, "-B", script, *argv])


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)


@contextlib.contextmanager
def namespace(iface):
    """A network namespace with v0, whose other end is iface. Yields the words that run a command in it."""
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c", "echo; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        holder.stdout.readline()
        inside = ["nsenter", f"--net=/proc/{holder.pid}/ns/net", "--"]
        run("ip", "link", "add", iface, "type", "veth", "peer", "name", "v0", "netns", str(holder.pid))
        run("sysctl", "-qw", *KERNEL[:2])
        run(*inside, "sysctl", "-qw", *KERNEL)
        for at, name in (([], iface), (inside, "v0")):
            # Without this the kernel leaves checksums and segmentation to a NIC that is not there.
            run(*at, "ethtool", "-K", name, "tx", "off", "gro", "off", "tso", "off", "gso", "off")
            run(*at, "ip", "link", "set", name, "up")
        yield inside
        holder.stdin.close()


@contextlib.contextmanager
def kernels_server(iface):
    """Debian's memcached on the kernel's TCP."""
    with namespace(iface) as inside:
        run(*inside, "ip", "addr", "add", f"{SERVER}/{PREFIX_LEN}", "dev", "v0")
        child = subprocess.Popen(
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                *inside,
                "memcached",
                "-u",
                "nobody",
                "-l",
                SERVER,
                "-t",
                "1",
                "-m",
                "64",
                "-c",
                str(CONNS),
                "-b",
                "4096",
            ],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield child.poll
        finally:
            child.terminate()
            child.wait()


@contextlib.contextmanager
def own_server(iface, program, cpu):
    name = f"clockoo-linux-{os.getpid()}"
    with namespace(iface) as inside:
        words = [
            str(program),
            "--config",
            "none",
            "--port",
            "af_packet",
            "--iface",
            "v0",
            "--address",
            f"{SERVER}/{PREFIX_LEN}",
            "-U",
            "0",
            "--file-prefix",
            name,
            "--data-dir",
            str(pathlib.Path(__file__).resolve().parents[3] / "drivers-config"),
            "--probe",
            "off",
            "--no-huge",
            "--yield",
            "-m",
            "64",
            "-c",
            str(CONNS),
            "--lcores",
            f"0@{cpu}",
        ]
        server = Appliance([*inside, *words], None)
        try:
            server.wait_ready()
            yield server.check_alive
        finally:
            server.stop()
            shutil.rmtree(f"/var/run/dpdk/{name}", ignore_errors=True)


def fill(ask, values):
    """Stores the same values on a server, by ask(request), which waits for two answers to it."""
    for key, size in values.items():
        ask(b"set %b 0 0 0\r\n\r\n" % key)
        for _ in range(0, size, 2 * PIECE):
            ask(b"append %b 0 0 %d\r\n%b\r\n" % (key, PIECE, key[:1] * PIECE))
