#!/usr/bin/python3 -B
"""Notifications to a service manager. Goal: the program says ready when it serves, shows life twice in the
time the manager waits, says when a reload begins and ends, and when it stops, also when nobody
reads what it writes; without a manager it says nothing and runs. Method: the built program on the
null port, and a socket of ours where systemd's would be, named as a file and in the abstract
namespace. Beside that, how the device of a second tier is taken and left.

    service_test.py CLOCKOO
"""

import contextlib
import errno
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import refuse_io_uring

PROGRAM = os.path.abspath(sys.argv.pop(1))
VERSION = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
WAIT_S = 60  # ends what hangs
WATCHDOG_US = 1_000_000
BEATS = 3
LOCK_BYTES = 4 << 20
OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
OWN_DEV = """
for name in null zero random urandom; do
    : >"$0/$name"
    mount --bind "/dev/$name" "$0/$name"
done
mount --rbind "$0" /dev
exec "$@"
"""


class Service:
    """with Service(NAME of the socket) as s: s.hear() is the next datagram, as a dictionary."""

    def __init__(self, name, *options, config="none", folder=None, before=(),
                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec=None, **env):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name[0] == "@" else name)
        self.socket.settimeout(WAIT_S)
        self.process = subprocess.Popen(
            [*before, PROGRAM, "--no-huge", "--port", "null", "--vdev-args", "no-rx=1", "--poll", "adaptive", "-m", "16", "-c", "64",
             "--file-prefix", f"service-{os.getpid()}", "--config", config, *options],
            env=os.environ | {"NOTIFY_SOCKET": name} | env, cwd=folder, preexec_fn=preexec,
            stdout=stdout, stderr=stderr, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.socket.close()

    def hear(self):
        """The next word that is no sign of life."""
        while True:
            lines = self.socket.recv(4096).decode().split("\n")
            words = dict(line.split("=", 1) for line in lines)
            if words != {"WATCHDOG": "1"}:
                return words

    def end(self):
        """Ends the program by SIGTERM. Returns its last datagram to the service manager, its status and its stderr."""
        self.process.send_signal(signal.SIGTERM)
        heard = self.hear()
        _, err = self.process.communicate(timeout=WAIT_S)
        return heard, self.process.returncode, err


class Unread:
    """A pipe or socket that the program writes to and the test does not read. end: the program's end."""

    def __init__(self, ours, end, again):
        self.ours, self.end, self.again = ours, end, again

    @classmethod
    def pipe(cls):
        return cls(*os.pipe(), True)

    @classmethod
    def terminal(cls):
        return cls(*pty.openpty(), True)

    @classmethod
    def stream(cls):
        return cls(*(s.detach() for s in socket.socketpair()), False)

    def fill(self):
        """Fills the pipe or socket, without making the program's own descriptor non-blocking."""
        with contextlib.ExitStack() as undo, contextlib.suppress(BlockingIOError):
            if self.again:
                fd = os.open(f"/proc/self/fd/{self.end}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
                undo.callback(os.close, fd)
                while True:
                    os.write(fd, b"x")
            with socket.socket(fileno=os.dup(self.end)) as one:
                while True:
                    one.send(b"x", socket.MSG_DONTWAIT)

    def others_wait(self):
        return os.get_blocking(self.end) or not self.again

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.ours)
        os.close(self.end)


class ServiceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="clockoo-service-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_ready_reload_and_stop_are_said_in_this_order(self):
        users = self.folder / "users"
        users.write_text("one:word\n")
        users.chmod(0o600)
        for name in (str(self.folder / "socket"), f"@clockoo-service-{os.getpid()}"):
            with self.subTest(name), Service(name, "-Y", str(users)) as service:
                self.assertEqual(service.hear(), {"READY": "1"})
                service.process.send_signal(signal.SIGHUP)
                self.assertEqual(service.hear().get("RELOADING"), "1")
                self.assertEqual(service.hear(), {"READY": "1"})
                self.assertEqual(service.end(), ({"STOPPING": "1"}, 0,
                                                 f"clockoo: reload: {users}: 1 user\n"))

    def test_a_reload_that_finds_a_wrong_file_ends_too_and_says_so(self):
        users = self.folder / "users"
        users.write_text("one:word\n")
        users.chmod(0o600)
        with Service(str(self.folder / "socket"), "-Y", str(users)) as service:
            service.hear()
            users.write_text("no password\n")
            service.process.send_signal(signal.SIGHUP)
            self.assertEqual(service.hear().get("RELOADING"), "1")
            self.assertEqual(service.hear(), {"READY": "1"})
            self.assertIn("the users are unchanged", service.end()[2])

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl: apt-get install openssl")
    @unittest.skipIf("without OpenSSL" in VERSION, "built without OpenSSL")
    def test_certificates_whose_dates_are_near_are_a_line_at_start_reload_and_in_doctor(self):
        cert, key, socket_name = self.folder / "cert", self.folder / "key", str(self.folder / "socket")
        near = f"ssl_chain_cert {cert}: the certificate expires on 20"

        def make(days):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                            "/CN=dates", "-days", str(days), "-keyout", key, "-out", cert], check=True, capture_output=True)
        options = ["-Z", "-o", f"ssl_chain_cert={cert},ssl_key={key}"]
        for days, after in ((3, 90), (90, 3)):
            make(days)
            asked = subprocess.run([PROGRAM, "doctor", "--no-huge", "--port", "null", "--config", "none", *options],
                                   capture_output=True, text=True).stdout
            self.assertEqual(f"warn  certificates     {near}" in asked, days == 3)
            with self.subTest(days), Service(socket_name, *options) as service:
                service.hear()
                make(after)
                service.process.send_signal(signal.SIGHUP)
                service.hear(), service.hear()
                lines = service.end()[2].splitlines()
            pathlib.Path(socket_name).unlink()
            said = [f"clockoo: warning: {near}" in line for line in lines]
            read = [line.endswith("the certificates were read again") for line in lines]
            self.assertEqual((said, read), ([days == 3, after == 3], [False, True] if days == 3 else [True, False]), lines)

    def reloaded(self, before, after, meanwhile=lambda: None):
        """Returns the stderr of a program that was started with one file and reloaded with another."""
        config = self.folder / "clockoo.yaml"
        config.write_text(before)
        with Service(str(self.folder / "socket"), config=str(config)) as service:
            service.hear()
            config.write_text(after)
            meanwhile()
            service.process.send_signal(signal.SIGHUP)
            self.assertEqual(service.hear().get("RELOADING"), "1")
            self.assertEqual(service.hear(), {"READY": "1"})
            return service.end()[2].replace(str(config), "FILE").splitlines()

    def test_a_reload_names_each_key_that_cannot_change_and_no_other(self):
        self.assertEqual(self.reloaded(
            "cache:\n  disable_evictions: no\nprotocol:\n  disable_flush_all: no\n",
            "cache:\n  disable_evictions: yes\nprotocol:\n  disable_flush_all: yes\n"
            "  udp_budget: 1m\n"), [
                "clockoo: reload: FILE: protocol.udp_budget changes only after a restart",
                "clockoo: reload: FILE: cache.disable_evictions changes only after a restart",
                "clockoo: reload: FILE: protocol.disable_flush_all is yes now"])

    def test_a_reload_lets_in_what_the_lists_say_then_and_reads_their_files_again(self):
        deny = self.folder / "deny"
        deny.write_text("192.0.2.0/24\n")
        text = f"network:\n  deny: {deny}\n"
        self.assertEqual(self.reloaded(text, text, lambda: deny.write_text("10.0.0.0/8\n::/0\n")), [
            "clockoo: reload: FILE: network.allow and network.deny: 0 networks allowed, 2 denied, a "
            "table of 258 KB"])

    def test_a_reload_with_an_emptied_list_lets_in_nobody_else(self):
        allow = self.folder / "allow"
        allow.write_text("192.0.2.0/24\n")
        text = f"network:\n  allow: {allow}\n"
        self.assertEqual(self.reloaded(text, text, lambda: allow.write_text("# none\n")), [
            f"clockoo: reload: FILE:2: network.allow: {allow}: no network in it; leave it out to let everybody in; "
            "the configuration is unchanged"])

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl: apt-get install openssl")
    @unittest.skipIf("without OpenSSL" in VERSION, "built without OpenSSL")
    def test_a_reload_keeps_what_it_read_of_each_file_that_is_broken_then(self):
        """One line for each file and way. The last reload finds nothing changed."""
        file = {name: self.folder / name for name in ("allow", "deny", "addresses", "routes", "users", "servers", "login", "cert", "key")}
        config = self.folder / "clockoo.yaml"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x",
                        "-days", "90", "-keyout", file["key"], "-out", file["cert"]], check=True, capture_output=True)
        for name in ("ca", "front_ca"):
            file[name] = self.folder / name
            file[name].write_bytes(2 * file["cert"].read_bytes())
        texts = {"allow": "10.0.0.0/8\n192.0.", "deny": "10.9.0.0/16\n192.51.", "addresses": "10.1.1.5\n10.1.",
                 "routes": "198.51.100.0/24 via 10.1.1.2\n198.51.101.0/24 vi", "users": "ann:secret:read\nbob",
                 "servers": "10.1.1.7:11211:1\n10.1.1.8", "login": "front"}
        rests = {"allow": "2.0/24\n", "deny": "100.0/24\n", "addresses": "1.6\n", "routes": "a 10.1.1.2\n", "users": ":secret\n",
                 "servers": ":11211:1\n", "login": ":secret\n"}
        for name, text in texts.items():
            file[name].write_text(text + rests[name])
            file[name].chmod(0o600)
        texts["config"] = ("network: {{address: 10.1.1.1/24, allow: {allow}, deny: {deny}, addresses: {addresses}, routes: {routes}}}\n"
                           "auth: {{file: {users}}}\ntls: {{enable: yes, chain_cert: {cert}, key: {key}, ca_cert: {ca}}}\n"
                           "front: {{servers: {servers}, login: {login}, tls_ca: {front_ca}").format(**file)
        file["config"] = config
        config.write_text(texts["config"] + "}\n")
        whole = {name: path.read_bytes() for name, path in file.items()}
        with Service(str(self.folder / "socket"), config=str(config)) as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            for name, path in file.items():
                cut = texts[name].encode() if name in texts else whole[name][:-60]
                for way in (b"", cut, None, ...):
                    path.unlink()
                    if way is ...:
                        path.mkdir()
                    elif way is not None:
                        path.write_bytes(way)
                    self.reload(service, service.process.pid)
                    if way is ...:
                        path.rmdir()
                    path.write_bytes(whole[name])
            self.reload(service, service.process.pid)
            lines = service.end()[2].splitlines()
        kept = [line for line in lines if re.search("(is|are) unchanged$|those of before$", line)]
        named = {name: sum(re.search(f" {path}[: ]", line) is not None for line in kept) for name, path in file.items()}
        self.assertEqual((named | {"config": len(kept)}), dict.fromkeys(file, 4) | {"config": 4 * len(file)}, kept)
        self.assertIn(f"clockoo: reload: {config}: nothing changed", lines[-4:])

    def test_a_reload_takes_addresses_and_routes_from_the_file_and_from_theirs(self):
        vips = self.folder / "vips"
        vips.write_text("192.0.2.5\n")
        text = f"network:\n  address: 10.1.1.1/24\n  addresses: {vips}\n"
        self.assertEqual(self.reloaded(text, text + "  routes: [default via 10.1.1.2]\n",
                                       lambda: vips.write_text("192.0.2.6\n2001:db8::6/64\n")), [
            "clockoo: reload: FILE: network.routes is [\"default via 10.1.1.2\"] now",
            "clockoo: reload: FILE: network.addresses and network.routes: 2 IPv4 and 1 IPv6 addresses, 1 route"])

    def test_a_reload_with_a_wrong_address_changes_nothing(self):
        said = self.reloaded("network:\n  addresses: [192.0.2.5]\n", "network:\n  addresses: [192.0.2.5, 192.0.2.5]\n")
        self.assertEqual(len(said), 1)
        self.assertIn('"192.0.2.5": is given twice: 192.0.2.5; the configuration is unchanged', said[0])

    def test_a_drain_is_not_ready_at_once_and_ends_with_a_stop(self):
        pid_file, http = self.folder / "pid", self.folder / "http"
        options = ["--config", "none", "--telemetry-http", str(http), "--pidfile", str(pid_file)]

        def hook(name):
            return subprocess.run([PROGRAM, name, *options], capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual((hook("ready").returncode, hook("drain").returncode), (1, 1))
        with Service(str(self.folder / "socket"), "--telemetry-http", str(http), "-P", str(pid_file)) as service:
            self.assertEqual(service.hear().get("READY"), "1")
            self.assertEqual((hook("ready").returncode, hook("ready").stdout), (0, "serving\n"))
            drained = hook("drain")
            self.assertEqual(drained.returncode, 0, drained.stderr)
            self.assertEqual(service.hear().get("STATUS"), "draining")
            self.assertEqual(service.hear().get("STOPPING"), "1")
            said = service.process.communicate(timeout=WAIT_S)[1]
            self.assertEqual(service.process.returncode, 0)
            self.assertIn("clockoo: draining: new connections are refused", said)
        self.assertEqual(hook("ready").returncode, 1)

    def test_a_stop_drains_first_where_routers_lead_to_the_box(self):
        def begin(*options):
            return Service(str(self.folder / f"socket{len(options)}"), "--drain", *options)
        with begin("anycast", "--drain-time", "600") as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            service.process.send_signal(signal.SIGTERM)
            heard = [service.hear()]
            while "STOPPING" not in heard[-1]:
                heard.append(service.hear())
            self.assertEqual(heard[:2], [{"EXTEND_TIMEOUT_USEC": "10000000"}, {"STATUS": "draining"}])
            self.assertIn("clockoo: draining: connections are closed", service.process.communicate(timeout=WAIT_S)[1])
            self.assertEqual(service.process.returncode, 0)
        with begin("close") as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            self.assertEqual(service.end(), ({"STOPPING": "1"}, 0, ""))

    def test_a_reload_with_a_wrong_list_changes_nothing(self):
        deny = self.folder / "deny"
        deny.write_text("192.0.2.0/24\n")
        text = f"network:\n  deny: {deny}\n"
        said = self.reloaded(text, text, lambda: deny.write_text("10.0.0.0/8\n10.0.0.1/9\n"))
        self.assertEqual(len(said), 1)
        self.assertIn('line 2: "10.0.0.1/9": bits behind the prefix are set; did you mean 10.0.0.0/9?; the '
                      "configuration is unchanged", said[0])

    def test_a_reload_names_no_key_that_merely_follows_from_another(self):
        """The queues from the cores, the networks of --udp-allow from the address."""
        self.assertEqual(self.reloaded(
            "protocol:\n  disable_flush_all: yes\n",
            "cores:\n  count: 2\nnetwork:\n  address: 10.1.1.1/24\n"), [
                "clockoo: reload: FILE: cores.count changes only after a restart",
                "clockoo: reload: FILE: protocol.disable_flush_all is no now",
                "clockoo: reload: FILE: network.address changes only after a restart"])

    def test_a_reload_that_changes_nothing_says_so(self):
        text = "cores:\n  count: 1\n"
        self.assertEqual(self.reloaded(text, text), ["clockoo: reload: FILE: nothing changed"])

    def test_a_reload_of_a_wrong_file_names_its_line_and_changes_nothing(self):
        lines = self.reloaded("memory:\n  limit: 16\n", "memory:\n  limit: 16\n  mistake: 1\n")
        self.assertEqual(len(lines), 1)
        self.assertIn("FILE:3: ", lines[0])
        self.assertIn("the configuration is unchanged", lines[0])

    def test_a_reload_reads_the_fleet_s_file_of_servers_again(self):
        servers = self.folder / "servers"
        for now, said in (
                ("10.0.0.1:11211:1\n# the same\n", ["clockoo: reload: FILE: nothing changed"]),
                ("10.0.0.1:11211:1\n10.0.0.2:11211:1\n",
                 ["clockoo: reload: FILE: front.servers: 2 servers take over"]),
                ("10.0.0.1:11211:0\n",
                 ["clockoo: reload: FILE:2: front.servers: SERVERS:1: weight 0: no key would be there; "
                  "leave the server out; the configuration is unchanged"])):
            servers.write_text("10.0.0.1:11211:1\n")
            text = f"front:\n  servers: {servers}\nnetwork:\n  address: 10.0.0.250/24\n"
            with self.subTest(now):
                lines = self.reloaded(text, text, lambda now=now: servers.write_text(now))
                (self.folder / "socket").unlink()
                self.assertEqual([line.replace(str(servers), "SERVERS") for line in lines
                                  if line.startswith("clockoo: reload:")], said)

    def test_a_daemon_reads_a_file_again_that_was_named_from_another_folder(self):
        config, pid_file = self.folder / "clockoo.yaml", self.folder / "pid"
        config.write_text("memory:\n  limit: 16\n")
        with Service(str(self.folder / "socket"), "-d", "-v", "-P", str(pid_file),
                     config=config.name, folder=self.folder) as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            pid = int(pid_file.read_text())
            config.write_text("memory:\n  limit: 16\n  mistake: 1\n")
            os.kill(pid, signal.SIGHUP)
            self.assertEqual(service.hear().get("RELOADING"), "1")
            self.assertEqual(service.hear(), {"READY": "1"})
            os.kill(pid, signal.SIGTERM)
            self.assertEqual(service.hear(), {"STOPPING": "1"})
            self.assertIn("clockoo.yaml:3: memory.mistake", service.process.stderr.read())

    def test_a_low_limit_of_locked_memory_is_one_warning_and_it_serves(self):
        """-k; root may lock without a limit, so the right goes."""
        drop = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] * (os.geteuid() == 0)
        limit = ["prlimit", f"--memlock={LOCK_BYTES}:{LOCK_BYTES}"]
        with Service(str(self.folder / "socket"), "-k", before=[*drop, *limit]) as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            heard, status, err = service.end()
        self.assertEqual((heard, status, err.count("\n")), ({"STOPPING": "1"}, 0, 1), err)
        self.assertIn("--lock-memory: not locked, the limit is 4 MB", err)

    @contextlib.contextmanager
    def daemon(self):
        """-d in a /dev of its own, with our socket where syslog's would be: the service, that
        socket, the file to reload, the process."""
        if subprocess.run([*OWN_MOUNTS, "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespaces here")
        dev, config, pid_file = (self.folder / name for name in ("dev", "clockoo.yaml", "pid"))
        dev.mkdir()
        log = self.log_at(dev / "log")
        config.write_text("memory:\n  limit: 16\n")
        # A name of its own: the next test does not wait for this one's end.
        with Service(str(self.folder / "socket"), "-d", "-P", str(pid_file), "--file-prefix",
                     f"daemon-{self.folder.name}", config=str(config),
                     before=[*OWN_MOUNTS, "sh", "-ec", OWN_DEV, str(dev)]) as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            pid = int(pid_file.read_text())
            yield service, log, config, pid
            os.kill(pid, signal.SIGTERM)
            self.assertEqual(service.hear(), {"STOPPING": "1"})

    def log_at(self, path):
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(log.close)
        log.bind(str(path))
        log.settimeout(WAIT_S)
        return log

    def reload(self, service, pid):
        os.kill(pid, signal.SIGHUP)
        self.assertEqual(service.hear().get("RELOADING"), "1")
        self.assertEqual(service.hear(), {"READY": "1"})

    def test_a_daemon_speaks_to_the_log_of_the_system(self):
        """Also to one that was started anew."""
        with self.daemon() as (service, log, config, pid):
            config.write_text("protocol:\n  disable_flush_all: yes\n")
            self.reload(service, pid)
            said = log.recv(4096).decode()
            log.close()
            (self.folder / "dev" / "log").unlink()
            log = self.log_at(self.folder / "dev" / "log")
            self.reload(service, pid)
            again = log.recv(4096).decode()
        self.assertRegex(said, r"^<29>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d clockoo"
                               rf"\[{pid}\]: reload: {config}: "
                               "protocol.disable_flush_all is yes now$")
        self.assertIn("nothing changed", again)

    def test_a_log_of_the_system_that_hangs_stops_nothing(self):
        """More lines than its socket has room for."""
        room = int(pathlib.Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
        with self.daemon() as (service, log, _, pid):
            for _ in range(room + 3):
                self.reload(service, pid)
            log.recv(4096)

    def test_life_is_shown_while_the_manager_waits_for_it(self):
        with Service(str(self.folder / "socket"), WATCHDOG_USEC=str(WATCHDOG_US)) as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            for _ in range(BEATS):
                self.assertEqual(service.socket.recv(4096), b"WATCHDOG=1")
            self.assertEqual(service.end()[1], 0)

    def test_output_that_nobody_reads_stops_nothing(self):
        """Lines of --live and of a reload, into what is full: it shows life, reloads and ends."""
        for make in (Unread.pipe, Unread.terminal, Unread.stream):
            with self.subTest(make.__name__), make() as out, \
                    Service(str(self.folder / "socket"), "--live", stdout=out.end, stderr=out.end,
                            WATCHDOG_USEC=str(WATCHDOG_US)) as service:
                self.assertEqual(service.hear(), {"READY": "1"})
                out.fill()
                for _ in range(2 * BEATS):
                    self.assertEqual(service.socket.recv(4096), b"WATCHDOG=1")
                service.process.send_signal(signal.SIGHUP)
                self.assertEqual(service.hear().get("RELOADING"), "1")
                self.assertEqual(service.hear(), {"READY": "1"})
                self.assertEqual(service.end()[:2], ({"STOPPING": "1"}, 0))
                self.assertTrue(out.others_wait())
            (self.folder / "socket").unlink()

    def test_a_watchdog_of_another_process_is_none_of_ours(self):
        with Service(str(self.folder / "socket"), WATCHDOG_USEC=str(WATCHDOG_US),
                     WATCHDOG_PID="1") as service:
            self.assertEqual(service.hear(), {"READY": "1"})
            service.socket.settimeout(1.5)
            with self.assertRaises(TimeoutError):
                service.socket.recv(4096)

    def test_a_socket_that_is_not_there_stops_no_cache(self):
        for name in ("", "relative", "/" + "x" * 200, str(self.folder / "nobody")):
            with self.subTest(name), Service(str(self.folder / "other"),
                                             NOTIFY_SOCKET=name) as service:
                with self.assertRaises(subprocess.TimeoutExpired):
                    service.process.wait(timeout=1)
            (self.folder / "other").unlink()


class FlashTest(unittest.TestCase):
    """A device of the second tier is taken by one process, left as it says, and nobody else's is written over."""
    MB = 256
    COUNTER = struct.Struct("<QQI")  # superblock: its number, its process's, whether it is clean
    PAGE, PAYLOAD = 4096, 16

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="clockoo-service-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.device = self.folder / "flash"
        try:
            os.close(os.open(self.folder / "probe", os.O_RDWR | os.O_CREAT | os.O_DIRECT))
        except OSError as error:
            self.skipTest(f"no O_DIRECT in {self.folder}: {error}")
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.folder], capture_output=True, text=True, check=True)
        if kind.stdout.strip() == "tmpfs":
            self.skipTest(f"{self.folder} is on a tmpfs; TMPDIR names another folder")

    def service(self, *options, **how):
        return Service(str(self.folder / f"socket{len(list(self.folder.iterdir()))}"), "--flash-device",
                       str(self.device), *options, **how)

    def supers(self):
        """Returns both copies of the file's state: (number, process, clean)."""
        with open(self.device, "rb") as file:
            pages = [file.read(self.PAGE) for _ in range(2)]
        return sorted(self.COUNTER.unpack_from(page, self.PAYLOAD) for page in pages)

    def refused(self, *options, **how):
        with self.service(*options, **how) as service:
            _, err = service.process.communicate(timeout=WAIT_S)
            self.assertEqual((service.process.returncode, err.count("\n")), (1, 1), err)
            return err

    @unittest.skipIf(refuse_io_uring.is_refused_here(), "the kernel refuses io_uring here")
    def test_a_device_is_left_clean_begun_dirty_and_one_process_has_it(self):
        for start in (1, 2):
            with self.service("--flash-size", f"{self.MB}m") as service:
                service.hear()
                self.assertEqual(self.supers(), [(3 * start - 2, start, 0), (3 * start - 1, start, 0)])
                if start == 1:  # that waits for its predecessor
                    self.assertEqual(self.refused("--file-prefix", "other"),
                                     f"clockoo: --flash-device: {self.device}: another process has it\n")
                _, status, err = service.end()
                self.assertEqual(status, 0, err)
                self.assertRegex(err, rf"^{self.began('starts empty: it is new' if start == 1 else 'kept as it was left')}"
                                      rf".*\n{self.began('room for')} \d+ items of 256 bytes; io_uring, O_DIRECT.*\n$")
            self.assertEqual(self.supers()[-1], (3 * start, start, 1))
            self.assertEqual(self.device.stat().st_size, self.MB << 20)
        with self.service() as service:
            service.hear()
            service.process.kill()
        self.assertEqual(self.supers(), [(7, 3, 0), (8, 3, 0)])

    def began(self, words):
        return re.escape(f"clockoo: flash.device: {self.device}: {words}")

    def said_by(self, number, *options):
        """Returns what a start says that the signal ends then."""
        with self.service("--flash-size", f"{self.MB}m", *options) as service:
            while "READY" not in service.hear():  # a repair is told of before
                pass
            service.process.send_signal(number)
            return service.process.communicate(timeout=WAIT_S)[1]

    def test_a_start_is_warm_only_with_what_was_served_with_it(self):
        with tempfile.TemporaryDirectory(prefix="clockoo-service-", dir="/dev/shm") as folder:
            state, memory = ("--flash-state", f"{folder}/state"), ("-e", f"{folder}/memory")
            for number, options, words in (
                    (signal.SIGKILL, state, "starts empty: it is new"),
                    (signal.SIGTERM, state, "kept after a kill: 0 records"),
                    (signal.SIGKILL, (), "kept as it was left: 0 records"),
                    (signal.SIGKILL, state, "starts empty: its process was killed, and of flash.state nothing is kept: "
                                            "its process had not begun to serve, or has ended"),
                    (signal.SIGTERM, memory, "starts empty: its process was killed, and of flash.state nothing is kept: "
                                             "it is new"),
                    (signal.SIGKILL, memory, "kept as it was left"),
                    (signal.SIGTERM, memory, "kept after a kill"),
                    (signal.SIGTERM, ("--flash-item-size", "512"), "starts empty: it was divided for another flash.size"),
                    (signal.SIGTERM, (*memory, "--flash-item-size", "512"),
                     "starts empty: what memory keeps was last served without it"),
                    (signal.SIGTERM, ("--flash-item-size", "512", "--keep-for", "never"), "starts empty: memory.keep_for is never")):
                with self.subTest(words):
                    self.assertRegex(self.said_by(number, *options), self.began(words))

    def test_a_reload_changes_what_goes_to_it(self):
        config = self.folder / "clockoo.yaml"
        text = f"flash:\n  device: {self.device}\n  size: {self.MB}m\n"
        config.write_text(text)
        with Service(str(self.folder / "socket"), config=str(config)) as service:
            service.hear()
            config.write_text(text + "  budget: 50\n  admit: used\n  deadline: 50ms\n")
            service.process.send_signal(signal.SIGHUP)
            self.assertEqual(service.hear().get("RELOADING"), "1")
            self.assertEqual(service.hear(), {"READY": "1"})
            said = service.end()[2].splitlines()[-3:]
        self.assertEqual([line.partition("flash.")[2] for line in said],
                         ["budget is 50 now", "admit is used now", "deadline changes only after a restart"])

    def test_a_stop_amid_its_recovery_ends_the_start(self):
        def stop_at_once():  # it is pending when the program begins
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            os.kill(os.getpid(), signal.SIGTERM)

        with tempfile.TemporaryDirectory(prefix="clockoo-service-", dir="/dev/shm") as folder:
            options = ("--flash-size", f"{self.MB}m", "--flash-state", f"{folder}/state")
            self.said_by(signal.SIGKILL, *options[2:])
            for _ in range(4):  # it is no crash
                with self.service(*options, preexec=stop_at_once) as service:
                    _, err = service.process.communicate(timeout=WAIT_S)
                self.assertEqual((service.process.returncode, err.splitlines()[-1]), (0,
                                 "clockoo: flash.device: stopped amid its recovery; the next start does it again"))
            self.assertRegex(self.said_by(signal.SIGTERM, *options[2:]), self.began("kept after a kill"))

    def test_threads_stand_in_where_io_uring_is_refused(self):
        size = ("--flash-size", f"{self.MB}m")
        for error in (errno.EPERM, errno.ENOSYS):
            with self.service(*size, preexec=refuse_io_uring.with_error(error)) as service:
                service.hear()
                _, status, err = service.end()
            self.assertEqual(status, 0, err)
            self.assertRegex(err, rf"(?m)^clockoo: flash.io: threads, since the kernel refuses io_uring \({os.strerror(error)}; see "
                                  r"kernel.io_uring_disabled, and seccomp\): at most 16 reads of flash at a time, not 264 a core$")
            self.assertRegex(err, rf"(?m)^{self.began('room for')} \d+ items of 256 bytes; threads, O_DIRECT$")
        with self.service(*size, "--flash-io", "threads", "-k") as service:  # asked for, and all memory locked
            service.hear()
            threads = [path.read_text().strip() for path in pathlib.Path(f"/proc/{service.process.pid}/task").glob("*/comm")]
            _, status, err = service.end()
        self.assertEqual((status, threads.count("clockoo-flashio")), (0, 18), err)
        self.assertNotIn("flash.io", err)
        self.assertTrue(all(clean for *_, clean in self.supers()[-1:]))
        self.assertEqual(self.refused(*size, "--flash-io", "io_uring", preexec=refuse_io_uring.with_error(errno.EPERM)),
                         "clockoo: --flash-io io_uring: the kernel refuses it: Operation not permitted; see "
                         "kernel.io_uring_disabled, and seccomp, or leave --flash-io out\n")

    def test_what_reads_it_is_told_before_a_start(self):
        refused = refuse_io_uring.with_error(errno.EPERM)
        config = self.folder / "clockoo.yaml"
        threads = "threads: 16 read, 2 write"
        for io, preexec, words, mark in (("auto", None, "io_uring", "ok"), ("io_uring", None, "io_uring", "ok"),
                                         ("auto", refused, f"{threads} (io_uring: Operation not permitted)", "warn"),
                                         ("threads", refused, threads, "ok"), ("threads", None, threads, "ok")):
            with self.subTest(words):
                if words == "io_uring" and refuse_io_uring.is_refused_here():
                    self.skipTest("the kernel refuses io_uring here")
                options = ("--flash-device", str(self.device), "--flash-size", "256m", "--flash-io", io)
                self.assertRegex(self.told_by_doctor(*options, preexec=preexec), rf"(?m)^{mark} +flash +by {re.escape(words)}$")
                self.assertIn(f"\n           by {words}\n", self.told("--plan", *options, preexec=preexec))
                config.write_text(f"flash:\n  device: {self.device}\n  size: 256m\n  io: {io}\n")
                self.assertIn(f"items of 256 bytes; by {words}\n", self.told("--check", config, alone=True, preexec=preexec))
        options = ("--flash-device", str(self.device), "--flash-size", "256m", "--flash-io", "io_uring")
        self.assertRegex(self.told_by_doctor(*options, preexec=refused),
                         r"(?m)^FAIL  flash +--flash-io io_uring: the kernel refuses it: Operation not permitted")
        self.assertIn("which a start refuses: --flash-io io_uring", self.told("--plan", *options, preexec=refused))
        config.write_text(config.read_text().replace("threads", "io_uring"))
        self.assertRegex(self.told("--check", config, alone=True, preexec=refused), r"not ready to start: .*the kernel refuses it: ")

    @staticmethod
    def told(*words, alone=False, preexec=None):
        return subprocess.run([PROGRAM, *words, *(() if alone else ("--config", "none", "--no-huge", "--port", "null"))],
                              capture_output=True, text=True, preexec_fn=preexec).stdout

    def told_by_doctor(self, *options, preexec=None):
        return self.told("doctor", *options, preexec=preexec)

    def test_doctor_tells_what_it_is(self):
        told = self.told_by_doctor
        self.assertNotIn("flash", told())
        out = told("--flash-device", str(self.device), "--flash-size", "256m")
        self.assertRegex(out, r"(?m)^ok    flash +256 MB, layout log, room for \d+ items of 256 bytes$")
        self.assertRegex(out, r"(?m)^warn  flash +no flash.state: after a kill or a crash it starts empty$")
        self.device.write_bytes(bytes(256 << 20))
        out = told("--flash-device", str(self.device), "--flash-state", "/proc/none")
        self.assertRegex(out, r"(?m)^(ok    flash +O_DIRECT in blocks of \d+ bytes|[?]     flash +this kernel does not tell)")
        self.assertRegex(out, r"(?m)^FAIL  flash +--flash-state: /proc/none: not on a hugetlbfs or tmpfs")

    def test_its_buffers_are_in_the_sum(self):
        out = subprocess.run([PROGRAM, "--plan", "--config", "none", "--no-huge", "--port", "null", "--flash-device", self.device,
                              "--flash-size", "2t", "--flash-layout", "log", "-m", "64"], capture_output=True, text=True).stdout
        pages, buffers, program, whole = (int(re.search(words, out)[1]) for words in (
            r"memory +(\d+) MB", r"(\d+) MB of buffers and columns for flash", r"(\d+) MB of program", r"(\d+) MB in all"))
        self.assertEqual((buffers, whole), (256, pages + buffers + program))  # 64 shards of two

    def test_what_is_not_a_tiers_is_not_written_over(self):
        self.assertEqual(self.refused(), f"clockoo: --flash-device: {self.device}: No such file or directory; "
                                         "give --flash-size to make it\n")
        self.device.write_bytes(b"mine" * 10)
        self.assertIn("has something else's data", self.refused("--flash-size", "300m"))
        self.assertEqual(self.device.read_bytes(), b"mine" * 10)
        self.device.write_bytes(bytes(1 << 20))
        self.assertIn("has 1 MB, expected 256 to 2097152: give --flash-size", self.refused())
        self.device = "/dev/null"
        for options in ((), ("--flash-size", "256m")):
            self.assertEqual(self.refused(*options), "clockoo: --flash-device: /dev/null is neither a file nor a block device: "
                                                     "name one\n")
        with tempfile.NamedTemporaryFile(prefix="clockoo-service-", dir="/dev/shm") as file:
            for self.device in (file.name, f"{file.name}-new"):
                self.assertEqual(self.refused("--flash-size", "256m"),
                                 f"clockoo: --flash-device: {self.device} is on a tmpfs, which is memory: name a file on a disk, "
                                 "or a block device\n")

    def test_a_block_device_is_taken_if_nobody_has_it(self):
        disk = self.folder / "disk"
        disk.touch()
        os.truncate(disk, self.MB << 20)
        made = subprocess.run(["losetup", "--find", "--show", disk], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no loop device: {made.stderr}")
        self.device = pathlib.Path(made.stdout.strip())
        self.addCleanup(subprocess.run, ["losetup", "--detach", self.device], check=True)
        held = os.open(self.device, os.O_RDONLY | os.O_EXCL)  # as a mount does
        self.assertEqual(self.refused(), f"clockoo: --flash-device: {self.device} is mounted, or part of something else "
                                         "(lsblk shows it): name another, or free it\n")
        os.close(held)
        with self.service() as service:
            service.hear()
            self.assertRegex(self.told_by_doctor("--flash-device", str(self.device)), r"(?m)^ok    flash +256 MB, layout log, room")
            with self.assertRaisesRegex(OSError, "busy"):
                os.open(self.device, os.O_RDONLY | os.O_EXCL)
            service.process.kill()
        with self.service() as service:  # at once
            service.hear()
            self.assertEqual(service.end()[1], 0)
        with open(self.device, "r+b") as file:  # mdadm's
            file.seek(self.PAGE)
            file.write(b"\xfc\x4e\x2b\xa9\1" + bytes(3))
        self.assertIn("has something else's data", self.refused())


if __name__ == "__main__":
    unittest.main()
