"""More of Python's client libraries, each through its own round trips: asyncio's, and that of the meta commands.
Prints a line a case.

Run by an interpreter that has the libraries; HOST and PORT are the arguments.
"""

import asyncio
import sys
import traceback

import aiomcache
import emcache
import meta_memcache

HOST, PORT = sys.argv[1], int(sys.argv[2])
LARGE = bytes(range(256)) * 3000  # 768 kB of every byte


def same(got, want):
    if got != want:
        raise AssertionError(f"got {got!r:.100}, expected {want!r:.100}")


async def aiomcache_round_trip():
    c = aiomcache.Client(HOST, PORT)
    same(await c.set(b"aio", b"v", exptime=100), True)
    same(await c.get(b"aio"), b"v")
    same(await c.get(b"aio_none", b"default"), b"default")
    same(await c.add(b"aio", b"x"), False)
    same(await c.replace(b"aio_none", b"x"), False)
    same((await c.append(b"aio", b">"), await c.prepend(b"aio", b"<")), (True, True))
    value, cas = await c.gets(b"aio")
    same(value, b"<v>")
    same(await c.cas(b"aio", b"new", cas), True)
    same(await c.cas(b"aio", b"newer", cas), False)
    same(await c.touch(b"aio", 50), True)
    same(await c.set(b"aio", LARGE), True)
    same(await c.get(b"aio"), LARGE)
    names = [b"aio%d" % i for i in range(300)]
    same(await asyncio.gather(*(c.set(name, name) for name in names)), [True] * 300)
    same(await c.multi_get(*names), tuple(names))
    await c.set(b"aion", b"41")
    same((await c.incr(b"aion"), await c.decr(b"aion", 2)), (42, 40))
    same((await c.delete(b"aio"), await c.delete(b"aio")), (True, False))
    same(int((await c.stats())[b"curr_items"]) >= 300, True)
    same((await c.version())[:1].isdigit(), True)
    await c.close()


async def emcache_round_trip():
    node = emcache.MemcachedHostAddress(HOST, PORT)
    c = await emcache.create_client([node], timeout=60, max_connections=4)
    await c.set(b"em", b"v", flags=7, exptime=100)
    item = await c.get(b"em", return_flags=True)
    same((item.value, item.flags), (b"v", 7))
    same(await c.get(b"em_none"), None)
    try:
        await c.add(b"em", b"x")
        raise AssertionError("a key that is there was added")
    except emcache.NotStoredStorageCommandError:
        pass
    await c.append(b"em", b">")
    item = await c.gets(b"em")
    same(item.value, b"v>")
    await c.cas(b"em", b"new", item.cas)
    try:
        await c.cas(b"em", b"newer", item.cas)
        raise AssertionError("a cas number held twice")
    except emcache.StorageCommandError:
        pass
    same((await c.gat(40, b"em")).value, b"new")
    await c.touch(b"em", 30)
    await c.set(b"em", LARGE)
    same((await c.get(b"em")).value, LARGE)
    names = [b"em%d" % i for i in range(300)]
    await asyncio.gather(*(c.set(name, name) for name in names))
    same({key: item.value for key, item in (await c.get_many(names)).items()}, dict(zip(names, names)))
    await c.set(b"emn", b"41")
    same((await c.increment(b"emn", 1), await c.decrement(b"emn", 2)), (42, 40))
    await c.delete(b"em")
    same(await c.get(b"em"), None)
    same(int((await c.stats(node))["curr_items"]) >= 300, True)
    await c.close()


def meta_memcache_round_trip():
    c = meta_memcache.CacheClient.cache_client_from_servers(
        servers=[meta_memcache.ServerAddress(HOST, PORT)], connection_pool_factory_fn=meta_memcache.connection_pool_factory_builder())
    key, number = meta_memcache.Key("mm"), meta_memcache.Key("mmn")
    for value in ("text", b"\0bytes", 42, ["a", {"b": None}], LARGE):
        same(c.set(key, value, ttl=100), True)
        same(c.get(key), value)
    value, cas = c.get_cas(key)
    same(c.set(key, "new", ttl=100, cas_token=cas), True)
    same(c.set(key, "newer", ttl=100, cas_token=cas), False)
    same(c.set(key, "x", ttl=100, set_mode=meta_memcache.SetMode.ADD), False)
    same(c.touch(key, ttl=50), True)
    names = [meta_memcache.Key(f"mm{i}") for i in range(300)]
    for i, name in enumerate(names):
        same(c.set(name, i, ttl=100), True)
    same(c.multi_get(names), dict(zip(names, range(300))))
    same(c.delta_initialize_and_get(number, delta=1, initial_value=41, initial_ttl=100), 41)
    same((c.delta_and_get(number, delta=1), c.delta_and_get(number, delta=-2)), (42, 40))
    same(c.invalidate(key), True)
    same(c.delete(names[0]), True)
    same((c.get(names[0]), c.delete(names[0])), (None, False))
    same(c.get(key), None)
    lease = meta_memcache.LeasePolicy(miss_retries=1)
    same(c.get_or_lease(key, lease_policy=lease), None)  # the first client that misses must fill it
    same(c.set(key, "filled", ttl=100), True)
    same(c.get_or_lease(key, lease_policy=lease), "filled")


for case in (aiomcache_round_trip, emcache_round_trip, meta_memcache_round_trip):
    try:
        asyncio.run(case()) if asyncio.iscoroutinefunction(case) else case()
        print("ok -", case.__name__.replace("_", " "), flush=True)
    except Exception:
        print("not ok -", case.__name__.replace("_", " "))
        print("   ", traceback.format_exc().strip().replace("\n", "\n    "), flush=True)
