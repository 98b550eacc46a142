"""The tests of memcached that memcached passes and the appliance does not, with reasons.

A row has the versions of memcached's source, a file of its tests, the numbers of the tests there ("1-3 5", and "9-"
for all from 9 on), and the reason. A file whose last range is open may wait for ever: it is ended
once it has printed nothing for MAY_HANG_S.
"""

import re

MAY_HANG_S = 90  # seconds of silence; files that do not hang print more often, even on a loaded machine

ALL = ("1.6.18", "1.6.45")
OLD = ("1.6.18",)
NEW = ("1.6.45",)

NEWER = "as memcached 1.6.45 does"
TIER_SIZE = "the tier wants 256 MB of flash at least; these tests give extstore 64 MB"
CLASSES = "pages and classes are others: a test that counts chunks, pages or totals of memcached's slabs has no counterpart"
UNIX = "Unix sockets are not supported, and refused"
POLICY = "eviction is 2Q: which item goes, and in which class that is counted, is no part of the protocol"
CRAWLER = "items are reclaimed by the hand of expiry, at its own pace and counted as such; lru_crawler starts no crawl that ends"

MEMCACHED = [
    (ALL, "00-startup.t", "5", "-C: every item has a cas, at no cost: `stats settings` says cas_enabled yes, and a warning says so"),
    (ALL, "64bit.t", "3 5-6", CLASSES),
    (ALL, "binary-extstore.t", "1-", TIER_SIZE),
    (ALL, "binary-sasl.t", "1", "a libsasl2 of Debian is not asked: -S takes the users of -Y"),
    (NEW, "cas.t", "24 30", "a cas number belongs to its key, of which it never comes twice; two keys may have the same"),
    (OLD, "cas.t", "15-", NEWER + ": cas without its number is CLIENT_ERROR, and its value is swallowed; the test waits for a second line"),
    (ALL, "chunked-extstore.t", "1-", TIER_SIZE),
    (ALL, "chunked-items.t", "185", POLICY),
    (ALL, "conn-limits.t", "1-", "the test wants 32 threads and a limit of read buffers by -o; port user has 16 workers, and buffers are set by -c"),
    (ALL, "daemonize.t", "7", "half a second behind kill -9 a loaded machine still frees what was set aside at the start"),
    (ALL, "dash-M.t", "197-", "with -M and 2 MB fewer items fit than memcached's slabs take: the test plans by what was stored"),
    (ALL, "dyn-maxbytes.t", "47", "cache_memlimit grows up to --memory-max, which is -m unless it is given"),
    (ALL, "error-extstore.t", "1-", TIER_SIZE),
    (ALL, "extstore-buckets.t", "1-", TIER_SIZE),
    (NEW, "extstore-cas.t", "1-", TIER_SIZE),
    (ALL, "extstore-jbod.t", "1-", TIER_SIZE),
    (NEW, "extstore-overdel.t", "1-", TIER_SIZE),
    (NEW, "extstore-start.t", "3-", TIER_SIZE),
    (NEW, "extstore-tiered.t", "1-", TIER_SIZE),
    (NEW, "extstore-tiered2.t", "1-", TIER_SIZE),
    (ALL, "extstore.t", "1-", TIER_SIZE),
    (OLD, "flush-all.t", "27", "-C: every item has a cas, so a set behind flush_all in the same second is never flushed: the test wants to see it lost once"),
    (ALL, "idle-timeout.t", "10", "port user: libslirp tells a client that writes to a closed connection nothing; through a NIC it is a RST"),
    (ALL, "issue_14.t", "21", CLASSES),
    (ALL, "issue_163.t", "4", CRAWLER),
    (ALL, "issue_183.t", "5", CRAWLER),
    (ALL, "issue_22.t", "43 84", POLICY),
    (OLD, "issue_3.t", "2 4", NEWER + ": delete takes a number behind the key"),
    (ALL, "issue_42.t", "11", CLASSES),
    (ALL, "lru-crawler.t", "1 93 96-97", CRAWLER),
    (ALL, "lru-crawler.t", "99", "a dump behind another command of a segment is answered, not refused"),
    (NEW, "lru-crawler.t", "70259", CRAWLER),
    (OLD, "lru-crawler.t", "100 70222", NEWER + ": a dump begins with OK, which the test counts as an item"),
    (OLD, "lru-crawler.t", "70257", CRAWLER),
    (ALL, "lru-maintainer.t", "12 120 122 225-226", POLICY),
    (ALL, "lru.t", "107-108", POLICY),
    (ALL, "maxconns.t", "2-", "each refused connection is one test, and memcached refuses more of the 1,024; of the second server: " + TIER_SIZE),
    (OLD, "metaget.t", "1", NEWER + ": an empty line is CLIENT_ERROR"),
    (OLD, "metaget.t", "149-", TIER_SIZE),
    (NEW, "metaget.t", "176-", TIER_SIZE),
    (ALL, "restart.t", "2-", "a memory file must lie on hugetlbfs or tmpfs: items would be written to a disk as they change"),
    (OLD, "shutdown.t", "1", NEWER + ": SERVER_ERROR: shutdown not enabled"),
    (NEW, "slabs-cas.t", "61 118", CLASSES),
    (NEW, "slabs-mover.t", "3-", CLASSES),
    (ALL, "slabs-reassign-chunked.t", "3 5-8", CLASSES),
    (ALL, "slabs-reassign2.t", "2-5 8-12", CLASSES),
    (NEW, "slabs_reassign.t", "124 128 130-132", CLASSES),
    (OLD, "slabs_reassign.t", "125 127-129", CLASSES),
    (NEW, "ssl_ports.t", "1-", "a port of its own for clients with certificates (mtls:) is not known: -o ssl_verify_mode is for all ports"),
    (ALL, "ssl_settings.t", "2 12", "sessions are always resumed, by tickets; the write buffer has one size"),
    (ALL, "stats-conns.t", "2-", "port user: a listener's address is that of its network, 10.0.2.15; UDP has no address of its own"),
    (ALL, "stats.t", "1 11", "there are more rows; bytes_written counts from the first byte, that of `stats` itself"),
    (ALL, "unixsocket.t", "2-", UNIX),
    (ALL, "watcher.t", "14-", POLICY + "; of large items a page's worth goes at once, so that not each set in a full store logs an eviction, which the test waits for"),
]

FIRST_TLS = r"test/test_tls\.py::TLSMemcachedTests::test(Add|Cas|Decrement)\w*"
GH_0531 = "memcached_regression_gh-php-memcached_0531"
IDLE = "Memcached connections should remove connection when idle"

# Client libraries: (row, a pattern for names of its tests, reason).
CLIENTS = [
    ("gomemcache", "TestUnixSocket", UNIX),
    ("gomemcache", "TestTLS", "port user: the first connections wait for the network inside, and this client waits for half a second"),
    ("python-binary-memcached", FIRST_TLS, "its first tests: a server has 0.1 s to start, and DPDK starts for longer"),
    ("memcached of npm", IDLE, "the client's own timing, against a port where no server is"),
    ("libmemcached", GH_0531, "the test's: no answer may come within 0 ms, where a core that polls has answered, and one must within 100 ms"),
    ("libmemcached", "memcached_udp", "port user: 1,025 datagrams in a row, of which libslirp's buffers lose some; UDP promises nothing"),
    ("tlslite-ng", "many key updates in a row are followed", "an update costs a tenth of a handshake: behind four with less than 1 MB between two the connection ends"),
    ("memcache of crates", "udp_test", "flush_all by a datagram is refused: its sender may be forged"),
]

# Rows whose tests depend on which process runs first, and may pass.
SOMETIMES = {"chunked-extstore.t", "maxconns.t", "watcher.t", "daemonize.t", "ssl_cert_refresh.t", "idle-timeout.t", "lru-maintainer.t", "slabs-reassign-chunked.t", "slabs-reassign2.t", "issue_183.t", "TestTLS", FIRST_TLS, IDLE, GH_0531, "memcached_udp"}


def _span(text, last):
    begin, dash, end = text.partition("-")
    return range(int(begin), (int(end or last) if dash else int(begin)) + 1)


def rows(version, name):
    return [row for row in MEMCACHED if row[1] == name and version in row[0]]


def numbers(version, name, last):
    """Returns the explained test numbers of a file that has this many tests."""
    return {number for row in rows(version, name) for text in row[2].split() for number in _span(text, last)}


def sometimes(version, name, last):
    return numbers(version, name, last) if name in SOMETIMES else set()


def may_hang(version, name):
    return any(row[2].endswith("-") for row in rows(version, name))


def of_client(row, name):
    """Returns the reason why a client's test fails, or None."""
    return next((reason for who, pattern, reason in CLIENTS if who == row and re.fullmatch(pattern, name)), None)
