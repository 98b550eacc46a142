#!/usr/bin/python3 -B
"""config_program_test.py CLOCKOO SOURCE - the configuration file from outside.

Goal: every example passes --check for the machine it is meant for; --print-config passes --check and
prints itself again; what only the machine can say, a core or a queue too many, is one line with file,
line and key; the profile follows from the NIC's PCI ID. Method: the program as built and the recorded
machines of tests/machines. Needs no root, no NIC, no hugepages.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CLOCKOO, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
EXAMPLES = SOURCE / "drivers-config/examples"
PROFILES = SOURCE / "drivers-config"
PAPER, VM = "xeon-e5-2660", "vm"

# The example, and the machine that it is for; None: any machine with a CPU.
MEANT_FOR = {
    "intel-paper.yaml": PAPER,
    "small-server.yaml": PAPER,
    "cloud-vm.yaml": VM,
    "vdev-demo.yaml": None,
}

# Refusals for things that the machine does not have yet.
STILL = {
    "cloud-vm.yaml": ":8: port.nic: 0000:00:03.0 is bound to virtio-pci, not to a user-space driver: "
                     "tools/nic bind 0000:00:03.0",
    "small-server.yaml": ":9: port.nic: there is no PCI device 0000:03:00.0; tools/nic list shows "
                         "the NICs",
}

# The exit status after which systemd's unit does not restart.
WRONG_FILE = 78
NOT_READY = 1  # exit status of --check: the file is right, but a start would fail

# A file, the machine, and the line it earns there.
REFUSED = [
    ("cores:\n  list: [1, 40]\n", PAPER,
     "f.yaml:2: cores.list: there is no CPU 40 for core 40; this process may use CPUs 0 1 2"),
    ("cores:\n  count: 33\n", PAPER, "f.yaml:2: cores.count: 33 cores requested, 32 CPUs available"),
    ("cores:\n  control_cpu: 90\n", VM, "f.yaml:2: cores.control_cpu: there is no CPU 90"),
    ("port:\n  nic: 0000:04:00.0\n  rx_ring: 8192\n", PAPER,
     "f.yaml:3: port.rx_ring: 8192: port ixgbe takes at most 4096"),
    ("port:\n  nic: 0000:04:00.0\nnetwork:\n  mtu: 9000\n", PAPER,
     "f.yaml:4: network.mtu: 9000: port ixgbe takes at most 1500"),
    ("port:\n  nic: 0000:04:00.0\n  profile: i41e\n", PAPER,
     "f.yaml:3: port.profile: no profile \"i41e\""),
    ("port:\n  nic: no_such_nic\n", PAPER, "f.yaml:2: port.nic: no profile \"no_such_nic\""),
    ("process:\n  data_dir: no/such/folder\n", PAPER, "no/such/folder"),
    ("front:\n  servers: [a:11211:1, b:11211:0]\n", None,
     "f.yaml:2: front.servers: \"b:11211:0\": weight 0: no key would be there; leave the server out"),
    ("front:\n  servers: [a:1:1 x, b:1:1 x]\n", None,
     "f.yaml:2: front.servers: \"b:1:1 x\": the second server of the name x; give each another"),
    ("front:\n  servers: [a:70000:1]\n", None, "port \"70000\": expected a number from 1 to 65535"),
    ("front:\n  servers: a:1:1 " + 76 * "x" + "\n", None, "a name of 76 bytes; at most 75"),
    ("front:\n  servers: [a:1:1, b:1:2]\n  distribution: jump\n", None,
     "f.yaml:3: front.distribution: jump, and server a:1 has weight 1, b:1 has 2; it knows equal weights only"),
    ("front:\n  servers: /no/such\n", None, "f.yaml:2: front.servers: cannot read /no/such: No such file"),
]


def clockoo(*words, cwd=None):
    return subprocess.run([CLOCKOO, *map(str, words)], capture_output=True, text=True, timeout=60,
                          cwd=cwd)


def machine(name):
    return SOURCE / f"tests/machines/{name}.machine"


def check(path, name, cwd=None):
    words = ["--check", path, "--data-dir", PROFILES]
    return clockoo(*words, *(["--sysfs", machine(name)] if name else []), cwd=cwd)


class ConfigProgram(unittest.TestCase):
    def test_every_example_is_right_for_its_machine(self):
        self.assertEqual(sorted(p.name for p in EXAMPLES.glob("*.yaml")), sorted(MEANT_FOR))
        for name, where in MEANT_FOR.items():
            done = check(EXAMPLES / name, where)
            self.assertEqual((done.returncode, done.stderr), (NOT_READY if name in STILL else 0, ""), name)
            first, _, rest = done.stdout.partition("\n")
            self.assertEqual(first, f"{EXAMPLES / name}: configuration OK")
            still = f"not ready to start: {EXAMPLES / name}{STILL[name]}\n" if name in STILL else ""
            self.assertEqual(rest, still)

    def test_a_nic_that_is_the_kernels_or_not_there_is_said_with_line_key_and_cure(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.yaml"
            for nic, words in (("0000:00:03.0", "0000:00:03.0 is bound to virtio-pci, not to a user-space driver: "
                                                "tools/nic bind 0000:00:03.0"),
                               ("00:1f.0", "there is no PCI device 0000:00:1f.0; tools/nic list shows "
                                           "the NICs")):
                path.write_text(f"port:\n  nic: {nic}\n")
                done = check("f.yaml", "vm", cwd=folder)
                self.assertEqual((done.returncode, done.stderr), (NOT_READY, ""), nic)
                self.assertEqual(done.stdout, "f.yaml: configuration OK\nnot ready to start: "
                                 f"f.yaml:2: port.nic: {words}\n")

    def test_a_nic_that_is_not_there_is_said_before_what_its_profile_would_refuse(self):
        missing = "there is no PCI device 0000:00:1f.0"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.yaml"
            for more in ("network:\n  kernel: nic\n", "network:\n  mtu: 9000\n",
                         "network:\n  kernel: nic\ncores:\n  count: 2\n"):
                with self.subTest(more):
                    path.write_text("port:\n  nic: 00:1f.0\n" + more)
                    done = check("f.yaml", "vm", cwd=folder)
                    self.assertEqual((done.returncode, done.stderr), (NOT_READY, ""))
                    self.assertEqual(done.stdout, "f.yaml: configuration OK\nnot ready to start: "
                                     f"f.yaml:2: port.nic: {missing}; tools/nic list shows the NICs\n")
                    done = clockoo("doctor", "--config", path, "--sysfs", machine("vm"), "--data-dir", PROFILES)
                    self.assertEqual(done.stdout.count(missing), 1, done.stdout + done.stderr)
                    self.assertNotIn("network.kernel", done.stdout)

    def test_an_example_is_wrong_for_a_machine_too_small(self):
        done = check(EXAMPLES / "intel-paper.yaml", VM)
        self.assertEqual(done.returncode, WRONG_FILE)
        self.assertIn("intel-paper.yaml:16: cores.count: 16 cores requested", done.stderr)

    def test_the_papers_clients_find_all_cores_on_the_one_udp_port_they_know(self):
        done = clockoo("--config", EXAMPLES / "intel-paper.yaml", "--plan", "--sysfs", machine(PAPER),
                       "--data-dir", PROFILES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("16 queues, RSS over addresses, TCP ports, UDP ports", done.stdout)
        self.assertNotIn("UDP port 11211 to queue 0", done.stdout)

    def test_the_pages_name_no_key_that_is_not_there(self):
        text = "".join(page.read_text() for page in PROFILES.glob("*.md"))
        printed = clockoo("--config", "none", "--print-config").stdout
        keys = {f"{section}.{key}" for section, body in
                re.findall(r"^(\w+):\n((?:[ #].*\n|\n)*)", printed, re.M)
                for key in re.findall(r"^  #?(\w+):", body, re.M)}
        named = set(re.findall(r"`((?:network|port|cores|memory|cache|steering|protocol|front)\.\w+)", text))
        self.assertGreater(len(named), 10)
        self.assertLessEqual(named, keys)

    def test_the_page_of_access_has_a_file_that_is_right(self):
        part = (PROFILES / "ACCESS.md").read_text().partition("## Who is let in")[2].partition("\n## ")[0]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "f.yaml")
            path.write_text("\n".join(line[4:] for line in part.splitlines() if line.startswith("    ")))
            done = clockoo("--check", path, "--data-dir", PROFILES)
            self.assertEqual((done.returncode, done.stderr), (NOT_READY, ""))  # it names no interface
            self.assertIn("configuration OK", done.stdout)
            self.assertIn("2 networks allowed, 1 denied", done.stdout)

    def test_the_pages_of_the_tier_and_of_fronts_have_files_that_are_right(self):
        for page, section in (("TIER.md", "flash"), ("FRONTS.md", "front")):
            with self.subTest(page), tempfile.TemporaryDirectory() as folder:
                block = re.search(rf"^(?:    .+\n)*    {section}:\n(?:    .+\n)+", (PROFILES / page).read_text(), re.M)[0]
                path = pathlib.Path(folder, "f.yaml")
                path.write_text("".join(line[4:] + "\n" for line in block.splitlines()))
                self.assertIn("configuration OK", clockoo("--check", path, "--data-dir", PROFILES).stdout)

    def test_what_has_no_effect_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "f.yaml").write_text("front:\n  timeout: 2s\n")
            said = clockoo("--check", "f.yaml", "--data-dir", PROFILES, cwd=folder).stdout
        self.assertIn("clockoo: warning: front.timeout has no effect without front.servers\n", said)

    def test_doctor_says_who_is_let_in_and_what_is_open(self):
        words = ("doctor", "--config", "none", "--sysfs", machine(PAPER), "--data-dir", PROFILES, "--port",
                 "0000:04:00.0")
        for options, said in (
                ((), ["ok    let in           everybody is let in; no users; any number of connections a source\n"]),
                (("--allow", "10.0.0.0/8", "-U", "11211", "--conns-per-source", "7"),
                 ["ok    let in           1 network allowed, 0 denied", "; no users; 7 connections a source; UDP\n"]),
                (("-U", "11211", "--udp-admin"), ["warn  UDP commands     --udp-admin: ", "protocol.udp_admin: no"]),
                (("--drain", "anycast"), ["warn  drain            anycast: no router leaves, ",
                                          "anycast: connections that a router leads elsewhere stay open here for 7200 s"]),
                (("--drain", "anycast", "--telemetry-http", "127.0.0.1:9150", "--drain-time", "20", "--keepalive", "20"),
                 ["ok    drain            routers leave before a stop, which takes up to 20 s; a second SIGTERM is at once\n"]),
                (("-A",), ["warn  shutdown         --enable-shutdown: "]),
                (("-A", "--deny", "10.0.0.0/8"), ["ok    let in           0 networks allowed, 1 denied"])):
            out = clockoo(*words, *options).stdout
            for line in said:
                self.assertIn(line, out)
            self.assertEqual("warn  UDP commands" in out, "--udp-admin" in options)
            self.assertEqual("leads elsewhere" in out, options == ("--drain", "anycast"))
            self.assertEqual("warn  shutdown" in out, options == ("-A",))

    def test_what_the_machine_lacks_is_one_line_with_file_line_and_key(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, where, line in REFUSED:
                (pathlib.Path(folder) / "f.yaml").write_text(text)
                words = ["--check", "f.yaml", *(["--sysfs", machine(where)] if where else [])]
                if "data_dir" not in text:
                    words += ["--data-dir", PROFILES]
                done = clockoo(*words, cwd=folder)
                self.assertEqual((done.returncode, done.stdout), (WRONG_FILE, ""), text)
                self.assertIn(line, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_fleet_that_is_uneven_is_right_and_is_told(self):
        fleet = "front:\n  servers: [" + ", ".join(f"10.0.0.{i}:11211:1" for i in range(1, 31)) + "]\n"
        for more, line in (
                ("  hash: murmur\n", None),
                ("", "front.hash: fnv1a_64: of keys that are numbered in sequence one server has up to "),
                ("  hash: crc32\n", "front.hash: crc32: one server has all keys: "),
                ("  hash: crc32\n  distribution: modula\n", None)):
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "f.yaml").write_text(fleet + more + "port:\n  iface: v0\nnetwork:\n  address: 10.0.0.99/24\n")
                done = check("f.yaml", None, cwd=folder)
            lines = [said for said in done.stdout.splitlines() if said.startswith("front.")]
            self.assertEqual((done.returncode, done.stderr, len(lines)), (0, "", line is not None), more)
            self.assertTrue(line is None or lines[0].startswith(line) and "; better: murmur" in lines[0], lines)

    def test_what_is_printed_is_right_and_prints_itself_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for example in [None, *sorted(EXAMPLES.glob("*.yaml"))]:
                printed = clockoo("--config", example or "none", "--print-config")
                self.assertEqual(printed.returncode, 0, printed.stderr)
                path = pathlib.Path(folder) / "printed.yaml"
                path.write_text(printed.stdout)
                self.assertEqual(check(path, PAPER).stderr, "", example)
                again = clockoo("--config", path, "--print-config")
                self.assertEqual(again.stdout, printed.stdout)

    def test_a_right_file_may_lack_what_a_start_needs_and_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "f.yaml"
            path.write_text("port:\n  nic: tap\n")
            done = check("f.yaml", None, cwd=folder)
            self.assertEqual((done.returncode, done.stderr), (NOT_READY, ""))
            self.assertIn("\nnot ready to start: f.yaml:2: port.nic tap: needs port.iface "
                          "NAME", done.stdout)
            path.write_text("port:\n  iface: v0\nauth:\n  file: users\n")
            done = check("f.yaml", None, cwd=folder)
            self.assertEqual((done.returncode, done.stderr), (NOT_READY, ""))
            self.assertIn("\nnot ready to start: f.yaml:4: auth.file: cannot read users: No such file",
                          done.stdout)
            users = pathlib.Path(folder) / "users"
            users.write_text("a:b\nc::read\n")
            users.chmod(0o640)
            self.assertIn("\nnot ready to start: f.yaml:4: auth.file: users: line 2: user and password may not be empty",
                          check("f.yaml", None, cwd=folder).stdout)
            users.write_text("a:b\n")
            self.assertEqual(check("f.yaml", None, cwd=folder).stdout, "f.yaml: configuration OK\n")
            users.chmod(0o644)
            self.assertEqual(check("f.yaml", None, cwd=folder).stdout,
                             "f.yaml: configuration OK\nauth.file: users: any user of this machine can "
                             "read or change it: chmod o= it\n")
            path.write_text("network:\n  deny: [10.0.0.0/8, 2001:db8::/32]\nport:\n  iface: v0\n")
            self.assertEqual(check("f.yaml", None, cwd=folder).stdout,
                             "f.yaml: configuration OK\nnetwork: 0 networks allowed, 2 denied, a table of "
                             "258 KB\n")

    def test_a_memcached_conf_is_told_apart_and_converted_as_it_is_told(self):
        """The file is Debian's without -l 127.0.0.1, which would be refused with its reason."""
        with tempfile.TemporaryDirectory() as folder:
            for text, line in (("# memcached default config file\n\n-d\nlogfile /var/log/memcached.log\n-m 96\n"
                                "-p 11212\n-u nobody\n", 3), ("logfile x\n-m 96\n-p 11212\n", 2)):
                (pathlib.Path(folder) / "memcached.conf").write_text(text)
                done = check("memcached.conf", None, cwd=folder)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (WRONG_FILE, "", 1))
                found = re.match(rf"clockoo: memcached.conf:{line}: memcached.conf options, not YAML; "
                                 r"convert them with: clockoo (.*)$", done.stderr)
                self.assertIsNotNone(found, done.stderr)
                command = f"{CLOCKOO} {found[1]} >f.yaml"
                self.assertEqual(subprocess.run(["sh", "-c", command], cwd=folder).returncode, 0)
                self.assertEqual(check("f.yaml", None, cwd=folder).stderr, "")
                printed = (pathlib.Path(folder) / "f.yaml").read_text()
                self.assertIn("\n  limit: 96\n", printed)
                self.assertIn("\n  tcp_port: 11212\n", printed)
            # The message about a broken file of ours still says what is broken.
            (pathlib.Path(folder) / "f.yaml").write_text("---\ncores:\n  list:\n  - 1\n  count: x\n")
            self.assertIn("f.yaml:5: cores.count", check("f.yaml", None, cwd=folder).stderr)

    def test_a_start_names_the_line_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "f.yaml").write_text(
                "memory:\n  no_huge: yes\nport:\n  nic: af_packet\n  iface: no_such_iface\n")
            done = clockoo("--config", "f.yaml", "--data-dir", PROFILES, cwd=folder)
            self.assertEqual(done.returncode, 1)
            # The limit of locked memory comes first, where it is too low.
            self.assertRegex(done.stderr, r"f\.yaml:(5: port\.iface: |4: port\.nic af_packet: .*\(ulimit -l unlimited\))")

    def test_only_what_stays_wrong_until_the_file_is_mended_ends_with_its_own_status(self):
        nic = "memory:\n  no_huge: yes\nport:\n  iface: no_such_iface\n"
        starts = [
            ("port:\n  nic: [\n", [], WRONG_FILE),
            ("network:\n  mtu: 1\n", [], WRONG_FILE),
            ("network:\n  vlan_priority: 3\n", [], WRONG_FILE),
            # memcached's status for an option, but the file is not memcached's.
            ("protocol:\n  tcp_port: 65536\n", [], WRONG_FILE),
            ("cores:\n  count: 64\n", [], WRONG_FILE),
            ("port:\n  nic: no_such_nic\n", [], WRONG_FILE),
            # The file of the package, which names no interface yet.
            ("port:\n  nic: af_packet\nmemory:\n  no_huge: yes\n", [], WRONG_FILE),
            ("auth:\n  file: no_such_users\n" + nic, [], WRONG_FILE),
            # An interface may come; and what stands on the command line is no fault of the file.
            (nic, [], 1),
            (nic, ["-t", "0"], 1),
            (nic, ["-p", "65536"], 64),
            (nic, ["--port", "no_such_nic"], 1),
        ]
        unit = (SOURCE / "tools/debian/clockoo.service").read_text()
        self.assertIn(str(WRONG_FILE), re.search("^RestartPreventExitStatus=(.*)$", unit,
                                                 re.M).group(1).split())
        with tempfile.TemporaryDirectory() as folder:
            for text, words, status in starts:
                (pathlib.Path(folder) / "f.yaml").write_text(text)
                done = clockoo("--config", "f.yaml", "--data-dir", PROFILES, *words, cwd=folder)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1),
                                 text + done.stderr)
                self.assertEqual(clockoo("doctor", "--config", "f.yaml", "--data-dir", PROFILES,
                                         *words, cwd=folder).returncode, 2, text)
            done = clockoo("--config", "no_such_file", cwd=folder)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (WRONG_FILE, 1))


class About(unittest.TestCase):
    def test_version_names_the_libraries_behind_a_first_line_as_ever(self):
        first, dpdk, *rest = clockoo("--version").stdout.splitlines()
        self.assertRegex(first, r"^clockoo \d+\.\d+\.\d+$")
        self.assertRegex(dpdk, r"^DPDK \d\d\.\d\d\.\d+, drivers: [a-z0-9_ ]*\baf_packet\b[a-z0-9_ ]*\bring\b[a-z0-9_ ]*$")
        self.assertRegex("\n".join(rest), r"^OpenSSL(: built without it| \d+\.\d+\.\d+ .*)\nliburing \d+\.\d+$")

    def test_doctor_names_the_dpdk_of_this_machine_and_warns_with_a_fix(self):
        release = re.search(r"^DPDK ([0-9.]+)", clockoo("--version").stdout, re.M)[1]
        out = clockoo("doctor", "--config", "none", "--no-huge", "--port", "null", "--data-dir", PROFILES).stdout
        self.assertRegex(out, rf"(?m)^(ok    DPDK +{release}|warn  DPDK +{release}, in this program, .*\n +-> install a package )")
        recorded = clockoo("doctor", "--config", "none", "--sysfs", machine(PAPER), "--data-dir", PROFILES, "--port", "null").stdout
        self.assertNotIn("DPDK  ", recorded)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
