/*
 * Interleavings in a shard of the tier that random schedules (tests/stress/stress_tier) seldom
 * reach. Goal: lookups, pins and claims are right although another thread's work falls into the one
 * gap where they could fail. Method: a shard in memory, compiled with gaps (stress_gap()); at the
 * chosen gap the test does the other thread's work itself.
 */
#include "support/test.h"
#include "flash/flash_shard.h"

#include <stdlib.h>

#define PAGES     3u
#define SEGMENTS  8u
#define BUCKETS   16u
#define MANY      2048u /* buckets */
#define ROUNDS    5u    /* of the whole log */
#define KEY       ((struct view){(const uint8_t *)"key", 3})
#define NEIGHBOUR ((struct view){(const uint8_t *)"other", 5})
#define HASH      0x1234567812340000ull

static struct flash_shard shard;
static struct flash_kept kept;
static struct flash_intents intents;
static struct bucket buckets[BUCKETS];
static _Alignas(FLASH_PAGE_BYTES) uint8_t pages[FLASH_BUFFERS * PAGES * FLASH_PAGE_BYTES];
static _Alignas(FLASH_PAGE_BYTES) uint8_t read_pages[PAGES * FLASH_PAGE_BYTES];
static void (*in_gap)(void); /* the other thread's work; NULL: none, or done */
static uint32_t gaps;        /* gaps to pass before in_gap runs */

void stress_gap(void);

void
stress_gap(void)
{
	void (*fn)(void) = in_gap;

	if (fn == NULL || gaps-- != 0)
		return;
	in_gap = NULL;
	fn();
}

static void
begin(struct bucket *of, uint32_t count)
{
	const struct flash_shard_config c = {
		.log = {.segments = SEGMENTS, .segment_pages = PAGES, .live = SEGMENTS - 2},
		.buckets = of,
		.bucket_count = count,
		.kept = &kept,
		.intents = &intents,
		.pages = pages};

	memset(of, 0, count * sizeof *of);
	memset(&kept, 0, sizeof kept);
	memset(pages, 0, sizeof pages);
	in_gap = NULL;
	flash_shard_init(&shard, &c);
}

SETUP(setup)
{
	begin(buckets, BUCKETS);
}

static bool
put(struct view key, uint64_t hash, uint32_t value_len)
{
	const struct flash_record record = {.kind = FLASH_PUT, .key = key, .value_len = value_len};
	struct flash_reserved r;

	if (!flash_shard_reserve(&shard, &record, &r))
		return false;

	const bool there = flash_shard_put(&shard, 0, hash, &r, 0, 0);

	flash_log_release(&shard.log, &r);
	return there;
}

static bool
look(struct flash_look *l, uint64_t hash)
{
	*l = (struct flash_look){0};
	flash_look_begin(&shard, l);
	return flash_look_end(&shard, l, hash);
}

/* Fills the open segment, completes its write with this error (0: success), and opens the next one.
 */
static void
roll(int32_t error)
{
	const uint64_t head = shard.log.head;
	struct flash_io io;

	while (shard.log.head == head)
		check(put(NEIGHBOUR, head * 977 << 32 | 0x7770000, 3000));
	check(flash_log_write(&shard.log, &io));
	check(!flash_log_write(&shard.log, &io));
	flash_log_wrote(&shard.log, (uint32_t)io.tag, error);
	flash_shard_turn(&shard);
}

/* A location holds a rounded number of pages: at least those that the record touches, at most a
 * step more, and none beyond the segment. */
TEST(a_location_covers_all_pages_of_its_record, no_setup)
{
	for (uint32_t page = 1; page < FLASH_SEGMENT_PAGES; page++)
		for (uint32_t touched = 1; touched <= FLASH_SEGMENT_PAGES - page; touched++) {
			const uint32_t at = flash_location(FLASH_SLOTS_MAX - 1, page, touched);
			const uint32_t read = flash_location_pages(at);

			check_eq(flash_location_slot(at), FLASH_SLOTS_MAX - 1);
			check_eq(flash_location_page(at), page);
			check(read >= touched && read < touched + FLASH_LOCATION_STEP);
			check(read == touched || touched > FLASH_LOCATION_EXACT);
			check(page + read <= FLASH_SEGMENT_PAGES);
		}
}

TEST(one_turn_a_segment_is_enough_for_the_log_to_wrap)
{
	static struct bucket many[MANY];

	begin(many, MANY);
	check(put(KEY, HASH, 10));
	/* The shard has one turn for each segment; a slot that still had
	 * entries would refuse the put. */
	for (uint32_t i = 0; i < ROUNDS * SEGMENTS; i++)
		roll(0);
	check_eq(counter_read(&shard.counters[FLASH_UNJOURNALED]), 0);
}

TEST(lookups_drop_entries_of_a_segment_that_was_lost)
{
	struct flash_found found;
	struct flash_look l;

	check(put(KEY, HASH, 10));
	check(look(&l, HASH));
	check_eq(l.count, 1);
	check(flash_read_buffer(&shard, &l.at[0], read_pages));
	check_eq(flash_read_judge(&shard, &l.at[0], read_pages, true, KEY, &found), FLASH_FOUND);
	check_eq(flash_read_judge(&shard, &l.at[0], read_pages, true, NEIGHBOUR, &found),
		 FLASH_OTHER);
	/* Damage in a buffer in memory is not counted as an error of the device. */
	memset(read_pages + sizeof(struct flash_page), 0xee, 64);
	check_eq(flash_read_judge(&shard, &l.at[0], read_pages, true, KEY, &found), FLASH_AGAIN);
	roll(-5);
	check(!flash_read_buffer(&shard, &l.at[0], read_pages));
	memset(read_pages, 0xee, sizeof read_pages);
	check_eq(flash_read_judge(&shard, &l.at[0], read_pages, false, KEY, &found), FLASH_AGAIN);
	check(look(&l, HASH));
	check_eq(l.count, 0);
}

TEST(an_unreadable_record_is_not_taken_for_another_key)
{
	struct flash_found found;
	struct flash_look l;

	check(put(KEY, HASH, 10));
	check(look(&l, HASH));
	roll(0);
	memset(read_pages, 0xee, sizeof read_pages);
	check_eq(flash_read_judge(&shard, &l.at[0], read_pages, false, KEY, &found),
		 FLASH_UNREADABLE);
}

TEST(a_claim_fails_once_its_slot_has_another_segment)
{
	struct flash_look l;

	check(put(KEY, HASH, 10));
	check(look(&l, HASH));

	const struct flash_candidate old = l.at[0];

	for (uint32_t i = 0; i < SEGMENTS; i++)
		roll(0);
	/* The loop ends at the page of the slot that the key was in. */
	while (flash_location_page(old.location) != shard.log.at / FLASH_PAYLOAD_BYTES + 1 ||
	       flash_slot(&shard.log, shard.log.head) != flash_location_slot(old.location))
		check(put(NEIGHBOUR, 0x55555550000ull, 500));
	check(put(KEY, HASH, 10));
	check(look(&l, HASH));
	check_eq(l.at[0].location & ~FLASH_USED, old.location & ~FLASH_USED);
	check(!flash_shard_claim(&shard, 0, HASH, 0, &old));
	check(flash_shard_claim(&shard, 0, HASH, 0, &l.at[0]));
	flash_shard_claimed(&shard, HASH);
	check(!flash_shard_claim(&shard, 0, HASH, 0, &l.at[0]));
}

static void
roll_on(void)
{
	roll(0);
	roll(0);
}

TEST(no_pin_of_a_buffer_that_was_reused_for_another_segment)
{
	struct flash_look l;

	check(put(KEY, HASH, 10));
	check(look(&l, HASH));
	in_gap = roll_on;
	gaps = 0;
	check(!flash_read_buffer(&shard, &l.at[0], read_pages));
	check_null(in_gap);
}

TEST(a_pinned_buffer_is_not_reused)
{
	const uint64_t sequence = shard.log.head + 1;
	uint32_t buffer;

	check(put(KEY, HASH, 10));
	check_eq(sequence, shard.log.head);
	buffer = flash_log_pin(&shard.log, sequence);
	roll(0);
	check_eq(shard.log.buffer[buffer].state, FLASH_WRITTEN);
	flash_log_unpin(&shard.log, buffer);
	flash_shard_turn(&shard);
	check_eq(shard.log.buffer[buffer].state, FLASH_FREE);
}

static struct flash_candidate key_at;

static void
promote(void)
{
	check(flash_shard_claim(&shard, 0, HASH, 0, &key_at));
	flash_shard_claimed(&shard, HASH);
}

/* The lookup has read the neighbour's entry when the key is promoted, so it no longer finds the
 * key's own entry. */
TEST(a_lookup_beside_a_promotion_is_repeated_though_it_found_a_neighbour)
{
	struct flash_look l;

	/* The first entry is in the primary bucket, the second in the alternate one, which then
	 * has more room. */
	check(put(NEIGHBOUR, HASH, 10));
	check(put(KEY, HASH, 10));
	check(look(&l, HASH));
	check_eq(l.count, 2);
	key_at = l.at[1];
	in_gap = promote;
	gaps = 0;
	check(!look(&l, HASH));
	check_eq(l.count, 1);
}

/* Returns a hash whose entry makes the key's primary bucket the fuller one. */
static uint64_t
other_of_primary_bucket(void)
{
	const struct place p = flash_index_place(&shard.index, HASH);
	uint64_t n = 1;

	for (; n < 1000000; n++) {
		const struct place o = flash_index_place(&shard.index, hash_word(n, 5));

		if (o.primary == p.primary && o.alternate != p.alternate && o.tag != p.tag)
			break;
	}
	return hash_word(n, 5);
}

static bool
lacks(void)
{
	struct flash_shard_place place;

	flash_shard_fetch(&shard, HASH, &place);
	flash_shard_fetch_more(&shard, &place);
	return flash_shard_lacks(&shard, flash_index_moves(&shard.index), &place);
}

TEST(a_key_promoted_during_the_check_is_not_lacked)
{
	struct flash_look l;

	check(lacks());
	check(put(NEIGHBOUR, other_of_primary_bucket(), 10));
	check(put(KEY, HASH, 10));
	check(!lacks());
	check(look(&l, HASH));
	check_eq(l.count, 1);
	key_at = l.at[0];
	in_gap = promote;
	gaps = 0;
	check(!lacks());
	check(lacks());
}

static uint64_t crowd;

static void
crowd_in(void)
{
	for (uint32_t i = 0; i < 10; i++)
		flash_index_erase(&shard.index, hash_word(crowd - i, 3));
	for (uint32_t i = 0; i < 10; i++)
		flash_index_insert(&shard.index, hash_word(++crowd, 3), 1);
}

TEST(a_lookup_beside_a_move_is_repeated)
{
	uint32_t hidden = 0;

	for (uint32_t round = 0; round < 4000; round++) {
		uint32_t locations[FLASH_INDEX_MATCHES];
		const uint64_t hash = hash_word(round, 4);

		memset(buckets, 0, sizeof buckets);
		for (uint32_t i = 0; i < 150; i++)
			flash_index_insert(&shard.index, hash_word(++crowd, 3), 1);
		if (!flash_index_insert(&shard.index, hash, 7))
			continue;

		const uint32_t moves = flash_index_moves(&shard.index);

		in_gap = crowd_in;
		gaps = 0;

		const uint32_t n = flash_index_look(&shard.index, hash, locations);

		hidden += n == 0;
		check(n != 0 || flash_index_moves(&shard.index) != moves);
	}
	check(hidden != 0);
}

/* After an erase in the last page of a segment, the next put opens another segment: a buffer is
 * free. */
TEST(after_a_spent_last_page_comes_the_next_segment)
{
	check(put(NEIGHBOUR, HASH, FLASH_PAYLOAD_BYTES));
	check(put(KEY, ~HASH, 10));
	flash_shard_erase(&shard, ~HASH);
	check(put(KEY, ~HASH, 10));
	check_eq(shard.log.head, 2);
}
