"""Finds which rows of lib/admin/STATS.md running appliances show in /metrics and on their page (/api/all).

SETUPS are appliances of several kinds on ports without a NIC: together they have every part that has rows.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STATS = ROOT / "lib/admin/STATS.md"
# Replies of which STATS.md lists only some rows: {reply: (file, table of its rows)}.
TABLES = {"stats": ("admin/admin_stats.c", "STATS_ROWS"), "stats settings": ("admin/admin_stats.c", "SETTINGS_ROWS"),
          "stats items": ("admin/admin_class_stats.c", "ITEMS_ROWS"), "stats slabs": ("admin/admin_class_stats.c", "SLABS_ROWS"),
          "stats extstore": ("flash/flash_stats.c", "EXTSTORE_ROWS")}
READY_S = 60
POLL_S = 0.1
FLASH_MB = 300
# {name: options}; FOLDER stands for one of its own. A tap has a network namespace to itself.
SETUPS = {
    "one core": ["--port", "null"],
    "more cores": ["--port", "null", "--lcores", "0@CPU,1@CPU"],
    "a front": ["--port", "null", "--front-servers", "10.99.0.9:11211:1 a,10.99.0.8:11211:1 b"],
    "a flash tier": ["--port", "null", "--flash-device", "FOLDER/flash"],
    "a tap": ["--port", "tap", "--iface", "shown0"],
    "items": ["--port", "memif", "--socket", "FOLDER/memif"],
    "TLS": ["--port", "null", "-U", "0", "-Z", "-o", "ssl_chain_cert=FOLDER/cert,ssl_key=FOLDER/key"],
    "a front by the kernel": ["--port", "null", "--front-servers", "unix:/nowhere/memcached.sock:1 a"],
    "a front with TLS": ["--port", "null", "--front-servers", "10.99.0.9:11211:1 a", "--front-tls-ca", "FOLDER/cert"],
}
OPTIONAL = ("a tap", "TLS", "a front with TLS")  # setups that some machines (no tap) or programs (no OpenSSL) lack
CERTIFICATE = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=shown"]
# Names that no setup here has: they need servers, a tier under conversion, a cloud's NIC, a bond, or a NIC shared with
# the kernel.
NOT_HERE = re.compile(r"flash_convert_\w+|nic_\w+_allowance_\w+|kernel_(?:written|drop_refused|read)|bond_\w+")


class Local(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=READY_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(READY_S)
        self.sock.connect(self.path)


def get(path, what):
    c = Local(path)
    c.request("GET", what)
    text = c.getresponse().read().decode()
    c.close()
    return text


@contextlib.contextmanager
def served(program, name, *more):
    """Runs an appliance of this setup. Yields its folder, whose socket `http` serves HTTP; None: this machine cannot
    run it."""
    with tempfile.TemporaryDirectory(prefix="clockoo-shown-") as folder:
        with open(f"{folder}/flash", "wb") as file:
            file.truncate(FLASH_MB << 20)
        if "TLS" in name and shutil.which("openssl") is not None:
            subprocess.run([*CERTIFICATE, "-keyout", f"{folder}/key", "-out", f"{folder}/cert"], stdin=subprocess.DEVNULL,
                           capture_output=True, check=True)
        cpu = str(min(os.sched_getaffinity(0)))
        words = [w.replace("FOLDER", folder).replace("CPU", cpu) for w in SETUPS[name]]
        command = [str(program), "--no-huge", "--yield", "-m", "16", "-c", "64", "--config", "none", "-U", "11211", "--data-dir",
                   str(ROOT / "drivers-config"), "--file-prefix", f"shown-{os.getpid()}", "--telemetry-http", f"{folder}/http",
                   *words, *more]
        if "tap" in words:
            command = ["unshare", "-n", *command]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            ready = "ready" in child.stdout.readline()
            if not ready and name not in OPTIONAL:
                raise RuntimeError(child.communicate()[1])
            yield folder if ready else None
        finally:
            child.terminate()
            child.communicate(timeout=READY_S)


def counters(text):
    """Returns the names of the counters of STATS.md in a text: lines `name: words` or `prefix_{a,b}: words` of
    a block."""
    lines = re.findall(r"^(\w+)(?:\{([\w,]+)\})?: ", "".join(re.findall(r"^```\n(.*?)^```", text, re.M | re.S)), re.M)
    return [first + last for first, lasts in lines for last in lasts.split(",")]


def table(reply):
    """Returns the names of a reply's rows, from the program's table."""
    file, name = TABLES[reply]
    text = (ROOT / "lib" / file).read_text().partition(f"#define {name}(X)")[2]
    return re.findall(r'X\(\w+, "(\w+)"', text.partition("\n\n")[0])


def sections():
    """Returns {reply: names} of STATS.md, completed from the program's tables."""
    found = {reply: table(reply) for reply in TABLES}  # rows that a page need not name
    for part in STATS.read_text().split("\n## ")[1:]:
        reply, _, text = part.partition("\n")
        names = counters(text)
        for line in text.splitlines():
            if re.fullmatch(r"(?:[a-z][a-z0-9_]*\b ?)+", line.strip()) and ("_" in line or reply == "stats"):
                names += line.split()
        names += [n for n in (table(reply) if reply in TABLES else []) if n not in names]
        found[reply] = [n for n in names if n != "name"]  # "name" is a label
    return found


def shown(metrics, everything):
    """Returns (reply, row) of all rows that are a metric and on the page."""
    helped = set(re.findall(r"^# HELP \S+ (stats(?: \w+)?) (\S+?):?(?: .*)?$", metrics, re.M))
    pages = {(reply if reply == "stats" else f"stats {reply}", n) for reply, rows in everything.items() if isinstance(rows, dict)
             for name, row in rows.items() for n in ([name, *row] if isinstance(row, dict) else [name])}
    # In /metrics a row of the latency table is followed by its figures.
    latency = {("stats latency", name) for name in everything.get("latency", {})}
    return (helped & pages) | latency


@contextlib.contextmanager
def loaded(load, folder):
    """Stores all keys, and stays connected until `stats sources` shows the connections."""
    child = subprocess.Popen([str(load), "--no-huge", "--yield", "--port", "memif", "--socket", f"{folder}/memif", "--file-prefix",
                              f"shown-load-{os.getpid()}", "--keys", "500", "--rate", "1000", "--seconds", str(READY_S), "--quiet"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + READY_S
    try:
        while not json.loads(get(f"{folder}/http", "/api/all")).get("sources"):
            if child.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the load generator has no connections")
            time.sleep(POLL_S)
        yield
    finally:
        child.terminate()
        child.wait(timeout=READY_S)


def all_shown(program, load=None):
    """Returns {setup: rows that it shows, or None}. load: the load generator's path, a client of one setup."""
    found = {}
    for name in SETUPS:
        with contextlib.ExitStack() as undo:
            folder = undo.enter_context(served(program, name))
            if folder is not None and name == "items" and load is not None:
                undo.enter_context(loaded(load, folder))
            found[name] = folder and shown(get(f"{folder}/http", "/metrics"), json.loads(get(f"{folder}/http", "/api/all")))
    return found


def missing(found):
    """Returns (the number of rows of STATS.md that could be shown, those that no setup shows)."""
    all_rows = set().union(*filter(None, found.values()))
    wanted = [(reply, name) for reply, names in sections().items() for name in names if not NOT_HERE.fullmatch(name)]
    # Rows of extstore that are also rows of `stats` are listed with the latter in the document.
    return len(wanted), [f"{reply} {name}" for reply, name in wanted if (reply, name) not in all_rows
                         and not (reply == "stats extstore" and ("stats", name) in all_rows)]
