"""The items outlive their service, and a restart of the machine: the cache is filled over the wire, ended in several
ways, and has all items again.

Every value follows from its key, so values are compared byte by byte. Times are limits for an answer.
"""

import time

import boot_client

KEYS, LARGE_OF, LARGE_BYTES, BATCH = 2000, 100, 50_000, 40
START_S = 240
LOAD_TRIES, LOAD_STEP_S = 240, 0.5
# How the service is ended, and the kind of start that `stats` shows then.
ENDS = (
    # Installing the package does not restart a running service.
    ("a package upgrade, systemctl restart", "before=$(systemctl show -P MainPID clockoo); "
     "dpkg -i /clockoo.deb 2>&1 && [ $(systemctl show -P MainPID clockoo) = $before ] && "
     "systemctl restart clockoo", "attached"),
    # systemd waits for RestartSec before it restarts the service.
    ("kill -9, and systemd starts it", "before=$(systemctl show -P NRestarts clockoo); "
     "kill -9 $(systemctl show -P MainPID clockoo); for i in $(seq 100); do sleep 0.5; "
     "[ $(systemctl show -P NRestarts clockoo) != $before ] && "
     "[ $(systemctl show -P ActiveState clockoo) = active ] && exit 0; done; exit 1", "repaired"),
)


def key_of(i):
    return f"kept-{i}"


def value_of(i):
    return boot_client.value_of(key_of(i), LARGE_BYTES if i % LARGE_OF == 0 else 100 + i % 1500)


def batches():
    return (range(first, min(first + BATCH, KEYS)) for first in range(0, KEYS, BATCH))


def fill(conn):
    for numbers in batches():
        conn.sendall(b"".join(b"set %s 0 0 %d noreply\r\n%s\r\n" % (key_of(i).encode(), len(value_of(i)), value_of(i))
                              for i in numbers))
    boot_client.expect(conn, b"mn\r\n", b"MN\r\n")


def judge(conn):
    """Compares all keys with their values. A missing or wrong one ends the test."""
    for numbers in batches():
        boot_client.expect(conn, b"get " + b" ".join(key_of(i).encode() for i in numbers) + b"\r\n",
                           b"".join(b"VALUE %s 0 %d\r\n%s\r\n" % (key_of(i).encode(), len(value_of(i)), value_of(i))
                                    for i in numbers) + b"END\r\n")


def stats(conn, *names):
    conn.sendall(b"stats\r\n")
    lines = boot_client.read_until(conn, b"END\r\n").decode().splitlines()[:-1]
    found = dict(line.split(" ", 2)[1:] for line in lines)
    return [found.get(name) for name in names]


def kept(tally, guest, host, clock):
    """Tests each end. Begins and ends with a stopped service."""
    guest.must("systemctl start clockoo", START_S)
    with boot_client.connect(host) as conn:
        fill(conn)
        judge(conn)
        items, = stats(conn, "curr_items")
    print(f"   {items} values are in the cache after {clock():.0f} s", flush=True)
    for words, command, kind in ENDS:
        status, text = guest.run(command, START_S)
        found, took_us, wrong = [], "-", None
        try:
            with boot_client.connect(host) as conn:
                judge(conn)
                *found, took_us = stats(conn, "restart", "restart_kept", "restart_lost", "restart_us")
        except (OSError, boot_client.Wrong) as error:
            wrong = error
        tally.check(f"in a machine: {words}: every value is there",
                    status == 0 and wrong is None and found == [kind, items, "0"],
                    f"{text} {wrong} {found} {guest.run('journalctl -o cat -n 20 -u clockoo')[1]}")
        print(f"   {words}: {took_us} us, after {clock():.0f} s", flush=True)
    guest.must("systemctl stop clockoo", START_S)


def reboot(guest, host):
    """Shuts the machine down while the service runs. Returns the number of its items."""
    with boot_client.connect(host) as conn:
        judge(conn)
        items, = stats(conn, "curr_items")
    guest.ends("systemctl reboot", START_S)
    return items


def loaded(tally, guest, host, items, clock):
    """Tests the machine after its restart: memory.save has restored the items that memory.file has lost."""
    guest.must("systemctl start clockoo", START_S)
    wrong, found, took_us = None, [], "-"
    try:
        with boot_client.connect(host) as conn:
            for _ in range(LOAD_TRIES):
                *found, took_us = stats(conn, "restart", "restart_kept", "restart_lost", "restart_us")
                if found[0] != "loading":
                    break
                time.sleep(LOAD_STEP_S)
            judge(conn)
    except (OSError, boot_client.Wrong) as error:
        wrong = error
    said = guest.run("journalctl -o cat -n 20 -u clockoo")[1]
    tally.check("in a machine: rebooted, with memory.save: every value is there",
                wrong is None and found == ["loaded", items, "0"], f"{wrong} {found} {said}")
    tally.check("in a machine: rebooted: its log line says so",
                f"memory.save: loaded {items} items" in said and "(io_uring, O_DIRECT); 0 lost" in said, said)
    print(f"   rebooted: loaded in {took_us} us, after {clock():.0f} s", flush=True)
