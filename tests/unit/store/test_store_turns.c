/*
 * test_store_turns.c - no turn does much of any background job.
 *
 * Goal:   a job's work is spread over several turns, and all of it is done. Method: jobs that are
 *         as large as possible; the work of each turn is counted. No clock is read.
 */
#include "support/test.h"

#include "store_rig.h"

/* ---- magazines ---- */

static void
fill_magazines_but(struct rig *rig, uint32_t class)
{
	struct slab *sl = &rig->store->slab;

	for (uint32_t c = 0; c < sl->class_count; c++) {
		const uint32_t count = c == class ? 0 : sl->classes[c].keep;
		uint32_t refs[MAGAZINE_MAX];

		for (uint32_t i = 0; i < count; i++)
			refs[i] = slab_alloc(sl, rig->core->magazines, c, 0);
		for (uint32_t i = 0; i < count; i++)
			slab_free(sl, rig->core->magazines, refs[i]);
	}
}

/* Fills the magazine of a class with objects of two pages, as many of each. */
static void
fill_from_two_pages(struct rig *rig, uint32_t class)
{
	struct slab *sl = &rig->store->slab;
	const struct slab_class *c = &sl->classes[class];
	const uint32_t count = c->per_page + c->batch;
	uint32_t *refs = calloc(count, sizeof *refs);

	slab_empty_magazines(sl, rig->core->magazines);
	for (uint32_t i = 0; i < count; i++)
		refs[i] = slab_alloc(sl, rig->core->magazines, class, 0);
	for (uint32_t i = c->batch; i < c->per_page; i++)
		slab_free(sl, rig->core->magazines, refs[i]);
	slab_empty_magazines(sl, rig->core->magazines);
	for (uint32_t i = 0; i < c->batch; i++) {
		slab_free(sl, rig->core->magazines, refs[i]);
		slab_free(sl, rig->core->magazines, refs[c->per_page + i]);
	}
	free(refs);
}

static uint32_t
held(const struct rig *rig, uint32_t class)
{
	return magazine_count(&rig->core->magazines[class]);
}

/* Returns the number of objects in a magazine whose page is being evacuated. */
static uint32_t
held_of_evacuated(const struct rig *rig, uint32_t class)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < held(rig, class); i++)
		n += slab_evacuating(&rig->store->slab, rig->core->magazines[class].ref[i]);
	return n;
}

static uint32_t
held_in_all(const struct rig *rig)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rig->store->slab.class_count; i++)
		n += held(rig, i);
	return n;
}

/* A page of the class must be evacuated: its objects leave that class's magazine in the same
 * turn, and all other objects leave the magazines over some turns. */
TEST(a_recall_empties_magazines_over_some_turns)
{
	struct rig rig = rig_up(64, 1);
	struct slab *sl = &rig.store->slab;
	const uint32_t class = slab_class_for(sl, 64);
	uint32_t on_page, turns_taken = 0;

	fill_from_two_pages(&rig, class);
	fill_magazines_but(&rig, class);
	check(slab_evacuate_start(sl, class));
	on_page = held_of_evacuated(&rig, class);
	check(on_page > 0 && on_page < held(&rig, class));
	check(held_in_all(&rig) > 10 * RECALL_SLICE);
	while (held_in_all(&rig) != 0 && turns_taken < 100) {
		const uint32_t before = held_in_all(&rig);

		store_turn(rig.core, rig.core->now_s);
		turns_taken++;
		check_eq(held_of_evacuated(&rig, class), 0);
		check(before - held_in_all(&rig) <=
		      RECALL_SLICE + MAGAZINE_MAX + (turns_taken == 1 ? on_page : 0));
	}
	check(turns_taken > 5 && turns_taken < 100);
	rig_down(&rig);
}

/* ---- values of many chunks ---- */

#define LEN           (30u << 20)
#define CHUNKS_A_TURN (RETIRE_LIST_SLICE / RETIRE_LIST_CHUNK)

static void
free_a_value(struct rig *rig, struct view value)
{
	const struct slab_class *c =
		&rig->store->slab.classes[slab_class_for(&rig->store->slab, ITEM_CHUNK_BYTES)];
	uint32_t waited, turns_taken = 0;

	check_eq(put_waiting(rig->core, text("k"), value, 100, &waited), STORE_OK);
	turns(rig->core, 10);
	check_eq(del(rig->core, "k"), STORE_OK);
	while (retire_list_used(&rig->core->retire_list) != 0 && turns_taken < 100) {
		const uint32_t free_before = c->free_count;

		store_turn(rig->core, rig->core->now_s);
		turns_taken++;
		check(c->free_count - free_before <= CHUNKS_A_TURN);
		/* Chunks that are left still count as coming. */
		check_eq(slab_class_waiting(c), slab_class_pages(c) * c->per_page);
	}
	check(turns_taken >= LEN / ITEM_CHUNK_BYTES / CHUNKS_A_TURN);
	check(turns_taken < 100);
	check_eq(c->free_count, slab_class_pages(c) * c->per_page);
}

TEST(a_value_of_many_chunks_is_freed_over_some_turns)
{
	struct rig rig = rig_up_for(64, 1, LEN);
	uint8_t *value = calloc(1, LEN);

	for (uint32_t round = 0; round < 2; round++)
		free_a_value(&rig, (struct view){value, LEN});
	free(value);
	rig_down(&rig);
}

/* ---- pages that are emptied ---- */

#define SETS_A_TURN 64u
#define SMALL_BYTES 64u
#define LARGE_BYTES 9000u

static const uint8_t zeros[20000];

/* Stores new keys from this number on; returns how many were stored. */
static uint32_t
put_some(struct rig *rig, uint64_t from, uint32_t count, uint32_t len)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t n = from + i;
		const struct view key = {(const uint8_t *)&n, sizeof n};

		if (put(rig->core, key, (struct view){zeros, len}, STORE_SET, 0) != STORE_OK)
			return i;
	}
	return count;
}

/* Fills the store; returns the number of the next key. */
static uint64_t
fill_store(struct rig *rig, uint32_t len)
{
	uint64_t next = 0;

	while (counted(rig->core, STORE_EVICTED) == 0) {
		next += put_some(rig, next, SETS_A_TURN, len);
		turns(rig->core, 1);
	}
	return next;
}

static uint64_t
left_pages(const struct rig *rig)
{
	return counted(rig->core, STORE_EVICTED) + counted(rig->core, STORE_RESCUED);
}

/* The last batch of a turn may exceed the rest of the bound by what it moves. */
#define SHARE_OF(work) ((work) + EVACUATE_BATCH)

/* The bound holds however often a turn asks for pages. Each kind has its
 * own share in every turn. */
TEST(all_evacuations_of_a_turn_share_a_bound)
{
	static const uint32_t shares[] = {[EVACUATION_FOR_SETS] = EVACUATE_FOR_SETS,
					  [EVACUATION_FOR_LARGE] = EVACUATE_FOR_LARGE};
	struct rig rig = rig_up(16, 1);
	const uint32_t pages = rig.store->slab.reserve + 8;

	fill_store(&rig, SMALL_BYTES);
	for (uint32_t n = 0; n < 20; n++) {
		const enum evacuation_for why = n % 2 ? EVACUATION_FOR_SETS : EVACUATION_FOR_LARGE;
		uint64_t before;

		turns(rig.core, 1);
		before = left_pages(&rig);
		for (uint32_t i = 0; i < SETS_A_TURN; i++)
			rebalance_evacuate(rig.core, why, pages);
		check(left_pages(&rig) > before);
		check(left_pages(&rig) - before <= SHARE_OF(shares[why]));
	}
	rig_down(&rig);
}

/* Sets of another size find no memory in a full store. All of them together empty no more than
 * some of a page in a turn; the others wait. In the end all pages are theirs. */
TEST(sets_of_another_size_evacuate_a_share_together)
{
	struct rig rig = rig_up(16, 1);
	const uint32_t class = slab_class_for(&rig.store->slab, LARGE_BYTES);
	const struct slab_class *c = &rig.store->slab.classes[class];
	uint64_t next = fill_store(&rig, SMALL_BYTES), most = 0;
	uint32_t waits = 0;

	for (uint32_t n = 0; n < 2000; n++) {
		const uint64_t before = left_pages(&rig);
		const uint32_t stored = put_some(&rig, next, SETS_A_TURN, LARGE_BYTES);

		next += stored;
		waits += stored < SETS_A_TURN;
		turns(rig.core, 1);
		most = left_pages(&rig) - before > most ? left_pages(&rig) - before : most;
	}
	check(waits != 0);
	check(most > EVACUATE_SLICE);
	/* A set that finds an object evicts another of its class. */
	check(most <= SHARE_OF(EVACUATE_SLICE) + SHARE_OF(EVACUATE_FOR_SETS) + SETS_A_TURN);
	check(slab_class_pages(c) > rig.store->slab.arena->page_count / 2);
	rig_down(&rig);
}

/* Half of the objects are free, so all items of a page move: a share of bytes in a turn. */
TEST(a_turn_copies_a_share_of_bytes)
{
	struct rig rig = rig_up(16, 1);
	const uint32_t pages = rig.store->slab.arena->page_count / 2;
	const uint64_t count = fill_store(&rig, sizeof zeros);
	uint64_t most = 0;

	for (uint64_t n = 0; n < count; n += 2) {
		const struct view key = {(const uint8_t *)&n, sizeof n};

		store_delete(rig.core, key, store_hash(rig.core, key));
		turns(rig.core, n % 64 == 0);
	}
	for (uint32_t n = 0; n < 50; n++) {
		const uint64_t before = counted(rig.core, STORE_RESCUED);

		rebalance_evacuate(rig.core, EVACUATION_FOR_LARGE, pages);
		most = counted(rig.core, STORE_RESCUED) - before > most
			       ? counted(rig.core, STORE_RESCUED) - before
			       : most;
		turns(rig.core, 1);
	}
	check(most * sizeof zeros > EVACUATE_FOR_LARGE * EVACUATE_COPY_BYTES / 2);
	check(most * sizeof zeros <= EVACUATE_FOR_LARGE * EVACUATE_COPY_BYTES);
	rig_down(&rig);
}

/* ---- the index grows and shrinks ---- */

/* The most old buckets that this much work empties: on average of a
 * turn, none has fewer items. */
#define ITEMS_A_BUCKET   5u
#define BUCKETS_OF(work) ((work) / (MIGRATE_BUCKET + MIGRATE_ITEM * ITEMS_A_BUCKET) + 1)

/* Stores this many items and turns. Returns how many old buckets that turn has emptied. */
static uint64_t
migrated_by(struct rig *rig, uint64_t *next, uint32_t sets)
{
	const uint64_t before = counted(rig->core, STORE_INDEX_MIGRATED);

	check_eq(put_some(rig, *next, sets, 8), sets);
	*next += sets;
	turns(rig->core, 1);
	return counted(rig->core, STORE_INDEX_MIGRATED) - before;
}

TEST(a_growing_index_moves_a_share_of_buckets)
{
	struct rig rig = rig_up(64, 1);
	uint64_t next = 0;

	while (next < 400000)
		check(migrated_by(&rig, &next, SETS_A_TURN) <=
		      BUCKETS_OF(MIGRATE_WORK_ITEM * SETS_A_TURN));
	check(counted(rig.core, STORE_INDEX_GROWN) > 3);
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	rig_down(&rig);
}

static uint64_t
lost_for_slots(const struct rig *rig)
{
	return counted(rig->core, STORE_EVICTED_INDEX_FULL) +
	       counted(rig->core, STORE_INDEX_EVICTED);
}

static bool
shrinks(const struct store *st)
{
	return st->resize_phase == RESIZE_MIGRATE &&
	       st->resize.target < index_bucket_count(&st->ix);
}

/* The index shrinks since the limit was lowered, and then memory is free again: more items arrive
 * than it will hold. The shrink ends early enough for the index to grow. */
TEST(a_shrinking_index_that_items_fill_hurries)
{
	struct rig rig = rig_up(64, 1);
	uint64_t next = fill_store(&rig, 8), come = 0, lost;

	check(store_limit_mt(rig.store, 32u << 20));
	for (uint32_t n = 0; !shrinks(rig.store); n++) {
		check(n < 20000);
		next += put_some(&rig, next, SETS_A_TURN, 8);
		turns(rig.core, 1);
	}
	check(store_limit_mt(rig.store, 64u << 20));
	lost = lost_for_slots(&rig);
	while (come < 400000) {
		come += put_some(&rig, next + come, SETS_A_TURN, 8);
		turns(rig.core, 1);
	}
	lost = lost_for_slots(&rig) - lost;
	printf("%u of %u items evicted for slots\n", (unsigned)lost, (unsigned)come);
	check(lost < come / 1000);
	rig_down(&rig);
}

/* Fills the store with small items and replaces them by large ones, until the index begins to
 * shrink. Returns the next key's number. */
static uint64_t
begin_to_shrink(struct rig *rig)
{
	uint64_t next = fill_store(rig, 8);

	while (!shrinks(rig->store)) {
		next += put_some(rig, next, SETS_A_TURN, LARGE_BYTES);
		turns(rig->core, 1);
	}
	return next;
}

/* A shrink under way has a fixed target, which small items that return soon fill: it must end
 * before that. */
TEST(a_shrink_ends_before_items_that_come_back_fill_it)
{
	for (uint32_t sets = SETS_A_TURN / 4; sets <= 4 * SETS_A_TURN; sets *= 4) {
		struct rig rig = rig_up(16, 1);
		uint64_t next = begin_to_shrink(&rig), come = 0, lost;

		while (come < 200000) {
			come += put_some(&rig, next + come, sets, 8);
			turns(rig.core, 1);
		}
		lost = lost_for_slots(&rig);
		printf("%u of %u items, %u sets a turn, evicted for slots\n", (unsigned)lost,
		       (unsigned)come, sets);
		check(lost < come / 1000);
		rig_down(&rig);
	}
}

#define SHRINK_TURNS 10000u

/* Memory is withheld until the index shrinks for the third time, and given back then. Items that
 * return before that shrink ends find slots. */
TEST(a_shrink_leaves_room_for_what_comes_meanwhile)
{
	static const uint32_t limits_kib[] = {7424, 7680};

	for (uint32_t i = 0; i < rounds(2u, 1u); i++) {
		struct rig rig = rig_up(16, 1);
		uint64_t next = fill_store(&rig, 8), come = 0, n = 0;

		check(store_limit_mt(rig.store, (size_t)limits_kib[i] << 10));
		while (!shrinks(rig.store) || counted(rig.core, STORE_INDEX_SHRUNK) != 2) {
			check(n++ < SHRINK_TURNS);
			next += put_some(&rig, next, SETS_A_TURN, 8);
			turns(rig.core, 1);
		}
		check(store_limit_mt(rig.store, 16u << 20));
		while (come < 100000) {
			come += put_some(&rig, next + come, SETS_A_TURN, 8);
			turns(rig.core, 1);
		}
		printf("%u of %u items evicted for slots\n", (unsigned)lost_for_slots(&rig),
		       (unsigned)come);
		check_eq(lost_for_slots(&rig), 0);
		rig_down(&rig);
	}
}

/* ---- dead items and the walk ---- */

static void
put_until(struct rig *rig, uint64_t n, uint32_t expiry_s)
{
	const struct view key = {(const uint8_t *)&n, sizeof n};
	struct fill f;

	if (store_begin(rig->core, &f, key, store_hash(rig->core, key), SMALL_BYTES, 0, expiry_s) !=
	    STORE_OK)
		return;
	store_fill(rig->core, &f, zeros, SMALL_BYTES);
	store_finish(rig->core, &f, STORE_SET, 0);
}

/* Half of a full store has expired, and sets evict it ahead of need. */
TEST(sets_evict_a_share_of_what_has_expired)
{
	struct rig rig = rig_up(16, 1);
	uint64_t n = 0, most = 0;

	for (; counted(rig.core, STORE_EVICTED) < 1000; n++) {
		put_until(&rig, n, n % 2 == 0 ? STORE_CLOCK_START + 5 : 0);
		turns(rig.core, n % SETS_A_TURN == 0);
	}
	store_turn(rig.core, STORE_CLOCK_START + 5);
	for (uint32_t turn = 0; turn < 500; turn++) {
		const uint64_t before = counted(rig.core, STORE_ITEMS_UNLINKED);
		uint64_t done;

		for (uint32_t i = 0; i < SETS_A_TURN; i++)
			put_until(&rig, n++, STORE_CLOCK_START + 1000);
		store_turn(rig.core, rig.core->now_s);
		done = counted(rig.core, STORE_ITEMS_UNLINKED) - before;
		most = done > most ? done : most;
	}
	check(counted(rig.core, STORE_EXPIRED) > 1000);
	/* The bound's last term is a page that is emptied meanwhile. */
	check(most <= EVICT_TURN + EVICT_SLICE + OBJECTS_PER_LOOK + SHARE_OF(EVACUATE_SLICE));
	rig_down(&rig);
}

/* Items of many sizes follow small ones, and every class evicts for its own: together a share. */
TEST(sets_of_many_sizes_evict_a_share_together)
{
	struct rig rig = rig_up(64, 1);
	uint64_t next = fill_store(&rig, SMALL_BYTES);
	uint32_t most = 0, len = 1;

	for (uint32_t n = 0; n < 6000; n++) {
		if (n % 1000 == 0)
			check(store_limit_mt(rig.store, (n % 2000 == 0 ? 32u : 64u) << 20));
		for (uint32_t i = 0; i < SETS_A_TURN / 2; i++) {
			len = len * 1103515245u + 12345u;
			next += put_some(&rig, next, 1,
					 (16u << (len >> 16) % 8) + (len >> 20) % 16);
		}
		most = rig.core->evicted_ahead > most ? rig.core->evicted_ahead : most;
		turns(rig.core, 1);
	}
	printf("%u evicted ahead in a turn\n", most);
	check(most > EVICT_TURN);
	check(most <= EVICT_TURN_MOST + OBJECTS_PER_LOOK);
	rig_down(&rig);
}

#define STEP_WORK_NS (WALK_NS_MAX * 3 / 2) /* more than the items of a step amid a resize */

TEST(a_step_of_a_walk_does_a_share)
{
	struct rig rig = rig_up(16, 1);
	struct walk_cursor cursor = {0};
	const struct item *items[1024];
	uint64_t steps = 0;

	fill_store(&rig, SMALL_BYTES);
	while (!cursor.done) {
		store_walk(rig.core, &cursor, STORE_ALL_CLASSES, items, 1024);
		check(cursor.work_ns <= WALK_NS_MAX + STEP_WORK_NS);
		steps++;
	}
	check(steps > 100);
	rig_down(&rig);
}
