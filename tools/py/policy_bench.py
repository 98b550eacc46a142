"""The parts policy and lag of tools/bench store: misses and hits of the store's eviction beside other policies.

The models and the store run in bench_policy; libCacheSim runs the same traces as a referee, if it is installed.
"""

from bench_figures import table
from progress import Step

# The policy that the store with probation is compared with, by trace.
POLICY_TRACES = {"zipf09": "s3fifo", "oneshot": "s3fifo", "scan": "s3fifo", "loop": "s3fifo",
                 "shift": "clock", "getset_zipf09": "lru", "trace": "s3fifo"}
AS_IT_IS = ("trace",)  # traces given as a file
REFEREED = ("lru", "fifo", "sieve", "s3fifo", "wtinylfu", "2q")


def policy_counts(bench):
    keys, kilobytes, operations = ((250_000, 8192, 2_500_000) if bench.quick
                                   else (1_000_000, 32768, 10_000_000))
    args = {trace: ("--trace", trace, "--keys", keys, "--memory", kilobytes, "--operations", operations)
            for trace in POLICY_TRACES}
    if bench.referee is not None:
        args |= {trace: (*words, "--write", bench.trace_file(trace)) for trace, words in args.items()
                 if trace not in AS_IT_IS}
    args["trace"] = ("--file", bench.trace)
    if bench.trace is None:
        del args["trace"]
    return {trace: ("bench_policy", words, None) for trace, words in args.items()}


def policy(bench):
    whos = ("store, 2q", "store, clock", "lru", "clock", "sieve", "s3fifo")
    lines = []
    for trace, count in policy_counts(bench).items():
        by = {row["who"]: row for row in bench.counted(f"policies on {trace}", count)["policy"]}
        other = POLICY_TRACES[trace]
        ratio = by[whos[0]]["miss"] / by[other]["miss"]
        bench.keep(f"miss_{trace}_vs_{other}", [ratio], 4)
        bench.keep(f"miss_{trace}_clock_vs_{other}", [by[whos[1]]["miss"] / by[other]["miss"]], 4)
        lines.append([trace, by[whos[0]]["items"]] + [f"{100 * by[who]['miss']:.2f} %" for who in whos]
                     + [f"{ratio:.3f} of {other}"])
    if bench.trace is None:
        lines.append(["trace"] + ["not given"] * (len(whos) + 2))
    table("Misses by policy, all on as many items and the same keys: 16-byte keys, 200-byte values;\n"
          "a trace's objects are as large as lets a tenth of them be held",
          ["trace", "items", *whos, "2q"], lines)
    if bench.referee is not None:
        policy_by_referee(bench)


def policy_by_referee(bench):
    """Runs the same traces through libCacheSim (whose 2Q is that of 1994), and names models whose figures differ from
    it."""
    lines = []
    for trace, count in policy_counts(bench).items():
        by = {row["who"]: row for row in bench.counted(f"policies on {trace}", count)["policy"]}
        path = bench.trace if trace == "trace" else bench.trace_file(trace)
        with Step(f"libCacheSim on {trace}"):
            theirs = bench.referee.rows(items=by["store, 2q"]["items"], file=path)
        if trace not in AS_IT_IS:
            path.unlink(missing_ok=True)
        for who, miss in theirs.items():
            bench.keep(f"miss_{trace}_referee_{who}", [miss], 5)
        bench.apart.compare(trace, {who: row["miss"] for who, row in by.items()}, theirs)
        lines.append([trace, f"{100 * by['store, 2q']['miss']:.2f} %"]
                     + ([f"{100 * theirs[who]:.2f} %" for who in REFEREED] if theirs
                        else [f"skipped: {bench.referee.reason}"] + [""] * (len(REFEREED) - 1)))
    if bench.referee.reason is None:
        bench.keep("referee_from_models_most", [bench.apart.most], 5)
    table("Misses of the same traces by libCacheSim, with as many items", ["trace", "store, 2q", *REFEREED], lines)
    bench.apart.show("the made traces")


# Bytes that are set between a value's set and its only get, in percent of those that the store holds; and bytes of the
# values.
LAGS, LAG_VALUES = (3, 6, 8, 10, 15, 20, 30, 40, 60, 70), (32, 1000, 9000, 60000)
REFEREE_LAG_ITEMS = 20_000  # with more items the referee takes too long


def lag_counts(quick):
    lags, values, kilobytes = ((6, 40), (1000, 9000), 16384) if quick else (LAGS, LAG_VALUES, 65536)
    return {(lag, value): ("bench_policy", ("--lag", lag, "--value", value, "--memory", kilobytes), None)
            for value in values for lag in lags}


def lag(bench):
    whos = ("store, 2q", "store, clock", "lru")
    lines, ratios = [], []
    for (part, value), count in lag_counts(bench.quick).items():
        by = {row["who"]: row["hit"] for row in bench.counted(f"a lag of {part} %, {value} bytes", count)["lag"]}
        ratios.append(by[whos[0]] / by["lru"])
        lines.append([value, f"{part} %"] + [f"{by[who]:.4f}" for who in whos] + [f"{ratios[-1]:.3f}"])
    bench.keep("hits_lag_worst_vs_lru", [min(ratios)], 4)
    table("Hits of values that are set once and got once, when that part of what is held was set meanwhile,\n"
          "and of which a miss is followed by no set; after ten capacities", ["value", "lag", *whos, "of lru"], lines)
    if bench.referee is not None:
        lag_by_referee(bench)


def lag_by_referee(bench):
    """Runs the same loads through libCacheSim, with fewer items, since a request takes it a microsecond."""
    lines = []
    for (part, value), count in lag_counts(bench.quick).items():
        by = {row["who"]: row for row in bench.counted(f"a lag of {part} %, {value} bytes", count)["lag"]}
        items = by["lru"]["items"]
        if items > REFEREE_LAG_ITEMS:
            continue
        with Step(f"libCacheSim: a lag of {part} %, {value} bytes"):
            theirs = bench.referee.rows(items=items, lag=part)
        for who, hit in theirs.items():
            bench.keep(f"hits_lag_{part}_{value}_referee_{who}", [hit], 5)
        bench.apart.compare(f"a lag of {part} %, {value} bytes", {who: row["hit"] for who, row in by.items()}, theirs)
        lines.append([value, f"{part} %", f"{by['store, 2q']['hit']:.4f}"]
                     + ([f"{theirs[who]:.4f}" for who in REFEREED] if theirs
                        else [f"skipped: {bench.referee.reason}"] + [""] * (len(REFEREED) - 1)))
    table("The same by libCacheSim, with as many items", ["value", "lag", "store, 2q", *REFEREED], lines)
    bench.apart.show("the lag loads")
