"""The program behind the shell script tools/bench, which lists the parts and the options."""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bench_plot
import bench_report
import budget
import build_tree
import charts
import edge_bench
import filter_bench
import flash_bench
import flood_bench
import front_bench
import idle_bench
import links
import loss_bench
import nic_bench
import operate_bench
import papers_bench
import papers_report
import referee_bench
import restart_bench
import sla_bench
import store_bench
import told_bench
import trained_tree
import vs_bench
from progress import Failed, say


def machine():
    """Returns the properties of this machine that its figures depend on."""
    cpu = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    memory = pathlib.Path("/proc/meminfo").read_text().split()[1]
    load = os.getloadavg()[0]
    return {"cpu": cpu, "cpus": os.cpu_count(), "memory_mb": int(memory) // 1024,
            "kernel": os.uname().release, "load_before": round(load, 2),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}


def folder_of_builds():
    folder = build_tree.default_folder()
    return folder.with_name(folder.name + "-bench")


def build_store(libcuckoo):
    """Builds the store's benches for release, with libcuckoo or without."""
    folder = folder_of_builds()
    option = f"-Dlibcuckoo={libcuckoo or ''}"
    if (folder / "build.ninja").exists():
        build_tree.configure(folder, option)
    build_tree.build(folder, [*build_tree.RELEASE, option],
                     targets=[f"tests/bench/store/{name}" for name in store_bench.PROGRAMS] +
                     list(told_bench.PROGRAMS))
    return folder / "tests/bench/store"


def build_net(*others):
    """Builds the appliance, its clients and other targets for release."""
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE,
                     targets=["app/clockoo", *(f"tests/bench/net/{p}" for p in links.PROGRAMS), *others])
    return folder / "tests/bench/net"


def server_by_path(text):
    name, _, path = text.partition("=")
    if not name.isidentifier() or not path:
        raise argparse.ArgumentTypeError(f"\"{text}\": expected NAME=PATH")
    return name, path


def arguments(argv):
    parser = argparse.ArgumentParser(prog="tools/bench")
    parser.add_argument("what", choices=[*MEASURES, "merge", "plot"])
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("--format", choices=charts.FORMATS, default=charts.FORMATS[0])
    parser.add_argument("--libcuckoo", type=pathlib.Path,
                        default=os.environ.get("CLOCKOO_LIBCUCKOO"))
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("--part", action="append")
    parser.add_argument("--before")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--memcached", action="append", type=pathlib.Path)
    parser.add_argument("--server", action="append", type=server_by_path, metavar="NAME=PATH")
    parser.add_argument("--resume", type=pathlib.Path)
    parser.add_argument("--vary", action="append", type=sla_bench.vary)
    parser.add_argument("--avg", type=sla_bench.limit)
    parser.add_argument("--p99", type=sla_bench.limit)
    parsed = parser.parse_args(argv)
    for part in parsed.part or ():
        if part not in PARTS.get(parsed.what, ()):
            parser.error(f"--part: {parsed.what} has {' '.join(PARTS.get(parsed.what, ['none']))}")
    if parsed.what != "sla" and (parsed.vary or parsed.avg or parsed.p99):
        parser.error("--vary, --avg and --p99 are for sla")
    if parsed.report is not None and parsed.what not in ("filter", "papers", "merge"):
        parser.error("--report is for filter, papers and merge")
    if parsed.what != "papers" and (parsed.server or parsed.resume):
        parser.error("--server and --resume are for papers")
    if (parsed.what in ("merge", "plot")) != bool(parsed.files):
        parser.error("files are for merge and plot, which need some")
    if parsed.trace is not None and (parsed.what != "store" or not parsed.trace.is_file()):
        parser.error("--trace is for store, and a file")
    if parsed.libcuckoo is not None:
        parsed.libcuckoo = pathlib.Path(parsed.libcuckoo).absolute()
        if not (parsed.libcuckoo / "libcuckoo/cuckoohash_map.hh").exists():
            parser.error(f"{parsed.libcuckoo}: no libcuckoo/cuckoohash_map.hh there")
    return parsed


def keep(path, figures):
    if path is None:
        return
    try:
        path.write_text(json.dumps(figures, indent=1) + "\n")
    except OSError as error:
        raise Failed(f"--json: {error}") from error


def has_figures(path):
    try:
        return bool(set(json.loads(path.read_text())) - {"machine", "quick"})
    except (OSError, ValueError):
        return False


def merged(paths):
    """Merges the figures of several runs. A later file's figure replaces an earlier one's."""
    figures, kinds, machines = {}, set(), []
    for path in paths:
        try:
            piece = json.loads(path.read_text())
            kinds.add(piece.pop("quick"))
            machines.append(piece.pop("machine"))
            if "failed" in piece:
                raise Failed(f"merge: {path}: it has no figures: {piece['failed']}")
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise Failed(f"{path}: no figures of tools/bench: {error!r}") from error
        figures |= piece
    if len(kinds) > 1:
        raise Failed("figures of --quick and of full runs are not comparable")
    found = {"machine": machines[-1], "pieces": machines, "quick": kinds.pop(), **figures}
    return papers_bench.computed(found) if papers_bench.has_points(found) else found


def merge(args):
    figures = merged(args.files)
    keep(args.json, figures)
    if args.plot is not None:
        bench_plot.plot(figures, args.plot, args.format)
    if args.report is not None:
        papers_report.write(args.report, figures, figures["machine"])


def plot(args):
    bench_plot.plot_files(args.files, args.plot or pathlib.Path(), args.format)


def build_request():
    """Builds bench_request for release."""
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=["tests/bench/bench_request"])
    return folder / "tests/bench/bench_request"


BEFORE_LINE = """
executable('bench_set', 'bench_set.c', dependencies: [bench_load_dep, store_dep])
"""


def build_before(tree):
    """Builds this tree's bench_set with the store of another tree: a folder of sources, or a revision."""
    folder = build_tree.beside_default("before")
    sources, bench = folder / "sources", folder / "sources/tests/bench/store"
    shutil.rmtree(sources, ignore_errors=True)
    if pathlib.Path(tree).is_dir():
        shutil.copytree(tree, sources, ignore=shutil.ignore_patterns(".git", "build*"))
    else:
        sources.mkdir(parents=True)
        git = subprocess.run(["git", "-C", build_tree.ROOT, "archive", tree], capture_output=True)
        if git.returncode != 0:
            raise Failed(f"--before {tree}: no folder, and git says: {git.stderr.decode().strip()}")
        subprocess.run(["tar", "x", "-C", sources], input=git.stdout, check=True)
    shutil.copy(build_tree.ROOT / "tests/bench/store/bench_set.c", bench)
    steps = bench / "meson.build"
    if "'set':" not in steps.read_text():
        steps.write_text(steps.read_text() + BEFORE_LINE)
    build_tree.build(folder / "build", [*build_tree.RELEASE], ["tests/bench/store/bench_set"],
                     "building what was before:", root=sources)
    return folder / "build/tests/bench/store"


def measure_store(args, keep_figures):
    before = build_before(args.before) if args.before is not None else None
    with store_bench.Bench(build_store(args.libcuckoo), args.quick, args.trace, before,
                           referee_bench.Referee(folder_of_builds() / "referee")) as bench:
        # Figures are written after every part, so a long run that is stopped keeps them.
        store_bench.run(bench, args.part or list(store_bench.PARTS),
                        lambda: keep_figures(bench.figures))
        return bench.figures


def measure_loss(args, keep_figures):
    parts = [part if part == loss_bench.BULK else int(part) for part in args.part or ()]
    return loss_bench.measure(build_net(), args.quick, parts, keep_figures)


def measure_flood(args, keep_figures):
    return flood_bench.measure(build_net("tests/sim/flood_table"), args.quick, args.part or flood_bench.PARTS, keep_figures)


def build_clockoo(*others):
    """Builds the appliance for release, perhaps with some other targets."""
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=["app/clockoo", *others])
    return folder


def measure_idle(args, keep_figures):
    return idle_bench.measure(build_clockoo(), args.quick, keep_figures)


VS_TARGETS = ["app/clockoo", "tests/load/clockoo-load", "tests/bench/bench_request",
              *(f"tests/bench/net/{p}" for p in ("ask", "bench_cores", "bench_wire", "cpu_pair",
                                              "port_echo"))]


def build_vs(quick):
    """Builds both programs and the tools of vs for release; in full runs as they are shipped."""
    folder = folder_of_builds()
    if quick:
        build_tree.build(folder, build_tree.RELEASE, targets=VS_TARGETS)
    else:
        folder = folder.with_name(folder.name + "-trained")
        trained_tree.build(folder, VS_TARGETS)
    return folder / "tests/bench/net"


def measure_vs(args, keep_figures):
    return vs_bench.measure(build_vs(args.quick), args.quick, args.memcached or (), keep_figures)


def measure_sla(args, keep_figures):
    limits = {"avg": args.avg or "1ms", "p99": args.p99 or "1ms"}
    return sla_bench.measure(build_clockoo("tests/load/clockoo-load"), args.quick, args.vary, limits,
                             keep_figures)


def measure_restart(args, keep_figures):
    return restart_bench.measure(build_clockoo(*restart_bench.TARGETS), args.quick, keep_figures)


def measure_front(args, keep_figures):
    parts = args.part or list(front_bench.PARTS)
    targets = ["tests/bench/front/front_level"] if front_bench.BALANCE in parts else []
    if parts != [front_bench.BALANCE]:
        targets += ["app/clockoo", "tests/bench/net/ask", "tests/bench/net/bench_wire", "tests/bench/net/cpu_pair", "tests/bench/net/talk"]
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=targets)
    return front_bench.measure(folder, args.quick, parts, args.memcached or (), keep_figures)


def measure_filter(args, keep_figures):
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=["tests/bench/filter/filter_trial"])
    return filter_bench.measure(folder / "tests/bench/filter", args.quick, keep_figures)


def measure_flash(args, keep_figures):
    parts = args.part or list(flash_bench.PARTS)
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE,
                     targets=sorted({flash_bench.TARGETS.get(part, flash_bench.PROGRAM) for part in parts}))
    return flash_bench.measure(folder, args.quick, parts, keep_figures)


def measure_operate(args, keep_figures):
    parts = args.part or list(operate_bench.PARTS)
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=operate_bench.targets(parts))
    return operate_bench.measure(folder, args.quick, parts, keep_figures)


def measure_tls(args, keep_figures):
    args.part = ["tls"]
    return measure_operate(args, keep_figures)


def measure_nic(args, keep_figures):
    return nic_bench.measure(build_clockoo(*nic_bench.TARGETS[1:]), args.quick, args.part or nic_bench.PARTS, keep_figures)


def measure_budget(args, keep_figures):
    return budget.measure(build_request(), args.keep, machine()["cpu"], keep_figures)


def measure_edge(args, keep_figures):
    build_clockoo(*edge_bench.TARGETS)
    return edge_bench.measure(folder_of_builds() / "tests/bench/net", args.quick, args.part or edge_bench.PARTS, keep_figures)


def measure_reach(args, keep_figures):
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=["tests/sim/reach_table"])
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "reach.json"
        subprocess.run([folder / "tests/sim/reach_table", "--json", path, *["--quick"] * args.quick], check=True)
        figures = json.loads(path.read_text())
    keep_figures(figures)
    return figures


def measure_papers(args, keep_figures):
    names = papers_bench.chosen(args.part)
    kept = papers_bench.resumed(args.resume, args.quick) if args.resume is not None else {}
    folder = folder_of_builds()
    build_tree.build(folder, build_tree.RELEASE, targets=papers_bench.targets([n for n in names if papers_bench.KEY + n not in kept]))
    return papers_bench.measure(folder, args.quick, names, {"servers": dict(args.server or ())}, kept, keep_figures)


MEASURES = {"store": measure_store, "loss": measure_loss, "flood": measure_flood,
            "budget": measure_budget, "nic": measure_nic, "idle": measure_idle, "vs": measure_vs,
            "sla": measure_sla, "restart": measure_restart, "front": measure_front, "filter": measure_filter, "flash": measure_flash,
            "operate": measure_operate, "tls": measure_tls, "papers": measure_papers, "edge": measure_edge,
            "reach": measure_reach}
PARTS = {"papers": papers_bench.NAMES, "edge": edge_bench.PARTS, "flash": flash_bench.PARTS, "operate": operate_bench.PARTS, "front": front_bench.PARTS,
         "flood": flood_bench.PARTS, "nic": nic_bench.PARTS,
         "store": [*store_bench.PARTS, *store_bench.MISS_PIECES],
         "loss": [*(str(loss) for loss in loss_bench.LOSSES), loss_bench.BULK]}


def report(args, figures, here):
    if args.what == "papers":
        names = papers_report.write(args.report, figures | {"quick": args.quick}, here)
        say(f"{args.report / papers_report.NAME}: {len(names)} figures")
    else:
        bench_report.write(args.report, args.what, figures, filter_bench.tables_of(figures), here)


def refuse(args, here, error):
    """Reports in one line, and in the file, why a bench cannot run: a file without figures would look like that
    of a bench that found none."""
    words = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    if args.json is not None and not has_figures(args.json):
        keep(args.json, {"machine": here, "quick": args.quick, "failed": words})
    if isinstance(error, Failed) or os.environ.get("CLOCKOO_TRACEBACK"):
        raise error
    raise Failed(f"{args.what}: {words} (CLOCKOO_TRACEBACK=1 shows where)") from error


def measure(args):
    here, start = machine(), time.monotonic()

    def keep_figures(figures):
        keep(args.json, {"machine": here, "quick": args.quick, **figures})

    keep_figures({})  # an unwritable file fails now, not after half an hour
    print(f"{here['cpu']}, {here['cpus']} CPUs, {here['memory_mb']} MB, Linux {here['kernel']}, "
          f"load {here['load_before']}, {here['date']}", flush=True)
    try:
        figures = MEASURES[args.what](args, keep_figures)
    except Exception as error:
        refuse(args, here, error)
    if args.plot is not None:
        bench_plot.plot(figures, args.plot, args.format)
    if args.report is not None:
        report(args, figures, here)
    say(f"all in {time.monotonic() - start:.0f} s")
    return figures


def main(argv):
    args = arguments(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        figures = {"merge": merge, "plot": plot}.get(args.what, measure)(args)
        if args.what == "papers" and (names := papers_bench.failed(figures)):
            raise Failed(f"papers: not measured: {', '.join(names)}")
    except Failed as failed:
        say(str(failed))
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
