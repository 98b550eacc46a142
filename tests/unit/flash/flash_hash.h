/*
 * flash_hash.h - the hash of keys where no store has one, for tests of restarts.
 */
#ifndef CLOCKOO_FLASH_HASH_H
#define CLOCKOO_FLASH_HASH_H

#include "base/bytes.h"
#include "base/hash.h"

/* Returns the hash of a key (flash_recover_config.hash). */
static inline uint64_t
hash_of(void *arg, struct view key)
{
	(void)arg;
	return hash_bytes(key.data, key.len, 77);
}

/* Returns the hash of the key that is these four bytes. */
static inline uint64_t
hash_of_number(uint32_t n)
{
	return hash_of(NULL, (struct view){(const uint8_t *)&n, sizeof n});
}

#endif
