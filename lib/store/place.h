/*
 * place.h - the buckets a key may be in, and one key of a batch of lookups.
 *
 * Thread: plain values of their owner.
 */
#ifndef CLOCKOO_PLACE_H
#define CLOCKOO_PLACE_H

#include <stdint.h>

struct place {
	uint32_t primary, alternate; /* buckets; during a resize they may be the same one */
	uint32_t seq;                /* of the geometry they were computed with (index.h) */
	uint16_t tag;
};

/* One key between the steps of a lookup (store.h, reading). The fields are the store's. */
struct probe {
	uint32_t bucket; /* the primary bucket; after that, the one the item was seen in */
	uint32_t ref;    /* the alternate bucket; after that, the item seen */
	uint32_t seq;    /* as in struct place */
	uint16_t tag;    /* in that bucket */
	uint8_t slot;    /* where it was seen */
	uint8_t state;   /* enum probe_state */
};

enum probe_state {
	PROBE_PENDING,   /* nothing seen yet */
	PROBE_CANDIDATE, /* ref has the tag: most likely the item */
	PROBE_ALTERNATE, /* not in its primary bucket; ref is the alternate bucket */
	PROBE_MISS,      /* there was no such item then */
	PROBE_RETRY,     /* a writer or a resize came in between: nothing is known */
};

#endif
