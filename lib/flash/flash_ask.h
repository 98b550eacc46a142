/*
 * flash_ask.h - one request to the flash backend: its lookup, its reads, and the use of the record
 * that it finds.
 *
 * Owner:  the backend, which has one struct flash_ask for each ticket slot.
 * Thread: core-local.
 */
#ifndef CLOCKOO_FLASH_ASK_H
#define CLOCKOO_FLASH_ASK_H

#include "flash_backend.h"

enum flash_ask_state {
	ASK_FREE,      /* the slot has no request */
	ASK_LOOKS,     /* a lookup must be made, or made again */
	ASK_READS,     /* candidates[at] is the next to be read */
	ASK_UNDER_WAY, /* candidates[at] is being read */
	ASK_READ,      /* the read has ended; its pages or its error must be judged */
	ASK_COMPLETED, /* the request is completed, and its reply uses the fill */
};

struct flash_ask {
	struct list link; /* in the backend's asked, runnable or waiting list */
	uint64_t ticket, hash;
	uint8_t state;    /* enum flash_ask_state */
	bool promote;     /* the request needs the item in the store; mostly it is a write */
	bool is_meta;     /* the verb is mg */
	bool is_runnable; /* it is in the runnable list */
	bool uses;        /* a hit marks the record as used */
	bool promotes;    /* a hit promotes the record if that is marked as used */
	/* The request has been counted as one that waits for memory of the store. */
	bool waited;
	uint8_t key_len;
	uint8_t looks, reads;    /* lookups and reads made so far */
	uint8_t at, count;       /* index of the current candidate; number of candidates */
	bool more;               /* the lookup found more than FLASH_CANDIDATES_MAX candidates */
	uint8_t used;            /* bit i: candidates[i] was marked as used before */
	int32_t error;           /* of the last read: 0 or a negative errno */
	struct flash_read *read; /* of the current candidate; NULL: none */
	struct flash_candidate candidates[FLASH_CANDIDATES_MAX];
	/* Shards[i] is the shard of candidates[i]. */
	struct flash_shard *shards[FLASH_CANDIDATES_MAX];
	/* The value that the reply uses. Valid in state ASK_COMPLETED. */
	struct fill fill;
	struct store_promotion promotion;
	bool is_promoted; /* releasing the fill makes it an item of the store */
	uint8_t key[FLASH_KEY_MAX];
};

static inline void
flash_ask_count(struct flash_backend *s, enum flash_ask_counter what)
{
	counter_add(&s->counters[what], 1);
}

/* Looks the key up, and begins to read the first candidate if it is on flash. In all other cases
 * flash_ask_run continues the request. */
void flash_ask_begin(struct flash_backend *s, struct flash_ask *a);
/* Takes the steps of a runnable request until it is completed, waits for a read, or waits for the
 * next turn. */
void flash_ask_run(struct flash_backend *s, struct flash_ask *a);
/* Removes a request from the list of runnable ones. */
void flash_ask_stop(struct flash_backend *s, struct flash_ask *a);
/* Frees a request's slot. If a read is in progress, it ends later by itself. */
void flash_ask_free(struct flash_backend *s, struct flash_ask *a);
/* Makes the fill of a completed request an item of the store (rule P). */
enum store_result flash_ask_promote(struct flash_backend *s, struct flash_ask *a);

/* Begins the reads that waited for memory, while there is memory. */
void flash_reads_begin(struct flash_backend *s);
/* flash_reads_submit passes the begun reads to the device, as many as it accepts. flash_reads_poll
 * handles the reads that have ended. */
void flash_reads_submit(struct flash_backend *s);
void flash_reads_poll(struct flash_backend *s);
void flash_read_put(struct flash_backend *s, struct flash_read *r);

#endif
