"""Python's client libraries from PyPI, each through its own round trips. Prints a line a case.

Run by an interpreter that has the libraries; HOST and PORT are the arguments.
"""

import sys
import traceback

import bmemcached
import memcache
from pymemcache.client.base import Client

HOST, PORT = sys.argv[1], int(sys.argv[2])
LARGE = bytes(range(256)) * 3000  # 768 kB of every byte


def same(got, want):
    if got != want:
        raise AssertionError(f"got {got!r:.100}, expected {want!r:.100}")


def pymemcache_round_trip():
    c = Client((HOST, PORT), timeout=60, default_noreply=False)
    same(c.set("pmc", "v", expire=100, flags=77), True)
    same(c.raw_command("get pmc", b"END\r\n"), b"VALUE pmc 77 1\r\nv\r\n")
    same(c.touch("pmc", 50), True)
    value, cas = c.gets("pmc")
    same(c.cas("pmc", "w", cas), True)
    same(c.cas("pmc", "x", cas), False)
    same(c.set(b"\xff\xfe\x80", LARGE), True)
    same(c.get(b"\xff\xfe\x80"), LARGE)
    many = {f"pmc{i}": b"%d" % i for i in range(1000)}
    same(c.set_many(many), [])
    same(c.get_many(list(many)), many)
    same(c.incr("pmc41", 1), 42)
    same(c.decr("pmc41", 2), 40)
    same(c.delete_many(list(many)), True)
    same(c.get_many(list(many)), {})
    same(c.stats("settings")[b"cas_enabled"] is not None, True)
    c.close()


def python_memcached_round_trip():
    c = memcache.Client([f"{HOST}:{PORT}"], cache_cas=True, server_max_value_length=1 << 20)
    for value in ("text", "ü", b"bytes", 42, 1 << 70, 3.5, ["a", {"b": None}], True):
        same(c.set("pm", value, time=100), True)  # its flags tell the type
        same(c.get("pm"), value)
    same(c.set("pm", LARGE, min_compress_len=1000), True)
    same(c.get("pm"), LARGE)
    same(c.gets("pm"), LARGE)
    same(c.cas("pm", "1"), True)
    same(c.cas("pm", "2"), False)
    same(c.touch("pm", 50), 1)
    same(c.set_multi({f"pm{i}": i for i in range(500)}), [])
    same(c.get_multi([f"pm{i}" for i in range(500)]), {f"pm{i}": i for i in range(500)})
    same(c.add("pm", 1), False)
    same(c.replace("pm_none", 1), False)
    same(c.incr("pm7"), 8)
    same(c.delete("pm7"), 1)
    same((len(c.get_stats()), len(c.get_slab_stats())), (1, 1))
    c.disconnect_all()


def binary_memcached_round_trip():
    c = bmemcached.Client([f"{HOST}:{PORT}"])
    for value in ("text", b"\0bytes", 42, ["a", {"b": None}]):
        same(c.set("bm", value, time=100), True)
        same(c.get("bm"), value)
    value, cas = c.gets("bm")
    same(c.cas("bm", "new", cas), True)
    same(c.cas("bm", "newer", cas), False)
    same(c.set("bm", LARGE, compress_level=0), True)
    same(c.get("bm"), LARGE)
    same(c.set_multi({f"bm{i}": str(i) for i in range(500)}), [])
    same(c.get_multi([f"bm{i}" for i in range(500)]), {f"bm{i}": str(i) for i in range(500)})
    same(c.add("bm", 1), False)
    same(c.replace("bm_none", 1), False)
    same(c.incr("bmn", 5, default=40), 40)
    same(c.incr("bmn", 5), 45)
    same(c.decr("bmn", 3), 42)
    same(c.delete("bm"), True)
    same(c.get("bm"), None)
    stats = next(iter(c.stats().values()))
    same({"curr_items", "cmd_get", "threads", "version"} <= set(stats), True)
    c.disconnect_all()


for case in (pymemcache_round_trip, python_memcached_round_trip, binary_memcached_round_trip):
    try:
        case()
        print("ok -", case.__name__.replace("_", " "), flush=True)
    except Exception:
        print("not ok -", case.__name__.replace("_", " "))
        print("   ", traceback.format_exc().strip().replace("\n", "\n    "), flush=True)
