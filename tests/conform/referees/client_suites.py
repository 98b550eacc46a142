"""Client libraries as referees: each runs its tests against memcached and against the appliance.

A run has a network of its own, in which the ports that tests expect are free, and from which nothing else is reached.
The program under test is `memcached` in its PATH, so libraries that start servers start it.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))

import judges  # noqa: E402  (the path above comes first)
import libraries  # noqa: E402
import memcached_t  # noqa: E402

NOTE, DONE = "cannot", "installed"
HELD = {"ok", "PASSED", "PASS", "pass"}
CONTROL = pathlib.Path(__file__).resolve().parent / "control.py"
# memcached listens on all addresses by default; libraries also connect to localhost at ::1.
BOTH_FAMILIES = 'case " $* " in *" -l "*) ;; *) set -- -l 127.0.0.1,::1 "$@" ;; esac\n'
NOT_SERVING = 86  # the status of a run whose server does not serve, which no program of a row uses
# In the network: servers, until each answers, the control if there is one, then the tests.
INSIDE = """ip link set lo up
for words in $SERVERS; do memcached $(echo "$words" | tr , ' ') >>servers.log 2>&1 & done
running() { [ "$(jobs -pr | wc -l)" = "$(echo $SERVERS | wc -w)" ]; }
for port in $PORTS; do
    tries=0
    until exec 3<>/dev/tcp/127.0.0.1/$port && printf 'version\r\n' >&3 && read -t 5 -r answer <&3; do
        tries=$((tries + 1))
        running && [ $tries -lt 600 ] || { echo "no server on port $port"; tail -n 1 servers.log; exit 86; }
        sleep 0.1
    done
done 2>/dev/null
exec 3>&- 3<&-
for port in $TLS_PORTS; do
    tries=0
    until printf 'version\r\nquit\r\n' | timeout 5 openssl s_client -quiet -connect 127.0.0.1:$port | grep -q VERSION; do
        tries=$((tries + 1))
        running && [ $tries -lt 200 ] || { echo "no server of TLS on port $port"; tail -n 1 servers.log; exit 86; }
        sleep 0.1
    done
done 2>/dev/null
[ -z "$CONTROL" ] || for port in $PORTS $TLS_PORTS; do "$CONTROL" 127.0.0.1 $port ${TLS_PORTS:+tls} || exit 86; done
exec "$@"
"""


class Said(NamedTuple):
    outcomes: dict  # {test: whether it held}
    text: str  # the output of the run
    cut: bool  # the run was ended at its limit
    serves: bool  # each server answered, and passed the control if there was one
    seconds: float

    def without_end(self, of_others):
        """Returns tests without an outcome: those cut by their own limit, or by the run's, whose names another run
        gives."""
        return sorted({*re.findall(r"^cut - (.+)$", self.text, re.M), *(of_others - self.outcomes.keys() if self.cut else ())})


def installed(library, folder):
    """Installs the library once. Raises libraries.CannotInstall with the reason if this machine cannot."""
    if not (folder / DONE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        library.install(folder)
        (folder / DONE).touch()


def bench_of(program, memcached):
    """Makes a folder whose bin has the program under test as memcached."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="referee-"))
    (home / "bin").mkdir()
    real = memcached_t.AS_MEMCACHED if program is not None else f"{memcached} -u root"
    (home / "bin/memcached").write_text(f'#!/bin/sh\n{BOTH_FAMILIES if program is not None else ""}exec {real} "$@"\n')
    (home / "bin/memcached").chmod(0o755)
    return home


def certificate(folder):
    """Returns the options of a TLS server, with a certificate that is made once."""
    key, chain = folder / "key.pem", folder / "chain.pem"
    if not chain.exists():
        libraries.step(folder, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "365", "-keyout", str(key), "-out", str(chain),
                       "-subj", "/CN=referee", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        key.chmod(0o600)
    return "-U", "0", "-Z", "-o", f"ssl_chain_cert={chain}", "-o", f"ssl_key={key}"


def outcomes(library, text):
    """Returns {test: whether it held}; a repeated name holds if it held each time."""
    found = {}
    for line in re.finditer(library.outcome, text, re.M):
        found[line["name"]] = found.get(line["name"], True) and line["held"] in HELD
    return found


def run(library, folder, program, memcached, limit_s=None, control=False):
    """Returns the outcomes of a library's tests against memcached, or against the program."""
    home = bench_of(program, memcached)
    began = time.monotonic()
    ports = " ".join(words[words.index("-p") + 1] for words in library.ports)
    more = certificate(folder) if library.tls else ()
    env = {**os.environ, **library.env, "LC_ALL": "C", "PYTHONPATH": str(folder / "packages"),
           "PATH": f"{home}/bin:{os.environ['PATH']}", "SERVERS": " ".join(",".join((*words, *more)) for words in library.ports),
           "PORTS": "" if library.tls else ports, "TLS_PORTS": ports if library.tls else "", "CLOCKOO_PROGRAM": str(program or ""),
           "CONTROL": str(CONTROL) if control else ""}
    words = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "bash", "-c", INSIDE, "inside",
             *library.command(folder, "127.0.0.1", "11211")]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with subprocess.Popen(words, cwd=home, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=env,
                              start_new_session=True) as child:
            try:
                status = child.wait(limit_s or library.run_s)
            except subprocess.TimeoutExpired:
                status = None
            with_group(child.pid)
        said.seek(0)
        text = said.read()
    memcached_t.end_servers(home)
    shutil.rmtree(home, ignore_errors=True)
    return Said(outcomes(library, text), text, status is None, status != NOT_SERVING, time.monotonic() - began)


def with_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def rows():
    return {**{f"calls {name}": library for name, library in libraries.CALLS.items()}, **libraries.OWN_TESTS, **judges.ROWS}


def judge_all(folder, program, memcached, only=None):
    """Yields (name, library, what it says of memcached, of the program, seconds), or a reason, None and 0 behind the second."""
    for name, library in rows().items():
        if only is not None and name not in only:
            continue
        at = folder / "clients" / name.replace(" ", "-")
        try:
            installed(library, at)
        except (libraries.CannotInstall, OSError) as why:
            yield name, library, str(why), None, 0
            continue
        began = time.monotonic()
        theirs = run(library, at, None, memcached)
        if not any(theirs.outcomes.values()):
            yield name, library, f"passes nothing of memcached's: {(theirs.text.strip().splitlines() or ['no word'])[-1]}", None, 0
            continue
        ours = run(library, at, program, memcached)
        (at / "said").write_text(ours.text)
        yield name, library, theirs, ours, time.monotonic() - began
