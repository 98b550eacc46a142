"""Clients that others wrote: pymemcache, libmemcached's tools, memcached-tool, an exporter's rules."""

import os
import pathlib
import re
import subprocess
import tempfile

from pymemcache.client.base import Client

import mc_peer
from mc_peer import HOST, PORT, Tcp, expect, expect_true

SERVERS = f"--servers={HOST}:{PORT}"
TOOL_WAIT_S = 60
SLAP_THREADS, SLAP_ROUNDS = 4, 5000
CASLAP_S = 3
# The default of memcaslap: lengths of keys and values, and 10 % sets. Without -F it writes a file into the user's home.
CASLAP_MIX = "key\n64 64 1\nvalue\n1024 1024 1\ncmd\n0 0.1\n1 0.9\n"
MEMCCAPABLE = {"ascii": "-a", "binary": "-b"}
MEMCACHED_TOOL = "/usr/share/memcached/scripts/memcached-tool"


def _client(**options):
    return Client((HOST, PORT), timeout=60, connect_timeout=60, **options)


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
    c = _client()  # the library's default is noreply
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


def pymemcache_sees_a_flush_in_the_figures():
    c = _client(default_noreply=False)
    for i in range(100):
        expect(c.set(f"flushed{i}", "value"), True)
    expect_true(mc_peer.FRONT or c.stats()[b"curr_items"] >= 100, "what was stored does not count")
    expect(c.flush_all(), True)
    expect([c.stats()[name] for name in (b"curr_items", b"bytes")], [0, 0])
    expect(c.stats("items"), {})
    expect(c.set("flushed1", "value"), True)
    expect_true(mc_peer.FRONT or c.stats()[b"curr_items"] == 1, "what was stored after it does not count")
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


def _evictions():
    with Tcp() as c:
        c.send(b"stats\r\n")
        return int(re.search(rb"STAT evictions (\d+)", c.take_until(b"END\r\n"))[1])


def _caslap(*options):
    """A key may be missed, since other cases have filled the memory, but no value may be wrong."""
    evicted = _evictions()
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as how:
        how.write(CASLAP_MIX)
        how.flush()
        status, output = _tool("memcaslap", "-s", f"{HOST}:{PORT}", "-T", "1", "-c", "16", "-F", how.name,
                               "-t", f"{CASLAP_S}s", "-v", "0.5", "-X", "100", "-w", "10k", *options)
    expect(status, 0, output[-300:])
    figures = {n: int(v) for n, v in re.findall(r"^(\w+): (\d+)", output, re.M)}
    expect_true(figures.get("cmd_get", 0) > 0, f"no gets: {output[-300:]}")
    for name in ("verify_failed", "conn_disconnect", "packet_disorder", "packet_drop",
                 "udp_timeout"):
        expect(figures.get(name, 0), 0, name)
    evicted = _evictions() - evicted
    expect_true(figures.get("verify_misses", 0) <= evicted,
                f"{figures.get('verify_misses')} misses, {evicted} evictions")
    print("    " + output.strip().split("\n")[-1], flush=True)


def memccapable_cases(kind):
    """Runs memccapable -a or -b. Returns a case for each line of it: {name: passed}."""
    # Names go to stdout and verdicts of failed tests to stderr: only together are they in order.
    done = subprocess.run(["memccapable", "-h", HOST, "-p", str(PORT), MEMCCAPABLE[kind], "-t", "10"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=TOOL_WAIT_S)
    output = re.sub(r"\d+ of \d+ tests failed\s*", "", done.stdout)
    found = {n: how == "pass"
             for n, how in re.findall(kind + r" ([a-z ]+?)\s*\[(pass|FAIL)\]", output)}
    expect_true(len(found) > 20, f"memccapable tested {len(found)} things: {output[-300:]}")
    return found


# ---- monitors -----------------------------------------------------------------------------------

def memcstat_reads_the_statistics():
    status, output = _tool("memcstat", SERVERS)
    expect(status, 0, output[-300:])
    for name in ("curr_items", "limit_maxbytes", "threads", "version"):
        expect_true(re.search(rf"^\s*{name}: \S+$", output, re.M) is not None, f"no {name}")


NO_DUMP = "stats cachedump not allowed"


def memcdump_lists_every_key():
    c = _client()
    sizes = {f"dump{i}": (1, 5000, 70000)[i % 3 if i < 60 else 0] for i in range(500)}
    want = set(sizes)
    c.set_many({key: b"v" * size for key, size in sizes.items()}, noreply=False)
    status, output = _tool("memcdump", SERVERS)
    if mc_peer.FRONT:
        expect((status, NO_DUMP in output), (1, True), output[-300:])
    else:
        expect(status, 0, output[-300:])
        expect(want - set(output.split()), set(), "keys not dumped")
    c.close()


def memcached_tool_shows_what_there_is():
    server = f"{HOST}:{PORT}"
    c = _client()
    c.set("tool_key", b"v" * 100, expire=1000, noreply=False)
    c.close()
    status, output = _tool(MEMCACHED_TOOL, server, "display")
    expect(status, 0, output)
    expect_true(re.search(r"^\s+\d+\s+\d+(\.\d+)?[BK]?\s+.*\d+", output, re.M) is not None, output)
    status, output = _tool(MEMCACHED_TOOL, server, "stats")
    expect_true(re.search(r"^\s+curr_items\s+\d+", output, re.M) is not None, output[:300])
    status, output = _tool(MEMCACHED_TOOL, server, "settings")
    expect_true(re.search(r"^\s+maxconns\s+\d+", output, re.M) is not None, output[:300])
    status, output = _tool(MEMCACHED_TOOL, server, "sizes")
    expect(status, 0, output)
    if mc_peer.FRONT:  # a refused dump has no END, for which the tool waits, nor has that of memcached -X
        with Tcp() as tcp:
            tcp.ask(b"lru_crawler metadump all\r\n", b"ERROR metadump not allowed\r\n")
        return
    status, output = _tool(MEMCACHED_TOOL, server, "dump")
    expect(status, 0, output[-300:])
    expect_true("\r\n" + "v" * 100 in output or "\n" + "v" * 100 in output, "the value is not dumped")


# Rows that prometheus' memcached_exporter needs in an answer.
NEEDED = ("cmd_set", "cas_misses", "cas_hits", "cas_badval")
NUMBERS = """uptime time bytes limit_maxbytes curr_items total_items bytes_read bytes_written
    curr_connections total_connections rejected_connections conn_yields listen_disabled_num evictions
    reclaimed store_too_large store_no_memory lru_crawler_starts direct_reclaims
    crawler_items_checked crawler_reclaimed moves_to_cold moves_to_warm moves_within_lru
    accepting_conns cmd_flush get_hits get_misses delete_hits delete_misses incr_hits incr_misses
    decr_hits decr_misses touch_hits touch_misses""".split()
SETTINGS = ("maxconns", "lru_crawler")  # settings that the exporter reads
ITEMS = """number age evicted evicted_nonzero evicted_time outofmemory tailrepairs reclaimed
    expired_unfetched evicted_unfetched evicted_active crawler_reclaimed crawler_items_checked
    lrutail_reflocked moves_to_cold moves_to_warm moves_within_lru mem_requested number_hot
    number_warm number_cold age_hot age_warm hits_to_hot hits_to_warm hits_to_cold""".split()
SLABS = """chunk_size chunks_per_page total_pages total_chunks used_chunks free_chunks
    free_chunks_end get_hits cmd_set delete_hits incr_hits decr_hits cas_hits cas_badval
    touch_hits""".split()
STATS_BYTES_MAX = 4096  # collectd's buffer


def _stats_as_the_exporter_reads_them(request):
    with Tcp() as c:
        c.send(request + b"\r\n")
        answer = c.take_until(b"END\r\n")
        c.barrier()
    lines = answer.decode().split("\r\n")[:-2]
    for line in lines:
        expect(line.count(" ") >= 2 and line.startswith("STAT "), True,
               f"unexpected stats line format: {line!r}")
    return dict(line.split(" ", 2)[1:] for line in lines), len(answer)


def an_exporter_reads_the_statistics():
    found, size = _stats_as_the_exporter_reads_them(b"stats")
    expect_true(size < STATS_BYTES_MAX, f"stats are {size} bytes")
    for name in (*NEEDED, *NUMBERS):
        expect_true(name in found, f"stats lacks {name}")
        int(found[name])
    for name in ("rusage_user", "rusage_system"):
        seconds, micros = found[name].split(".")
        expect((seconds.isdigit(), micros.isdigit(), len(micros)), (True, True, 6), name)
    settings, _ = _stats_as_the_exporter_reads_them(b"stats settings")
    for name in SETTINGS:
        expect_true(name in settings, f"stats settings lacks {name}")


def an_exporter_reads_items_and_slabs():
    c = _client()
    c.set("exporter", b"v", noreply=False)
    c.close()
    items, _ = _stats_as_the_exporter_reads_them(b"stats items")
    classes = {key.split(":")[1] for key in items}
    expect_true(bool(classes), "no class in stats items")
    for number in classes:
        for name in ITEMS:
            int(items[f"items:{number}:{name}"])
    slabs, _ = _stats_as_the_exporter_reads_them(b"stats slabs")
    for name in ("active_slabs", "total_malloced"):
        int(slabs.pop(name))
    for number in {key.split(":")[0] for key in slabs}:
        for name in SLABS:
            int(slabs[f"{number}:{name}"])


def missing_tools():
    return [t for t in (MEMCACHED_TOOL, "memcstat", "memcdump", "memccapable", "memccp", "memccat", "memcrm", "memcslap", "memcaslap")
            if not any(os.access(os.path.join(d, t), os.X_OK) for d in os.get_exec_path())]


CASES = [
    pymemcache_sets_and_gets,
    pymemcache_compares_and_swaps,
    pymemcache_counts_and_touches,
    pymemcache_handles_many_keys,
    pymemcache_asks_for_version_and_stats,
    pymemcache_sees_a_flush_in_the_figures,
    memccp_and_memccat_carry_a_file,
    memcslap_multigets_without_an_error,
    memcstat_reads_the_statistics,
    memcdump_lists_every_key,
    an_exporter_reads_the_statistics,
    an_exporter_reads_items_and_slabs,
]
LONG_CASES = [
    memcslap_sets_without_an_error,
    memcslap_gets_without_an_error,
    memcaslap_runs_without_an_error,
    memcaslap_over_udp_runs_without_an_error,
    memcached_tool_shows_what_there_is,
]
