/*
 * checksum_watch.h - warns the operator while frames are dropped for wrong checksums: their sender
 * sees no more than a timeout.
 *
 * The kernel leaves TCP and UDP checksums to the NIC. Behind a veth or tap there is none.
 *
 * Shape:  reported is the count in the last warning. The next warning comes at ten times as many
 *         frames, so such frames cause about 20 lines at most.
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

/* The count to warn of; 0: no warning is due. */
uint64_t checksum_watch_check(struct checksum_watch *w, const struct telemetry *t);

#endif
