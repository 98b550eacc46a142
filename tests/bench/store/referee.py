"""referee.py - libCacheSim's policies on a trace, or on values that are set once and got once.

    referee.py --items N --file TRACE      misses of a trace in its format oracleGeneral, equal objects
    referee.py --items N --lag PERCENT     hits, as bench_policy --lag counts them

It prints a row of JSON for each policy, and runs in the environment that tools/py/referee_bench.py makes.
"""

import argparse
import json

import libcachesim
import numpy

POLICIES = {"lru": libcachesim.LRU, "fifo": libcachesim.FIFO, "sieve": libcachesim.Sieve, "s3fifo": libcachesim.S3FIFO,
            "wtinylfu": libcachesim.WTinyLFU, "2q": libcachesim.TwoQ}
ROUNDS_BEFORE, ROUNDS = 10, 15  # times the capacity, as in bench_policy.c
RECORD = numpy.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<u8")])
SET = (1 << 32) - 1  # size that marks a set (trace_file.h)
PIECE = 1 << 18  # records read at a time


def misses(policy, items, path):
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE,
                                     libcachesim.ReaderInitParam(ignore_obj_size=True))
    return policy(items).process_trace(reader)[0]


def misses_of_gets(policy, items, records):
    """Returns the misses of gets; a set counts as a use."""
    cache, missed, gets = policy(items), 0, 0
    for at in range(0, len(records), PIECE):
        piece = records[at : at + PIECE]
        for number, size in zip(piece["object"].tolist(), piece["size"].tolist()):
            hit = cache.get(request(number))
            missed += size != SET and not hit
            gets += size != SET
    return missed / gets


def request(number):
    asked = libcachesim.Request()
    asked.obj_id, asked.obj_size = number + 1, 1
    return asked


def lag_hits(policy, items, percent):
    """Returns the hits of values set once and got once; a get that misses is not followed by a set."""
    cache, lag, hits, gets = policy(items), items * percent // 100, 0, 0
    for n in range(items * ROUNDS):
        cache.get(request(n))
        if n >= lag:
            hit = cache.find(request(n - lag), True) is not None
            counts = n >= items * ROUNDS_BEFORE
            hits += hit and counts
            gets += counts
    return hits / gets


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, required=True)
    parser.add_argument("--file")
    parser.add_argument("--lag", type=int)
    args = parser.parse_args()
    records = numpy.memmap(args.file, RECORD, "r") if args.file is not None else None
    with_sets = records is not None and bool((records["size"] == SET).any())
    for who, policy in POLICIES.items():
        row = {"who": who}
        if with_sets:
            row["miss"] = round(misses_of_gets(policy, args.items, records), 5)
        elif args.file is not None:
            row["miss"] = round(misses(policy, args.items, args.file), 5)
        else:
            row["hit"] = round(lag_hits(policy, args.items, args.lag), 5)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
