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

/* The state of one key between the steps of a lookup (store.h, reading). Only the store reads the
 * fields. */
struct probe {
	uint32_t bucket; /* the primary bucket; of a candidate: the bucket it was seen in */
	uint32_t ref;    /* the alternate bucket; of a candidate: its reference */
	uint32_t seq;    /* as in struct place */
	uint16_t tag;    /* of the key in .bucket */
	uint8_t slot;    /* of a candidate */
	uint8_t state;   /* enum probe_state */
};

enum probe_state {
	PROBE_PENDING,   /* no bucket was read yet */
	PROBE_CANDIDATE, /* an item has the tag: most likely that of the key */
	PROBE_ALTERNATE, /* the alternate bucket must be read */
	PROBE_MISS,      /* no item had the key when the buckets were read */
	PROBE_RETRY,     /* a writer or a resize has interfered: the lookup starts again */
};

#endif
