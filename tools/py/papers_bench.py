"""tools/bench papers: the tables and figures of five documents, each beside its baseline and ours, in one run.

A piece measures and returns points (papers_points.py); a part is several pieces. Rows, verdicts and named figures are
computed from the points, so pieces may come from several runs: --resume FILE takes those in FILE, and tools/bench merge
joins files.
"""

import collections
import json
import pathlib
import time

import build_tree
import papers_beyond
import papers_intel
import papers_memc3
import papers_memtier
import papers_rows
import papers_thesis
from bench_figures import table
from papers_points import absent
from progress import Failed, say

KEY = "papers_"  # prefix of a piece's name among the figures
NOT_RUN = "failed"

# measure(folder, quick, options) returns points; targets: its programs, for ninja
Piece = collections.namedtuple("Piece", "part measure targets")
WIRE = ("tests/bench/net/bench_wire", "tests/bench/net/bench_cores", "tests/bench/net/ask")
PROGRAM = "tests/bench/papers/"
PIECES = {
    "memc3_tables": Piece("memc3", papers_memc3.tables, (PROGRAM + "bench_memc3",)),
    "memc3_caches": Piece("memc3", papers_memc3.caches, (PROGRAM + "bench_memc3",)),
    "memc3_network": Piece("memc3", papers_memc3.network, WIRE),
    "bags": Piece("intel", papers_intel.bags, (PROGRAM + "bench_bags",)),
    "sla": Piece("intel", papers_intel.sla, ("app/clockoo", "tests/load/clockoo-load", "tests/bench/net/bench_cores", "tests/bench/net/ask")),
    "connections": Piece("memtier", papers_memtier.connections, (*WIRE, "tests/bench/bench_request")),
    "threads": Piece("memtier", papers_memtier.threads, (*WIRE, "app/clockoo", "tests/load/clockoo-load")),
    "groups": Piece("memtier", papers_memtier.groups, (*WIRE, "app/clockoo", "tests/load/clockoo-load")),
    "front": Piece("thesis", papers_thesis.front, ("tests/bench/front/front_level",)),
    "filter": Piece("thesis", papers_thesis.filters, ("tests/bench/filter/filter_trial",)),
    "flash": Piece("thesis", papers_thesis.flash, ("tests/bench/flash/flash_trial", "tests/unit/flash/test_flash_convert")),
    "policies": Piece("beyond", papers_beyond.policies, ("tests/bench/store/bench_policy",)),
    "lines": Piece("beyond", papers_beyond.lines, (PROGRAM + "bench_shared_lines", PROGRAM + "bench_two_cores")),
    "servers": Piece("beyond", papers_beyond.servers, WIRE),
}
PARTS = tuple(dict.fromkeys(piece.part for piece in PIECES.values()))
NAMES = (*PARTS, *PIECES)  # values of --part


def chosen(names):
    """Returns the pieces that these names of parts and pieces stand for, in order; without names all pieces."""
    return [name for name, piece in PIECES.items() if not names or name in names or piece.part in names]


def targets(names):
    """Returns the programs of these pieces. One that the sources lack is left out, and its piece reports that."""
    here = (build_tree.ROOT / PROGRAM / "meson.build").read_text()
    return sorted({target for name in names for target in PIECES[name].targets
                   if not target.startswith(PROGRAM) or f"'{target.removeprefix(PROGRAM)}'" in here})


def points_of(figures):
    return [p for name in PIECES for p in figures.get(KEY + name, {}).get("points", ())]


def computed(figures):
    """Returns the figures, and those computed from their points."""
    return figures | papers_rows.found_of(points_of(figures))


def has_points(figures):
    return any(name.startswith(KEY) for name in figures)


def resumed(path, quick):
    """Returns the pieces that the file has."""
    try:
        found = json.loads(pathlib.Path(path).read_text())
        if found["quick"] != quick:
            raise Failed(f"--resume {path}: figures of --quick and of full runs are not comparable")
        return {name: value for name, value in found.items() if name.startswith(KEY) and value["points"] and NOT_RUN not in value}
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise Failed(f"--resume {path}: no figures of tools/bench papers: {error!r}") from error


def measure_piece(name, folder, quick, options):
    """Measures a piece. If it fails, the reason stands in place of its points, and other pieces are measured."""
    start = time.monotonic()
    try:
        points = PIECES[name].measure(folder, quick, options)
    except Failed as failed:
        words = str(failed).strip().splitlines() or ["it failed"]
        say(f"papers: {name}: {failed}")
        return {"points": [absent(PIECES[name].part, "all", "all", words[0])], NOT_RUN: str(failed)}
    return {"points": points, "seconds": round(time.monotonic() - start, 1)}


def measure(folder, quick, names, options, kept, keep):
    """Measures the named pieces. options: servers given by path. kept: pieces of an earlier run. Calls keep(figures)
    after each piece."""
    figures = dict(kept)
    for name in names:
        if KEY + name in figures:
            say(f"papers: {name}: there already")
            continue
        figures[KEY + name] = measure_piece(name, folder, quick, options)
        keep(computed(figures))
    figures = computed(figures)
    keep(figures)
    show(figures)
    return figures


def failed(figures):
    return [name for name in PIECES if NOT_RUN in figures.get(KEY + name, {})]


def words(value):
    return "-" if value is None else f"{value:,.4g}" if isinstance(value, (int, float)) else str(value)


def show(figures):
    for part in PARTS:
        rows = [row for row in figures["rows"] if row["part"] == part and row["verdict"] != "not shown here"]
        if rows:
            table(f"{part}: what was claimed, and what was seen", ["row", "paper", "baseline", "ours", "unit", "verdict"],
                  [[row["name"].removeprefix(part + "_"), words(row["paper"]), words(row["baseline"]), words(row["ours"]), row["unit"],
                    row["verdict"] + (f" {row['times']:.3g} times" if row.get("times") and None not in (row["baseline"], row["ours"]) else "")] for row in rows])
    lacking = [row for row in figures["rows"] if row["verdict"] == "not shown here"]
    print(f"\n  {len(figures['rows'])} rows, {len(lacking)} of them not shown here; {figures['cells_compared']} cells compared, a baseline is "
          f"ahead in {len(figures['cells_behind'])}", flush=True)
    for cell in papers_rows.grouped(figures["cells_behind"]):
        print(f"    {cell['cell']}: {cell['baseline']} {words(cell['by'])} times: {cell['why']}", flush=True)
