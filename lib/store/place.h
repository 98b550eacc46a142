/*
 * place.h - where in the index a key may be, and one key on its way through a batch.
 *
 * Thread: plain values of their owner.
 */
#ifndef CLOCKOO_PLACE_H
#define CLOCKOO_PLACE_H

#include <stdint.h>

struct place {
	uint32_t primary, alternate; /* buckets; the same one, rarely, while the index is resized */
	uint32_t seq;                /* of the geometry that makes them so (index.h) */
	uint16_t tag;
};

/* Steps and life: store.h, reading. The fields are the store's. Small, as many are on their way. */
struct probe {
	uint32_t bucket; /* the primary bucket; where the item was seen */
	uint32_t ref;    /* what was seen; before that, the alternate bucket */
	uint32_t seq;    /* of the geometry that makes them so */
	uint16_t tag;    /* as it stands, or would stand, in that bucket */
	uint8_t slot;    /* where it was seen */
	uint8_t state;   /* enum probe_state */
};

enum probe_state {
	PROBE_PENDING,   /* nothing seen yet */
	PROBE_CANDIDATE, /* ref has the tag: most likely the item */
	PROBE_ALTERNATE, /* not in its primary bucket; ref is the alternate bucket */
	PROBE_MISS,      /* there was no such item then */
	PROBE_RETRY,     /* written to under the look, or the index was resized: nothing is known */
};

#endif
