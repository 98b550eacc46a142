/*
 * flash_ghosts.c - a ghost is one byte of a key's hash, in the place that other bits of the hash
 * choose.
 */
#include "flash_ghosts.h"

#include <stdatomic.h>
#include <stddef.h>

#define TAG_SHIFT   56u
#define PLACE_SHIFT 8u /* the bits below choose the shard */

uint64_t
flash_ghosts_count(uint64_t items)
{
	uint64_t count = FLASH_GHOSTS_MIN;

	while (count * 2 <= items)
		count *= 2;
	return count;
}

bool
flash_ghosts_have(const struct flash_ghosts *ghosts, uint64_t hash)
{
	const uint8_t byte = (uint8_t)(hash >> TAG_SHIFT), tag = byte != 0 ? byte : 1;
	_Atomic uint8_t *at;

	if (ghosts->tags == NULL)
		return false;
	at = &ghosts->tags[(hash >> PLACE_SHIFT) & (ghosts->count - 1)];
	if (atomic_load_explicit(at, memory_order_relaxed) == tag)
		return true;
	atomic_store_explicit(at, tag, memory_order_relaxed);
	return false;
}
