/*
 * flash_ghosts.h - remembers keys whose item was evicted and not admitted. An item with such a key
 * that is evicted again was stored again, so its key was probably requested in between.
 *
 * Shape:  a table of bytes, each with a part of a key's hash. Of two keys with the same place the
 *         later one is kept, so a ghost stays until about as many other keys have come as the table
 *         has bytes. A key without a ghost seems to have one with a probability of 1/255.
 * Owner:  the caller, whose memory is zero at first.
 * Thread: any. If several threads use the table at once, a ghost may be lost or found twice.
 */
#ifndef CLOCKOO_FLASH_GHOSTS_H
#define CLOCKOO_FLASH_GHOSTS_H

#include <stdbool.h>
#include <stdint.h>

#define FLASH_GHOSTS_MIN (1u << 12)

/* A table of ghosts. tags NULL: nothing is remembered. */
struct flash_ghosts {
	_Atomic uint8_t *tags;
	uint64_t count; /* a power of two; also the size of the table in bytes */
};

/* Returns the size of a table for a device with `items` items: a power of two from items / 2 to
 * items. */
uint64_t flash_ghosts_count(uint64_t items);

/* True if the key had a ghost. If it had none, it gets one. */
bool flash_ghosts_have(const struct flash_ghosts *ghosts, uint64_t hash);

#endif
