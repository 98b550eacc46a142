/*
 * front_slots.c - sets of slots with their sketches, under a lock for which no thread waits.
 */
#include "front_slots.h"

#include "base/check.h"
#include "base/vec16.h"

#include <math.h>

#define ITEMS_FACTOR  8.0 /* k of the thesis */
#define ALPHA         2.0
#define SPARE_TENTHS  11u /* a tenth more slots than items, since sets are not equally full */
#define STATE_SAMPLES (FRONT_SET_LOCK - 1)
#define COUNT_BITS    8u
#define COUNT_MASK    0xffu
#define HALVED_COUNTS 0x7f7f7f7f7f7f7f00ull

static_assert(sizeof(struct front_set) == FRONT_SLOTS_ALIGN, "two lines");
static_assert(FRONT_AGE <= STATE_SAMPLES, "samples are counted in what the lock leaves of a byte");

double
front_slots_formula(double smallest_share)
{
	const double n = 1 / smallest_share;

	return ITEMS_FACTOR * n * log(n) + 1;
}

uint32_t
front_slots_items(double smallest_share)
{
	const double items = front_slots_formula(smallest_share);

	if (!(items < FRONT_ITEMS_MAX))
		return FRONT_ITEMS_MAX;
	return items > FRONT_ITEMS_MIN ? (uint32_t)items : FRONT_ITEMS_MIN;
}

double
front_slots_bound(double smallest_share, uint32_t items)
{
	const double n = 1 / smallest_share;

	return (1 + sqrt(1 + 2 * ALPHA * ALPHA * n * log(n) / (items - 1))) / 2;
}

static uint32_t
sets_for(uint32_t items)
{
	ensure(items - 1 < FRONT_ITEMS_MAX);
	return (uint32_t)(((uint64_t)items * SPARE_TENTHS / 10 + FRONT_SET_SLOTS - 1) /
			  FRONT_SET_SLOTS);
}

uint32_t
front_slots_count(uint32_t items)
{
	return sets_for(items) * FRONT_SET_SLOTS;
}

size_t
front_slots_bytes(uint32_t items)
{
	return sizeof(struct front_slots) + sets_for(items) * sizeof(struct front_set);
}

void
front_slots_init(struct front_slots *slots, uint32_t items)
{
	slots->nsets = sets_for(items);
	for (uint32_t i = 0; i < slots->nsets; i++)
		slots->sets[i] = (struct front_set){.state = 0};
}

/* ---- a set ---- */

/* Returns the set of a hash. The highest bits select the set, the lowest the counters of its
 * sketch. */
static struct front_set *
set_of(const struct front_slots *slots, uint64_t hash)
{
	const uint64_t set = (hash >> 32) * slots->nsets >> 32;

	return (struct front_set *)(uintptr_t)&slots->sets[set];
}

static uint32_t
bits_of(uint64_t hash)
{
	return (uint32_t)hash & ((1u << FRONT_SKETCH_BITS) - 1);
}

/* Returns the value that a slot stores for a key; 0 is for free slots. */
static uint64_t
name_of(uint64_t hash)
{
	return hash + (hash == 0);
}

static uint64_t
key_at(const struct front_set *set, uint32_t slot)
{
	return atomic_load_explicit(&set->key[slot], memory_order_relaxed);
}

/* Returns the slot of a hash, or a free one for 0; FRONT_SET_SLOTS: there is none. */
static uint32_t
slot_of(const struct front_set *set, uint64_t name)
{
	uint32_t slot = 0;

	while (slot < FRONT_SET_SLOTS && key_at(set, slot) != name)
		slot++;
	return slot;
}

static uint32_t
count_at(uint64_t state, uint32_t slot)
{
	return (uint32_t)(state >> COUNT_BITS * (slot + 1)) & COUNT_MASK;
}

static uint64_t
with_count(uint64_t state, uint32_t slot, uint32_t count)
{
	const uint32_t shift = COUNT_BITS * (slot + 1);

	return (state & ~((uint64_t)COUNT_MASK << shift)) | (uint64_t)count << shift;
}

/* Returns the first slot with the least count. */
static uint32_t
victim_of(uint64_t state)
{
	return least_byte(state | COUNT_MASK) - 1;
}

static bool
try_lock(struct front_set *set, uint64_t *state)
{
	*state = atomic_load_explicit(&set->state, memory_order_relaxed);
	return (*state & FRONT_SET_LOCK) == 0 &&
	       atomic_compare_exchange_strong_explicit(&set->state, state, *state | FRONT_SET_LOCK,
						       memory_order_acquire, memory_order_relaxed);
}

static void
unlock(struct front_set *set, uint64_t state)
{
	atomic_store_explicit(&set->state, state & ~FRONT_SET_LOCK, memory_order_release);
}

/* ---- requests ---- */

bool
front_slots_has_mt(const struct front_slots *slots, uint64_t hash)
{
	return slot_of(set_of(slots, hash), name_of(hash)) < FRONT_SET_SLOTS;
}

/* True if the key has a slot, or one is free. */
static bool
has_room(const struct front_set *set, uint64_t name)
{
	bool found = false;

	for (uint32_t slot = 0; slot < FRONT_SET_SLOTS; slot++) {
		const uint64_t key = key_at(set, slot);

		found |= key == name || key == 0;
	}
	return found;
}

bool
front_slots_wants_mt(const struct front_slots *slots, uint64_t hash)
{
	const struct front_set *set = set_of(slots, hash);
	const uint64_t state = atomic_load_explicit(&set->state, memory_order_relaxed);

	return front_sketch_estimate(&set->sketch, bits_of(hash)) >
		       count_at(state, victim_of(state)) ||
	       has_room(set, name_of(hash));
}

/* Counts a sample of a key without a slot. The last sample of an age halves all counts. */
static uint64_t
aged(struct front_set *set, uint64_t state)
{
	if ((++state & STATE_SAMPLES) < FRONT_AGE)
		return state;
	front_sketch_halve(&set->sketch);
	return state >> 1 & HALVED_COUNTS;
}

/* True if the key's count is at its maximum. Such keys are then only read, so their line stays in
 * the cache of every core. */
static bool
is_full(const struct front_set *set, uint64_t name)
{
	const uint32_t slot = slot_of(set, name);

	return slot < FRONT_SET_SLOTS &&
	       count_at(atomic_load_explicit(&set->state, memory_order_relaxed), slot) ==
		       FRONT_SKETCH_MAX;
}

void
front_slots_count_mt(struct front_slots *slots, uint64_t hash)
{
	struct front_set *set = set_of(slots, hash);
	const uint32_t bits = bits_of(hash);
	uint32_t slot, count;
	uint64_t state;

	if (is_full(set, name_of(hash)) || !try_lock(set, &state))
		return;
	slot = slot_of(set, name_of(hash));
	if (slot < FRONT_SET_SLOTS) {
		count = count_at(state, slot);
		if (count < FRONT_SKETCH_MAX)
			state = with_count(state, slot, count + 1);
	} else {
		count = front_sketch_estimate(&set->sketch, bits);
		if (count < FRONT_SKETCH_MAX)
			front_sketch_raise(&set->sketch, bits, count + 1);
		state = aged(set, state);
	}
	unlock(set, state);
}

/* Transfers a leaving key's count to the sketch, where it can be compared with others'. */
static uint64_t
leave(struct front_set *set, uint32_t slot, uint64_t state)
{
	const uint64_t name = key_at(set, slot);

	front_sketch_raise(&set->sketch, bits_of(name), count_at(state, slot));
	return name;
}

/* Gives a key without a slot a free one, or the victim's. */
static enum front_entry
take(struct front_set *set, uint64_t hash, uint64_t *state, uint64_t *left)
{
	const uint32_t count = front_sketch_estimate(&set->sketch, bits_of(hash)),
		       free_slot = slot_of(set, 0);
	const bool is_free = free_slot < FRONT_SET_SLOTS;
	const uint32_t slot = is_free ? free_slot : victim_of(*state);

	if (!is_free && count <= count_at(*state, slot))
		return FRONT_NOT_ENTERED;
	if (!is_free)
		*left = leave(set, slot, *state);
	atomic_store_explicit(&set->key[slot], name_of(hash), memory_order_relaxed);
	*state = with_count(*state, slot, count);
	return is_free ? FRONT_ENTERED : FRONT_REPLACED;
}

enum front_entry
front_slots_enter_mt(struct front_slots *slots, uint64_t hash, uint64_t *left)
{
	struct front_set *set = set_of(slots, hash);
	enum front_entry entry = FRONT_ENTERED;
	uint64_t state;

	if (!try_lock(set, &state))
		return FRONT_NOT_ENTERED;
	if (slot_of(set, name_of(hash)) == FRONT_SET_SLOTS)
		entry = take(set, hash, &state, left);
	unlock(set, state);
	return entry;
}

/* ---- samples ---- */

/* Knuth's MMIX generator, whose high bits are the good ones. */
uint32_t
front_sampler_draw(struct front_sampler *sampler)
{
	sampler->random = sampler->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((sampler->random >> 32) * FRONT_SAMPLE_MAX >> 32);
}

void
front_sampler_init(struct front_sampler *sampler, uint64_t seed)
{
	sampler->random = seed;
	sampler->before = front_sampler_draw(sampler);
}

uint32_t
front_sampler_next(struct front_sampler *sampler, uint32_t n)
{
	const uint32_t before = sampler->before;

	if (before >= n) {
		sampler->before -= n;
		return n;
	}
	sampler->before = front_sampler_draw(sampler);
	return before;
}
