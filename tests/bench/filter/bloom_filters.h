/*
 * bloom_filters.h - Bloom filters for comparison with a cuckoo filter: a plain, a blocked and a
 * counting one.
 *
 * Shape:  plain and counting: k places of one array, of bits or of counters; blocked: k bits of one
 *         line of 64 bytes. Place i is h1 + i x h2, two halves of a key's hash.
 * Owner:  the caller: bloom_bytes(), zeroed by bloom_init.
 * Errors: none: an insert always fits, and makes more absent keys positive.
 * Bounds: BLOOM_HASHES_MAX. A counter that has reached 15 stays there.
 * Source: B. Bloom (CACM 1970); L. Fan, P. Cao, J. Almeida, A. Broder, "Summary Cache" (2000),
 * counters of four bits; F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient Bloom
 *         Filters" (2007); A. Kirsch, M. Mitzenmacher, "Less Hashing, Same Performance" (2006).
 */
#ifndef CLOCKOO_BLOOM_FILTERS_H
#define CLOCKOO_BLOOM_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOOM_HASHES_MAX 32u

enum bloom_kind { BLOOM_PLAIN, BLOOM_BLOCKED, BLOOM_COUNTING, BLOOM_KINDS_COUNT };

struct bloom {
	enum bloom_kind kind;
	uint32_t hashes; /* k in the papers */
	uint32_t places; /* bits or counters; a multiple of 512 */
	uint8_t bytes[] __attribute__((aligned(64)));
};

/* Returns the places that fit into the bits, at least one line. */
uint32_t bloom_places(enum bloom_kind kind, uint64_t bits);
size_t bloom_bytes(enum bloom_kind kind, uint32_t places);
uint64_t bloom_bits(const struct bloom *b);

/* Returns the k with the fewest false positives: bits an item x ln 2. */
uint32_t bloom_hashes(double bits_per_item);

void bloom_init(struct bloom *b, enum bloom_kind kind, uint32_t places, uint32_t hashes);

void bloom_insert(struct bloom *b, uint64_t hash);
bool bloom_has(const struct bloom *b, uint64_t hash);
/* Deletes a hash that was inserted; for counting filters only. */
void bloom_delete(struct bloom *b, uint64_t hash);

/* Returns how many places a lookup reads. */
uint32_t bloom_reads(const struct bloom *b, uint64_t hash);

#endif
