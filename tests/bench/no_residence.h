/*
 * no_residence.h - included first in every file of lib/serve, for a program without histograms of
 * latency. The difference is their cost (tools/bench operate).
 *
 * Thread: none.
 */
#ifndef CLOCKOO_NO_RESIDENCE_H
#define CLOCKOO_NO_RESIDENCE_H

#include "observe/residence.h"

#define residence_add(r, row, n) ((void)(r), (void)(row), (void)(n))
#define residence_late(r, row, since_ns, now_ns, n)                                                \
	((void)(r), (void)(row), (void)(since_ns), (void)(n))
#define residence_turn_end(r, begin_ns, end_ns) ((void)(r), (void)(begin_ns), (void)(end_ns))

#endif
