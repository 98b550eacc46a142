/*
 * flash_copy.h - evicted values are copied into the log's buffers, by the tier's thread or the
 * core.
 *
 * A copy of 4 KB costs a core a microsecond, and as much again in what it takes out of the core's
 * caches. So the core reserves the record and posts the offer, the tier's thread copies the value
 * out of the store's memory, and the core makes the entry. The item is pinned meanwhile. Values
 * up to FLASH_COPY_PIECE are copied by the core at once.
 *
 * Thread: flash_copies_work: the tier's. All else: the core named. The bit in posted is taken once,
 *         by the thread or by the core; who has it copies the value.
 * Bounds: FLASH_OFFERS copies of a core are open. A core takes a copy back that the thread has not
 *         begun for FLASH_HELP_NS, or while it is flooded, and slices it, one value at a time.
 */
#ifndef CLOCKOO_FLASH_COPY_H
#define CLOCKOO_FLASH_COPY_H

#include "flash_tier.h"

/* Posts the offer's copy, copies a slice, or looks whether the thread has made it. True: the copy
 * is whole. */
bool flash_copy_go_on(struct flash_tier *tier, uint32_t core, uint64_t offer);
/* Ends the copy, whole or not. Waits for the thread while it copies this value. */
void flash_copy_end(struct flash_tier_core *core, uint64_t offer);
/* Copies one value that the core has posted. False: there is none. */
bool flash_copies_work(struct flash_tier_core *core);

#endif
