#!/usr/bin/python3 -B
"""lib/pkt/capture.c with one of its rules broken (tests/support/one_edit.py)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from one_edit import main

MUTANTS = {
    # The memory is given back while the core is in it.
    "ENDED_BEFORE": ("capture.c", "\tatomic_store_explicit(&c->ending, true, memory_order_relaxed);",
                     "\tatomic_store_explicit(&c->ending, true, memory_order_relaxed);\n"
                     "\tatomic_store_explicit(&c->ended, true, memory_order_release);"),
    # Records are overwritten before the reader has read them.
    "RING_WITHOUT_END": ("capture.c", "\treturn at + bytes - c->head_seen <= size;\n}", "\treturn true;\n}"),
    # A record is seen before it is written.
    "SEEN_FIRST": ("capture.c", "\tr = record_at(c, *at);\n\t*r = *like;",
                   "\tr = record_at(c, *at);\n\tr->bytes = bytes;\n"
                   "\tatomic_store_explicit(&c->tail, *at + bytes, memory_order_release);\n\t*r = *like;"),
    # A frame that the port refuses is captured, and again when it is offered again.
    "REFUSED_TOO": ("capture.c", "frames_publish(c, &copies, sent);", "frames_publish(c, &copies, b->count);"),
    # The port's functions may have changed the frame.
    "COPIED_AFTER": ("capture.c", "\tframes_copy(c, b, CAPTURE_OUT, &copies);\n\tsent = c->below->tx(port, b);",
                     "\tsent = c->below->tx(port, b);\n\tframes_copy(c, b, CAPTURE_OUT, &copies);"),
}

if __name__ == "__main__":
    main(MUTANTS, sys.argv[1:])
