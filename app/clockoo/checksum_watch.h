/*
 * checksum_watch.h - are frames dropped for their checksums? Their sender only sees that nobody
 * answers, so the operator is warned while it happens.
 *
 * The kernel leaves TCP and UDP checksums to the NIC. A veth or tap has none to leave them to.
 *
 * Shape:  how many frames the last line spoke of; the next one comes at ten times as many, so that
 *         whoever sends such frames writes a score of lines at most.
 * Thread: the control thread; reading the counters disturbs no core.
 */
#ifndef CLOCKOO_CHECKSUM_WATCH_H
#define CLOCKOO_CHECKSUM_WATCH_H

#include "telemetry/telemetry.h"

/* One may be a bad cable's; a client that gets no answer sends its SYN again. */
#define CHECKSUMS_MIN 2u

struct checksum_watch {
	uint64_t reported;
};

/* How many frames there are to speak of; 0: none, or not so many more. */
uint64_t checksum_watch_check(struct checksum_watch *w, const struct telemetry *t);

#endif
