"""The build that is shipped, optimised with a profile of its work.

bench_request is built to count its own branches, and runs the cores of the appliance and of the load generator
for some seconds. Then everything is built again with these counts (GCC's -fprofile-use). Neither NIC nor root
is needed. Code that the bench never runs is compiled as usual (-fprofile-partial-training). The profile is of
one compiler and one state of the sources, so it is made where the program is built and made again when either
changes.
"""

import hashlib
import os
import pathlib
import subprocess

import build_tree
from progress import Failed, Step

CASES = ("udp_mix", "udp_set", "tcp_mix", "tcp_set", "tcp_pipelined_mix", "tcp_multiget")
KEYS, REQUESTS, MULTIGETS = 100_000, 300_000, 3_000
OPTIONS = [*build_tree.RELEASE, "-Dc_args=-fprofile-partial-training -Wno-missing-profile"]
TRAINER = "tests/bench/bench_request"
LIMIT_S = 120


def default_folder():
    plain = build_tree.default_folder()
    return plain.with_name(plain.name + "-trained")


def _sources():
    """Returns a number for the sources that a profile depends on."""
    root, digest = build_tree.ROOT, hashlib.sha256()
    digest.update(subprocess.run(["cc", "--version"], capture_output=True, check=True).stdout)
    for folder in ("lib", "app", "tests/bench", "tests/load"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".in") or path.name == "meson.build":
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    for name in ("meson.build", "tools/py/trained_tree.py"):
        digest.update((root / name).read_bytes())
    return digest.hexdigest()


def _train(folder):
    with Step("training on its own bench") as step:
        for number, case in enumerate(CASES, 1):
            step.note = f"[{number}/{len(CASES)}] {case}"
            requests = MULTIGETS if case == "tcp_multiget" else REQUESTS
            done = subprocess.run([folder / TRAINER, case, "--keys", str(KEYS), "--runs", "1",
                                   "--requests", str(requests)], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=LIMIT_S)
            if done.returncode != 0:
                raise Failed(f"{TRAINER} {case}: {done.stderr.strip()[-400:]}")


def build(folder, targets=("app/clockoo", "tests/load/clockoo-load")):
    """Brings the targets in folder up to date, with a profile of these sources."""
    folder = pathlib.Path(folder).absolute()
    stamp, now = folder / "trained-on", _sources()
    if not stamp.exists() or stamp.read_text() != now:
        stamp.unlink(missing_ok=True)
        if (folder / "build.ninja").exists():
            build_tree.configure(folder, "-Db_pgo=generate")
        for old in folder.rglob("*.gcda"):
            old.unlink()
        build_tree.build(folder, [*OPTIONS, "-Db_pgo=generate"], [TRAINER], "building for training")
        _train(folder)
        build_tree.configure(folder, "-Db_pgo=use")
        stamp.write_text(now)
    build_tree.build(folder, OPTIONS, targets)


if __name__ == "__main__":
    build(pathlib.Path(os.environ.get("CLOCKOO_TRAINED", default_folder())))
