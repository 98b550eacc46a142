/*
 * flash_ghosts.h - remembers keys whose item was evicted and not admitted. An item of such a key
 * that is evicted again had probably been requested.
 *
 * Shape:  a table of bytes, each a part of a key's hash. Of two keys with one place the table has
 *         the later one, so a ghost lasts for about as many others as the table has bytes. One in
 *         255 keys without a ghost seems to have one.
 * Owner:  the caller, whose memory is all 0 at first.
 * Thread: any. With several threads a ghost may be lost, or seen twice.
 */
#ifndef CLOCKOO_FLASH_GHOSTS_H
#define CLOCKOO_FLASH_GHOSTS_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_GHOSTS_MIN (1u << 12)

/* A table of ghosts. tags NULL: nothing is remembered. */
struct flash_ghosts {
	_Atomic uint8_t *tags;
	uint64_t count; /* a power of two; equals the bytes */
};

/* Returns the ghosts for a device with `items` items: from half of them to all. */
uint64_t flash_ghosts_count(uint64_t items);

/* True if the key had a ghost. Otherwise it gets one. */
bool flash_ghosts_have(const struct flash_ghosts *ghosts, uint64_t hash);

#endif
