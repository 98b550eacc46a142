/*
 * flash_copy.h - copies evicted values into the log's buffers, on the tier's thread or on the core.
 *
 * Copying 4 KB costs a core a microsecond, and about as much again for what it pushes out of the
 * core's caches. So the core only reserves the record and posts the offer. The tier's thread copies
 * the value out of the store's memory, and then the core makes the entry. The item is pinned
 * meanwhile. Values up to FLASH_COPY_PIECE bytes are copied by the core at once.
 *
 * Thread: flash_copies_work: the tier's thread. All else: the core named. The one of thread and
 *         core that clears an offer's bit in `posted` copies its value.
 * Bounds: FLASH_OFFERS copies of a core are open. A core takes an offer back that the thread has
 *         not begun within FLASH_HELP_NS; while the core is flooded, at once. It then copies the
 *         value in slices, one value at a time.
 */
#ifndef CLOCKOO_FLASH_COPY_H
#define CLOCKOO_FLASH_COPY_H

#include "flash_tier.h"

/* Continues the offer's copy: posts it, copies a slice, or checks whether the thread has made it.
 * True: the copy is complete. */
bool flash_copy_go_on(struct flash_tier *tier, uint32_t core, uint64_t offer);
/* Ends the copy, complete or not. If the thread is copying this value just now, waits until it is
 * done. */
void flash_copy_end(struct flash_tier_core *core, uint64_t offer);
/* Copies one value that the core has posted. False: none is posted. */
bool flash_copies_work(struct flash_tier_core *core);

#endif
