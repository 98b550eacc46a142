/*
 * admission.c - sets of slots with the frequencies of other keys, under a lock for which no thread
 * waits.
 */
#include "admission.h"

#include "base/check.h"
#include "base/vec16.h"

#include <math.h>

#define ITEMS_FACTOR  8.0 /* k of the thesis */
#define ALPHA         2.0
#define SPARE_TENTHS  11u /* a tenth more slots than items, since sets are not equally full */
#define STATE_SAMPLES (ADMISSION_LOCK - 1)
#define COUNT_BITS    8u
#define COUNT_MASK    0xffu
#define HALVED_COUNTS 0x7f7f7f7f7f7f7f00ull

static_assert(sizeof(struct admission_set) == ADMISSION_ALIGN, "two lines");
static_assert(ADMISSION_AGE <= STATE_SAMPLES,
	      "samples are counted in what the lock leaves of a byte");

double
admission_formula(double smallest_share)
{
	const double n = 1 / smallest_share;

	return ITEMS_FACTOR * n * log(n) + 1;
}

uint32_t
admission_items(double smallest_share)
{
	const double items = admission_formula(smallest_share);

	if (!(items < ADMISSION_ITEMS_MAX))
		return ADMISSION_ITEMS_MAX;
	return items > ADMISSION_ITEMS_MIN ? (uint32_t)items : ADMISSION_ITEMS_MIN;
}

double
admission_bound(double smallest_share, uint32_t items)
{
	const double n = 1 / smallest_share;

	return (1 + sqrt(1 + 2 * ALPHA * ALPHA * n * log(n) / (items - 1))) / 2;
}

static uint32_t
sets_for(uint32_t items)
{
	ensure(items - 1 < ADMISSION_ITEMS_MAX);
	return (uint32_t)(((uint64_t)items * SPARE_TENTHS / 10 + ADMISSION_SET_SLOTS - 1) /
			  ADMISSION_SET_SLOTS);
}

uint32_t
admission_slots(uint32_t items)
{
	return sets_for(items) * ADMISSION_SET_SLOTS;
}

size_t
admission_bytes(uint32_t items)
{
	return sizeof(struct admission) + sets_for(items) * sizeof(struct admission_set);
}

void
admission_init(struct admission *a, uint32_t items)
{
	a->nsets = sets_for(items);
	for (uint32_t i = 0; i < a->nsets; i++)
		a->sets[i] = (struct admission_set){.state = 0};
}

/* ---- a set ---- */

/* Returns the set of a hash. The highest bits select the set, the lowest the counters of its
 * frequencies. */
static struct admission_set *
set_of(const struct admission *a, uint64_t hash)
{
	const uint64_t set = (hash >> 32) * a->nsets >> 32;

	return (struct admission_set *)(uintptr_t)&a->sets[set];
}

static uint32_t
bits_of(uint64_t hash)
{
	return (uint32_t)hash & ((1u << FREQUENCY_BITS) - 1);
}

/* Returns the value that a slot stores for a key; 0 is for free slots. */
static uint64_t
name_of(uint64_t hash)
{
	return hash + (hash == 0);
}

static uint64_t
key_at(const struct admission_set *set, uint32_t slot)
{
	return atomic_load_explicit(&set->key[slot], memory_order_relaxed);
}

/* Returns the slot of a hash, or a free one for 0; ADMISSION_SET_SLOTS: there is none. */
static uint32_t
slot_of(const struct admission_set *set, uint64_t name)
{
	uint32_t slot = 0;

	while (slot < ADMISSION_SET_SLOTS && key_at(set, slot) != name)
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
try_lock(struct admission_set *set, uint64_t *state)
{
	*state = atomic_load_explicit(&set->state, memory_order_relaxed);
	return (*state & ADMISSION_LOCK) == 0 &&
	       atomic_compare_exchange_strong_explicit(&set->state, state, *state | ADMISSION_LOCK,
						       memory_order_acquire, memory_order_relaxed);
}

static void
unlock(struct admission_set *set, uint64_t state)
{
	atomic_store_explicit(&set->state, state & ~ADMISSION_LOCK, memory_order_release);
}

/* ---- requests ---- */

bool
admission_has_mt(const struct admission *a, uint64_t hash)
{
	return slot_of(set_of(a, hash), name_of(hash)) < ADMISSION_SET_SLOTS;
}

/* True if the key has a slot, or one is free. */
static bool
has_room(const struct admission_set *set, uint64_t name)
{
	bool found = false;

	for (uint32_t slot = 0; slot < ADMISSION_SET_SLOTS; slot++) {
		const uint64_t key = key_at(set, slot);

		found |= key == name || key == 0;
	}
	return found;
}

bool
admission_wants_mt(const struct admission *a, uint64_t hash)
{
	const struct admission_set *set = set_of(a, hash);
	const uint64_t state = atomic_load_explicit(&set->state, memory_order_relaxed);

	return frequency_estimate(&set->others, bits_of(hash)) >
		       count_at(state, victim_of(state)) ||
	       has_room(set, name_of(hash));
}

/* Counts a sample of a key without a slot. The last sample of an age halves all counts. */
static uint64_t
aged(struct admission_set *set, uint64_t state)
{
	if ((++state & STATE_SAMPLES) < ADMISSION_AGE)
		return state;
	frequency_halve(&set->others);
	return state >> 1 & HALVED_COUNTS;
}

/* True if the key's count is at its maximum. Such keys are then only read, so their line stays in
 * the cache of every core. */
static bool
is_full(const struct admission_set *set, uint64_t name)
{
	const uint32_t slot = slot_of(set, name);

	return slot < ADMISSION_SET_SLOTS &&
	       count_at(atomic_load_explicit(&set->state, memory_order_relaxed), slot) ==
		       FREQUENCY_MAX;
}

void
admission_count_mt(struct admission *a, uint64_t hash)
{
	struct admission_set *set = set_of(a, hash);
	const uint32_t bits = bits_of(hash);
	uint32_t slot, count;
	uint64_t state;

	if (is_full(set, name_of(hash)) || !try_lock(set, &state))
		return;
	slot = slot_of(set, name_of(hash));
	if (slot < ADMISSION_SET_SLOTS) {
		count = count_at(state, slot);
		if (count < FREQUENCY_MAX)
			state = with_count(state, slot, count + 1);
	} else {
		count = frequency_estimate(&set->others, bits);
		if (count < FREQUENCY_MAX)
			frequency_raise(&set->others, bits, count + 1);
		state = aged(set, state);
	}
	unlock(set, state);
}

/* Transfers a leaving key's count to the frequencies, where it can be compared with others'. */
static uint64_t
slot_leave(struct admission_set *set, uint32_t slot, uint64_t state)
{
	const uint64_t name = key_at(set, slot);

	frequency_raise(&set->others, bits_of(name), count_at(state, slot));
	return name;
}

/* Gives a key without a slot a free one, or the victim's. */
static enum admission_result
take(struct admission_set *set, uint64_t hash, uint64_t *state, uint64_t *left)
{
	const uint32_t count = frequency_estimate(&set->others, bits_of(hash)),
		       free_slot = slot_of(set, 0);
	const bool is_free = free_slot < ADMISSION_SET_SLOTS;
	const uint32_t slot = is_free ? free_slot : victim_of(*state);

	if (!is_free && count <= count_at(*state, slot))
		return ADMISSION_REFUSED;
	if (!is_free)
		*left = slot_leave(set, slot, *state);
	atomic_store_explicit(&set->key[slot], name_of(hash), memory_order_relaxed);
	*state = with_count(*state, slot, count);
	return is_free ? ADMISSION_FREE_SLOT : ADMISSION_REPLACED;
}

enum admission_result
admission_enter_mt(struct admission *a, uint64_t hash, uint64_t *left)
{
	struct admission_set *set = set_of(a, hash);
	enum admission_result entry = ADMISSION_FREE_SLOT;
	uint64_t state;

	if (!try_lock(set, &state))
		return ADMISSION_REFUSED;
	if (slot_of(set, name_of(hash)) == ADMISSION_SET_SLOTS)
		entry = take(set, hash, &state, left);
	unlock(set, state);
	return entry;
}

/* ---- samples ---- */

/* Knuth's MMIX generator, whose high bits are the good ones. */
uint32_t
sampler_draw(struct sampler *sampler)
{
	sampler->random = sampler->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((sampler->random >> 32) * SAMPLER_MAX >> 32);
}

void
sampler_init(struct sampler *sampler, uint64_t seed)
{
	sampler->random = seed;
	sampler->before = sampler_draw(sampler);
}

uint32_t
sampler_next(struct sampler *sampler, uint32_t n)
{
	const uint32_t before = sampler->before;

	if (before >= n) {
		sampler->before -= n;
		return n;
	}
	sampler->before = sampler_draw(sampler);
	return before;
}
