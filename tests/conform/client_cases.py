"""Clients that others wrote: pymemcache, and libmemcached's memccapable, memccp, memcslap."""

import os
import pathlib
import re
import subprocess
import tempfile

from pymemcache.client.base import Client

from mc_peer import HOST, PORT, expect, expect_true

SERVERS = f"--servers={HOST}:{PORT}"
TOOL_WAIT_S = 60
SLAP_THREADS, SLAP_ROUNDS = 4, 5000
CASLAP_S = 3


def _client(**options):
    return Client((HOST, PORT), timeout=10, connect_timeout=10, **options)


def pymemcache_sets_and_gets():
    c = _client(default_noreply=False)
    expect(c.set("py", "value", expire=100), True)
    expect(c.get("py"), b"value")
    expect(c.get("py_none"), None)
    expect(c.add("py", "x"), False)
    expect(c.replace("py", "new"), True)
    expect(c.append("py", ">"), True)
    expect(c.prepend("py", "<"), True)
    expect(c.get("py"), b"<new>")
    expect(c.delete("py"), True)
    expect(c.delete("py"), False)
    c.close()


def pymemcache_compares_and_swaps():
    c = _client(default_noreply=False)
    c.set("pycas", "1")
    value, cas = c.gets("pycas")
    expect(value, b"1")
    expect(c.cas("pycas", "2", cas), True)
    expect(c.cas("pycas", "3", cas), False)
    expect(c.cas("pycas_none", "3", cas), None)
    expect(c.get("pycas"), b"2")
    c.close()


def pymemcache_counts_and_touches():
    c = _client(default_noreply=False)
    c.set("pyn", "41")
    expect(c.incr("pyn", 1), 42)
    expect(c.decr("pyn", 2), 40)
    expect(c.incr("pyn_none", 1), None)
    expect(c.touch("pyn", 100), True)
    expect(c.touch("pyn_none", 100), False)
    c.close()


def pymemcache_handles_many_keys():
    c = _client()  # its default: noreply
    want = {f"pym{i}": (b"%d" % i) * 50 for i in range(500)}
    expect(c.set_many(want), [])
    expect(c.get_many(list(want) + ["pym_none"]), want)
    expect(len(c.gets_many(list(want))), 500)
    expect(c.delete_many(list(want)), True)
    expect(c.get_many(list(want)), {})
    c.close()


def pymemcache_asks_for_version_and_stats():
    c = _client()
    expect_true(re.match(rb"\d+\.\d+", c.version()) is not None, "no version")
    expect_true(c.stats()[b"curr_items"] >= 0, "no curr_items")
    expect(c.flush_all(noreply=False), True)
    c.close()


def _tool(*words, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=TOOL_WAIT_S)
    return done.returncode, done.stdout + done.stderr


def memccp_and_memccat_carry_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "carried")
        path.write_text("line\n" * 20000)
        status, output = _tool("memccp", SERVERS, str(path))
        expect(status, 0, output)
        status, output = _tool("memccat", SERVERS, "carried")
        expect(status, 0, output[:200])
        expect_true(output.rstrip("\n") == path.read_text().rstrip("\n"), "another file came back")
        status, output = _tool("memcrm", SERVERS, "carried")
        expect(status, 0, output)


def _slap(test):
    status, output = _tool("memcslap", SERVERS, f"--concurrency={SLAP_THREADS}",
                           f"--execute-number={SLAP_ROUNDS}", f"--test={test}")
    expect(status, 0, output[-300:])
    expect_true(not re.search(r"fail|error|timeout", output, re.I), output[-300:])
    print("    " + " | ".join(output.split("\n"))[:150], flush=True)


def memcslap_sets_without_an_error():
    _slap("set")


def memcslap_gets_without_an_error():
    _slap("get")


def memcslap_multigets_without_an_error():
    _slap("mget")


def memcaslap_runs_without_an_error():
    _caslap()


def memcaslap_over_udp_runs_without_an_error():
    _caslap("--udp")


def _caslap(*options):
    status, output = _tool("memcaslap", "-s", f"{HOST}:{PORT}", "-T", "1", "-c", "16",
                           "-t", f"{CASLAP_S}s", "-v", "0.5", "-X", "100", "-w", "10k", *options)
    expect(status, 0, output[-300:])
    figures = {n: int(v) for n, v in re.findall(r"^(\w+): (\d+)", output, re.M)}
    expect_true(figures.get("cmd_get", 0) > 0, f"no gets: {output[-300:]}")
    for name in ("verify_misses", "verify_failed", "conn_disconnect", "packet_disorder",
                 "packet_drop", "udp_timeout"):
        expect(figures.get(name, 0), 0, name)
    print("    " + output.strip().split("\n")[-1], flush=True)


def memccapable_cases():
    """One case for each line of memccapable -a: {name: passed}."""
    # Names go to stdout and verdicts of failed tests to stderr: only together are they in order.
    done = subprocess.run(["memccapable", "-h", HOST, "-p", str(PORT), "-a", "-t", "10"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=TOOL_WAIT_S)
    output = re.sub(r"\d+ of \d+ tests failed\s*", "", done.stdout)
    found = {n: how == "pass"
             for n, how in re.findall(r"(ascii [a-z ]+?)\s*\[(pass|FAIL)\]", output)}
    expect_true(len(found) > 20, f"memccapable tested {len(found)} things: {output[-300:]}")
    return found


def missing_tools():
    return [t for t in ("memccapable", "memccp", "memccat", "memcrm", "memcslap", "memcaslap")
            if not any(os.access(f"{d}/{t}", os.X_OK) for d in os.get_exec_path())]


CASES = [
    pymemcache_sets_and_gets,
    pymemcache_compares_and_swaps,
    pymemcache_counts_and_touches,
    pymemcache_handles_many_keys,
    pymemcache_asks_for_version_and_stats,
    memccp_and_memccat_carry_a_file,
    memcslap_sets_without_an_error,
    memcslap_gets_without_an_error,
    memcslap_multigets_without_an_error,
    memcaslap_runs_without_an_error,
    memcaslap_over_udp_runs_without_an_error,
]
