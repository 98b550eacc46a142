/*
 * huge_block.h - one block of memory for all state of the cores, shared or not.
 *
 * The block has hugepages, so that a random get misses the TLB once and not twice; with --no-huge
 * it has ordinary pages. All of it is touched at the start, so that a missing page is noticed then,
 * and not in a turn.
 *
 * Shape:  bytes zeroed bytes at base.
 * Owner:  the caller, until huge_block_free.
 * Thread: one, at start and at the end.
 * Errors: struct error.
 */
#ifndef CLOCKOO_HUGE_BLOCK_H
#define CLOCKOO_HUGE_BLOCK_H

#include "config/config.h"

#include <stddef.h>
#include <stdint.h>

#define NODE_ANY (-1)

struct huge_block {
	uint8_t *base;
	size_t bytes; /* a whole number of pages */
	size_t page_bytes;
};

/* Maps the block with the kind of pages that cfg selects. node: the NUMA node to prefer, or
 * NODE_ANY; nodes in cfg override it. */
bool huge_block_alloc(struct huge_block *block, size_t bytes, const struct config *cfg, int node,
		      struct error *err);
/* Sets the NUMA nodes of memory that has not been touched yet: of a block, or of another
 * mapping. */
bool huge_block_place(const struct huge_block *block, const struct config *cfg, size_t page_bytes,
		      int node, struct error *err);
/* Leaves bytes from..to, in whole pages, out of core files. */
void huge_block_hide(const struct huge_block *block, size_t from, size_t to);
void huge_block_free(struct huge_block *block);

#endif
