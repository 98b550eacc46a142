/*
 * The index of items on flash. Goal: a lookup finds every entry that has the tag in a key's
 * buckets, and an erasure takes them all, however entries were moved in between; 99 % of the
 * slots fill. Method: random calls against a list of the entries, with few tags, so that keys
 * have neighbours.
 */
#include "support/test.h"
#include "flash/flash_index.h"

#include <stdlib.h>

#define FEW   16u /* buckets, so that few keys crowd them */
#define CALLS 200000u
#define MANY  (1u << 13) /* buckets of a full index: 2^16.3 slots */

static struct bucket few[FEW], many[MANY];
static struct {
	uint64_t hash;
	uint32_t location;
} there[FEW * BUCKET_SLOTS];
static uint32_t count;
static uint64_t state = 1;

static uint64_t
draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

/* Returns a hash with one of few tags, from both halves of the 16 bits, in any bucket. */
static uint64_t
some_hash(void)
{
	return draw(1u << 31) << 33 | (1 + draw(3)) << 16 | draw(2) << 31;
}

static bool
matches(const struct flash_index *ix, uint64_t a, uint64_t b)
{
	const struct place p = flash_index_place(ix, a), q = flash_index_place(ix, b);

	return p.tag == q.tag && (p.primary == q.primary || p.primary == q.alternate);
}

/* Checks that the lookup finds exactly the matching entries of the list, each once. */
static void
found_are_those_of_the_list(struct flash_index *ix, uint64_t hash)
{
	uint32_t found[FLASH_INDEX_MATCHES], expected = 0;
	const uint32_t n = flash_index_look(ix, hash, found);

	for (uint32_t i = 0; i < count; i++) {
		if (!matches(ix, there[i].hash, hash))
			continue;
		expected++;

		uint32_t times = 0;

		for (uint32_t j = 0; j < n; j++)
			times += found[j] == there[i].location;
		check_eq(times, 1);
	}
	check_eq(n, expected);
}

static void
erase(struct flash_index *ix, uint64_t hash)
{
	uint32_t gone = 0;

	for (uint32_t i = 0; i < count;) {
		if (matches(ix, there[i].hash, hash)) {
			there[i] = there[--count];
			gone++;
		} else {
			i++;
		}
	}
	check_eq(flash_index_erase(ix, hash), gone);
	found_are_those_of_the_list(ix, hash);
}

TEST(looks_find_all_and_erasures_take_all)
{
	struct flash_index ix = {.buckets = few, .bucket_count = FEW};
	uint32_t location = 0, full = 0, moved;

	for (uint32_t i = 0; i < CALLS; i++) {
		const uint64_t hash = some_hash();

		found_are_those_of_the_list(&ix, hash);
		if (draw(100) < 8) {
			erase(&ix, hash);
			continue;
		}
		if (count == FEW * BUCKET_SLOTS || !flash_index_insert(&ix, hash, ++location)) {
			full++;
			continue;
		}
		there[count].hash = hash;
		there[count++].location = location;
		found_are_those_of_the_list(&ix, hash);
	}
	moved = flash_index_moves(&ix);
	check(full > 1000);
	check(moved > 1000);
}

TEST(the_used_bit_is_a_hint_of_its_entry)
{
	struct flash_index ix = {.buckets = few, .bucket_count = FEW};
	const uint64_t hash = some_hash();
	uint32_t found[FLASH_INDEX_MATCHES];

	memset(few, 0, sizeof few);
	check(flash_index_insert(&ix, hash, 7));
	check(!flash_index_use(&ix, hash, 8));
	check(!flash_index_use(&ix, hash, 7));
	check(flash_index_use(&ix, hash, 7));
	check(flash_index_has(&ix, hash, 7));
	check(!flash_index_has(&ix, hash, 8));
	check_eq(flash_index_look(&ix, hash, found), 1);
	check_eq(found[0], 7 | FLASH_USED);
	check_eq(flash_index_erase(&ix, hash), 1);
	check(!flash_index_use(&ix, hash, 7));
	check_eq(flash_index_look(&ix, hash, found), 0);
}

static bool
is_odd(const void *arg, uint32_t location)
{
	return (location & 1) != 0;
}

TEST(a_sweep_takes_the_dead_and_leaves_the_others)
{
	struct flash_index ix = {.buckets = few, .bucket_count = FEW};
	uint32_t found[FLASH_INDEX_MATCHES];
	uint64_t hashes[100];

	memset(few, 0, sizeof few);
	for (uint32_t i = 0; i < 100; i++) {
		hashes[i] = draw(1u << 31) << 33 | (uint64_t)(i + 1) << 16;
		check(flash_index_insert(&ix, hashes[i], i + 1));
	}
	check(!flash_index_use(&ix, hashes[2], 3));
	for (uint32_t b = 0; b < FEW; b++)
		flash_index_sweep(&ix, b, is_odd, NULL);
	for (uint32_t i = 0; i < 100; i++)
		check_eq(flash_index_look(&ix, hashes[i], found), i & 1);
}

TEST(it_is_99_of_100_full_before_an_insert_fails)
{
	struct flash_index ix = {.buckets = many, .bucket_count = MANY};
	uint32_t n = 0, unmoved = 0;

	for (; flash_index_insert(&ix, hash_word(n, 1), n + 1); n++)
		unmoved += flash_index_moves(&ix) == 0;
	/* Most items need no move: the bucket with more room takes the item. */
	check(unmoved >= MANY * BUCKET_SLOTS * 0.75);
	print_message("%u of %u slots, %u moves\n", n, MANY * BUCKET_SLOTS, flash_index_moves(&ix));
	check(n >= MANY * BUCKET_SLOTS * 0.99);
	for (uint32_t i = 0; i < n; i++)
		check(flash_index_has(&ix, hash_word(i, 1), i + 1));
}
