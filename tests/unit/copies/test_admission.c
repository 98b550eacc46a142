/*
 * test_admission.c - a slot goes to the key that is requested more, and changes hands only
 * where it is asked for.
 *
 * Goal:   each rule of admission.h and frequency.h by itself; tests/bench/front measures
 *         their effect for a fleet.
 * Method: keys of one set, counted by hand: the hash's upper half names the set.
 */
#include "copies/admission.h"
#include "support/test.h"

#include <stdlib.h>

#define ITEMS 3022u

#define SAMPLES 100000u

/* Returns a hash of the first set; the first 32 keys share no counter. */
static uint64_t
hash_of(uint32_t key)
{
	return 1ull << 21 | (key * 0x8421u & 0xfffffu);
}

static struct admission *
slots_for(uint32_t items)
{
	struct admission *slots = aligned_alloc(
		ADMISSION_ALIGN, (admission_bytes(items) | (ADMISSION_ALIGN - 1)) + 1);

	check_ptr(slots);
	memset(slots, 0xff, admission_bytes(items));
	admission_init(slots, items);
	return slots;
}

static void
count(struct admission *slots, uint64_t hash, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		admission_count_mt(slots, hash);
}

/* Returns a set whose slots have keys 0..6, each with this count. */
static struct admission *
full_set(uint32_t counts)
{
	struct admission *slots = slots_for(ITEMS);
	uint64_t left;

	for (uint32_t key = 0; key < ADMISSION_SET_SLOTS; key++) {
		check(admission_wants_mt(slots, hash_of(key)));
		check_eq(admission_enter_mt(slots, hash_of(key), &left), ADMISSION_FREE_SLOT);
		count(slots, hash_of(key), counts);
	}
	return slots;
}

static uint32_t
slots_of(const struct admission *slots, uint64_t hash)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ADMISSION_SET_SLOTS; i++)
		n += slots->sets[0].key[i] == hash;
	return n;
}

/* In each row 40 keys share 32 counters. */
TEST(an_estimate_is_never_below_the_count)
{
	struct frequency sketch = {{0}};
	uint32_t counts[40] = {0}, above = 0;

	for (uint32_t i = 0; i < 200; i++) {
		const uint32_t key = i * 7 % 40, bits = key * 2654435761u >> 12;

		counts[key]++;
		if (frequency_estimate(&sketch, bits) < FREQUENCY_MAX)
			frequency_raise(&sketch, bits, frequency_estimate(&sketch, bits) + 1);
	}
	for (uint32_t key = 0; key < 40; key++) {
		const uint32_t most = counts[key] < FREQUENCY_MAX ? counts[key] : FREQUENCY_MAX,
			       estimate = frequency_estimate(&sketch, key * 2654435761u >> 12);

		check(estimate >= most && estimate <= FREQUENCY_MAX);
		above += estimate - most;
	}
	check(above <= 4);
}

TEST(halving_halves_every_counter)
{
	struct frequency sketch;

	for (uint32_t i = 0; i < 2 * FREQUENCY_ROWS; i++)
		sketch.words[i] = 0xfedcba9876543210ull;
	frequency_halve(&sketch);
	for (uint32_t i = 0; i < 2 * FREQUENCY_ROWS; i++)
		check(sketch.words[i] == 0x7766554433221100ull);
}

TEST(the_one_that_is_asked_less_is_replaced)
{
	struct admission *slots = full_set(3);
	uint64_t left = 0;

	/* The other keys have lower counts; the first of them is key 1. */
	count(slots, hash_of(0), 1);
	count(slots, hash_of(8), 3);
	check(!admission_wants_mt(slots, hash_of(8)));
	check_eq(admission_enter_mt(slots, hash_of(8), &left), ADMISSION_REFUSED);
	count(slots, hash_of(8), 1);
	check(admission_wants_mt(slots, hash_of(8)));
	check_eq(admission_enter_mt(slots, hash_of(8), &left), ADMISSION_REPLACED);
	check(left == hash_of(1) && !admission_has_mt(slots, left) &&
	      admission_has_mt(slots, hash_of(8)) && admission_has_mt(slots, hash_of(0)));
	free(slots);
}

/* Key 1 left with 3 counts: one more puts it above the keys that stayed. */
TEST(what_left_is_remembered)
{
	struct admission *slots = full_set(3);
	uint64_t left = 0;

	count(slots, hash_of(8), 4);
	check_eq(admission_enter_mt(slots, hash_of(8), &left), ADMISSION_REPLACED);
	count(slots, left, 1);
	check(admission_wants_mt(slots, left));
	free(slots);
}

TEST(a_slot_changes_hands_in_enter_only)
{
	struct admission *slots = full_set(1);

	for (uint32_t i = 0; i < 100; i++) {
		count(slots, hash_of(9), 1);
		admission_wants_mt(slots, hash_of(9));
	}
	for (uint32_t key = 0; key < ADMISSION_SET_SLOTS; key++)
		check(admission_has_mt(slots, hash_of(key)));
	free(slots);
}

TEST(a_key_has_one_slot_and_keeps_it_without_comparison)
{
	struct admission *slots = full_set(0);
	uint64_t left;

	count(slots, hash_of(9), 3);
	check(admission_wants_mt(slots, hash_of(2)));
	check_eq(admission_enter_mt(slots, hash_of(2), &left), ADMISSION_FREE_SLOT);
	check_eq(slots_of(slots, hash_of(2)), 1);
	free(slots);
}

/* Requests for keys that have slots do not age the counts, nor do those for
 * keys that lost theirs. */
TEST(only_keys_without_a_slot_age_the_others)
{
	struct admission *slots = full_set(8);

	count(slots, hash_of(0), 1000);
	check_eq(slots->sets[0].state >> 16 & 0xff, 8);
	count(slots, hash_of(9), ADMISSION_AGE - 1);
	check_eq(slots->sets[0].state >> 16 & 0xff, 8);
	count(slots, hash_of(9), 1);
	check_eq(slots->sets[0].state >> 16 & 0xff, 4);
	check_eq(slots->sets[0].state >> 8 & 0xff, FREQUENCY_MAX / 2);
	check_eq(frequency_estimate(&slots->sets[0].others, hash_of(9) & 0xfffff),
		 FREQUENCY_MAX / 2);
	free(slots);
}

TEST(who_finds_the_lock_held_changes_nothing)
{
	struct admission *slots = full_set(1);
	struct admission_set before;
	uint64_t left = 7;

	count(slots, hash_of(9), 5);
	slots->sets[0].state |= ADMISSION_LOCK;
	memcpy(&before, &slots->sets[0], sizeof before);
	count(slots, hash_of(9), 1);
	count(slots, hash_of(1), 1);
	check_eq(admission_enter_mt(slots, hash_of(9), &left), ADMISSION_REFUSED);
	check_eq(admission_enter_mt(slots, hash_of(1), &left), ADMISSION_REFUSED);
	check_bytes(&before, &slots->sets[0], sizeof before);
	check_eq(left, 7);
	free(slots);
}

/* A hash of 0 is a key like any other, and free slots belong to no key. */
TEST(a_free_slot_is_no_keys)
{
	struct admission *slots = slots_for(ITEMS);
	uint64_t left;

	check(!admission_has_mt(slots, 0));
	check_eq(admission_enter_mt(slots, 0, &left), ADMISSION_FREE_SLOT);
	check(admission_has_mt(slots, 0));
	check_eq(slots_of(slots, 0), ADMISSION_SET_SLOTS - 1);
	free(slots);
}

/* The figures of the thesis, 2.3.2: k = 8; eq. 2.12 at alpha 2: 1.21, for any n. */
TEST(items_are_those_of_the_thesis)
{
	static const struct {
		uint32_t servers, items;
	} rows[] = {{1, ADMISSION_ITEMS_MIN},
		    {4, ADMISSION_ITEMS_MIN},
		    {10, 185},
		    {30, 817},
		    {85, 3022},
		    {100, 3685},
		    {1024, 56783},
		    {1000000, ADMISSION_ITEMS_MAX}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const double share = 1.0 / rows[i].servers;

		check_eq(admission_items(share), rows[i].items);
		if (rows[i].servers >= 10 && rows[i].items < ADMISSION_ITEMS_MAX) {
			check(admission_bound(share, rows[i].items) > 1.206);
			check(admission_bound(share, rows[i].items) < 1.209);
		}
	}
	check_eq(admission_items(0.0), ADMISSION_ITEMS_MAX);
}

/* Hashes use all sets and none beyond the memory: the sanitizer and the
 * last set's bytes guard it. */
TEST(hashes_fall_on_all_sets)
{
	struct admission *slots = slots_for(ADMISSION_ITEMS_MIN);
	uint64_t left;

	check(admission_bytes(ADMISSION_ITEMS_MIN) ==
	      sizeof *slots + slots->nsets * sizeof slots->sets[0]);
	check(slots->nsets * ADMISSION_SET_SLOTS >= ADMISSION_ITEMS_MIN);
	for (uint64_t i = 0; i < 4096; i++)
		admission_enter_mt(slots, i << 52 | i, &left);
	admission_enter_mt(slots, UINT64_MAX, &left);
	for (uint32_t set = 0; set < slots->nsets; set++)
		for (uint32_t i = 0; i < ADMISSION_SET_SLOTS; i++)
			check(slots->sets[set].key[i] != 0);
	free(slots);
}

/* The distance of samples is 1..15, 8 on average. The samples do not depend
 * on the size of passes. */
TEST(samples_do_not_depend_on_passes)
{
	static bool is_sample[SAMPLES];
	struct sampler s;
	uint32_t samples = 0, gap = 0, pass;

	sampler_init(&s, 1);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		is_sample[i] = sampler_next(&s, 1) == 0;
		gap = is_sample[i] ? 0 : gap + 1;
		samples += is_sample[i];
		check(gap < SAMPLER_MAX);
	}
	check(samples > SAMPLES / 8 - SAMPLES / 100 && samples < SAMPLES / 8 + SAMPLES / 100);
	sampler_init(&s, 1);
	for (uint32_t from = 0; from < SAMPLES; from += pass) {
		pass = from % 64 < SAMPLES - from ? from % 64 + 1 : SAMPLES - from;
		for (uint32_t i = sampler_next(&s, pass); i < pass;
		     i += 1 + sampler_next(&s, pass - i - 1), samples--)
			check(is_sample[from + i]);
	}
	check_eq(samples, 0);
}
