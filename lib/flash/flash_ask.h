/*
 * flash_ask.h - one request to a backend: its lookup, its reads, and the use of its record.
 *
 * Owner:  the backend, in which a request has the place of its ticket's slot.
 * Thread: core-local.
 */
#ifndef CLOCKOO_FLASH_ASK_H
#define CLOCKOO_FLASH_ASK_H

#include "flash_backend.h"

enum flash_ask_state {
	ASK_FREE,
	ASK_LOOKS,
	ASK_READS, /* candidate `at` is the next to read */
	ASK_UNDER_WAY,
	ASK_READ,      /* its pages have been read */
	ASK_COMPLETED, /* completed; its fill is in use */
};

struct flash_ask {
	struct list link;
	uint64_t ticket, hash;
	uint8_t state; /* enum flash_ask_state */
	bool promote, is_meta, is_runnable;
	bool uses;     /* a hit counts as a use of the key */
	bool promotes; /* a second hit makes it an item */
	bool waited;   /* it has waited for memory */
	uint8_t key_len, looks, reads;
	uint8_t at, count; /* index of the current candidate, and their number */
	bool more;         /* there were more candidates than places */
	uint8_t used;      /* bits of the candidates with the used bit */
	int32_t error;     /* of the read */
	struct flash_read *read;
	struct flash_candidate candidates[FLASH_CANDIDATES_MAX];
	struct flash_shard *shards[FLASH_CANDIDATES_MAX]; /* the shards of the candidates */
	/* Valid in state ASK_COMPLETED. */
	struct fill fill;
	struct store_promotion promotion;
	bool is_promoted;
	uint8_t key[FLASH_KEY_MAX];
};

static inline void
flash_ask_count(struct flash_backend *s, enum flash_ask_counter what)
{
	counter_add(&s->counters[what], 1);
}

/* Looks the key up, and begins the first read, if there is one; otherwise the request waits for
 * flash_ask_run. */
void flash_ask_begin(struct flash_backend *s, struct flash_ask *a);
/* Advances a request in poll() as far as possible, up to its answer. */
void flash_ask_run(struct flash_backend *s, struct flash_ask *a);
/* Removes a request from the list of runnable ones. */
void flash_ask_stop(struct flash_backend *s, struct flash_ask *a);
/* Frees a request's place. A read in progress ends by itself. */
void flash_ask_free(struct flash_backend *s, struct flash_ask *a);
/* Ends the fill of a promoted record (P). */
enum store_result flash_ask_promote(struct flash_backend *s, struct flash_ask *a);

/* Begins reads that wait for memory, as far as there is some now. */
void flash_reads_begin(struct flash_backend *s);
/* flash_reads_submit passes reads to the device, as many as it takes. flash_reads_poll handles
 * those that have ended. */
void flash_reads_submit(struct flash_backend *s);
void flash_reads_poll(struct flash_backend *s);
void flash_read_put(struct flash_backend *s, struct flash_read *r);

#endif
