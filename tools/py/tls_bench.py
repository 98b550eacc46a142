"""Part of tools/bench operate: TLS gets and handshakes a second of a core, beside Debian's memcached.

Run as a program in the namespace of an appliance's clients, it measures both in turns and prints a line of JSON: gets
and handshakes by the second of processor time that the server took. So it does not matter how fast a client of one CPU
can send. memcached, one thread, is reached over loopback; its time is what the kernel counts for it, sockets included;
the appliance's that of its busy turns (core_busy_ns), TCP included. Requests longer than a record are left out, since
memcached 1.6.18 then waits for bytes that it has received.
"""

import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = "app/clockoo"
CERTIFICATES = ROOT / "tests/conform/run_tls"
RUN_LIMIT_S, WAIT_S = 600, 30
CONNS, BATCH, KEYS, VALUE_BYTES = 20, 100, 1000, 32
GETS, HANDSHAKES, ROUNDS = 200_000, 1500, 5
QUICK = 10  # a quick run is this many times shorter, with fewer rounds
PEER_PORT = 21211


# ---- in the clients' namespace ----

class Server:
    """A server to ask, and the seconds of CPU time that it has taken."""

    def __init__(self, context, host, port, pid=None):
        self.context, self.address, self.pid = context, (host, port), pid

    def open(self):
        s = socket.create_connection(self.address, WAIT_S)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.context.wrap_socket(s)

    def cpu_s(self):
        if self.pid is not None:
            fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        with self.open() as s:
            s.sendall(b"stats cores\r\n")
            got = b""
            while not got.endswith(b"END\r\n"):
                got += s.recv(1 << 16)
        return sum(int(line.split()[2]) for line in got.splitlines() if b":core_busy_ns " in line) / 1e9

    def fill(self):
        with self.open() as s:
            for i in range(KEYS):
                s.sendall(b"set key%05d 0 0 %d\r\n%s\r\n" % (i, VALUE_BYTES, b"v" * VALUE_BYTES))
                take(s, len(b"STORED\r\n"))


def take(s, bytes_left):
    while bytes_left > 0:
        got = s.recv(min(bytes_left, 1 << 16))
        if not got:
            raise ConnectionError("it has closed")
        bytes_left -= len(got)


def gets(server, count):
    """Returns gets a second of CPU time, and a second of the clock."""
    asked = b"".join(b"get key%05d\r\n" % (i * 7919 % KEYS) for i in range(BATCH))
    answered = BATCH * len(b"VALUE key00000 0 %d\r\n%s\r\nEND\r\n" % (VALUE_BYTES, b"v" * VALUE_BYTES))
    conns = [server.open() for _ in range(CONNS)]
    begun_s, begun = server.cpu_s(), time.monotonic()
    for _ in range(count // (CONNS * BATCH)):
        for s in conns:
            s.sendall(asked)
        for s in conns:
            take(s, answered)
    took, took_s = time.monotonic() - begun, server.cpu_s() - begun_s
    for s in conns:
        s.close()
    return count / took_s, count / took


def handshakes(server, count):
    begun_s, begun = server.cpu_s(), time.monotonic()
    for _ in range(count):
        server.open().close()
    return count / (server.cpu_s() - begun_s), count / (time.monotonic() - begun)


def measure(folder, quick):
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.check_hostname = False
    peer = subprocess.Popen(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(PEER_PORT), "-U", "0", "-t", "1", "-m", "64", "-R", str(2 * KEYS), "-Z", "-o",
                             f"ssl_chain_cert={folder}/used.pem,ssl_key={folder}/used.key"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        servers = {"": Server(context, os.environ["CLOCKOO_HOST"], int(os.environ["CLOCKOO_PORT"])),
                   "memcached_": Server(context, "127.0.0.1", PEER_PORT, peer.pid)}
        found = {}
        time.sleep(1)
        for server in servers.values():
            server.fill()
        for number in range(2 if quick else ROUNDS):
            for name in sorted(servers, reverse=number % 2):
                for what, ask, count in (("tls_get_kops", gets, GETS), ("tls_handshakes_per_s", handshakes, HANDSHAKES)):
                    by_cpu, by_clock = ask(servers[name], count // (QUICK if quick else 1))
                    scale = 1000 if what.endswith("kops") else 1
                    found.setdefault(name + what, []).append(by_cpu / scale)
                    found.setdefault(name + what + "_seen", []).append(by_clock / scale)
        return found
    finally:
        peer.terminate()
        peer.wait()


def measure_front(folder, quick, places):
    """Measures each NAME=HOST:PORT:PID in turns. Returns thousand gets for a second of processor time."""
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.check_hostname = False
    servers, found = {}, {}
    for place in places:
        name, _, where = place.partition("=")
        host, port, pid = where.split(":")
        servers[name] = Server(context, host, int(port), int(pid))
        servers[name].fill()
    for number in range(2 if quick else ROUNDS):
        for name in sorted(servers, reverse=number % 2):
            found.setdefault(name, []).append(gets(servers[name], GETS // (2 if quick else 1))[0] / 1000)
    return found


# ---- as a part ----

def tls(bench):
    """Returns the TLS gets in pipelines of 100, and the handshakes, that one core makes in a second, beside
    Debian's memcached."""
    from bench_figures import spread
    from progress import Failed, Step

    for program, words in (("memcached", "apt-get install memcached"), ("openssl", "apt-get install openssl")):
        if shutil.which(program) is None:
            raise Failed(f"tls: {program} is not installed ({words})")
    with tempfile.TemporaryDirectory(prefix="clockoo-tls-") as folder, Step("tls: the appliance and memcached in turns"):
        subprocess.run([CERTIFICATES, "--make", folder], stdin=subprocess.DEVNULL, check=True)
        options = subprocess.run([CERTIFICATES, "--options", folder], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=True).stdout.strip().replace("ssl_verify_mode=1", "ssl_verify_mode=0")
        done = subprocess.run([str(ROOT / "tools/run"), "--build", str(bench.folder), "--no-build", "--no-udp", "--server-args", f"-m 64 {options}", "--exec",
                               f"{sys.executable} {__file__} {folder} {'quick' if bench.quick else 'full'}"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        found = next((json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")), None)
        if done.returncode != 0 or found is None:
            raise Failed(f"tls: {(done.stderr or done.stdout).strip()[-400:]}")
    lines = []
    for what in ("tls_get_kops", "tls_handshakes_per_s"):
        pair = found[what], found[f"memcached_{what}"]
        for name in (what, f"memcached_{what}", f"{what}_seen", f"memcached_{what}_seen"):
            bench.figures.keep(name, found[name], 1)
        ratio = bench.figures.keep(f"{what}_vs_memcached", [a / b for a, b in zip(*pair)])
        lines.append([what, spread(pair[1], 1), spread(pair[0], 1), f"{ratio:.2f}"])
    return lines


if __name__ == "__main__":
    places = sys.argv[3:]
    print(json.dumps(measure_front(sys.argv[1], sys.argv[2] == "quick", places) if places else measure(sys.argv[1], sys.argv[2] == "quick")),
          flush=True)
