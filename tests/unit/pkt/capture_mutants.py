#!/usr/bin/python3 -B
"""capture_mutants.py MUTANT LIB OUT - lib/pkt/capture.c with one of its rules broken.
capture_mutants.py --caught PROGRAM - PROGRAM, built with it, must fail.

A text must be in the file exactly once, or the build fails: a mutant follows the code it breaks.
"""

import pathlib
import subprocess
import sys

MUTANTS = {
    # The memory is given back while the core is in it.
    "ENDED_BEFORE": ("\tatomic_store_explicit(&c->ending, true, memory_order_relaxed);",
                     "\tatomic_store_explicit(&c->ending, true, memory_order_relaxed);\n"
                     "\tatomic_store_explicit(&c->ended, true, memory_order_release);"),
    # Records are overwritten before the reader has read them.
    "RING_WITHOUT_END": ("\treturn at + bytes - c->head_seen <= size;\n}", "\treturn true;\n}"),
    # A record is seen before it is written.
    "SEEN_FIRST": ("\tr = record_at(c, *at);\n\t*r = *like;",
                   "\tr = record_at(c, *at);\n\tr->bytes = bytes;\n"
                   "\tatomic_store_explicit(&c->tail, *at + bytes, memory_order_release);\n\t*r = *like;"),
    # A frame that the port refuses is captured, and again when it is offered again.
    "REFUSED_TOO": ("frames_publish(c, &copies, sent);", "frames_publish(c, &copies, b->count);"),
    # The port's functions may have changed the frame.
    "COPIED_AFTER": ("\tframes_copy(c, b, CAPTURE_OUT, &copies);\n\tsent = c->below->tx(port, b);",
                     "\tsent = c->below->tx(port, b);\n\tframes_copy(c, b, CAPTURE_OUT, &copies);"),
}


def write(mutant, lib, out):
    old, new = MUTANTS[mutant]
    text = pathlib.Path(lib, "capture.c").read_text()
    if text.count(old) != 1:
        sys.exit(f"{mutant}: capture.c has this {text.count(old)} times, not once:\n{old}")
    pathlib.Path(out).write_text(text.replace(old, new))


def caught(command):
    done = subprocess.run(command, capture_output=True, errors="replace", timeout=60)
    print((done.stdout + done.stderr)[-600:])
    return done.returncode != 0


if __name__ == "__main__":
    if sys.argv[1] == "--caught":
        sys.exit(0 if caught(sys.argv[2:]) else "the mutant was not caught")
    write(*sys.argv[1:])
