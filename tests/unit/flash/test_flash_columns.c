/*
 * test_flash_columns.c - sixteen filters side by side.
 *
 * Goal:   a lookup finds what a lookup in each filter would, with as few false matches; an
 *         erasure takes all that match and nothing else; used bits and pages are those of their
 *         buckets; a lookup within an erasure reports that it was torn; a process killed within
 *         an erasure leaves nothing that was not there.
 * Method: filters of lib/filter beside; lists of the items; a lookup at the gap within an
 *         erasure.
 */
#include "flash/flash_columns.h"

#include "base/hash.h"
#include "filter/filter_codes.h"
#include "base/gap.h"
#include "support/cuckoo_filter.h"
#include "support/test.h"

#include <stdlib.h>

#define LOAD   0.9525
#define MANY   2048u /* buckets */
#define FEW    64u   /* buckets, where erasures of other items match */
#define ABSENT (1u << 17)
#define ALL    0xffffu
#define LINES  (2 * FLASH_BORDERS_A_LINE + 100)
#define ERASED 2000u

struct rig {
	struct flash_columns columns;
	struct filter *filters[FLASH_COLUMNS];
	void *memory;
	uint32_t items; /* in a column */
};

static uint64_t
hash_of(uint64_t i)
{
	return hash_word(i, 1);
}

static uint64_t
item_of(uint32_t column, uint32_t n)
{
	return hash_of((uint64_t)column << 32 | n);
}

static void
columns_up(struct rig *r, uint32_t buckets)
{
	struct region region = {.size = flash_columns_bytes(buckets)};

	r->memory = malloc(region.size);
	check_ptr(r->memory);
	region.base = r->memory;
	flash_columns_init(&r->columns, &region, buckets);
}

/* Fills the columns as far as filters get. An item that is refused stays out of its column. */
static void
rig_up(struct rig *r, uint32_t buckets)
{
	const struct filter_shape shape = flash_column_shape(buckets);

	columns_up(r, buckets);
	r->items = (uint32_t)(buckets * FLASH_COLUMN_SLOTS * LOAD);
	for (uint32_t column = 0; column < FLASH_COLUMNS; column++) {
		struct filter *f = malloc(filter_bytes(&shape));

		check_ptr(f);
		filter_init(f, &shape, column);
		for (uint32_t n = 0; n < r->items; n++)
			check(filter_insert(f, item_of(column, n)) || n > r->items * 9 / 10);
		for (uint32_t bucket = 0; bucket < buckets; bucket++) {
			uint32_t slots[FILTER_SLOTS_MAX];

			filter_bucket(f, bucket, slots);
			flash_columns_put(&r->columns, column, bucket, slots, false);
		}
		r->filters[column] = f;
	}
}

static void
rig_down(struct rig *r)
{
	for (uint32_t column = 0; column < FLASH_COLUMNS; column++)
		free(r->filters[column]);
	free(r->memory);
}

static uint32_t
look_at(const struct rig *r, uint64_t hash, struct flash_column_match *found)
{
	const struct filter_place place = flash_columns_fetch(&r->columns, hash);

	return flash_columns_look(&r->columns, &place, found);
}

static uint32_t
look(const struct rig *r, uint64_t hash)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	const uint32_t n = look_at(r, hash, found);
	uint32_t columns = 0;

	check(n <= FLASH_COLUMN_MATCHES);
	for (uint32_t i = 0; i < n; i++)
		columns |= 1u << found[i].column;
	return columns;
}

static uint32_t
filters_with(const struct rig *r, uint64_t hash, uint32_t of)
{
	uint32_t columns = 0;

	for (uint32_t column = 0; column < FLASH_COLUMNS; column++)
		columns |= (uint32_t)filter_has(r->filters[column], hash) << column;
	return columns & of;
}

TEST(a_look_finds_what_each_visible_filter_would)
{
	static const uint32_t visible[] = {ALL, 0, 1, 0x8000, 0x5a5a};
	struct rig r;

	rig_up(&r, MANY);
	for (uint32_t i = 0; i < sizeof visible / sizeof *visible; i++) {
		flash_columns_show(&r.columns, visible[i]);
		for (uint32_t n = 0; n < r.items; n++) {
			const uint64_t hash = item_of(n % FLASH_COLUMNS, n);

			check_eq(look(&r, hash), filters_with(&r, hash, visible[i]));
			check_eq(flash_columns_having(&r.columns, hash, visible[i]),
				 filters_with(&r, hash, visible[i]));
		}
	}
	rig_down(&r);
}

TEST(an_absent_key_is_found_in_seven_of_a_thousand_looks)
{
	struct rig r;
	uint32_t found = 0;

	rig_up(&r, MANY);
	flash_columns_show(&r.columns, ALL);
	for (uint32_t i = 0; i < ABSENT; i++) {
		const uint64_t hash = hash_of((1ull << 40) + i);
		const uint32_t columns = look(&r, hash);

		if (i % 16 == 0)
			check_eq(columns, filters_with(&r, hash, ALL));
		found += (uint32_t)__builtin_popcount(columns);
	}
	printf("false positives of 16 columns: %.5f\n", found / (double)ABSENT);
	check(found > ABSENT * 0.0065 && found < ABSENT * 0.0076);
	rig_down(&r);
}

static bool
same_place(uint64_t a, uint64_t b)
{
	const struct filter_shape shape = flash_column_shape(FEW);
	const struct filter_place p = filter_place(&shape, a), q = filter_place(&shape, b);

	return p.fingerprint == q.fingerprint &&
	       (p.buckets[0] == q.buckets[0] || p.buckets[0] == q.buckets[1]);
}

/* True if the slots of the hash in this column are used. All of them must agree. */
static bool
is_used(const struct rig *r, uint32_t column, uint64_t hash)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	const uint32_t n = look_at(r, hash, found);
	bool used = true, any = false;

	for (uint32_t i = 0; i < n; i++) {
		if (found[i].column != column)
			continue;
		any = true;
		used &= (flash_columns_used(&r->columns, column, found[i].bucket) &
			 found[i].slots) == found[i].slots;
	}
	return any && used;
}

static void
use(struct rig *r, uint32_t column, uint64_t hash)
{
	struct flash_column_match found[FLASH_COLUMN_MATCHES];
	const uint32_t n = look_at(r, hash, found);

	for (uint32_t i = 0; i < n; i++) {
		if (found[i].column != column)
			continue;
		flash_columns_use(&r->columns, &found[i]);
		check(flash_columns_use(&r->columns, &found[i]));
	}
}

/* Columns are erased both while they are visible and while they are not. */
TEST(an_erasure_takes_all_that_match_in_its_columns_and_nothing_else)
{
	static bool here[FLASH_COLUMNS][FEW * FLASH_COLUMN_SLOTS],
		used[FLASH_COLUMNS][FEW * FLASH_COLUMN_SLOTS];
	struct rig r;
	uint32_t taken = 0;

	rig_up(&r, FEW);
	flash_columns_show(&r.columns, ALL);
	for (uint32_t column = 0; column < FLASH_COLUMNS; column++)
		for (uint32_t n = 0; n < r.items; n++) {
			here[column][n] = filters_with(&r, item_of(column, n), 1u << column) != 0;
			if (n % 3 == 0)
				use(&r, column, item_of(column, n));
		}
	for (uint32_t column = 0; column < FLASH_COLUMNS; column++)
		for (uint32_t n = 0; n < r.items; n++)
			used[column][n] = is_used(&r, column, item_of(column, n));
	for (uint32_t i = 0; i < ERASED; i++) {
		const uint32_t of = (uint32_t)(hash_of(i) >> 20) & ALL, c = i % FLASH_COLUMNS;
		const uint64_t hash = i % 4 == 0 ? hash_of((2ull << 40) + i)
						 : item_of(c, i / FLASH_COLUMNS % r.items);

		flash_columns_show(&r.columns, of & (uint32_t)hash_of(i + ERASED));
		taken += (uint32_t)__builtin_popcount(flash_columns_erase(&r.columns, hash, of));
		check_eq(flash_columns_having(&r.columns, hash, of), 0);
		for (uint32_t column = 0; column < FLASH_COLUMNS; column++)
			for (uint32_t n = 0; n < r.items; n++)
				if ((of >> column & 1) != 0 && here[column][n] &&
				    same_place(hash, item_of(column, n)))
					here[column][n] = false;
	}
	flash_columns_show(&r.columns, ALL);
	for (uint32_t column = 0; column < FLASH_COLUMNS; column++)
		for (uint32_t n = 0; n < r.items; n++) {
			const uint64_t hash = item_of(column, n);

			check_eq(look(&r, hash) >> column & 1, here[column][n]);
			if (here[column][n])
				check_eq(is_used(&r, column, hash), used[column][n]);
		}
	check(taken > ERASED / 3);
	rig_down(&r);
}

TEST(a_bucket_begins_behind_the_borders_before_it)
{
	static const uint32_t none[FLASH_COLUMN_SLOTS];
	struct rig r = {.items = 0};

	columns_up(&r, LINES);
	/* The second pass makes each column again over an older one. */
	for (uint32_t round = 0; round < 2 * FLASH_COLUMNS; round++) {
		const uint32_t column = round % FLASH_COLUMNS;
		uint32_t page = 0, first;

		for (uint32_t bucket = 0; bucket < LINES; bucket++)
			flash_columns_put(&r.columns, column, bucket, none,
					  hash_of(round * LINES + bucket) % 5 == 0);
		for (uint32_t bucket = 0; bucket < LINES; bucket++) {
			const bool border = hash_of(round * LINES + bucket) % 5 == 0;

			check_eq(flash_columns_pages(&r.columns, column, bucket, &first),
				 1 + border);
			check_eq(first, page);
			page += border;
		}
	}
	rig_down(&r);
}

/* ---- a lookup within an erasure ---- */

/* Lookups within an erasure, and how many of them were torn. All must be. */
static struct {
	struct rig *r;
	uint32_t looks, torn;
} between;

/* A killed process's memory, checked at each gap: strangers counts
 * fingerprints that were never put. */
static struct {
	const struct rig *r;
	uint8_t *memory;
	size_t bytes;
	uint64_t gaps, strangers;
	bool within;
} left;

static void
fingerprints(const struct flash_columns *c, uint32_t column, uint32_t bucket,
	     uint32_t f[FLASH_COLUMN_SLOTS])
{
	const struct flash_column_digits *d = &c->digits[bucket];
	const uint32_t shift = column * FLASH_COLUMN_SLOTS;
	uint8_t digits[FILTER_QUAD];

	filter_digits(d->low[column] | (uint32_t)(d->high >> shift & 0xf) << 16, digits);
	for (uint32_t i = 0; i < FLASH_COLUMN_SLOTS; i++)
		f[i] = (uint32_t)digits[i] << 8 | (c->lows[bucket].of[column] >> 8 * i & 0xff);
}

static void
look_at_what_is_left(void)
{
	struct flash_columns c;

	memcpy(left.memory, left.r->columns.kept, left.bytes);
	flash_columns_attach(&c, left.memory, FEW);
	left.gaps++;
	for (uint32_t i = 0; i < FEW * FLASH_COLUMNS; i++) {
		uint32_t f[FLASH_COLUMN_SLOTS], had[FILTER_SLOTS_MAX];

		fingerprints(&c, i % FLASH_COLUMNS, i / FLASH_COLUMNS, f);
		filter_bucket(left.r->filters[i % FLASH_COLUMNS], i / FLASH_COLUMNS, had);
		for (uint32_t k = 0; k < FLASH_COLUMN_SLOTS; k++)
			left.strangers += f[k] != 0 && f[k] != had[0] && f[k] != had[1] &&
					  f[k] != had[2] && f[k] != had[3];
	}
}

void
stress_gap(void)
{
	const uint32_t column = 3;

	if (left.r != NULL && !left.within) {
		left.within = true;
		look_at_what_is_left();
		left.within = false;
	}

	for (uint32_t n = 0; between.r != NULL && n < between.r->items; n++) {
		struct flash_column_match found[FLASH_COLUMN_MATCHES];
		const uint64_t hash = item_of(column, n);
		const uint32_t had = look_at(between.r, hash, found);

		between.looks++;
		between.torn += had == FLASH_COLUMNS_TORN;
	}
}

TEST(a_look_within_an_erasure_is_torn_and_not_a_miss)
{
	struct rig r;
	uint32_t sequence;

	rig_up(&r, FEW);
	flash_columns_show(&r.columns, ALL);
	between.r = &r;
	sequence = flash_columns_sequence(&r.columns);
	check_eq(flash_columns_erase(&r.columns, item_of(3, 0), 0), 0);
	check_eq(flash_columns_sequence(&r.columns), sequence);
	check_eq(between.looks, 0);
	check_ne(flash_columns_erase(&r.columns, item_of(3, 0), 1u << 3), 0);
	check_ne(flash_columns_sequence(&r.columns), sequence);
	check(between.looks != 0);
	check_eq(between.looks, between.torn);
	between.r = NULL;
	rig_down(&r);
}

TEST(a_kill_within_an_erasure_leaves_only_what_was_there)
{
	struct rig r;

	rig_up(&r, FEW);
	flash_columns_show(&r.columns, ALL);
	left.bytes = flash_columns_bytes(FEW) - CACHE_LINE_BYTES;
	left.memory = aligned_alloc(CACHE_LINE_BYTES, align_up(left.bytes, CACHE_LINE_BYTES));
	check_ptr(left.memory);
	left.r = &r;
	for (uint32_t n = 0; n < 100; n++)
		flash_columns_erase(&r.columns, item_of(n % FLASH_COLUMNS, n), ALL);
	left.r = NULL;
	check(left.gaps > 200);
	check_eq(left.strangers, 0);
	free(left.memory);
	rig_down(&r);
}

/* The rows seen of a hash are valid until a column is shown: they have no row of that column. */
TEST(rows_that_were_seen_answer_until_a_column_is_shown)
{
	struct rig r;
	uint32_t lacked = 0;

	rig_up(&r, MANY);
	flash_columns_show(&r.columns, ALL);
	for (uint32_t n = 0; n < r.items; n++) {
		const uint64_t hash = hash_of((uint64_t)ABSENT << 32 | n);
		const struct filter_place place = flash_columns_fetch(&r.columns, hash);
		const uint32_t slots[FLASH_COLUMN_SLOTS] = {0, 0, 0, place.fingerprint};
		struct flash_columns_seen seen;
		bool lacks;

		flash_columns_fetch_digits(&r.columns, &place, &seen);
		lacks = flash_columns_lack(&r.columns, &place, &seen);
		check_eq(lacks, look(&r, hash) == 0);
		if (n % 64 != 0)
			continue;
		lacked += lacks;
		flash_columns_show(&r.columns, ALL & ~1u);
		flash_columns_put(&r.columns, 0, place.buckets[n / 64 % 2], slots, false);
		flash_columns_show(&r.columns, ALL);
		check(!flash_columns_lack(&r.columns, &place, &seen));
	}
	check(lacked != 0);
	rig_down(&r);
}

TEST(an_item_of_full_columns_has_less_than_two_bytes)
{
	const uint32_t buckets = 1u << 20;
	const double items = buckets * FLASH_COLUMN_SLOTS * FLASH_COLUMNS * 0.955;

	printf("bytes an item: %.4f\n", (double)flash_columns_bytes(buckets) / items);
	check((double)flash_columns_bytes(buckets) / items < 1.875);
}
