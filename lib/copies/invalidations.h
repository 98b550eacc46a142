/*
 * invalidations.h - the messages between fronts of a fleet: keys that were written, whose copies
 * must end. To a memcached they are a request that it answers with ERROR.
 *
 * Shape:  a datagram with memcached's frame has the word `peer`, and then invalidations: k and a
 *         key; b and a key in base64, if a line cannot contain it; f for all keys. Received ones
 *         are parsed without trust.
 * Units:  bytes.
 * Owner:  the caller.
 * Thread: pure functions.
 * Errors: false: no room, or another kind of request. A malformed invalidation ends the request.
 * Bounds: a datagram has INVALIDATIONS_BYTES. A key has at most MC_KEY_MAX bytes, one in base64
 *         MC_KEY_DECODED_MAX; longer ones are not sent.
 *
 * - Added keys are read back in order. A key is in a datagram only once.
 */
#ifndef CLOCKOO_INVALIDATIONS_H
#define CLOCKOO_INVALIDATIONS_H

#include "proto/mc_base64.h"
#include "proto/mc_udp.h"

#define INVALIDATIONS_BYTES 1400u
#define INVALIDATIONS_SEEN  64u /* hashes of recent keys, which are not added again */

struct invalidations {
	uint32_t len; /* 0: empty */
	bool all;     /* the datagram has f */
	uint64_t seen[INVALIDATIONS_SEEN];
	uint8_t bytes[INVALIDATIONS_BYTES];
};

/* Empties the datagram. */
static inline void
invalidations_clear(struct invalidations *sent)
{
	sent->len = 0;
}

/* Adds a key. False: the datagram has no room. For a key that cannot be sent, an empty datagram has
 * none, either. */
bool invalidations_add(struct invalidations *sent, struct view key, uint64_t hash);
bool invalidations_add_all(struct invalidations *sent);
/* Returns the payload; nothing may be added to it after that. */
struct view invalidations_end(struct invalidations *sent);

enum invalidation_kind {
	INVALIDATION_END, /* the request, or its valid part, has ended */
	INVALIDATION_KEY,
	INVALIDATION_ALL,
};

/* True if request is such a message; *rest becomes its invalidations. */
bool invalidations_begin(struct view request, struct view *rest);
/* Reads the next invalidation. key points into the request or room, until the next call. */
enum invalidation_kind invalidations_next(struct view *rest, struct view *key,
					  uint8_t room[MC_KEY_DECODED_MAX]);

#endif
