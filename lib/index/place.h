/*
 * place.h - the buckets a key may be in, and one key of a batch of lookups.
 *
 * Thread: plain values, used by their owner only.
 */
#ifndef CLOCKOO_PLACE_H
#define CLOCKOO_PLACE_H

#include <stdint.h>

struct place {
	uint32_t primary, alternate; /* bucket numbers; during a resize both may be the same */
	/* Seq of the geometry from which they were computed (index.h). */
	uint32_t seq;
	uint16_t tag;
};

/* The state of one key between the steps of a lookup (store.h, reading). Only the store reads its
 * fields. */
struct probe {
	/* The primary bucket; if there is a candidate, the bucket in which it was seen. */
	uint32_t bucket;
	uint32_t ref;  /* the alternate bucket; if there is a candidate, its reference */
	uint32_t seq;  /* as in struct place */
	uint16_t tag;  /* the key's tag as .bucket stores it */
	uint8_t slot;  /* slot of the candidate */
	uint8_t state; /* enum probe_state */
};

enum probe_state {
	PROBE_PENDING,   /* no bucket was read yet */
	PROBE_CANDIDATE, /* an item has the tag, so it most likely has the key */
	PROBE_ALTERNATE, /* the alternate bucket must be read */
	PROBE_MISS,      /* no item had the key when the buckets were read */
	PROBE_RETRY,     /* a writer or a resize has interfered, so the lookup starts again */
};

#endif
