/*
 * lending.h - the values that frames in the port still point to.
 *
 * A segment of a large value may leave as a loan to the port (port.h) instead of a copy. The port
 * reads the bytes later, perhaps after the peer has acknowledged an earlier transmission of them,
 * or after the connection was reset. So a lent value has a hold of its own: it begins while the
 * send queue holds the value, and ends with the port's last frame.
 *
 * Shape:  LENDING_PLACES places. A value may take one of two; if others have both, it is copied.
 * Units:  bytes: of whole values, each counted once.
 * Owner:  a value is held from its first frame in the port until its last one is done.
 * Thread: core-local.
 * Errors: false: the segment is copied.
 * Bounds: LENDING_PLACES values, of bytes_max bytes together. No peer can prolong a hold: the port
 *         sends at its own pace, so there are no shares.
 */
#ifndef CLOCKOO_LENDING_H
#define CLOCKOO_LENDING_H

#include "conn.h"

#define LENDING_PLACES 64u /* a power of two */

/* A shorter segment is copied, which costs as much as a second buffer. */
#define LENDING_SEGMENT_MIN 512u

struct lending_place {
	const void *owner;
	uint32_t frames; /* frames in the port; 0: the place is free */
	uint32_t bytes;
};

struct lending {
	struct lender lender;
	uint64_t bytes, bytes_max; /* bytes_max 0: nothing is lent */
	struct lending_place place[LENDING_PLACES];
};

/* Adds a frame of the owner's value, whose bytes the send queue holds. */
bool lending_begin(struct lending *l, const void *owner);
/* Removes a frame. Its type is that of port_loan's done. */
void lending_end(void *lending, const void *owner);

#endif
