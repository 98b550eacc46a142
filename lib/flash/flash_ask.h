/*
 * flash_ask.h - one ask of a supplier: its look, its reads, and what its record becomes.
 *
 * Owner:  the supplier. An ask is in its place by the slot of its ticket.
 * Thread: core-local.
 */
#ifndef CLOCKOO_FLASH_ASK_H
#define CLOCKOO_FLASH_ASK_H

#include "flash_supplier.h"

enum flash_ask_state {
	ASK_FREE,
	ASK_LOOKS,
	ASK_READS, /* candidate `at` is next */
	ASK_UNDER_WAY,
	ASK_READ, /* its pages are here */
	ASK_TOLD, /* its fill is in use */
};

struct flash_ask {
	struct list link;
	uint64_t ticket, hash;
	uint8_t state; /* enum flash_ask_state */
	bool bring, is_meta, is_runnable;
	bool uses;     /* a hit of it is one of the key's */
	bool promotes; /* a second one makes it an item */
	bool waited;   /* for memory */
	uint8_t key_len, looks, reads;
	uint8_t at, count; /* candidates */
	bool more;         /* than there is room for */
	uint8_t used;      /* bits: those with the used bit */
	int32_t error;     /* of the read */
	struct flash_read *read;
	struct flash_candidate candidates[FLASH_CANDIDATES_MAX];
	struct flash_shard *shards[FLASH_CANDIDATES_MAX]; /* that have them */
	/* Told. */
	struct fill fill;
	struct store_promotion promotion;
	bool is_promoted;
	uint8_t key[FLASH_KEY_MAX];
};

/* Its look is made, and its first read begun, if it has one; else it waits for flash_ask_run. */
void flash_ask_begin(struct flash_supplier *s, struct flash_ask *a);
/* In poll(): as far as it comes, up to its answer. */
void flash_ask_run(struct flash_supplier *s, struct flash_ask *a);
/* It is not in the list of those that run. */
void flash_ask_stop(struct flash_supplier *s, struct flash_ask *a);
/* Its place is free. A read under way ends by itself. */
void flash_ask_free(struct flash_supplier *s, struct flash_ask *a);
/* P: its fill ends. */
enum store_result flash_ask_promote(struct flash_supplier *s, struct flash_ask *a);

/* Those that wait for memory, as far as there is some now. */
void flash_reads_begin(struct flash_supplier *s);
/* To the device, what it takes; and what it has ended. */
void flash_reads_submit(struct flash_supplier *s);
void flash_reads_hear(struct flash_supplier *s);
void flash_read_put(struct flash_supplier *s, struct flash_read *r);

#endif
