/*
 * flash_ghosts.h - keys of which an item was evicted and not admitted: a hint that one that is
 * evicted again had been asked for.
 *
 * Shape:  a table of bytes, each a part of a key's hash. Of two keys with one place the later one
 *         is there, so a ghost stays about as long as there are bytes in the table. Of keys that
 *         have none one in 255 seems to have one.
 * Owner:  the caller's memory, all 0 at first.
 * Thread: any. Beside others a ghost may be lost, or seen twice.
 */
#ifndef CLOCKOO_FLASH_GHOSTS_H
#define CLOCKOO_FLASH_GHOSTS_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_GHOSTS_MIN (1u << 12)

/* NULL: nothing is remembered. */
struct flash_ghosts {
	_Atomic uint8_t *tags;
	uint64_t count; /* a power of two; bytes, too */
};

/* Of a device for so many items: from a half of them to all. */
uint64_t flash_ghosts_count(uint64_t items);

/* Is the key's ghost there? If not, it is from now on. */
bool flash_ghosts_have(const struct flash_ghosts *ghosts, uint64_t hash);

#endif
