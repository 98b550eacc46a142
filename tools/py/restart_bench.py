"""tools/bench restart: which items survive a stop, a kill and the next start, and how long these take.

The appliance (af_packet, --memory-file on a tmpfs) and Debian's memcached (-e, SIGUSR1) are filled by a kernel client,
ended and started again. Then the appliance serves four writers that keep a journal, is killed during their writes, and
all keys are compared with the journal, again and again. A model of the store is cut off after any of its stores. In the
same run: what a core checks and repairs by itself, and what a request costs with the store in a shared file.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import appliance
import budget
import build_tree
import netns
from bench_figures import Figures, spread, table
from links import PORT, Bed, checked, inside
from progress import Failed, Step, say

TMPFS = "/dev/shm"
CLIENT = pathlib.Path(__file__).with_name("restart_client.py")
HEAD = 56           # most bytes of an item besides its value: key, head, and padding to its class's size
# Bytes of a value, MB of all values, one key in this many is deleted (0: none), whether the mount has huge pages.
SHAPES = (1000, 1024, 0, True), (200, 512, 0, True), (40, 192, 0, True), (40, 192, 0, False), (16, 96, 2, True)
QUICK_SHAPES = (1000, 192, 0, True), (40, 24, 0, True), (16, 12, 2, True)
REPAIRED = (40, 192), (40, 24)
CORES = min(2, os.cpu_count())  # cores that attach to the store
# bench_open: MiB and runs of 64 bytes an item.
ALONE, QUICK_ALONE = (1024, 7), (256, 4)
REQUESTS, QUICK_REQUESTS = ("udp_get", "udp_set", "tcp_get", "tcp_set"), ("udp_get",)
TARGETS = ("tests/stress/cuts", "tests/stress/cuts_gaps", "tests/bench/store/bench_open", "tests/bench/store/bench_save",
           "tests/bench/bench_request")
STARTS, QUICK_STARTS = 5, 2
KILLS, QUICK_KILLS = 500, 20
QUICK_KILLS_S = 25.0  # time limit of quick kills
KILL_MB, FULL_MB, KILL_CORES = 64, 32, 2
KILLS_A_FILE = 10     # then a new file begins: its index grows and, in every second file, shrinks
# Shapes of tests/stress/cuts.c: calls, and the number of cuts for each successor.
MODEL = {"small": (1600, 25), "crowded": (900, 25), "resized": (160, 30), "pages": (300, 30), "claims": (45, 30),
         "limits": (70, 30), "two": (600, 30), "two-pages": (150, 30)}
QUICK_MODEL = {"small": (40, 20), "resized": (4, 30), "pages": (6, 30), "two": (10, 30)}
MODEL_LIMIT_S = ALONE_LIMIT_S = 1800
SUCCESSORS = re.compile(r"(\d+) cuts, .* (\d+) successors, .* (\d+) opened anew$", re.M)
WRITES_S = (0.02, 0.4)
# MB of memory, bytes of a value, level of igzip (None: not compressed). The first row is compared with dd.
SAVES = ((4096, 1000, None), (4096, 20_000, None), (2048, 64, None), (2048, 1000, 0))
QUICK_SAVES = ((768, 1000, None), (256, 64, None), (256, 1000, 0))
SAVE_ROUNDS, QUICK_SAVE_ROUNDS = 5, 2
# A snapshot beside gets: MB of memory, bytes of a value, ms of gets with and without it, rounds.
SNAPSHOT, QUICK_SNAPSHOT = (1024, 1000, 3000, 7), (192, 1000, 1000, 3)
SAVED = re.compile(r"saved (\d+) items, .* in ([\d.]+) s .*, snapshot_skew_ms (\d+)$", re.M)
PEER_HOST = "127.0.0.1"
PEER_AWAY_S = 4.0
RECOVERY = re.compile(r"recovery (start|end) \[(\d+)\.(\d+)\]")


def recovery_s(said):
    """Returns the seconds from "recovery start" to "end" in the output of memcached -v, whose microseconds have no
    leading zeros, or None."""
    times = {what: int(s) + int(us) / 1e6 for what, s, us in RECOVERY.findall(said)}
    return times["end"] - times["start"] if len(times) == 2 else None


class RestartBed(Bed):
    SIDES = ("c", "s", "k")

    def make(self, ledger):
        self._ledger, self.server = ledger, None
        self.client_ns, self.peer_ns = f"{ledger.name}-c", f"{ledger.name}-k"
        self._folder = pathlib.Path(self._undo.enter_context(
            tempfile.TemporaryDirectory(prefix="clockoo-bench-", dir=TMPFS)))
        self._folder.chmod(0o755)
        self._huge = self._huge_folder()
        self.take_pages(True)
        self.wire = netns.Wire(ledger.name, "af_packet")
        self.wire.lay()
        mac = json.loads(checked(*inside(self.wire.server), "ip", "-j", "link", "show", "v0"))[0]["address"]
        checked(*inside(self.client_ns), "ip", "neigh", "replace", self.wire.host, "lladdr", mac, "dev", "v1", "nud",
                "permanent")
        self._undo.callback(self.end)

    def _huge_folder(self):
        """Returns a tmpfs with pages of 2 MiB, or the other folder if there can be none."""
        folder = self._folder / "huge"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "huge=always,mode=755", "none", folder],
                              capture_output=True)
        if done.returncode != 0:
            return self._folder
        self._undo.callback(subprocess.run, ["umount", "-l", folder], capture_output=True)
        return folder

    # ---- the appliance ----

    def take_pages(self, huge):
        """Chooses the mount for the file of later starts: one with huge pages, or one like /dev/shm."""
        self._memory = (self._huge if huge else self._folder) / "memory"

    def page_kb(self):
        """Returns the page size with which the file is mapped."""
        text = pathlib.Path(f"/proc/{self.server.pid}/smaps_rollup").read_text()
        return 2048 if re.search(r"^ShmemPmdMapped: +[1-9]", text, re.M) else 4

    def keeping(self):
        """Returns the options by which a later process finds this one's items."""
        return ["-e", str(self._memory), "--keep-for", "always"]

    def start(self, mebibytes, cores=1):
        command = [str(self._programs / "app/clockoo"), "--config", "none", "--port", "af_packet", "--iface",
                   self.wire.iface, "--address", f"{self.wire.host}/{netns.PREFIX_LEN}", "-p", str(PORT), "-U", "0",
                   "-m", str(mebibytes), "-c", "64", "-t", str(cores), "--share-cpus", "--probe", "off", "--file-prefix",
                   self._ledger.name, "--data-dir", str(build_tree.ROOT / "drivers-config"), "--yield", *self.keeping()]
        self.server, _ = appliance.start(command, self.wire, self._ledger, True)

    def kill(self):
        os.kill(self.server.pid, signal.SIGKILL)
        if not self.server.wait(appliance.STOP_WAIT_S):
            raise Failed("the appliance did not end by SIGKILL")

    def end(self):
        if self.server is not None:
            self.server.stop()

    def scratch(self):
        """Returns a file for another server's store."""
        return self._memory.with_name("other")

    def forget(self):
        self._memory.unlink(missing_ok=True)

    # ---- memcached ----

    def memcached(self, mebibytes, client):
        """Starts memcached with the same file each time, and waits until it answers."""
        own = self._folder / "memcached"
        if not own.exists():
            own.mkdir()
            shutil.chown(own, "nobody", "nogroup")
            self._undo.callback(self.end_memcached, signal.SIGKILL)
        # memcached refuses to run as root. The death signal is set last, because changing the user clears it.
        with open(self._folder / "said", "w") as said:
            self.peer = subprocess.Popen(
                [*inside(self.peer_ns), "setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
                 "--pdeathsig", "KILL", "memcached", "-l", PEER_HOST, "-p", str(PORT), "-U", "0", "-t", "1", "-m",
                 str(mebibytes), "-e", str(own / "memory"), "-v"], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=said)
        client.ask("reach")

    def memcached_recovery_s(self):
        """Returns the seconds that it reports for its last start; None: it started empty."""
        return recovery_s((self._folder / "said").read_text())

    def end_memcached(self, number):
        if self.peer.poll() is None:
            self.peer.send_signal(number)
            self.peer.wait(appliance.STOP_WAIT_S)

    # ---- clients ----

    def client(self, ns, host):
        return Client(ns, host)


class SnapshotBed(RestartBed):
    """An appliance with --memory-save, which is saved while it serves."""

    def keeping(self):
        return ["--memory-save", str(self.scratch())]

    def save(self, path):
        """Saves. Returns what it reports: items, seconds, snapshot_skew_ms."""
        said = SAVED.search(checked(*inside(self.wire.server), str(self._programs / "app/clockoo"), "save", str(path), "--config",
                                    "none", "--file-prefix", self._ledger.name))
        if said is None:
            raise Failed("clockoo save says something else")
        return {"items": int(said[1]), "s": float(said[2]), "skew_ms": int(said[3])}


class Client:
    """A client: `with Client(...) as c`, then c.ask("fill", 1000, 16) returns the row."""

    def __init__(self, ns, host):
        self._child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *inside(ns), sys.executable, "-B", str(CLIENT),
                                        host, str(PORT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.kill()
        self._child.communicate()

    def tell(self, *words):
        self._child.stdin.write(" ".join(map(str, words)) + "\n")
        self._child.stdin.flush()

    def row(self):
        line = self._child.stdout.readline()
        if not line:
            raise Failed("the client of the restart ended")
        return json.loads(line)

    def ask(self, *words):
        self.tell(*words)
        return self.row()


def keys_of(size, mebibytes):
    return (mebibytes << 20) // (size + HEAD)


def restarts(bed, client, size, mebibytes, step, times, end, cores=1):
    """Fills a server, then ends and starts it several times. Returns rows of the items that were kept."""
    keys = keys_of(size, mebibytes)
    rows = []
    bed.forget()
    bed.start(2 * mebibytes, cores)
    client.ask("fill", keys, size)
    if step:
        client.ask("drop", keys, step)
    before = client.ask("check", keys, size)["kept"]
    for _ in range(times):
        end()
        bed.start(2 * mebibytes, cores)
        s = client.ask("stats")
        rows.append(client.ask("check", keys, size) |
                    {"before": before, "us": int(s["restart_us"]), "kind": s["restart"],
                     "gb": int(s["bytes"]) / 1e9, "page_kb": bed.page_kb(), "kept_said": int(s["restart_kept"]),
                     "holes": 1 - s["used_chunks"] / max(1, s["total_chunks"]), "object": int(s["bytes"]) / max(1, before)})
    bed.end()
    return rows


def measure_attach(bed, client, quick, figures):
    ratios, lines, wrong = [], [], 0
    for number, (size, mebibytes, step, huge) in enumerate(QUICK_SHAPES if quick else SHAPES):
        bed.take_pages(huge)
        with Step(f"graceful restarts with {mebibytes} MB of {size} bytes"):
            rows = restarts(bed, client, size, mebibytes, step, QUICK_STARTS if quick else STARTS, bed.end, CORES)
        bed.forget()
        ratios += [r["kept"] / r["before"] for r in rows]
        wrong += sum(r["wrong"] for r in rows)
        per_gb = [r["us"] / 1000 / r["gb"] for r in rows]
        name = "attach_ms_per_gb" + ("" if number == 0 else f"_{size}" + ("_holes" if step else "") +
                                     ("" if huge else "_plain_tmpfs"))
        figures.keep(name, per_gb)
        figures.keep(f"{name}_object_bytes", [rows[0]["object"]], 0)
        figures.keep(f"{name}_holes", [rows[0]["holes"]])
        figures.keep(f"{name}_page_kb", [rows[0]["page_kb"]], 0)
        lines.append([size, rows[0]["page_kb"], f"{rows[0]['object']:.0f}", f"{rows[0]['gb']:.2f}", f"{rows[0]['holes']:.2f}",
                      spread(per_gb, 2), rows[0]["kind"]])
    figures.keep("kept_ratio_graceful", [min(ratios)], 6)
    figures.keep("wrong_after_stop", [wrong], 0)
    bed.take_pages(True)
    figures.keep("attach_cores", [CORES], 0)
    table(f"A graceful stop and the next start, {CORES} cores", ["value", "KB a page", "object bytes", "GB", "share of holes",
                                                            "attach ms/GB", "kind"], lines)


def measure_repair(bed, client, quick, figures):
    size, mebibytes = REPAIRED[quick]
    with Step(f"repairs of {mebibytes} MB of {size} bytes"):
        rows = restarts(bed, client, size, mebibytes, 0, QUICK_STARTS if quick else STARTS, bed.kill)
    if {r["kind"] for r in rows} != {"repaired"}:
        raise Failed(f"a kill was followed by {rows[0]['kind']}, not by a repair")
    figures.keep("repair_mitems_per_core", [r["kept_said"] / max(1, r["us"]) for r in rows])
    figures.keep("repair_ms_per_gb", [r["us"] / 1000 / r["gb"] for r in rows])
    figures.keep("repair_page_kb", [rows[0]["page_kb"]], 0)
    figures.keep("kept_ratio_killed", [min(r["kept"] / r["before"] for r in rows)], 6)


def opened(programs, mebibytes, runs, cores):
    """Returns the rows of bench_open: attachments and repairs."""
    done = subprocess.run([programs / "tests/bench/store/bench_open", "--memory", str(mebibytes), "--runs", str(runs),
                           "--cores", str(cores)], stdout=subprocess.PIPE, text=True, timeout=ALONE_LIMIT_S)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or not rows:
        raise Failed("bench_open failed")
    return [[r for r in rows if r["kind"] == kind] for kind in ("attach", "repair")]


def measure_alone(programs, quick, figures):
    """Measures attachments and repairs in memory of huge pages, half full: the CPU time of the slowest core, the least
    of some runs."""
    mebibytes, runs = QUICK_ALONE if quick else ALONE
    with Step(f"checks and repairs of {mebibytes} MiB on one core, and on {CORES}"):
        (attached, repaired), (shared, _) = (opened(programs, mebibytes, runs, cores) for cores in (1, CORES))
    one, all_cores = (round(min((r["check_ns"] + r["pages_ns"]) * 1e3 / r["item_bytes"] for r in rows), 2)
                      for rows in (attached, shared))
    figures.figures |= {
        "crc_gbytes_per_s_core": round(max(r["summed_bytes"] / r["check_ns"] for r in attached), 2),
        "attach_core_ms_per_gb_40": one, "attach_cores_ms_per_gb_40": all_cores,
        "repair_core_mitems": round(max(r["items"] * 1e3 / (r["clear_ns"] + r["walk_ns"] + r["pages_ns"])
                                        for r in repaired), 2)}


def measure_requests(bed, programs, quick, figures):
    """Returns the instructions of a request with the store in a shared file, divided by those with private
    memory."""
    program, ratios = programs / "tests/bench/bench_request", {}
    if shutil.which("valgrind") is None:
        say("no valgrind: get_cycles_ratio is not measured")
        return
    for case in QUICK_REQUESTS if quick else REQUESTS:
        with Step(f"{case}: instructions with a shared file and without"):
            private, shared = (budget.instructions(program, case, *options)["instructions"]
                               for options in ((), ("--memory-file", bed.scratch())))
        ratios[case] = round(shared / private, 4)
    figures.figures |= {"get_cycles_ratio": max(ratios[case] for case in ratios if case.endswith("get")),
                        "request_cycles_ratios": ratios}


def one_life(bed, client, number, told):
    """Starts the appliance, judges what it kept by the journal of earlier lives, and sends it writes."""
    full = number // KILLS_A_FILE % 2
    if number % KILLS_A_FILE == 0:
        bed.forget()
        client.ask("anew")
    bed.start(FULL_MB if full else KILL_MB, KILL_CORES)
    client.tell("write", number, full)
    found = client.row()
    if found["evictions"] != 0:
        raise Failed("items were evicted: the journal says nothing then")
    for name, value in found.items():
        told[name] = told.get(name, 0) + value


def kill_life(bed, client):
    bed.kill()
    client.tell("gone")
    return client.row()


def measure_kills(bed, client, quick, figures):
    rng, told, kills, wanted = random.Random(1), {}, 0, QUICK_KILLS if quick else KILLS
    deadline = time.monotonic() + QUICK_KILLS_S
    with Step("kills amid the writes of four clients") as step:
        while True:
            one_life(bed, client, kills, told)
            if kills == wanted or quick and time.monotonic() > deadline:
                break
            time.sleep(rng.uniform(*WRITES_S))
            sums = kill_life(bed, client)
            kills += 1
            step.note = f"{kills} kills, {sums['acknowledged']} writes"
        kill_life(bed, client)
    figures.figures |= {"kills_real": kills, "kills_writes": sums["acknowledged"], "kills_checked": told["checked"],
                        "kills_index_grown": sums["grown"], "kills_index_shrunk": sums["shrunk"],
                        "kills_pages_moved": sums["moved"], "kills_amid_resize": told["amid_resize"],
                        "wrong_after_kill": told["wrong"], "resurrected": told["resurrected"],
                        "lost_after_kill": told["lost"],
                        "lost_ratio_after_kill": round(told["lost"] / max(1, told["live"]), 8)}


def measure_model(programs, quick, figures):
    """Runs the model: it is cut off after stores of its write paths, repaired by another process, and judged. Failed if
    it lies."""
    shapes = QUICK_MODEL if quick else MODEL

    def run(shape):
        calls, of = shapes[shape]
        program = programs / "tests/stress" / ("cuts_gaps" if shape.startswith("two") else "cuts")
        return subprocess.run([program, shape, str(calls), "1", str(of)], capture_output=True, text=True,
                              timeout=MODEL_LIMIT_S)

    cuts = kills = 0
    with Step("a model cut off amid its writes"), concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        runs = dict(zip(shapes, pool.map(run, shapes)))
    for shape, done in runs.items():
        said = SUCCESSORS.search(done.stdout)
        if done.returncode != 0 or said is None:
            raise Failed(f"cuts {shape} {shapes[shape]}: {done.stdout.strip()[-400:]}")
        cuts, kills = cuts + int(said[1]), kills + int(said[2]) + int(said[3])  # a successor may also be cut off
    figures.figures |= {"kills_model": kills, "kills_model_cuts": cuts, "kills": kills + figures.figures["kills_real"]}


def dd(path, megabytes):
    """Returns (written, read) in GB a second, bypassing the kernel's cache. Written data is on the disk at the
    end."""
    rates = []
    for words in ((f"if=/dev/zero of={path} oflag=direct conv=fsync", f"if={path} of=/dev/null iflag=direct")):
        begun = time.monotonic()
        checked("dd", *words.split(), "bs=1M", f"count={megabytes}")
        rates.append((megabytes << 20) / 1e9 / (time.monotonic() - begun))
    path.unlink()
    return rates


def measure_save(programs, quick, figures):
    """Saves a store's items to the disk of the build folder and loads them, in turns with dd of as many bytes."""
    program, lines = programs / "tests/bench/store/bench_save", []
    with tempfile.TemporaryDirectory(prefix="saved-", dir=programs) as folder:
        path = pathlib.Path(folder) / "items"
        for number, (mebibytes, size, level) in enumerate(QUICK_SAVES if quick else SAVES):
            rows, rates = [], []
            with Step(f"saves and loads of {mebibytes} MB of {size} bytes"):
                for _ in range(QUICK_SAVE_ROUNDS if quick else SAVE_ROUNDS):
                    said = checked(*map(str, (program, path, mebibytes, size, *([] if level is None else [level]))))
                    rows.append(json.loads(said))
                    if number == 0:
                        rates.append(dd(path, rows[-1]["bytes"] >> 20))
            end = "" if number == 0 else f"_{size}" + ("" if level is None else f"_igzip{level}")
            saved = figures.keep(f"save_gbytes_per_s{end}", [r["bytes"] / 1e9 / r["save_s"] for r in rows])
            loaded = figures.keep(f"load_gbytes_per_s{end}", [r["bytes"] / 1e9 / r["load_s"] for r in rows])
            figures.keep(f"load_mitems_per_s{end}", [r["loaded"] / 1e6 / r["load_s"] for r in rows])
            if number == 0:
                figures.figures["save_by"] = rows[0]["how"]
                figures.keep("dd_write_gbytes_per_s", [w for w, _ in rates])
                figures.keep("dd_read_gbytes_per_s", [r for _, r in rates])
                figures.keep("save_ratio_dd", [r["bytes"] / 1e9 / r["save_s"] / w for r, (w, _) in zip(rows, rates)])
                figures.keep("load_ratio_dd", [r["bytes"] / 1e9 / r["load_s"] / w for r, (_, w) in zip(rows, rates)])
            lines.append([size, "-" if level is None else level, saved, loaded,
                          figures.figures[f"load_mitems_per_s{end}"]])
    table(f"memory.save, by {figures.figures['save_by']}; dd writes {figures.figures['dd_write_gbytes_per_s']} and reads "
          f"{figures.figures['dd_read_gbytes_per_s']} GB/s", ["value", "igzip", "save GB/s", "load GB/s", "M items/s"], lines)


def measure_snapshot(programs, quick, figures):
    """Measures gets of one client, without a save and beside saves of all items in turns."""
    mebibytes, size, ms, rounds = QUICK_SNAPSHOT if quick else SNAPSHOT
    keys, ratios, saves = keys_of(size, mebibytes), [], []
    with tempfile.TemporaryDirectory(prefix="saved-", dir=programs) as folder, SnapshotBed(programs) as bed, \
            Step(f"gets beside saves of {mebibytes} MB") as step:
        bed.start(2 * mebibytes)
        with bed.client(bed.client_ns, bed.wire.host) as client:
            client.ask("fill", keys, size)
            for _ in range(rounds):
                alone = client.ask("gets", keys, size, ms)
                client.tell("gets", keys, size, ms)
                end = time.monotonic() + ms / 1000
                while time.monotonic() < end:
                    saves.append(bed.save(pathlib.Path(folder) / "items"))
                beside = client.row()
                if alone["wrong"] + beside["wrong"] != 0 or saves[-1]["items"] != keys:
                    raise Failed(f"{alone['wrong']} and {beside['wrong']} gets were wrong, {saves[-1]['items']} items saved")
                ratios.append({p: beside[p] / alone[p] for p in ("p50_us", "p99_us")})
                step.note = f"{ratios[-1]['p99_us']:.2f}"
    figures.keep("snapshot_get_p99_ratio", [r["p99_us"] for r in ratios])
    figures.keep("snapshot_get_p50_ratio", [r["p50_us"] for r in ratios])
    figures.keep("snapshot_skew_ms", [s["skew_ms"] for s in saves], 0)
    figures.keep("snapshot_gbytes_per_s", [keys * (size + HEAD) / 1e9 / s["s"] for s in saves])


class Memcached:
    """A memcached that is filled and stopped before the appliance's turn, and is started again when it has been down
    for PEER_AWAY_S. Started sooner, memcached 1.6.18 refuses its file as one from the future."""

    def __init__(self, bed, quick):
        size, mebibytes, *_ = (QUICK_SHAPES if quick else SHAPES)[0]
        self._keys, self._size, self._mebibytes = keys_of(size, mebibytes), size, 2 * mebibytes
        self._bed = bed

    def _kept(self, client):
        return client.ask("check", self._keys, self._size)["kept"]

    def leave(self):
        with Step("memcached -e: filled and stopped"), self._bed.client(self._bed.peer_ns, PEER_HOST) as client:
            self._bed.memcached(self._mebibytes, client)
            client.ask("fill", self._keys, self._size)
            self._before, self._gb = self._kept(client), int(client.ask("stats")["bytes"]) / 1e9
            self._bed.end_memcached(signal.SIGUSR1)
            self._left_s = time.monotonic()

    def measure(self, figures):
        with Step("memcached -e: started again"), self._bed.client(self._bed.peer_ns, PEER_HOST) as client:
            time.sleep(max(0.0, self._left_s + PEER_AWAY_S - time.monotonic()))
            self._bed.memcached(self._mebibytes, client)
            figures.keep("memcached_kept_ratio", [self._kept(client) / self._before], 6)
            recovery_s = self._bed.memcached_recovery_s()
            if recovery_s is not None:
                figures.keep("memcached_attach_ms_per_gb", [1000 * recovery_s / self._gb])
            self._bed.end_memcached(signal.SIGKILL)
            self._bed.memcached(self._mebibytes, client)
            figures.keep("memcached_kept_ratio_killed", [self._kept(client) / self._before], 6)
            self._bed.end_memcached(signal.SIGKILL)


def measure(programs, quick, keep):
    figures = Figures()
    with RestartBed(programs) as bed, bed.client(bed.client_ns, bed.wire.host) as client:
        peer = Memcached(bed, quick) if shutil.which("memcached") else None
        if peer is not None:
            peer.leave()
        for part in (measure_attach, measure_repair, measure_kills):
            part(bed, client, quick, figures)
            keep(figures.figures)
        measure_requests(bed, programs, quick, figures)
        measure_model(programs, quick, figures)
        measure_alone(programs, quick, figures)
        if peer is not None:
            peer.measure(figures)
    keep(figures.figures)
    measure_snapshot(programs, quick, figures)
    measure_save(programs, quick, figures)
    keep(figures.figures)
    f = figures.figures
    table("What is kept", ["after", "the appliance", "memcached -e"], [
        ["a graceful stop", f["kept_ratio_graceful"], f.get("memcached_kept_ratio", "-")],
        ["SIGKILL", f["kept_ratio_killed"], f.get("memcached_kept_ratio_killed", "-")],
        ["start, ms/GB", f["attach_ms_per_gb"], f.get("memcached_attach_ms_per_gb", "-")]])
    print(f"\n  repair: {f['repair_mitems_per_core']} M items a second and core ({f['repair_core_mitems']} by CPU time "
          f"alone). Checksums: {f['crc_gbytes_per_s_core']} GB/s a core. {f['kills_real']} kills amid {f['kills_writes']} "
          f"writes, {f['kills_model']} cuts of a model: {f['wrong_after_kill']} wrong, {f['resurrected']} back from "
          f"the dead, {f['lost_after_kill']} lost of {f['kills_checked']} looked for", flush=True)
    return figures.figures
