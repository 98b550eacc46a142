#!/usr/bin/python3 -B
"""app/clockoo/control/drain.c with one rule of its order broken (tests/support/one_edit.py)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from one_edit import main

MUTANTS = {
    # A stop closes connections while the route stands.
    "STOP_WITHOUT_ORDER": ("drain.c", "\tif (how != CONFIG_DRAIN_ANYCAST || d->stops)\n", ""),
    # The second stop waits as well.
    "SECOND_STOP_WAITS": ("drain.c", " || d->stops", ""),
    # A stop amid a drain begins a new one.
    "STOP_BEGINS_AGAIN": ("drain.c", "\tif (d->stage == DRAIN_OFF)\n\t\tdrain_begin", "\tdrain_begin"),
    # The route goes before the connections.
    "ROUTE_FIRST": ("drain.c", "how == CONFIG_DRAIN_ANYCAST ? DRAIN_CLOSING : DRAIN_LEAVING", "DRAIN_LEAVING"),
    # The last SYNs are answered, and their connections are reset by another box.
    "SYNS_TO_THE_END": ("drain.c", "SERVE_DRAIN_CLOSE_LAST", "SERVE_DRAIN_CLOSE"),
    # A stage ends before the cores obey it.
    "STAGE_UNSEEN": ("drain.c", "settled && stage_is_over", "stage_is_over"),
}

if __name__ == "__main__":
    main(MUTANTS, sys.argv[1:])
