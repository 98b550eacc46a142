"""The servers and programs that tools/bench front measures: four memcached servers, and the programs that take
turns in front of them.

    NAME-c   clients and the servers: 10.99.0.2, 10.99.1.2, 10.99.9.2
    NAME-s   the product without a front      v0 10.99.0.1
    NAME-s2  the product as a front           v0 10.99.1.1
    NAME-k   nutcracker, memcached's proxy    k0 10.99.9.1

All reach the servers by one veth. The program that is measured has the first CPU; servers and clients have the
second, or, of six CPUs, one each. A front sleeps while it has nothing to do (--poll adaptive), so its CPU
time is what it used; it is stopped (SIGSTOP) while others have their turn.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import mc_proxy
import netns
import run_front
import tls_bench
from links import checked, inside
from progress import Failed, Step
from vs_bed import PORT, Peer, VsBed, cpu_s

SERVERS, GROWN = 4, 8
FIRST_PORT = 11311
KEY_HASH = "fnv1a_64"
MCPROXY = "mcproxy"
NUTCRACKER = "nutcracker"
CLIENTS = pathlib.Path(__file__).with_name("front_clients.py")
STREAMS = pathlib.Path(__file__).with_name("front_streams.py")
HISTORY = pathlib.Path(__file__).with_name("front_history.py")
MTU_USUAL = 1500
START_S = 5.0
TICKS_S = os.sysconf("SC_CLK_TCK")
UP_S = 40.0
PEER_SIDE = "10.99.9"
OPEN_FILES = 8192
CONNECTIONS_MAX, PROXY_CONNECTIONS_MAX = 2048, 6144
SLOW_PORT, FAR_PORT, TLS_PORT = 11299, 11298, 11297
# For a history: the time between two faults, the time for which a server is stopped or dead, and the percentage
# of lost frames.
CALM_S, STALL_S, DOWN_S, LOST_PERCENT = 1.5, 1.2, 0.3, 3
# memcached's proxy has no ring as nutcracker has; jump spreads keys as evenly.
LUA = """
function mcp_config_pools()
    mcp.backend_read_timeout(5)
    mcp.backend_connect_timeout(5)
    return mcp.pool({ %s })
end

function mcp_config_routes(pool)
    local fgen = mcp.funcgen_new()
    local handle = fgen:new_handle(pool)
    fgen:ready({ n = "all", f = function(rctx)
        return function(r) return rctx:enqueue_and_wait(r, handle) end
    end })
    mcp.attach(mcp.CMD_ANY_STORAGE, fgen)
end
"""
YAML = """all:
  listen: 0.0.0.0:%d
  hash: %s
  distribution: ketama
  auto_eject_hosts: false
  timeout: 5000
  preconnect: true
  servers:
%s"""


class FrontBed(VsBed):
    SIDES = ("c", "s", "s2", "k")

    def __init__(self, programs, build, given=()):
        super().__init__(programs, build, [])
        self.given = list(given)
        self.server_cpus_of = self.cpus[2:2 + SERVERS] if len(self.cpus) >= 2 + SERVERS else [self.client_cpu] * SERVERS
        self.absent = {}  # absent programs, with the reason
        self.keeps_copies = run_front.keeps_copies(str(build / "app/clockoo"))
        self.servers = {}

    def make(self, ledger):
        self.settle(ledger)
        self._folder.chmod(0o755)  # a peer reads its configuration as nobody
        self._lay_peer_wire()
        self._wires = [netns.Wire(ledger.name, "af_packet", number) for number in (1, 2)]
        for wire in self._wires:
            wire.lay()
        for number in range(SERVERS):
            self.start_server(FIRST_PORT + number)
        for peer in self.proxies(PORT, [FIRST_PORT + i for i in range(SERVERS)]):
            self._start_peer(peer, peer.own_port)
            self.peers.append(peer)

    def _lay_peer_wire(self):
        checked(*inside(self.peer_ns), "ip", "link", "add", "k0", "type", "veth", "peer", "name", "k1", "netns",
                self.client)
        for ns, iface, end in ((self.peer_ns, "k0", 1), (self.client, "k1", 2)):
            checked(*inside(ns), "ip", "addr", "add", f"{PEER_SIDE}.{end}/24", "dev", iface)
            checked(*inside(ns), "ip", "link", "set", iface, "up")

    # ---- servers ----

    def start_server(self, port):
        cpu = self.server_cpus_of[(port - FIRST_PORT) % SERVERS]
        child = subprocess.Popen(
            [*inside(self.client), "taskset", "-c", str(cpu), "setpriv", "--reuid", "nobody", "--regid", "nogroup",
             "--clear-groups", "--pdeathsig", "KILL", "memcached", "-l", "0.0.0.0", "-p", str(port), "-U", "0",
             "-t", "1", "-m", "256", "-c", "1024"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._undo.callback(child.wait)
        self._undo.callback(child.kill)
        self.servers[port] = child
        self._await_listener(self.client, port, child)

    def ports(self):
        return sorted(self.servers)

    def kill_server(self, port):
        self.servers[port].kill()
        self.servers[port].wait()

    def _await_listener(self, ns, port, child):
        end = time.monotonic() + START_S
        while not checked(*inside(ns), "ss", "-Hltn", "sport", "=", str(port)):
            if child.poll() is not None or time.monotonic() > end:
                raise Failed(f"memcached does not start on port {port}")
            time.sleep(0.05)

    def server_gets(self):
        """Returns cmd_get of each server."""
        found = []
        for port in sorted(self.servers):
            text = self._nc("127.0.0.1", port, b"stats\r\nquit\r\n").decode(errors="replace")
            rows = dict(line.split()[1:3] for line in text.splitlines() if line.startswith("STAT "))
            found.append(int(rows.get("cmd_get", 0)))
        return found

    def store_where(self, host, keys, port):
        """Stores keys through this target. Returns those that are on that server."""
        sets = "".join(f"set {key} 0 0 1\r\nx\r\n" for key in keys) + "quit\r\n"
        end = time.monotonic() + UP_S
        while self._nc(host, PORT, sets.encode()).count(b"STORED") != len(keys):
            if time.monotonic() > end:  # a server that was killed is tried again with pauses
                raise Failed("not all keys were stored")
            time.sleep(0.1)
        gets = "".join(f"get {key}\r\n" for key in keys) + "quit\r\n"
        lines = self._nc("127.0.0.1", port, gets.encode()).decode(errors="replace").splitlines()
        return {line.split()[1] for line in lines if line.startswith("VALUE ")}

    def _nc(self, host, port, text):
        command = [*inside(self.client), "nc", "-w", "3", host, str(port)]
        return subprocess.run(command, input=text, capture_output=True).stdout

    def cpu_now(self, pid):
        """Returns the CPU seconds so far: of that process in its own code and in its kernel, and of the
        servers."""
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return {"own": int(fields[11]) / TICKS_S, "kernel": int(fields[12]) / TICKS_S,
                "servers": sum(cpu_s(child.pid) for child in self.servers.values())}

    def busy_s(self, host):
        """Returns the seconds that the front's cores spent in busy turns so far."""
        text = self._nc(host, PORT, b"stats cores\r\nquit\r\n").decode(errors="replace")
        found = [int(line.split()[2]) for line in text.splitlines() if ":core_busy_ns " in line]
        if not found:
            raise Failed(f"{host}: stats cores has no core_busy_ns")
        return sum(found) / 1e9

    # ---- who stands before them ----

    def proxies(self, port, servers):
        """Returns the proxies that are installed, and names the others with the reason."""
        found = [self._nutcracker(port, servers)] if shutil.which("nutcracker") else []
        if not found:
            self.absent[NUTCRACKER] = "it is not installed (apt-get install nutcracker)"
        path = next((str(p.absolute()) for p in self.given if mc_proxy.has_proxy(str(p))), None)
        if path is not None:
            found.append(self._mcproxy(path, port + 1, servers))
        else:
            self.absent[MCPROXY] = ("of --memcached no path is built with --enable-proxy" if self.given
                                    else "no --memcached PATH of a build with --enable-proxy")
        return found

    def _nutcracker(self, port, servers):
        path = self._folder / f"nutcracker-{port}.yml"
        path.write_text(YAML % (port, KEY_HASH, "".join(f"   - {PEER_SIDE}.2:{p}:1 s{p}\n" for p in servers)))
        path.chmod(0o644)
        peer = Peer(NUTCRACKER, 1, lambda port: ["nutcracker", "-c", str(path), "-s", str(port + 100), "-a",
                                                 "127.0.0.1", "-o", "/dev/null"], udp=False)
        peer.own_port = port
        return peer

    def tls_proxies(self, words):
        """Starts memcached's proxy with these words of TLS; none if it is absent or built without."""
        path = next((str(p.absolute()) for p in self.given if mc_proxy.has_proxy(str(p)) and "--enable-ssl" in mc_proxy.help_of(str(p))), None)
        found = [] if path is None else [self._mcproxy(path, TLS_PORT, self.ports(), words)]
        for peer in found:
            self._start_peer(peer, peer.own_port)
        return found

    def certificates(self):
        """Makes certificates that peers can read. Returns their folder."""
        folder = self._folder / "tls"
        folder.mkdir()
        checked(tls_bench.CERTIFICATES, "--make", folder)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        return folder

    def _mcproxy(self, binary, port, servers, words=()):
        path = self._folder / f"mcproxy-{port}.lua"
        path.write_text(LUA % ", ".join(f"mcp.backend('s{p}', '{PEER_SIDE}.2', {p})" for p in servers))
        path.chmod(0o644)
        peer = Peer(MCPROXY, 1, lambda port: [binary, "-l", "0.0.0.0", "-p", str(port), "-U", "0", "-t", "1", "-c",
                                              str(PROXY_CONNECTIONS_MAX), "-o", f"proxy_config={path}", *words], udp=False)
        peer.own_port = port
        return peer

    def start_own(self, number, *options):
        """Starts the product on wire 1 or 2."""
        wire = self._wires[number - 1]
        command = [*self._app("--port", "af_packet", "--iface", wire.iface, "--address",
                              f"{wire.host}/{netns.PREFIX_LEN}", "-c", str(CONNECTIONS_MAX), "--poll", "adaptive",
                              "--probe", "off",
                              *options)]
        server = self._spinner(command, "" if number == 1 else "-2", wire.server, wire.join)
        server.host = wire.host
        return server

    def start_front(self, copies=None, servers=None, mode="sole", *options):
        """Starts the product as a front. copies: the value of --front-items; None in a build without copies."""
        return self._front(copies, servers, mode, "--front-timeout", "5s", *options)

    def _front(self, copies, servers, mode, *options):
        fleet = self._folder / "fleet"  # a list in the command's words has at most 128
        fleet.write_text(self._lines_of(servers or self.ports()))
        return self.start_own(2, "--front-servers", fleet, "--front-mode", mode, *options,
                              *(["--front-items", copies] if copies is not None and self.keeps_copies else []))

    # ---- a fleet that grows ----

    @contextlib.contextmanager
    def servers_to(self, count):
        """Starts servers until there are this many. Returns their ports."""
        more = range(FIRST_PORT + SERVERS, FIRST_PORT + count)
        for port in more:
            self.start_server(port)
        try:
            yield self.ports()
        finally:
            for port in more:
                self.kill_server(port)
                del self.servers[port]

    @contextlib.contextmanager
    def growing_front(self, *options):
        """Starts a front in sole mode without copies, for the first SERVERS of GROWN servers until list_servers() changes that."""
        self._list = self._folder / "servers"
        self._list_write(SERVERS)
        with self.servers_to(GROWN):
            front = self.start_own(2, "--front-servers", self._list, "--front-mode", "sole", "--front-timeout", "5s", "--front-reload", "flush",
                               *options, *(["--front-items", "0"] if self.keeps_copies else []))
            try:
                yield front
            finally:
                self.end(front)

    def _list_write(self, count):
        self._list.write_text(self._lines_of(range(FIRST_PORT, FIRST_PORT + count)))

    def _lines_of(self, ports):
        return "".join(f"{self._wires[1].here}:{port}:1 s{port}\n" for port in ports)

    def list_servers(self, front, count):
        """Changes the server list of a running front. Returns when its keys are placed by the new list."""
        self._list_write(count)
        os.kill(front.pid, signal.SIGHUP)
        end = time.monotonic() + UP_S
        while self._placed_on(front) != count:
            if time.monotonic() > end:
                raise Failed(f"the front does not take a list of {count} servers")
            time.sleep(0.05)

    def _placed_on(self, front):
        rows = self.rows_of(front, "stats front")
        places = {name.partition(":")[0] for name, value in rows.items() if name.endswith(":role") and value == "server"}
        return sum(rows[f"{place}:state"] != "unlisted" for place in places)

    def rows_of(self, front, reply):
        """Returns the rows of this reply of stats as text."""
        text = self._nc(front.host, PORT, f"{reply}\r\nquit\r\n".encode()).decode(errors="replace")
        return dict(line.split(" ", 2)[1:] for line in text.splitlines() if line.startswith("STAT "))

    def growing_clients(self, words, front, keys, seconds, changes):
        """Returns the row of clients that get keys, and set those that they miss, while the list changes to
        (second, count)."""
        command = ["setpriv", "--pdeathsig", "KILL", *inside(self.client), sys.executable, "-B", str(CLIENTS), "grow", front.host, str(PORT),
                   str(keys), str(seconds)]
        with Step(words), subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as child:
            try:
                if "ready" not in child.stdout.readline():
                    raise Failed("the clients of a fleet that grows do not start")
                began = time.monotonic()
                for second, count in changes:
                    time.sleep(max(0, began + second - time.monotonic()))
                    self.list_servers(front, count)
                out = child.stdout.read()
            finally:
                child.kill()
        if child.returncode != 0:
            raise Failed(f"{words}: the clients ended with {child.returncode}")
        return json.loads(out.splitlines()[-1])

    def grown_history(self, words, number, front, changes, pause_s):
        """Returns the row of clients whose calls are judged while the list changes. copied: keys that were
        handed over."""
        self._judged = front
        with Step(words), self._history_of(number) as row:
            for count in changes:
                time.sleep(pause_s)
                self.list_servers(front, count)
            time.sleep(pause_s)
        return row

    # ---- histories ----

    def history(self, words, number):
        """Returns the row of clients whose calls are judged while servers, network and front fail. Servers are
        restarted with a killed front: they would list its connections, and keep the next front from copying
        for a minute."""
        for port in self.ports():
            self.kill_server(port)
            self.start_server(port)
        with Step(words), self._history_front(), self._history_of(number) as row:
            time.sleep(CALM_S)
            with self._lossy():
                time.sleep(2 * CALM_S)
                self._stop_server(self.ports()[(number + 1) % SERVERS])
            time.sleep(CALM_S)
            port = self.ports()[number % SERVERS]
            self.kill_server(port)
            time.sleep(DOWN_S)
            self.start_server(port)
            time.sleep(CALM_S)
            self._stop_server(self.ports()[(number + 2) % SERVERS])
            time.sleep(CALM_S)
            self._kill_front()
            time.sleep(2 * CALM_S)
        return row

    def _stop_server(self, port):
        self.servers[port].send_signal(signal.SIGSTOP)
        try:
            time.sleep(STALL_S)
        finally:
            self.servers[port].send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def _lossy(self):
        """Makes all veths of servers and clients lose part of the frames in both directions."""
        nft = [*inside(self.client), "nft"]
        chains = "".join(f"chain {hook} {{ type filter hook {hook} priority 0; numgen random mod 100 < {LOST_PERCENT} drop; }}\n"
                         for hook in ("input", "output"))
        subprocess.run([*nft, "-f", "-"], input=f"table ip lossy {{\n{chains}}}\n", text=True, check=True)
        try:
            yield
        finally:
            checked(*nft, "delete", "table", "ip", "lossy")

    @contextlib.contextmanager
    def _history_front(self):
        """Injects faults until the end. A failure is reported at once."""
        self._start_history_front()
        try:
            run_front.await_copies(lambda text: self._nc(self._judged.host, PORT, text))
            yield
        finally:
            self.end(self._judged)

    def _start_history_front(self):
        self._judged = self._front("auto", None, "sole", "--front-timeout", "300ms", "--front-on-failure", "error",
                                   "--front-server-retry-timeout", "400ms")
        os.kill(self._judged.pid, signal.SIGCONT)

    def _kill_front(self):
        """Kills the front and starts another. Its copies are lost; servers still execute the requests that it
        sent."""
        self._copied += self._spared()
        os.kill(self._judged.pid, signal.SIGKILL)
        self.end(self._judged)
        self._start_history_front()

    def _spared(self):
        text = self._nc(self._judged.host, PORT, b"stats front\r\nquit\r\n").decode(errors="replace")
        return sum(int(line.split()[2]) for line in text.splitlines() if line.startswith("STAT spared "))

    @contextlib.contextmanager
    def _history_of(self, seed):
        """Runs clients until the end, and then fills in their row."""
        command = ["setpriv", "--pdeathsig", "KILL", *inside(self.client), sys.executable, "-B", str(HISTORY),
                   self._judged.host, str(PORT), str(seed)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        row, self._copied = {}, 0
        try:
            yield row
            self._copied += self._spared()
            out, _ = child.communicate(timeout=UP_S)
            row |= json.loads(out.splitlines()[-1]) | {"copied": self._copied}
        finally:
            child.kill()
            child.wait()

    def await_copies(self, front):
        """Waits until the front keeps copies. Earlier requests go to its servers."""
        with self.turn_of(front):
            run_front.await_copies(lambda text: self._nc(front.host, PORT, text))

    # ---- clients ----

    def ask_at(self, words, host, port, pid, keys, *options):
        """Returns the row of a run of ask."""
        command = [*inside(self.client), "prlimit", f"--nofile={OPEN_FILES}", self._programs / "ask", host, port, "--server-pid", pid, "--keys", keys,
                   *options]
        out = self._turn(lambda: self._run(words, command))
        row = json.loads(out.splitlines()[-1])
        if row.get("wrong", 0) != 0:
            raise Failed(f"{words}: {row['wrong']} answers were wrong")
        return row

    def frames_alike(self, mtu):
        """Gives all wires that MTU, and switches segmentation offload off at the kernel's ends, whose frames would
        be longer than those of port af_packet. Returns the options of a front that sends frames so long."""
        kernel = ((self.peer_ns, "k0"), (self.client, "k1"), (self.client, self._wires[1].peer))
        for ns, iface in (*kernel, (self._wires[1].server, "v0")):
            checked(*inside(ns), "ip", "link", "set", iface, "mtu", str(mtu))
        for ns, iface in kernel:
            checked(*inside(ns), "ethtool", "-K", iface, "tx", "off", "tso", "off", "gso", "off")
        return ("--mtu", str(mtu), "--port", "af_packet_jumbo" if mtu > MTU_USUAL else "af_packet")

    def talk_at(self, words, host, port, *options):
        """Returns the row of a run of talk. Every byte was right."""
        command = [*inside(self.client), "prlimit", f"--nofile={OPEN_FILES}", self._programs / "talk", host, port, *options]
        row = json.loads(self._turn(lambda: self._run(words, command)).splitlines()[-1])
        if row["wrong_bytes"] or row["wrong_answers"]:
            raise Failed(f"{words}: {row['wrong_bytes']} bytes and {row['wrong_answers']} answers were wrong")
        return row

    def clients_program(self, words, *options):
        """Returns the row of front_clients.py."""
        return self._row_of(words, CLIENTS, options)

    def streams_program(self, words, *options):
        """Returns the row of front_streams.py."""
        return self._row_of(words, STREAMS, options)

    def inside_run(self, words, *command):
        """Runs a program among the clients. Returns its output."""
        return self._run(words, [*inside(self.client), *command])

    def _row_of(self, words, program, options):
        command = [*inside(self.client), "prlimit", f"--nofile={OPEN_FILES}", sys.executable, "-B", str(program),
                   *map(str, options)]
        return json.loads(self._run(words, command).splitlines()[-1])

    def slow_server(self):
        return self._server_of(CLIENTS, "slow", SLOW_PORT)

    def far_server(self, ms):
        """Starts a relay that adds ms to each answer of the first server."""
        return self._server_of(STREAMS, "relay", FAR_PORT, FIRST_PORT, ms)

    @contextlib.contextmanager
    def _server_of(self, program, what, port, *options):
        child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *inside(self.client), "prlimit", f"--nofile={OPEN_FILES}",
             sys.executable, "-B", str(program), what, str(port), *map(str, options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            if "ready" not in child.stdout.readline():
                raise Failed(f"{program.name} {what} does not start")
            yield port
        finally:
            child.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(2)
            child.kill()
            child.wait()

    @contextlib.contextmanager
    def proxies_of(self, servers, port):
        """Runs proxies of other servers during a with block."""
        found = self.proxies(port, servers)
        for peer in found:
            self._start_peer(peer, peer.own_port)
        yield found
