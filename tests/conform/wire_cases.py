"""Cases that need more than a table: datagrams, cuts, crowds, large values, a full cache.

A case is a function whose name is a sentence; LONG_CASES are left out by --quick.
"""

import random
import re
import resource
import socket
import struct
import threading
import time

import mc_peer
from mc_peer import (SILENCE_S, WAIT_S, Tcp, Udp, UDP_HEADER, UDP_PAYLOAD_MAX, Wrong, expect, expect_true,
                     values_of)

CONNECTIONS = 1000
LAZY_CLIENTS = 400
MGET_KEYS = 20000
FILL_SETS = 2_000_000
FILL_BATCH = 2000
FILL_GET_KEYS = 500
TOGETHER_S, ROUNDS_MIN = 1.5, 10
LARGE_BYTES = 900_000
OVERWRITES = 1000
WATCHED = 20
ANSWERED_S = 0.005


def stats():
    with Tcp() as c:
        c.send(b"stats\r\n")
        lines = c.take_until(b"END\r\n").decode().split("\r\n")[:-2]
    expect_true(all(line.startswith("STAT ") for line in lines), "a line of stats without STAT")
    return dict(line.split(" ", 2)[1:] for line in lines)


def stats_tells_what_monitors_read():
    before = stats()
    with Tcp() as c:
        c.ask(b"set st 0 0 1\r\nx\r\n", b"STORED\r\n")
        c.ask(b"get st st_none\r\n", b"VALUE st 0 1\r\nx\r\nEND\r\n")
        after = stats()
        expect_true(int(after["curr_connections"]) >= 1, "no connection counted")
    grown = {n: int(after[n]) - int(before[n]) for n in ("cmd_get", "cmd_set", "get_hits",
                                                         "get_misses")}
    expect(grown, {"cmd_get": 2, "cmd_set": 1, "get_hits": 1, "get_misses": 1})
    for name in ("pid", "uptime", "time", "version", "curr_items", "bytes", "limit_maxbytes",
                 "evictions", "cas_hits", "cas_misses", "cas_badval", "threads",
                 "total_connections"):
        expect_true(name in after, f"stats lacks {name}")


def the_parts_of_memory_add_up_to_what_the_kernel_counts():
    found = {name: int(value) for name, value in stats().items() if name.startswith("memory_")}
    resident, total = found.pop("memory_resident"), found.pop("memory_sum")
    expect(sum(found.values()), total)
    expect_true(0.95 * total < resident < 1.05 * total, f"{resident} bytes are resident, the parts make {total}")


# ---- requests cut in two, and dripping ----------------------------------------------------------

PIPELINE = (b"set cut 3 0 5\r\nab\r\nc\r\nget cut\r\nadd cut 0 0 1\r\nx\r\nset cutn 0 0 2\r\n10\r\n"
            b"incr cutn 7\r\nget cut cutn\r\ndelete cut noreply\r\nget cut\r\nnonsense\r\n")
ANSWERS = (b"STORED\r\nVALUE cut 3 5\r\nab\r\nc\r\nEND\r\nNOT_STORED\r\nSTORED\r\n17\r\n"
           b"VALUE cut 3 5\r\nab\r\nc\r\nVALUE cutn 0 2\r\n17\r\nEND\r\nEND\r\nERROR\r\n")


def requests_cut_at_every_byte_are_answered_the_same():
    with Tcp() as c:
        for cut in range(1, len(PIPELINE)):
            c.send(PIPELINE[:cut])
            time.sleep(0.002)  # long enough for the first part to arrive alone
            c.send(PIPELINE[cut:])
            expect(c.take(len(ANSWERS)), ANSWERS, f"cut at byte {cut}:")
        c.barrier()


def requests_sent_byte_by_byte_are_answered_the_same():
    with Tcp() as c:
        for byte in PIPELINE:
            c.send(bytes([byte]))
        expect(c.take(len(ANSWERS)), ANSWERS)
        c.barrier()


# ---- UDP ----------------------------------------------------------------------------------------

def a_udp_request_is_answered():
    with Udp() as u:
        u.ask(b"set u1 7 0 3\r\nabc\r\n", b"STORED\r\n")
        u.ask(b"get u1\r\n", b"VALUE u1 7 3\r\nabc\r\nEND\r\n")
        u.ask(b"get u1_none\r\n", b"END\r\n")
        u.ask(b"incr u1 1\r\n",
              b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n")
        u.ask(b"nonsense\r\n", b"ERROR\r\n")
        u.ask(b"delete u1\r\n", b"DELETED\r\n")


def a_udp_answer_bears_the_requests_id():
    with Udp() as u:
        for request_id in (0, 1, 0x1234, 0xffff):
            u.send_raw(UDP_HEADER.pack(request_id, 0, 1, 0) + b"get none\r\n")
            expect(u.datagram(), (request_id, 0, 1, 0, b"END\r\n"))


def what_udp_sets_tcp_gets():
    with Udp() as u, Tcp() as c:
        u.ask(b"set both 1 0 2\r\nhi\r\n", b"STORED\r\n")
        c.ask(b"get both\r\n", b"VALUE both 1 2\r\nhi\r\nEND\r\n")
        c.ask(b"delete both\r\n", b"DELETED\r\n")
        u.ask(b"get both\r\n", b"END\r\n")


def several_requests_in_one_datagram_are_all_answered():
    with Udp() as u:
        request_id = u.send(b"set um 0 0 1\r\nx\r\nget um\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            got = u.datagram()
            expect_true(got is not None, f"silence after {text!r}")
            expect(got[0], request_id, "request id")
            text += got[4]
        expect(text, b"STORED\r\nVALUE um 0 1\r\nx\r\nEND\r\n")


def udp_noreply_sends_nothing():
    with Udp() as u:
        u.send(b"set un 0 0 1 noreply\r\nx\r\n")
        u.expect_silence("noreply")
        u.ask(b"get un\r\n", b"VALUE un 0 1\r\nx\r\nEND\r\n")


def bad_datagrams_are_dropped_in_silence():
    bad = {
        "an empty datagram": b"", "less than a header": b"\0\1\0\0\0\1", "only a header":
        UDP_HEADER.pack(1, 0, 1, 0), "a request of two datagrams":
        UDP_HEADER.pack(1, 0, 2, 0) + b"get x\r\n", "a request of no datagram":
        UDP_HEADER.pack(1, 0, 0, 0) + b"get x\r\n", "a line without an end":
        UDP_HEADER.pack(1, 0, 1, 0) + b"get x",
    }
    with Udp() as u:
        for words, datagram in bad.items():
            u.send_raw(datagram)
            u.expect_silence(words)
        u.ask(b"get none\r\n", b"END\r\n")


def a_cut_udp_body_does_not_eat_the_next_datagram():
    with Udp() as u:
        u.send(b"set ucut 0 0 100\r\nshort")
        while u.datagram(SILENCE_S) is not None:
            pass
        u.ask(b"get ucut\r\n", b"END\r\n")


def _hundred_keys(prefix):
    with Tcp() as c:
        keys = [b"%s%03d" % (prefix, i) for i in range(100)]
        for i, key in enumerate(keys):
            value = bytes([97 + i % 26]) * (40 + i)
            c.ask(b"set %s %d 0 %d\r\n%s\r\n" % (key, i, len(value), value), b"STORED\r\n")
    want = {k: (i, bytes([97 + i % 26]) * (40 + i), None) for i, k in enumerate(keys)}
    return b"get " + b" ".join(keys) + b"\r\n", want


def a_get_of_100_keys_over_udp_is_one_message():
    request, want = _hundred_keys(b"uh")
    with Udp() as u:
        answer, count = u.message(u.send(request))
    expect(values_of(answer), want)
    expect(count, -(-len(answer) // UDP_PAYLOAD_MAX), "datagrams")


def _asked_at_once(u, requests):
    """Sends all requests before it reads an answer. Returns how many were answered in whole."""
    wanted = {u.send(request): {} for request in requests}
    whole = 0
    while whole < len(wanted) and (got := u.datagram()) is not None:
        parts = wanted[got[0]]
        parts[got[1]] = got[4]
        if len(parts) == got[2]:
            whole += 1
            expect(b"".join(parts[i] for i in range(got[2]))[-5:], b"END\r\n", "end of an answer")
    return whole


def more_keys_over_udp_than_a_turn_has_time_for_are_answered_whole():
    request, _ = _hundred_keys(b"uw")
    twenty = b" ".join(request.split()[:21]) + b"\r\n"
    with Udp() as u:
        u.ask(b"get" + b" a" * 257 + b"\r\n", b"END\r\n")
        for _ in range(20):
            expect(_asked_at_once(u, [twenty] * 64), 64, "answers to 64 gets of 20 keys")


def a_udp_request_in_fragments_is_put_together():
    with Udp() as u, Tcp() as c:
        for size in (1400, 1900, 1950, 2100, 4096, 9000, 16000):
            value = bytes(random.randrange(97, 123) for _ in range(size))
            u.ask(b"set uf 0 0 %d\r\n%s\r\n" % (size, value), b"STORED\r\n")
            c.ask(b"get uf\r\n", b"VALUE uf 0 %d\r\n%s\r\nEND\r\n" % (size, value))


def replies_that_come_over_udp_are_not_answered():
    with Udp() as u:
        for reply in (b"ERROR\r\n", b"END\r\n", b"STORED\r\n", b"MN\r\n", b"17\r\n",
                      b"VALUE a 0 7\r\nget a\r\n\r\nEND\r\n", b"\x81" + bytes(23) + b"\r\n"):
            u.send(reply)
        u.expect_silence("replies")
        u.ask(b"get none\r\n", b"END\r\n")


def a_get_of_100_keys_over_tcp_has_them_all():
    request, want = _hundred_keys(b"th")
    with Tcp() as c:
        c.send(request)
        expect(values_of(c.take_until(b"END\r\n")), want)


def udp_and_tcp_are_served_at_once():
    counts, faults, over = {}, [], threading.Event()

    def loop(name, peer):
        key, n = b"tog_" + name, 0
        counts[name] = n
        try:
            with peer() as p:
                while not over.is_set():
                    value = b"%d" % n
                    p.ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"STORED\r\n")
                    p.ask(b"get %s\r\n" % key,
                          b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (key, len(value), value))
                    counts[name] = n = n + 1
        except (Wrong, OSError) as fault:
            faults.append(f"{name}: {fault}")

    threads = [threading.Thread(target=loop, args=(b"%s%d" % (kind, i), peer))
               for i in range(2) for kind, peer in ((b"udp", Udp), (b"tcp", Tcp))]
    for t in threads:
        t.start()
    time.sleep(TOGETHER_S)
    end = time.monotonic() + WAIT_S
    while not faults and min(counts.values()) < ROUNDS_MIN and time.monotonic() < end:
        time.sleep(0.1)
    over.set()
    for t in threads:
        t.join()
    expect(faults, [])
    expect_true(min(counts.values()) >= ROUNDS_MIN, f"hardly any rounds: {counts}")


# ---- many connections, long lines, large values -------------------------------------------------

def _many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))


def a_thousand_connections_are_served_at_once():
    _many_files()
    crowd = []
    try:
        for _ in range(CONNECTIONS):
            crowd.append(Tcp())
        for i, c in enumerate(crowd):
            c.send(b"set crowd%d 0 0 6\r\n%06d\r\n" % (i, i))
        for c in crowd:
            expect(c.take(8), b"STORED\r\n")
        for i, c in enumerate(crowd):
            c.send(b"get crowd%d\r\n" % (CONNECTIONS - 1 - i))
        for i, c in enumerate(crowd):
            j = CONNECTIONS - 1 - i
            want = b"VALUE crowd%d 0 6\r\n%06d\r\nEND\r\n" % (j, j)
            expect(c.take(len(want)), want)
    finally:
        for c in crowd:
            c.sock.close()


def _others_have_left():
    """Waits until the appliance has seen the end of every connection but the one that asks."""
    end = time.monotonic() + WAIT_S
    while (left := stats()["curr_connections"]) != "1" and time.monotonic() < end:
        time.sleep(0.1)
    expect(left, "1", "connections:")


def _served_soon():
    """Returns a connection that is served, once the appliance has seen the end of another."""
    end = time.monotonic() + WAIT_S
    while True:
        c = Tcp()
        try:
            c.barrier()
            return c
        except (Wrong, OSError):
            c.sock.close()
            if time.monotonic() > end:
                raise


def a_connection_too_many_is_told_so():
    _many_files()
    _others_have_left()
    limit = int(stats()["max_connections"])
    crowd = []
    try:
        for _ in range(limit):
            crowd.append(Tcp())
        for c in crowd:
            c.send(b"get none\r\n")
        for c in crowd:
            expect(c.take(5), b"END\r\n")
        with Tcp() as late:
            expect(late.take_until(b"\r\n"), b"ERROR Too many open connections\r\n")
            late.expect_closed("one too many:")
        crowd.pop().sock.close()
        crowd.append(_served_soon())
    finally:
        for c in crowd:
            c.sock.close()
    _others_have_left()


def connections_opened_and_reset_leave_room():
    for _ in range(3 * CONNECTIONS):
        c = Tcp()
        c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        c.sock.close()
    with Tcp() as c:
        c.ask(b"get none\r\n", b"END\r\n")


def a_get_line_of_20000_keys_is_answered():
    with Tcp() as c:
        c.ask(b"set line7 0 0 1\r\n7\r\n", b"STORED\r\n")
        keys = b" ".join(b"line%d" % i for i in range(MGET_KEYS))
        c.ask(b"get " + keys + b"\r\n", b"VALUE line7 0 1\r\n7\r\nEND\r\n", "20000 keys:")
        c.barrier()


def _large_value(size):
    return random.Random(size).randbytes(size)


TOO_LARGE = b"SERVER_ERROR object too large for cache\r\n"


def a_value_of_1_mib_survives_a_round_trip():
    # An item of 1 MiB has this room for its value, beside its header and key: see the surface.
    for size in (1_000_000, 1024 * 1024 - 1024, 1_048_510):
        value = _large_value(size)
        with Tcp() as c:
            if mc_peer.FRONT and size > 1024 * 1024 - 1024:  # memcached's own item has more beside its value
                c.ask(b"set large 9 0 %d\r\n%s\r\n" % (size, value), TOO_LARGE, f"{size} bytes:")
                c.ask(b"get large\r\n", b"END\r\n", f"{size} bytes:")
                continue
            c.ask(b"set large 9 0 %d\r\n%s\r\n" % (size, value), b"STORED\r\n", f"{size} bytes:")
            head = b"VALUE large 9 %d\r\n" % size
            c.ask(b"get large\r\n", head, f"{size} bytes:")
            expect_true(c.take(size) == value, f"{size} bytes came back changed")
            expect(c.take(7), b"\r\nEND\r\n")


def values_of_every_size_survive():
    with Tcp() as c:
        for size in [*range(0, 300), *(2 ** k + d for k in range(9, 20) for d in (-1, 0, 1))]:
            value = _large_value(size)
            c.ask(b"set size 0 0 %d\r\n%s\r\n" % (size, value), b"STORED\r\n", f"{size} bytes:")
            c.ask(b"get size\r\n", b"VALUE size 0 %d\r\n%s\r\nEND\r\n" % (size, value),
                  f"{size} bytes:")


def a_client_that_reads_late_gets_every_byte():
    value = _large_value(500_000)
    with Tcp() as c:
        c.ask(b"set late 0 0 %d\r\n%s\r\n" % (len(value), value), b"STORED\r\n")
        c.send(b"get late\r\n" * 20)
        time.sleep(1.0)
        want = b"VALUE late 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
        for _ in range(20):
            expect_true(c.take(len(want)) == want, "a late answer is not the value")
        c.barrier()


def clients_that_do_not_read_stall_nobody_else():
    _many_files()
    lazy = []
    with Tcp() as c:
        c.ask(b"set lazy 0 0 100\r\n" + b"v" * 100 + b"\r\n", b"STORED\r\n")
    request = (b"get" + b" lazy" * 100 + b"\r\n") * 2000
    try:
        for _ in range(LAZY_CLIENTS):
            lazy.append(Tcp(receive_bytes=4096))
            lazy[-1].sock.setblocking(False)
            lazy[-1].sock.send(request)
        time.sleep(1.0)
        for _ in range(50):
            with Tcp() as c:
                c.ask(b"set busy 0 0 1\r\n1\r\nget busy\r\n",
                      b"STORED\r\nVALUE busy 0 1\r\n1\r\nEND\r\n", "beside lazy clients:")
    finally:
        for c in lazy:
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.sock.close()


def a_value_being_sent_stays_as_it_was_while_others_overwrite_it():
    """The reader stops in the middle of a value; the key is then overwritten and deleted."""
    value = _large_value(LARGE_BYTES)
    want = b"VALUE slow 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
    with Tcp(receive_bytes=4096) as slow, Tcp() as c:
        c.ask(b"set slow 0 0 %d\r\n%s\r\n" % (len(value), value), b"STORED\r\n")
        slow.send(b"get slow\r\n")
        got = slow.take(10_000)
        for i in range(OVERWRITES):
            other = bytes([97 + i % 26]) * len(value)
            c.ask(b"set slow 0 0 %d\r\n%s\r\n" % (len(other), other), b"STORED\r\n")
            if i % 3 == 0:
                c.ask(b"delete slow\r\n", b"DELETED\r\n")
            if i % 100 == 0:
                got += slow.take(1000)
        got += slow.take(len(want) - len(got))
        expect_true(got == want, "the value changed under the reader")
        slow.barrier()


ADMINISTRATION = [b"verbosity 0", b"cache_memlimit 64", b"shutdown", b"shutdown graceful", b"watch",
                  b"watch fetchers", b"lru_crawler enable", b"lru_crawler metadump all",
                  b"lru_crawler mgdump all", b"slabs reassign 1 2", b"slabs automove 1",
                  b"lru tune 10 25 0.1 2.0", b"stats cachedump 1 10", b"stats detail on",
                  b"stats reset", b"extstore free_memchunks 1 1", b"refresh_certs"]


def administration_over_udp_is_refused():
    with Udp() as u:
        for line in ADMINISTRATION:
            answer, _ = u.message(u.send(line + b"\r\n"))
            expect_true(re.fullmatch(rb"(CLIENT_|SERVER_)?ERROR[^\r\n]*\r\n", answer) is not None,
                        f"{line!r}: {answer[:80]!r}")
            u.ask(b"get none\r\n", b"END\r\n")


def _events_on_time():
    """Returns how many events of WATCHED requests are on time, and by how much the others are early. None may be late."""
    on_time, early_ms = 0, []
    with Tcp() as watcher, Tcp() as c:
        watcher.ask(b"watch fetchers\r\n", b"OK\r\n")
        for _ in range(WATCHED):
            begun = time.time()
            c.ask(b"get none\r\n", b"END\r\n")
            ended = time.time()
            line = watcher.take_until(b"\n")
            at = float(re.match(rb"ts=(\d+\.\d{6}) ", line)[1])
            expect_true(at <= ended + 0.001, f"{line!r} is {(at - ended) * 1e3:.3f} ms behind its answer")
            if at < begun - 0.001:
                early_ms.append((begun - at) * 1e3)
            else:
                on_time += ended - begun < ANSWERED_S
    return on_time, early_ms


def a_watched_event_has_the_time_of_its_request():
    """To the millisecond of this machine's wall clock. Never too late. An event has the time of its turn, which is early where
    the host had the CPU in that turn, so on a busy machine many are. Where the wall clock was set or is being slewed, the
    appliance follows within a tick of its control thread. So events are asked for until enough of them, whose requests were
    answered soon, are on time: of a clock that is wrong none is."""
    on_time, end = 0, time.monotonic() + WAIT_S
    while on_time < WATCHED // 2:
        more, early_ms = _events_on_time()
        on_time += more
        expect_true(time.monotonic() < end, f"{on_time} events are on time; others are early by {early_ms} ms")


# ---- a full cache -------------------------------------------------------------------------------

def _fill_key(i):
    return b"fill%07d" % i


def _fill_value(i, version):
    return b"%d:%d:" % (version, i) + b"v" * (20 + i % 50)


def _store_many(numbers, version):
    """Pipelined sets; every single one must be answered STORED."""
    faults = []

    with Tcp() as c:
        def read():
            try:
                left = len(numbers)
                while left:
                    count = min(left, FILL_BATCH)
                    got = c.take(8 * count)
                    if got != b"STORED\r\n" * count:
                        raise Wrong(f"a set was answered with {got.replace(b'STORED', b'')[:80]!r}")
                    left -= count
            except (Wrong, OSError) as fault:
                faults.append(str(fault))
                c.sock.shutdown(socket.SHUT_RDWR)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for at in range(0, len(numbers), FILL_BATCH):
                lines = []
                for i in numbers[at:at + FILL_BATCH]:
                    value = _fill_value(i, version)
                    lines.append(b"set %s 0 0 %d\r\n%s\r\n" % (_fill_key(i), len(value), value))
                c.send(b"".join(lines))
        except OSError as fault:
            faults.append(str(fault))
        reader.join()
    expect(faults, [])


def a_full_cache_evicts_and_never_lies():
    count = FILL_SETS
    before = int(stats()["evictions"])
    _store_many(range(count), 1)
    again = range(0, count, 10)
    _store_many(again, 2)
    hits = 0
    with Tcp() as c:
        for at in range(0, count, FILL_GET_KEYS):
            c.send(b"get " + b" ".join(map(_fill_key, range(at, at + FILL_GET_KEYS))) + b"\r\n")
            for key, (_, value, _) in values_of(c.take_until(b"END\r\n")).items():
                i = int(key[4:])
                want = _fill_value(i, 2 if i in again else 1)
                expect_true(value == want, f"{key} is {value[:60]!r}, expected {want[:60]!r}")
                hits += 1
        c.barrier()
    expect_true(0 < hits < count, f"{hits} hits of {count}: a full 64 MB cache keeps some, not all")
    expect_true(mc_peer.FRONT or int(stats()["evictions"]) > before, "nothing was evicted")
    print(f"    {count} keys set, {hits} still there", flush=True)


CASES = [
    stats_tells_what_monitors_read,
    the_parts_of_memory_add_up_to_what_the_kernel_counts,
    requests_cut_at_every_byte_are_answered_the_same,
    requests_sent_byte_by_byte_are_answered_the_same,
    a_udp_request_is_answered,
    a_udp_answer_bears_the_requests_id,
    what_udp_sets_tcp_gets,
    several_requests_in_one_datagram_are_all_answered,
    udp_noreply_sends_nothing,
    bad_datagrams_are_dropped_in_silence,
    a_cut_udp_body_does_not_eat_the_next_datagram,
    a_get_of_100_keys_over_udp_is_one_message,
    more_keys_over_udp_than_a_turn_has_time_for_are_answered_whole,
    a_udp_request_in_fragments_is_put_together,
    replies_that_come_over_udp_are_not_answered,
    a_get_of_100_keys_over_tcp_has_them_all,
    udp_and_tcp_are_served_at_once,
    a_thousand_connections_are_served_at_once,
    a_connection_too_many_is_told_so,
    connections_opened_and_reset_leave_room,
    a_get_line_of_20000_keys_is_answered,
    a_value_of_1_mib_survives_a_round_trip,
    values_of_every_size_survive,
    a_client_that_reads_late_gets_every_byte,
    clients_that_do_not_read_stall_nobody_else,
    administration_over_udp_is_refused,
    a_watched_event_has_the_time_of_its_request,
]
LONG_CASES = [
    a_value_being_sent_stays_as_it_was_while_others_overwrite_it,
    a_full_cache_evicts_and_never_lies,
]
