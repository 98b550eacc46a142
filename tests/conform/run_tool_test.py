#!/usr/bin/python3 -B
"""tools/run keeps its promises.

Goal: it gives back what it took however it ends, hands on the status of its command, notices a
dead appliance, does not meet a second run, and works without root.
Method: run it with what is built already, and compare the machine before and after. Needs
CLOCKOO_BUILD or build/ to hold an appliance. As root, the case without root runs as nobody.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = [str(ROOT / "tools/run"), "--no-build"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
DIED_STATUS = 99
WAIT_S = 60
# A small cache starts fast; the tests are about what is around it.
SMALL = ["--server-args", "-m 8 -c 64"]


class Wrong(Exception):
    pass


def expect(got, want, about):
    if got != want:
        raise Wrong(f"{about}: got {got!r}, expected {want!r}")


def our_things():
    """What a run makes, by name: this is what must not stay."""
    names = [n for n in _names("/run/netns") if n.startswith("clockoo-")]
    files = [n for n in _names("/run/clockoo") if n.endswith(".run")]
    eal = [n for n in _names("/run/dpdk") if n.startswith("clockoo-")]
    processes = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = pathlib.Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            continue
        if b"--file-prefix\0clockoo-" in command:
            processes.append(command.replace(b"\0", b" ").decode(errors="replace"))
    pages = int(pathlib.Path("/proc/sys/vm/nr_hugepages").read_text())
    # /run/netns itself counts too: a run that found it no mount point must leave it none.
    mounts = [line.split()[1] for line in open("/proc/mounts")
              if "clockoo" in line or line.split()[1] == "/run/netns"]
    return {"namespaces": names, "ledgers": files, "EAL folders": eal, "processes": processes,
            "hugepages": pages, "mounts": mounts}


def _names(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def run(*words, prefix=(), env=None):
    return subprocess.run([*prefix, *RUN, *words], capture_output=True, text=True, timeout=WAIT_S,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})


def start(*words):
    return subprocess.Popen([*RUN, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, stdin=subprocess.DEVNULL)


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


def what_the_command_leaves_running_is_ended():
    done = run(*SMALL, "--exec", "sleep 1000 >/dev/null 2>&1 & echo $!")
    pid = int(done.stdout)
    expect(os.path.exists(f"/proc/{pid}"), False, "the command's child lives")


def _interrupted(number, status):
    child = start(*SMALL, "--exec", "echo up; exec sleep 1000")
    expect(child.stdout.readline(), "up\n", "first line")
    child.send_signal(number)
    expect(child.wait(WAIT_S), status, "status")


def sigint_cleans_up():
    _interrupted(signal.SIGINT, 130)


def sigterm_cleans_up():
    _interrupted(signal.SIGTERM, 143)


def the_live_figures_run_until_sigint():
    child = start(*SMALL)
    for _ in range(2):
        line = child.stdout.readline()
        expect("get/s" in line and "busy" in line, True, f"live line {line!r}")
    child.send_signal(signal.SIGINT)
    expect(child.wait(WAIT_S), 0, "status")


def a_killed_run_is_cleared_away_by_the_next():
    child = start(*SMALL, "--exec", "echo up; exec sleep 1000")
    expect(child.stdout.readline(), "up\n", "first line")
    child.kill()
    child.wait()
    expect(run(*SMALL, "--exec", "true").returncode, 0, "the next run")


def two_runs_side_by_side_do_not_meet():
    command = ('printf "add side 0 0 1\\r\\nx\\r\\nquit\\r\\n" | nc -w 3 $CLOCKOO_HOST '
               '$CLOCKOO_PORT; read line; exit 0')
    both = [subprocess.Popen([*RUN, *SMALL, "--exec", command], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)]
    first = [child.stdout.readline() for child in both]  # both are up now
    statuses = []
    for child in both:
        child.communicate("\n", timeout=WAIT_S)
        statuses.append(child.returncode)
    expect((first, statuses), (["STORED\n"] * 2, [0, 0]), "two runs")


def it_falls_back_without_hugepages_and_says_so():
    done = run("--server-args", "-m 8 -c 64", "--no-huge", "--exec", "true")
    expect(done.returncode, 0, done.stderr)


def it_works_without_root():
    prefix = NOBODY if os.geteuid() == 0 else ()
    done = run(*SMALL, "--exec", 'printf "version\\r\\nquit\\r\\n" | nc -w 3 $CLOCKOO_HOST '
               '$CLOCKOO_PORT; exit 5', prefix=prefix)
    expect(done.returncode, 5, done.stderr)
    expect(done.stdout.startswith("VERSION "), True, done.stdout)
    expect("user namespace" in done.stderr, True, done.stderr)


def tap_serves_too():
    done = run(*SMALL, "--port", "tap", "--exec", 'printf "version\\r\\nquit\\r\\n" | '
               'nc -w 3 $CLOCKOO_HOST $CLOCKOO_PORT')
    expect(done.returncode, 0, done.stderr)
    expect(done.stdout.startswith("VERSION "), True, done.stdout)


def more_cores_than_cpus_share_them():
    done = run(*SMALL, "--cores", str(len(os.sched_getaffinity(0)) + 1), "--exec",
               'printf "version\\r\\nquit\\r\\n" | nc -w 3 $CLOCKOO_HOST $CLOCKOO_PORT')
    expect((done.returncode, done.stdout[:8]), (0, "VERSION "), done.stderr)


CASES = [
    the_status_of_the_command_is_ours,
    the_command_finds_the_address_and_a_clean_stdout,
    a_dead_appliance_is_noticed,
    an_appliance_that_refuses_its_options_is_noticed,
    what_the_command_leaves_running_is_ended,
    sigint_cleans_up,
    sigterm_cleans_up,
    the_live_figures_run_until_sigint,
    a_killed_run_is_cleared_away_by_the_next,
    two_runs_side_by_side_do_not_meet,
    it_falls_back_without_hugepages_and_says_so,
    it_works_without_root,
    tap_serves_too,
    more_cores_than_cpus_share_them,
]


def main():
    words = sys.argv[1:]
    failed = count = 0
    for case in CASES:
        name = "tools/run: " + case.__name__.replace("_", " ")
        if words and not any(w in name for w in words):
            continue
        count += 1
        begin, before, fault = time.monotonic(), our_things(), None
        try:
            case()
            expect(our_things(), before, "left behind")
        except (Wrong, OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
            fault = error
        print(f"{'not ok' if fault else 'ok'} - {name} ({time.monotonic() - begin:.1f} s)",
              flush=True)
        if fault:
            failed += 1
            print(f"    {fault}", flush=True)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
