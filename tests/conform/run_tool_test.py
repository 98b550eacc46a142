#!/usr/bin/python3 -B
"""tools/run keeps its promises.

Goal: it gives back what it took however it ends, hands on the status of its command, notices a
dead appliance, does not meet a second run, and works without root.
Method: run it with what is built already, and compare the machine before and after. Needs
CLOCKOO_BUILD or build/ to hold an appliance. As root, the case without root runs as nobody.
"""

import os
import pathlib
import re
import signal
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools/py"))
import netns

RUN = [str(ROOT / "tools/run"), "--no-build"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
BUILT = pathlib.Path(os.environ.get("CLOCKOO_BUILD", ROOT / "build"))
DIED_STATUS = 99
WAIT_S = 60
# A small cache starts fast; the tests are about what is around it.
SMALL = ["--server-args", "-m 8 -c 64"]


# The figures before the bar are of the last second, those after it are totals.
USER_PORT = r"( \| port user, .*)?$"
LIVE_LINE = re.compile(r"get/s (?P<get>\d+) set/s (?P<set>\d+) other/s \d+ hit (?P<hit>-|[\d.]+%) busy \d+% "
                       r"\| items (?P<items>\d+) memory [\d.]+ of \d+ MB missed \d+" + USER_PORT)
FLASH_LINE = re.compile(LIVE_LINE.pattern.removesuffix(USER_PORT) + r" \| memory (?P<memory>[\d.]+)% flash (?P<flash>[\d.]+)% of gets, "
                        r"reads/s \d+, \d+ MB/s written" + USER_PORT)
LEVEL_LINE = re.compile(r"level \|(?P<bars>[# ]{12}\|[# ]{12})\| busiest (?P<busiest>\d\.\d\d) of the mean, "
                        r"\d+% of all reaches servers$")
LOAD_LINES = 30  # on a busy machine storing all keys takes some seconds


class Wrong(Exception):
    pass


class Impossible(Exception):
    """This machine does not allow what the case needs, so the case was not tried."""


def expect(got, want, about):
    if got != want:
        raise Wrong(f"{about}: got {got!r}, expected {want!r}")


def run_built(*words):
    return subprocess.run([BUILT / "app" / "clockoo", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def needs_wire(what):
    whose, why = netns.rights()
    if whose is None:
        raise Impossible(f"needs a network namespace: {what} ({why})")


def things_of(name):
    """Returns what the run of that name has left on the machine: it may leave nothing."""
    found = [f"namespace {n}" for n in _names("/run/netns") if n.startswith(name + "-")]
    found += [f"ledger {n}" for n in _names("/run/clockoo") if n.startswith(name + ".")]
    found += [f"EAL folder {n}" for n in _names("/run/dpdk") if n == name]
    found += [f"mount {m}" for m in _mounts() if name + "-" in m]
    return found + [f"process {p}" for p in _appliances(name)]


def machine():
    """Returns the state that all runs share, or None while another run may change it."""
    if _appliances("clockoo-") or [n for n in _names("/run/clockoo") if n.endswith(".run")]:
        return None
    return {"hugepages": int(pathlib.Path("/proc/sys/vm/nr_hugepages").read_text()),
            "/run/netns a mount": "/run/netns" in _mounts()}


def _names(folder):
    """Returns the names in a folder. One that only root may read counts as empty: this user leaves nothing there."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _mounts():
    return [line.split()[1] for line in open("/proc/mounts")]


def _appliances(prefix):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        at = words.index("--file-prefix") + 1 if "--file-prefix" in words else 0
        if at and words[at].startswith(prefix) and (words[at] == prefix or prefix.endswith("-")):
            found.append(pid)
    return found


class Run:
    """tools/run as a process. Every case is judged by what its runs leave behind."""

    names = []

    def __init__(self, *words, command=RUN, **popen):
        self.child = subprocess.Popen([*command, *words], stdin=popen.pop("stdin", subprocess.DEVNULL),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      **popen)
        # The shell of tools/run becomes the program that names everything after its pid.
        self.names.append(f"clockoo-{self.child.pid}")

    def finish(self, text=None):
        self.stdout, self.stderr = self.child.communicate(text, timeout=WAIT_S)
        self.returncode = self.child.returncode
        return self

    def expect_up(self):
        line = self.child.stdout.readline()
        if line != "up\n":
            raise Wrong(f"it did not come up: {line!r} {self.finish().stderr}")


def run(*words, **popen):
    return Run(*words, **popen).finish()


def the_status_of_the_command_is_ours():
    done = run(*SMALL, "--exec", "exit 7")
    expect(done.returncode, 7, done.stderr)


def the_command_finds_the_address_and_a_clean_stdout():
    done = run(*SMALL, "--exec", 'printf "version\\r\\nquit\\r\\n" | '
               'nc -w 3 "$CLOCKOO_HOST" "$CLOCKOO_PORT"; echo "udp $CLOCKOO_UDP_PORT"')
    lines = done.stdout.splitlines()
    expect((lines[0][:8], lines[1:]), ("VERSION ", ["udp 11211"]), done.stdout + done.stderr)


def a_dead_appliance_is_noticed():
    done = run(*SMALL, "--exec", "kill -KILL $CLOCKOO_PID; sleep 30")
    expect(done.returncode, DIED_STATUS, done.stderr)
    expect("last words" in done.stderr, True, done.stderr)


def an_appliance_that_refuses_its_options_is_noticed():
    done = run("--server-args", "--no-such-option", "--exec", "true")
    expect(done.returncode, DIED_STATUS, done.stderr)
    expect("no-such-option" in done.stderr, True, done.stderr)


def sizes_that_cannot_be_are_refused_before_anything_starts():
    for words in (("--front", "0"), ("--front", "4000"), ("--flash", "2G5"), ("--appliances", "0")):
        done = run(*words, "--exec", "true")
        expect(done.returncode, 2, done.stderr)
        expect(f"error: {words[0]}: " in done.stderr.splitlines()[-1], True, done.stderr)


def run_conform_prints_its_options_without_an_appliance():
    for word, status in (("--help", 0), ("--no-such-option", 2)):
        done = subprocess.run([ROOT / "tests/conform/run_conform", word], capture_output=True, text=True)
        expect((done.returncode, "ok -" in done.stdout, "--" in done.stdout), (status, False, True), word)


def messages_of_the_appliance_are_passed_on():
    """The client's end of the veth leaves checksums to a NIC that does not exist, so its SYNs at 0 and 1 s are dropped."""
    needs_wire("checksums left out on it")
    done = run(*SMALL, "--exec", 'ethtool -K "$CLOCKOO_IFACE" tx on >/dev/null; '
               'nc -w 4 "$CLOCKOO_HOST" "$CLOCKOO_PORT"')
    said = [line for line in done.stderr.splitlines() if line.startswith("appliance: ")]
    expect((done.returncode, len(said)), (1, 1), done.stderr)
    expect("checksum is wrong" in said[0] and "ethtool -K IFACE tx off" in said[0], True, said[0])


def processes_that_the_command_leaves_are_ended():
    done = run(*SMALL, "--exec", "sleep 1000 >/dev/null 2>&1 & echo $!")
    pid = int(done.stdout)
    expect(os.path.exists(f"/proc/{pid}"), False, "the command's child lives")


def _interrupted(number, status):
    r = Run(*SMALL, "--exec", "echo up; exec sleep 1000")
    r.expect_up()
    r.child.send_signal(number)
    expect(r.finish().returncode, status, r.stderr)


def sigint_cleans_up():
    _interrupted(signal.SIGINT, 130)


def sigterm_cleans_up():
    _interrupted(signal.SIGTERM, 143)


def the_live_figures_run_until_sigint():
    r = Run(*SMALL)
    for _ in range(3):  # the session before them may count in the first
        line = r.child.stdout.readline()
        found = LIVE_LINE.match(line)
        expect(found is not None, True, f"live line {line!r}")
    expect((found["get"], found["hit"], found["items"]), ("0", "-", "1"), line)
    r.child.send_signal(signal.SIGINT)
    expect(r.finish().returncode, 0, r.stderr)


def the_load_is_seen_in_the_live_figures():
    """Without the load the figures are zeros (the_live_figures_run_until_sigint)."""
    _load_is_seen()


def port_user_shows_its_load_and_its_name():
    seen = _load_is_seen("--port", "user")
    expect(" | port user, " in seen, True, seen)


def _load_is_seen(*words):
    """Runs with a load. Returns the live line that shows it."""
    r = Run("--load", *words, "--server-args", "-m 16 -c 64")
    seen = ""
    for _ in range(LOAD_LINES):
        seen = r.child.stdout.readline()
        found = LIVE_LINE.match(seen)
        expect(found is not None, True, f"live line {seen!r}")
        if int(found["get"]) > 0 and int(found["set"]) > 0 and found["hit"] == "100.0%":
            break
    r.child.send_signal(signal.SIGINT)
    expect(r.finish().returncode, 0, r.stderr)
    expect((found["hit"], int(found["items"]) >= 20000), ("100.0%", True), seen)
    return seen


def a_front_stands_before_servers():
    """A value stored through the front is on one of the servers, and each second a line shows how even their load is."""
    r = Run("--front", "2", "--server-args", "-m 16 -c 64")
    for _ in range(LOAD_LINES):
        found = LEVEL_LINE.match(r.child.stdout.readline())
        if found is not None:
            break
    r.child.send_signal(signal.SIGINT)
    expect(r.finish().returncode, 0, r.stderr)
    expect(found is not None, True, r.stderr)
    expect("front stored greeting on one of 2" in r.stderr, True, r.stderr)
    # The busier one of two servers has at most twice the mean, and its bar has that length.
    longest = max(bar.count("#") for bar in found["bars"].split("|"))
    busiest = float(found["busiest"])
    expect(abs(longest - 6 * busiest) <= 1 and busiest <= 2, True, found.group())


def a_second_tier_has_more_items_than_memory():
    """More items are found than memory holds, also by the load, and the run removes its file."""
    _second_tier_has_more()


def port_user_has_a_second_tier():
    _second_tier_has_more("--port", "user")


def _second_tier_has_more(*words):
    r = Run("--flash", "256m", *words, "--server-args", "-m 4 -c 64")
    for _ in range(LOAD_LINES):
        found = FLASH_LINE.match(r.child.stdout.readline())
        if found is not None and float(found["flash"]) > 0:
            break
    r.child.send_signal(signal.SIGINT)
    expect(r.finish().returncode, 0, r.stderr)
    expect(found is not None and float(found["flash"]) > 0, True, r.stderr)
    expect(re.search(r"by their values: \d+ more than memory has", r.stderr) is not None, True, r.stderr)
    expect(list(BUILT.glob("flash-clockoo-*")), [], "the file")


def a_killed_run_is_cleared_away_by_the_next():
    r = Run(*SMALL, "--exec", "echo up; exec sleep 1000 >/dev/null 2>&1")
    r.expect_up()
    r.child.kill()
    r.child.wait()
    after = run(*SMALL, "--exec", "true")
    expect(after.returncode, 0, after.stderr)


def two_runs_side_by_side_do_not_meet():
    _two_do_not_meet()


def two_runs_of_port_user_have_a_port_each():
    _two_do_not_meet("--port", "user")


def _two_do_not_meet(*words):
    command = ('printf "add side 0 0 1\\r\\nx\\r\\nquit\\r\\n" | nc -w 3 $CLOCKOO_HOST '
               '$CLOCKOO_PORT; read line; exit 0')
    both = [Run(*SMALL, *words, "--exec", command, stdin=subprocess.PIPE) for _ in range(2)]
    first = [r.child.stdout.readline() for r in both]  # both are up now
    for r in both:
        r.finish("\n")
    expect((first, [r.returncode for r in both]), (["STORED\n"] * 2, [0, 0]), both[0].stderr)


def it_serves_on_ordinary_memory():
    done = run("--server-args", "-m 8 -c 64", "--no-huge", "--exec", "true")
    expect(done.returncode, 0, done.stderr)


def _serves_without_root(*words):
    """Returns what the run has printed on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        command = RUN
        if os.geteuid() == 0:  # the user nobody cannot read root's home
            command = [*NOBODY, *_copy_for_all(pathlib.Path(folder))]
        r = run(*SMALL, *words, "--front", "2", "--exec", 'printf "version\\r\\nset a 0 0 1\\r\\nx\\r\\nquit\\r\\n" | '
                'nc -w 3 $CLOCKOO_HOST $CLOCKOO_PORT; exit 5', command=command, cwd=folder)
    expect(r.returncode, 5, r.stderr)
    expect((r.stdout[:8], r.stdout.splitlines()[1:]), ("VERSION ", ["STORED"]), r.stdout)
    return r.stderr


def it_works_without_root():
    probe = [*(NOBODY if os.geteuid() == 0 else ()), "unshare", "-Urmn", "true"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode != 0:
        raise Impossible("no user namespaces here")
    said = _serves_without_root()
    expect("user namespace" in said, True, said)


def it_works_without_any_right():
    said = _serves_without_root("--port", "user")
    expect("user namespace" in said, False, said)


def port_user_serves_each_way_of_this_host():
    """127.0.0.1 and, where it is, ::1, by the addresses and ports that a command is given."""
    ask = ('printf "\\0\\1\\0\\0\\0\\1\\0\\0version\\r\\n" | nc -u -w 1 {0} "$CLOCKOO_UDP_PORT" | tail -c +9; '
           'printf "version\\r\\nquit\\r\\n" | nc -w 3 {0} "$CLOCKOO_PORT"')
    done = run(*SMALL, "--port", "user", "--exec", "; ".join(
        ["echo $CLOCKOO_HOST $CLOCKOO_HOST6", ask.format("$CLOCKOO_HOST"), "[ -z $CLOCKOO_HOST6 ] || { " + ask.format("$CLOCKOO_HOST6") + "; }"]))
    hosts, *answers = done.stdout.splitlines()
    expect((done.returncode, hosts.split()[0]), (0, "127.0.0.1"), done.stderr)
    expect([answer[:8] for answer in answers], ["VERSION "] * 2 * len(hosts.split()), done.stdout)


def _copy_for_all(folder):
    """A checkout with a build that every user may read; returns how to call its tools/run."""
    built = BUILT
    for name in ("tools", "drivers-config"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "build/app").mkdir(parents=True)
    shutil.copy(built / "app/clockoo", folder / "build/app")
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    return [str(folder / "tools/run"), "--no-build", "--build", str(folder / "build")]


def tap_serves_too():
    needs_wire("a tap in it")
    done = run(*SMALL, "--port", "tap", "--exec", 'printf "version\\r\\nquit\\r\\n" | '
               'nc -w 3 $CLOCKOO_HOST $CLOCKOO_PORT')
    expect(done.returncode, 0, done.stderr)
    expect(done.stdout.startswith("VERSION "), True, done.stdout)


def more_cores_than_cpus_share_them():
    done = run(*SMALL, "--cores", str(len(os.sched_getaffinity(0)) + 1), "--exec",
               'printf "version\\r\\nquit\\r\\n" | nc -w 3 $CLOCKOO_HOST $CLOCKOO_PORT')
    expect((done.returncode, done.stdout[:8]), (0, "VERSION "), done.stderr)


def cores_can_be_laid_out_by_hand():
    cpu = min(os.sched_getaffinity(0))
    done = run("--server-args", f"-m 8 -c 64 --lcores 0@{cpu},1@{cpu}", "--exec", "true")
    expect(done.returncode, 0, done.stderr)


def it_comes_up_in_the_binary_protocol():
    done = run("--server-args", "-m 8 -c 64 -B binary", "--no-udp", "--exec", "true")
    expect(done.returncode, 0, done.stderr)


def it_comes_up_where_clients_need_certificates():
    make = ROOT / "tests/conform/run_tls"
    if shutil.which("openssl") is None or "--enable-ssl" not in run_built("--help"):
        raise Impossible("openssl, or a build with TLS, is missing")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make, "--make", folder], stdin=subprocess.DEVNULL, check=True, capture_output=True)
        options = subprocess.run([make, "--options", folder], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=True).stdout.strip()
        done = run("--server-args", f"-m 16 -c 64 {options} -o ssl_verify_mode=2", "--no-udp", "--exec", "true")
    expect(done.returncode, 0, done.stderr)


def ports_of_listen_are_served(*words, host="10.99.0.1", first="11300"):
    ask = "".join('printf "version\\r\\nquit\\r\\n" | nc -w 3 $CLOCKOO_HOST %d; ' % port for port in (11300, 11301))
    done = run("--server-args", f"-m 8 -c 64 -l {host}:11300,{host}:11301", "--no-udp", *words, "--exec",
               ask + "echo $CLOCKOO_PORT")
    expect([line[:8] for line in done.stdout.splitlines()], ["VERSION ", "VERSION ", first], done.stdout + done.stderr)


def each_port_of_listen_is_served():
    needs_wire("ports of its address")
    ports_of_listen_are_served()


def each_port_of_listen_is_served_by_port_user():
    # tools/run names its own port there, too.
    ports_of_listen_are_served("--port", "user", host="127.0.0.1", first="11211")


CASES = [
    it_comes_up_in_the_binary_protocol,
    it_comes_up_where_clients_need_certificates,
    each_port_of_listen_is_served,
    each_port_of_listen_is_served_by_port_user,
    the_status_of_the_command_is_ours,
    the_command_finds_the_address_and_a_clean_stdout,
    a_dead_appliance_is_noticed,
    an_appliance_that_refuses_its_options_is_noticed,
    sizes_that_cannot_be_are_refused_before_anything_starts,
    run_conform_prints_its_options_without_an_appliance,
    messages_of_the_appliance_are_passed_on,
    processes_that_the_command_leaves_are_ended,
    sigint_cleans_up,
    sigterm_cleans_up,
    the_live_figures_run_until_sigint,
    the_load_is_seen_in_the_live_figures,
    port_user_shows_its_load_and_its_name,
    a_front_stands_before_servers,
    a_second_tier_has_more_items_than_memory,
    port_user_has_a_second_tier,
    a_killed_run_is_cleared_away_by_the_next,
    two_runs_side_by_side_do_not_meet,
    two_runs_of_port_user_have_a_port_each,
    it_serves_on_ordinary_memory,
    it_works_without_root,
    it_works_without_any_right,
    port_user_serves_each_way_of_this_host,
    tap_serves_too,
    more_cores_than_cpus_share_them,
    cores_can_be_laid_out_by_hand,
]


def main():
    words = sys.argv[1:]
    passed = failed = skipped = 0
    for case in CASES:
        name = "tools/run: " + case.__name__.replace("_", " ")
        if words and not any(w in name for w in words):
            continue
        begin, before, fault = time.monotonic(), machine(), None
        Run.names.clear()
        try:
            case()
            expect([t for n in Run.names for t in things_of(n)], [], "left behind")
            after = machine()
            if before is not None and after is not None:
                expect(after, before, "the machine")
        except Impossible as why:
            skipped += 1
            print(f"skipped - {name}: {why}", flush=True)
            continue
        except (Wrong, OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
            fault = error
        print(f"{'not ok' if fault else 'ok'} - {name} ({time.monotonic() - begin:.1f} s)",
              flush=True)
        if fault:
            print(f"    {fault}", flush=True)
        passed, failed = passed + (not fault), failed + bool(fault)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
