/*
 * ghost.h - ghosts: parts of the hashes of keys that were evicted lately.
 *
 * A key that is stored again while its ghost is there was evicted too early (probation.h).
 *
 * Shape:  groups of eight entries of 16 bits. An entry is 15 bits of the hash, and a bit that is
 *         set if the item was on probation; 0: no entry. A new entry replaces the oldest one of its
 *         group, so entries need no other ageing. A class uses as many groups as hold seven ghosts
 *         for eight objects, if there are that many: a key that returns later than such a ghost
 *         lives was not evicted too early. A key's hash chooses one of its class's groups. Classes
 *         may share groups.
 *
 * Owner:  the image (image.h). What the memory holds at first does not matter.
 *
 * Thread: any core, without a lock. Two cores at one group at once may lose an entry. Entries are
 *         hints: a lost entry, or a false match (8 in 32768 lookups), lets an item stay a little
 *         longer or shorter, and changes no answer.
 *
 * Bounds: one group a call.
 */
#ifndef CLOCKOO_GHOST_H
#define CLOCKOO_GHOST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GHOST_BITS     16u
#define GHOST_WORDS    2u /* words of a group */
#define GHOSTS_A_GROUP (GHOST_WORDS * 64 / GHOST_BITS)
/* The number of groups of a class is rounded to one of 2^GHOST_STEPS_SHIFT steps between a power of
 * two and the next. */
#define GHOST_STEPS_SHIFT 4u

struct ghost_group {
	/* Latest entry first, from the bottom of the first word. */
	_Atomic uint64_t word[GHOST_WORDS];
};

struct ghosts {
	struct ghost_group *groups;
	uint32_t count; /* groups; 0: none are kept */
};

/* The groups of one class. */
struct ghost_range {
	uint32_t first, count;
};

enum ghost { GHOST_NONE, GHOST_OF_KEPT, GHOST_OF_NEW };

/* Returns the groups of a class with this number of objects. The range changes rarely, by a 16th at
 * a time; then the class loses its ghosts. */
static inline struct ghost_range
ghosts_of_class(const struct ghosts *g, uint32_t class, uint32_t objects)
{
	const uint32_t groups = objects / 8 * 7 / GHOSTS_A_GROUP | 1;
	const uint32_t log = 31 - (uint32_t)__builtin_clz(groups);
	const uint32_t unit = log > GHOST_STEPS_SHIFT ? log - GHOST_STEPS_SHIFT : 0;
	const uint32_t count = groups >> unit << unit;

	return (struct ghost_range){
		.first = (uint32_t)((uint64_t)(class * 0x9e3779b1u) * g->count >> 32),
		.count = count < g->count ? count : g->count,
	};
}

/* Returns the group of a key; NULL: no ghosts are kept. */
static inline struct ghost_group *
ghost_group(const struct ghosts *g, struct ghost_range range, uint64_t hash)
{
	if (g->count == 0)
		return NULL;

	const uint64_t n = range.first + ((hash >> 32) * range.count >> 32);

	return &g->groups[n < g->count ? n : n - g->count];
}

/* Returns the entry of a key that was on probation. Its bits of the hash are others than those that
 * choose the group. */
static inline uint64_t
ghost_entry(uint64_t hash)
{
	return (hash << 1 & 0xfffe) | 1;
}

static inline void
ghost_add(struct ghost_group *group, uint64_t hash, enum ghost kind)
{
	if (group == NULL || kind == GHOST_NONE)
		return;

	uint64_t entry = ghost_entry(hash) - (kind == GHOST_OF_KEPT);

	/* Relaxed: nothing is read through it. */
	for (uint32_t i = 0; i < GHOST_WORDS; i++) {
		const uint64_t now = atomic_load_explicit(&group->word[i], memory_order_relaxed);

		atomic_store_explicit(&group->word[i], now << GHOST_BITS | entry,
				      memory_order_relaxed);
		entry = now >> (64 - GHOST_BITS);
	}
}

/* Returns a bit for each entry of the word that equals `entry`, except for its kind. A borrow may
 * set bits of entries above an equal one, too. */
static inline uint64_t
ghosts_alike(uint64_t word, uint64_t entry)
{
	const uint64_t each = 0x0001000100010001ull;
	const uint64_t differs = (word | each) ^ entry * each;

	return (differs - each) & ~differs & each << (GHOST_BITS - 1);
}

/* Removes the key's ghost and returns its kind. If it has several, that is the latest. */
static inline enum ghost
ghost_take(struct ghost_group *group, uint64_t hash)
{
	for (uint32_t i = 0; group != NULL && i < GHOST_WORDS; i++) {
		const uint64_t now = atomic_load_explicit(&group->word[i], memory_order_relaxed);
		uint64_t same = ghosts_alike(now, ghost_entry(hash));

		for (; same != 0; same &= same - 1) {
			const uint32_t shift =
				(uint32_t)__builtin_ctzll(same) / GHOST_BITS * GHOST_BITS;
			const uint64_t entry = now >> shift & 0xffff;

			if (entry == 0 || (entry | 1) != ghost_entry(hash))
				continue;
			atomic_store_explicit(&group->word[i], now & ~(0xffffull << shift),
					      memory_order_relaxed);
			return (entry & 1) != 0 ? GHOST_OF_NEW : GHOST_OF_KEPT;
		}
	}
	return GHOST_NONE;
}

#endif
