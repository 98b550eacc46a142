/*
 * invalidations.h - the messages between fronts of one fleet: keys that were written, whose copies
 * are to end, in a request that a memcached answers with ERROR.
 *
 * Shape:  `peer` and invalidations, in one datagram with memcached's frame: k with a key, b with a
 *         key in base64 that a line cannot contain, f for all keys. Received ones are read without
 *         trust.
 * Units:  bytes.
 * Owner:  the caller.
 * Thread: pure functions.
 * Errors: false: no room, or another request. A malformed invalidation ends the request.
 * Bounds: INVALIDATIONS_BYTES a datagram; a key is MC_KEY_MAX bytes at most, one that needs base64
 *         MC_KEY_DECODED_MAX: longer ones are not sent.
 *
 * Invariants (tests/unit/copies/test_invalidations, tests/fuzz/invalidations):
 * - Added keys are read back in their order; a key is in a datagram only once.
 */
#ifndef CLOCKOO_INVALIDATIONS_H
#define CLOCKOO_INVALIDATIONS_H

#include "proto/mc_base64.h"
#include "proto/mc_udp.h"

#define INVALIDATIONS_BYTES 1400u
#define INVALIDATIONS_SEEN  64u /* hashes of keys that are not added again */

struct invalidations {
	uint32_t len; /* 0: empty */
	bool all;     /* f is among them */
	uint64_t seen[INVALIDATIONS_SEEN];
	uint8_t bytes[INVALIDATIONS_BYTES];
};

/* Empties the datagram. */
static inline void
invalidations_clear(struct invalidations *sent)
{
	sent->len = 0;
}

/* Adds a key. False: this datagram has no room; a key that cannot be sent at all finds none in
 * an empty one either. */
bool invalidations_add(struct invalidations *sent, struct view key, uint64_t hash);
bool invalidations_add_all(struct invalidations *sent);
/* Returns the payload. Nothing may be added after it. */
struct view invalidations_end(struct invalidations *sent);

enum invalidation_kind {
	INVALIDATION_END, /* end of the request, or of its valid part */
	INVALIDATION_KEY,
	INVALIDATION_ALL,
};

/* True if this is a request of that kind; *rest are then its invalidations. */
bool invalidations_begin(struct view request, struct view *rest);
/* Reads the next one. key: a view of the request or of room, until the next call. */
enum invalidation_kind invalidations_next(struct view *rest, struct view *key,
					  uint8_t room[MC_KEY_DECODED_MAX]);

#endif
