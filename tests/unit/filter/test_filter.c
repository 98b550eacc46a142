/*
 * test_filter.c - a cuckoo filter.
 *
 * Goal:   an inserted item is always found; an item that was not inserted is found at most at the
 *         requested rate; buckets get as full as the paper's; an insert that fails, and a delete,
 *         change nothing else; a filter made from a number of items and a rate keeps both.
 * Method: every shape filled until it refuses; random inserts and deletes beside a list of the
 *         items that must be found; counts with fixed seeds; memory that ends where it may be
 *         read.
 */
#include "support/cuckoo_filter.h"
#include "filter/filter_codes.h"

#include "base/hash.h"
#include "support/guard.h"
#include "support/test.h"

#include <stdlib.h>

#define ABSENT rounds(1u << 18, 1u << 16)
#define BEYOND 0.008 /* load that the search for room adds to the paper's */

/* The large shapes at the end are only filled. */
static const struct filter_shape shapes[] = {
	{5003, 2, 7, false},   {5003, 2, 16, false},   {5003, 2, 25, false}, {5003, 4, 7, false},
	{5003, 4, 8, false},   {5003, 4, 12, false},   {5003, 4, 14, false}, {5003, 4, 15, false},
	{5003, 4, 25, false},  {5003, 8, 7, false},    {5003, 8, 8, false},  {5003, 8, 13, false},
	{5003, 8, 15, false},  {5003, 8, 25, false},   {5003, 4, 6, true},   {5003, 4, 7, true},
	{5003, 4, 12, true},   {5003, 4, 14, true},    {8192, 4, 12, false}, {1u << 17, 4, 8, true},
	{200003, 4, 7, false}, {200003, 4, 12, false},
};
#define SHAPES_ALL (sizeof shapes / sizeof shapes[0])
#define SHAPES     (SHAPES_ALL - 3)
#define SHAPE_STEP rounds(1u, 3u)

/* Returns hashes that are evenly spread and distinct. */
static uint64_t
hash_of(uint64_t i)
{
	return hash_word(i, 1);
}

static struct filter *
filter_of(const struct filter_shape *shape)
{
	struct filter *f = malloc(filter_bytes(shape));

	check_ptr(f);
	filter_init(f, shape, 7);
	return f;
}

/* Inserts until an item is refused; returns how many the filter has. */
static uint64_t
fill(struct filter *f)
{
	uint64_t n = 0;

	while (filter_insert(f, hash_of(n)))
		n++;
	return n;
}

static void
check_all_there(const struct filter *f, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (!filter_has(f, hash_of(i)))
			fail_msg("%llu of %llu is gone", (unsigned long long)i,
				 (unsigned long long)n);
}

static double
measured_rate(const struct filter *f)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < ABSENT; i++)
		found += filter_has(f, hash_of((1ull << 40) + i));
	return found / (double)ABSENT;
}

TEST(a_full_filter_has_all_and_is_as_full_and_as_wrong_as_the_papers)
{
	for (size_t s = 0; s < SHAPES_ALL; s++) {
		const struct filter_shape *shape = &shapes[s];
		struct filter *f = filter_of(shape);
		const uint64_t n = fill(f);
		const double load = (double)n / ((double)shape->buckets * shape->slots),
			     rate = measured_rate(f), want = filter_rate(shape, n);

		check_eq(f->count, n);
		check_all_there(f, n);
		if (load < filter_load_max(shape->slots) + BEYOND)
			fail_msg("%u x %u bits: %.4f full", shape->slots, shape->bits, load);
		if (rate > want * 1.1 + 20.0 / ABSENT || rate < want * 0.9 - 20.0 / ABSENT)
			fail_msg("%u x %u bits: %.6f, not %.6f", shape->slots, shape->bits, rate,
				 want);
		free(f);
	}
}

/* True if the filter is empty: all zeros, since empty slots and their codes are zeros. */
static bool
is_empty(const struct filter *f)
{
	for (size_t i = 0; i < filter_bytes(&f->shape) - sizeof *f; i++)
		if (f->bits[i] != 0)
			return false;
	return f->count == 0;
}

TEST(an_insert_that_is_refused_leaves_all_that_was_there)
{
	for (size_t s = 0; s < SHAPES; s += SHAPE_STEP) {
		struct filter *f = filter_of(&shapes[s]);
		const uint64_t n = fill(f);
		uint64_t more = 0;

		for (uint64_t i = 1, refused = 0; refused < 20; i++) {
			if (filter_insert(f, hash_of(n + i)))
				more++;
			else
				refused++;
		}
		check_eq(f->count, n + more);
		check_all_there(f, n);
		for (uint64_t i = 0; i < n; i++)
			check(filter_delete(f, hash_of(i)));
		check_eq(f->count, more);
		free(f);
	}
}

TEST(what_is_deleted_leaves_an_empty_filter)
{
	for (size_t s = 0; s < SHAPES; s += SHAPE_STEP) {
		struct filter *f = filter_of(&shapes[s]);
		const uint64_t n = fill(f);

		for (uint64_t i = n; i-- != 0;)
			check(filter_delete(f, hash_of(i)));
		check(is_empty(f));
		check(!filter_delete(f, hash_of(0)));
		check(!filter_has(f, hash_of(0)));
		free(f);
	}
}

#define MODEL_KEYS 4096u
#define MODEL_OPS  rounds(30000u, 8000u)

/* Items of equal hash, full tables and empty ones: the load rises and falls. */
TEST(whatever_is_inserted_and_deleted_what_must_be_there_is)
{
	static const struct filter_shape small[] = {
		{16, 2, 7, false},  {100, 4, 7, false}, {100, 4, 12, false}, {100, 4, 8, true},
		{50, 8, 15, false}, {101, 8, 7, false}, {64, 4, 14, true},   {17, 8, 25, false},
	};

	for (size_t s = 0; s < sizeof small / sizeof small[0]; s++) {
		static uint8_t copies[MODEL_KEYS];
		struct filter *f = filter_of(&small[s]);
		const uint32_t keys = small[s].buckets * small[s].slots + 10;
		uint64_t count = 0;

		memset(copies, 0, sizeof copies);
		check(keys <= MODEL_KEYS);
		for (uint32_t op = 0; op < MODEL_OPS; op++) {
			const uint64_t random = hash_of(op * 1000ull + s);
			const uint32_t k = (uint32_t)(random >> 32) % keys;
			const bool rises = (op / 2000) % 2 == 0;

			if (random % 10 < (rises ? 9 : 2)) {
				if (copies[k] < 3 && filter_insert(f, hash_of(k)))
					copies[k]++, count++;
			} else if (copies[k] != 0) {
				check(filter_delete(f, hash_of(k)));
				copies[k]--, count--;
			}
			check_eq(f->count, count);
			if (op % 97 == 0)
				for (uint32_t i = 0; i < keys; i++)
					check(copies[i] == 0 || filter_has(f, hash_of(i)));
		}
		for (uint32_t i = 0; i < keys; i++)
			while (copies[i]-- != 0)
				check(filter_delete(f, hash_of(i)));
		check(is_empty(f));
		free(f);
	}
}

TEST(many_at_once_are_as_one_by_one)
{
	for (size_t s = 0; s < SHAPES; s += SHAPE_STEP) {
		struct filter *f = filter_of(&shapes[s]);
		uint64_t hashes[FILTER_BATCH];

		fill(f);
		for (uint32_t n = 0; n <= FILTER_BATCH; n++) {
			uint64_t want = 0;

			for (uint32_t i = 0; i < n; i++) {
				hashes[i] = hash_of(i % 3 == 0 ? i * 1000 : (1ull << 41) + i + n);
				want |= (uint64_t)filter_has(f, hashes[i]) << i;
			}
			check(filter_has_many(f, hashes, n) == want);
		}
		free(f);
	}
}

TEST(a_copy_of_its_bytes_is_the_same_filter)
{
	const struct filter_shape *shape = &shapes[5];
	struct filter *f = filter_of(shape), *copy = malloc(filter_bytes(shape));
	const uint64_t n = fill(f);

	check_ptr(copy);
	memcpy(copy, f, filter_bytes(shape));
	free(f);
	check_all_there(copy, n);
	free(copy);
}

/* Only filter_bytes() are touched: the last bucket lies before an unreadable page. */
TEST(nothing_behind_its_bytes_is_touched)
{
	for (size_t s = 0; s < SHAPES; s += SHAPE_STEP) {
		const struct filter_shape shape = {17 + (uint32_t)s, shapes[s].slots,
						   shapes[s].bits, shapes[s].sorted};
		const uint32_t bytes = (uint32_t)filter_bytes(&shape);
		void *zeros = calloc(1, bytes);
		struct filter *f;

		check_ptr(zeros);
		f = (struct filter *)(void *)at_page_end(zeros, bytes);
		free(zeros);
		filter_init(f, &shape, 7);
		check_all_there(f, fill(f));
	}
}

TEST(a_shape_has_room_for_its_items_and_keeps_its_rate)
{
	static const struct {
		struct filter_want want;
		double bits; /* at most, for an item */
	} cases[] = {
		{{100000, 0.0019, 4, false}, 12.6}, {{100000, 0.0009, 4, true}, 12.6},
		{{200000, 0.0019, 4, false}, 12.6}, {{300000, 0.0009, 4, true}, 12.6},
		{{300000, 0.03, 4, false}, 8.4},    {{300000, 0.05, 2, false}, 8.4},
		{{300000, 0.001, 8, false}, 14.3},  {{100000, 0.0001, 4, true}, 17},
		{{1000, 0.01, 4, false}, 12},
	};

	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		const struct filter_want *want = &cases[c].want;
		struct filter_shape shape;
		struct filter *f;
		uint64_t n = 0;

		if (!filter_shape_for(&shape, want)) {
			check(want->sorted && want->rate < 0.0002);
			continue;
		}
		f = filter_of(&shape);
		check(shape.slots == want->slots && shape.sorted == want->sorted);
		while (n < want->items && filter_insert(f, hash_of(n)))
			n++;
		if (n < want->items * 99 / 100)
			fail_msg("%zu: %llu fit", c, (unsigned long long)n);
		if (measured_rate(f) > want->rate * 1.05 + 20.0 / ABSENT)
			fail_msg("%zu: rate %f", c, measured_rate(f));
		if ((double)filter_bits(&shape) / (double)want->items > cases[c].bits)
			fail_msg("%zu: %f bits", c,
				 (double)filter_bits(&shape) / (double)want->items);
		free(f);
	}
}

TEST(what_no_filter_can_do_is_refused)
{
	struct filter_shape shape;

	check(!filter_shape_for(&shape, &(struct filter_want){1000, 1e-9, 4, false}));
	check(!filter_shape_for(&shape, &(struct filter_want){1000, 1e-5, 4, true}));
	check(!filter_shape_for(&shape, &(struct filter_want){1ull << 40, 0.01, 4, false}));
	check(filter_shape_for(&shape, &(struct filter_want){1, 0.01, 2, false}));
	check_eq(shape.buckets, FILTER_BUCKETS_MIN);
}

TEST(ascending_digits_have_a_code_each)
{
	uint32_t above = 0;

	for (uint8_t d = 0; d < FILTER_DIGITS; d++)
		for (uint8_t c = 0; c <= d; c++)
			for (uint8_t b = 0; b <= c; b++)
				for (uint8_t a = 0; a <= b; a++) {
					const uint8_t want[FILTER_QUAD] = {a, b, c, d};
					const uint32_t code = filter_code(want);
					uint8_t found[FILTER_QUAD];

					filter_digits(code, found);
					if (code < above || code >> FILTER_CODE_BITS != 0 ||
					    memcmp(found, want, sizeof want) != 0)
						fail_msg("%u: %u %u %u %u", code, a, b, c, d);
					above = code + 1;
				}
	check_eq(above, FILTER_CODES);
	/* Codes between two valid ones decode to digits, too. */
	for (uint32_t code = 0; code < FILTER_CODES; code++) {
		uint8_t found[FILTER_QUAD];

		filter_digits(code, found);
		for (uint32_t i = 0; i < FILTER_QUAD; i++)
			check(found[i] < FILTER_DIGITS);
	}
}
