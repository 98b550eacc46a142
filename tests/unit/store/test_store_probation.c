/*
 * New items on probation, and ghosts of evicted ones. Goal: a new item is on probation until it
 * is used, an item that returns too early is not, and every change of an item keeps or raises its
 * standing; ghosts are the eight latest of a group; probation follows the items that return.
 * Method: states checked after single calls; the table and the step alone; a store without
 * probation beside it.
 */
#include "store_rig.h"
#include "support/test.h"
#include "store/evict.h"
#include "slab/eviction.h"
#include "store/item_access.h"
#include "store/unlink.h"

#include <stdio.h>

#define KEY text("k")

static struct rig rig;

SETUP(up)
{
	rig = rig_up(16, 1);
}

TEARDOWN(down)
{
	rig_down(&rig);
}

/* Returns the state of the key's item, found without using it. */
static enum object_state
state_of(struct view key)
{
	const struct index *ix = &rig.store->ix;
	struct place p = index_place(ix, index_hash(ix, key));
	uint32_t tries;
	const uint32_t ref = index_find(ix, key, &p, &tries);

	return ref == 0 ? OBJECT_OUT : slab_state(&rig.store->slab, ref);
}

static void
evict(struct view key, enum ghost ghost)
{
	const struct index *ix = &rig.store->ix;
	struct place p = index_place(ix, index_hash(ix, key));
	uint32_t tries;

	check_eq(evict_object(rig.core, index_find(ix, key, &p, &tries), ghost), UNLINKED_RETIRED);
}

TEST(what_is_new_is_on_probation_until_it_is_used)
{
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	check_eq(state_of(KEY), OBJECT_NEW);
	find(rig.core, "k");
	turns(rig.core, 1);
	check_eq(state_of(KEY), OBJECT_USED);
	check_eq(set(rig.core, "u", "value"), STORE_OK);
	check_eq(set(rig.core, "u", "other"), STORE_OK);
	check_eq(state_of(text("u")), OBJECT_USED);
}

/* Makes the store look for ghosts: in the next turn, or with the next new key. */
static void
judge(bool by_turn)
{
	if (by_turn) {
		turns(rig.core, 1);
		return;
	}
	check_eq(set(rig.core, "next", "value"), STORE_OK);
	del(rig.core, "next");
}

TEST(what_came_back_after_probation_is_past_it)
{
	static const struct {
		enum ghost ghost;
		enum object_state then;
	} rows[] = {{GHOST_OF_NEW, OBJECT_KEPT},
		    {GHOST_OF_NEW, OBJECT_KEPT},
		    {GHOST_OF_KEPT, OBJECT_NEW},
		    {GHOST_NONE, OBJECT_NEW}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		check_eq(set(rig.core, "k", "value"), STORE_OK);
		evict(KEY, rows[i].ghost);
		check_eq(state_of(KEY), OBJECT_OUT);
		check_eq(set(rig.core, "k", "value"), STORE_OK);
		judge(i % 2 == 0);
		check_eq(state_of(KEY), rows[i].then);
		/* The ghost was taken, so it works once. */
		evict(KEY, GHOST_NONE);
		check_eq(set(rig.core, "k", "value"), STORE_OK);
		judge(i % 2 == 0);
		check_eq(state_of(KEY), OBJECT_NEW);
		evict(KEY, GHOST_NONE);
	}
	check_eq(counted(rig.core, STORE_GHOSTS_RETURNED), 2);
}

/* The key's ghost is found late, and does not change its later state. */
TEST(a_newcomer_that_is_gone_or_used_stays_so)
{
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	evict(KEY, GHOST_OF_NEW);
	check_eq(set(rig.core, "k", "value"), STORE_OK);

	const uint32_t ref = item_ref(rig.store, find(rig.core, "k"));

	slab_set_referenced(&rig.store->slab, ref);
	judge(false);
	check_eq(slab_state(&rig.store->slab, ref), OBJECT_USED);
	evict(KEY, GHOST_OF_NEW);
	check_eq(set(rig.core, "k", "value"), STORE_OK);

	const uint32_t other = item_ref(rig.store, find(rig.core, "k"));

	del(rig.core, "k");
	turns(rig.core, 1);
	check_eq(slab_state(&rig.store->slab, other), OBJECT_OUT);
	check_eq(counted(rig.core, STORE_GHOSTS_RETURNED), 2);
}

/* A value in chunks is evicted, and returns, as one of the class of its chunks. */
TEST(a_value_in_chunks_comes_back_to_the_class_of_its_chunks)
{
	static const uint8_t bytes[200000];
	const struct view value = {bytes, sizeof bytes};
	const struct slab_class *c = rig.store->slab.classes;
	const struct item *it;
	uint32_t head, chunks;

	check_eq(put(rig.core, KEY, value, STORE_SET, 0), STORE_OK);
	it = find(rig.core, "k");
	head = slab_class_of_ref(&rig.store->slab, item_ref(rig.store, it));
	chunks = item_class(rig.store, it);
	turns(rig.core, 3);
	check_eq(evict_object(rig.core, item_chunk_ref(it, 0), GHOST_OF_NEW), UNLINKED_RETIRED);
	turns(rig.core, 3);
	check_eq(put(rig.core, KEY, value, STORE_SET, 0), STORE_OK);
	turns(rig.core, 1);
	check_eq(c[chunks].evictions.of_new.returned, 1);
	check_eq(c[head].evictions.of_new.returned, 0);
}

/* An expired or flushed item that is evicted is no evidence that it was evicted too early. */
TEST(the_dead_leave_no_ghost)
{
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	store_flush(rig.core, 0);
	evict(KEY, GHOST_OF_NEW);
	check_eq(set(rig.core, "k", "value"), STORE_OK);
	check_eq(state_of(KEY), OBJECT_NEW);
}

TEST(what_replaces_the_dead_has_their_standing)
{
	for (uint32_t used = 0; used <= 1; used++) {
		check_eq(set(rig.core, "k", "value"), STORE_OK);
		if (used)
			find(rig.core, "k");
		turns(rig.core, 1);
		store_flush(rig.core, 0);
		check_eq(set(rig.core, "k", "value"), STORE_OK);
		check_eq(state_of(KEY), used ? OBJECT_KEPT : OBJECT_NEW);
	}
}

/* A use that was recorded late finds the object out of the index, and leaves it there. */
TEST(a_late_use_brings_nothing_back)
{
	check_eq(set(rig.core, "k", "value"), STORE_OK);

	const uint32_t ref = item_ref(rig.store, find(rig.core, "k"));

	del(rig.core, "k");
	item_apply_referenced(rig.core);
	check_eq(slab_state(&rig.store->slab, ref), OBJECT_OUT);
	check(!slab_set_referenced(&rig.store->slab, ref));
}

/* The hands evict items on probation first; items in use stay, and so do
 * items that were used once. */
TEST(probation_ends_before_the_clock_hand_comes)
{
	char key[24];
	uint32_t kept = 0;

	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof key, "twice%05d", i);
		check_eq(set(rig.core, key, "value"), STORE_OK);
		find(rig.core, key);
		turns(rig.core, 1);
	}
	for (int i = 0; i < 1000000; i++) {
		snprintf(key, sizeof key, "once%07d", i);
		check_eq(set(rig.core, key, "value"), STORE_OK);
		if (i % 64 == 0)
			turns(rig.core, 1);
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof key, "twice%05d", i);
		kept += find(rig.core, key) != NULL;
	}
	check(counted(rig.core, STORE_EVICTED_NEW) > 500000);
	check_eq(kept, 2000);
}

/* The values are four to a page, and the hand examines 64 objects at a time. */
TEST(few_large_values_leave_probation)
{
	static uint8_t bytes[60000];
	const uint32_t class = slab_class_for(&rig.store->slab, sizeof bytes);
	char key[24];

	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof key, "large%d", i);
		check_eq(put(rig.core, text(key), (struct view){bytes, sizeof bytes}, STORE_SET, 0),
			 STORE_OK);
	}
	check_eq(evict_chosen(rig.core, class, 4), 4);
	check_eq(counted(rig.core, STORE_EVICTED_NEW), 4);
}

/* An image that 2q left is opened by clock, whose hand must find objects that are still on
 * probation. */
TEST(clock_evicts_objects_that_2q_left_on_probation)
{
	static uint8_t bytes[60000];
	const uint32_t class = slab_class_for(&rig.store->slab, sizeof bytes);

	check_eq(put(rig.core, text("large"), (struct view){bytes, sizeof bytes}, STORE_SET, 0),
		 STORE_OK);
	rig.store->slab.policy = &eviction_clock;
	check_eq(evict_chosen(rig.core, class, 4), 1);
	check(find(rig.core, "large") == NULL);
}

TEST(ghosts_are_those_of_the_latest_eight, no_setup)
{
	static struct ghost_group memory[1];
	const struct ghosts g = {.groups = memory, .count = 1};
	const struct ghost_range all = ghosts_of_class(&g, 3, 1000);
	const uint64_t zeros = 1ull << 40; /* its entry equals an empty one, except for the kind */

	check_eq(ghost_take(ghost_group(&g, all, zeros), zeros), GHOST_NONE);
	ghost_add(ghost_group(&g, all, zeros), zeros, GHOST_OF_NEW);
	ghost_add(ghost_group(&g, all, 1), 1, GHOST_OF_NEW);
	check_eq(ghost_take(ghost_group(&g, all, zeros), zeros), GHOST_OF_NEW);
	check_eq(ghost_take(ghost_group(&g, all, zeros), zeros), GHOST_NONE);
	for (uint64_t hash = 1; hash <= 10; hash++)
		ghost_add(ghost_group(&g, all, hash), hash,
			  hash % 2 ? GHOST_OF_NEW : GHOST_OF_KEPT);
	check_eq(ghost_take(ghost_group(&g, all, 1), 1), GHOST_NONE);
	check_eq(ghost_take(ghost_group(&g, all, 2), 2), GHOST_NONE);
	for (uint64_t hash = 3; hash <= 10; hash++) {
		check_eq(ghost_take(ghost_group(&g, all, hash), hash),
			 hash % 2 ? GHOST_OF_NEW : GHOST_OF_KEPT);
		check_eq(ghost_take(ghost_group(&g, all, hash), hash), GHOST_NONE);
	}
	for (size_t i = 0; i < GHOST_WORDS; i++)
		check_eq(memory[0].word[i], 0);
}

TEST(a_class_has_seven_ghosts_for_eight_objects_at_most, no_setup)
{
	const struct ghosts g = {.count = 1000};

	for (uint32_t objects = 1; objects < 100000; objects += 7) {
		const struct ghost_range r = ghosts_of_class(&g, objects % 50, objects);
		const uint32_t ghosts = r.count * GHOSTS_A_GROUP;

		check(r.first < g.count && r.count >= 1 && r.count <= g.count);
		check(r.count == 1 || ghosts <= objects / 8 * 7 + GHOSTS_A_GROUP);
		check(r.count == g.count || ghosts + GHOSTS_A_GROUP > objects / 8 * 6);
		for (uint64_t hash = 0; hash < 1ull << 63; hash += 1ull << 59)
			check(ghost_group(&g, r, hash) < &g.groups[g.count]);
	}
}

/* Returns the step after evictions of a class of 100,000 objects. Of a hundred evicted items,
 * new_back and kept_back return, by kind. */
static uint32_t
step_after(struct probation *p, struct evictions *e, uint32_t step, uint32_t windows,
	   uint32_t new_back, uint32_t kept_back)
{
	const uint32_t objects = 100000, window = objects / PROBATION_PARTS;
	struct asked_class asked = {.wait = 0};

	for (uint32_t i = 0; i < windows; i++) {
		evictions_add(&e->of_new, window / 2);
		evictions_add(&e->of_kept, window / 2);
		for (uint32_t n = 0; n < window / 200 * new_back; n++)
			evictions_returned(&e->of_new);
		for (uint32_t n = 0; n < window / 200 * kept_back; n++)
			evictions_returned(&e->of_kept);
		step = probation_consider(p, e, &asked, step, objects);
	}
	return step;
}

TEST(probation_follows_what_comes_back, no_setup)
{
	struct probation p = {.due = 0};
	struct evictions e = {.of_new = {0}};

	check_eq(step_after(&p, &e, 0, 100, 10, 20), 0);
	check_eq(probation_pace(0), 33);
	for (uint64_t n = 0; n < 256; n++)
		check(!probation_skips(0, n << 20));
	check_eq(step_after(&p, &e, 0, 100, 20, 5), PROBATION_STEPS);
	check_eq(probation_pace(PROBATION_STEPS), 5);
	check(probation_skips(PROBATION_STEPS, 250ull << 20));
	check(!probation_skips(PROBATION_STEPS, 251ull << 20));
	check_eq(step_after(&p, &e, PROBATION_STEPS, 200, 10, 20), 0);
}

TEST(clock_alone_has_neither_probation_nor_ghosts, no_setup)
{
	struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);

	cfg.eviction = &eviction_clock;

	struct rig plain = rig_up_with(&cfg);

	check_eq(set(plain.core, "k", "value"), STORE_OK);
	check_eq(slab_state(&plain.store->slab, item_ref(plain.store, find(plain.core, "k"))),
		 OBJECT_KEPT);
	check_eq(plain.store->ghosts.count, 0);
	rig_down(&plain);
}

static bool
get_or_set(uint64_t key, uint32_t len)
{
	static const uint8_t bytes[1000];
	const struct view k = {(const uint8_t *)&key, sizeof key};

	if (store_get(rig.core, k, store_hash(rig.core, k)) != NULL)
		return true;
	check_eq(put(rig.core, k, (struct view){bytes, len}, STORE_SET, 0), STORE_OK);
	return false;
}

/* Keys of one size are requested again and again; each miss also sets keys of the other size,
 * which never are. The smaller ones cost less memory a hit, but they have no hits. */
TEST(keys_asked_for_once_take_little_memory)
{
	enum { GETS = 300000, KEYS = 24000, LARGE = 1000, ONCE = 16, SMALL = 40 };
	struct slab *sl = &rig.store->slab;
	const struct slab_class *small = &sl->classes[slab_class_for(sl, SMALL + 16)];
	uint64_t once = KEYS, random = 1, pages = 0;

	for (uint32_t i = 0; i < GETS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		turns(rig.core, i % 16 == 0);
		store_housekeeping(rig.core);
		/* The key is the lesser of two draws: low keys are requested more often. */
		const uint64_t a = (random >> 33) % KEYS, b = (random >> 11 & 0x3fffff) % KEYS;

		if (i >= GETS / 2)
			pages += slab_class_pages(small);
		if (get_or_set(a < b ? a : b, LARGE))
			continue;
		for (uint32_t n = 0; n < ONCE; n++)
			get_or_set(once++, SMALL);
	}
	printf("%.1f of %u pages have keys asked for once\n", 2.0 * (double)pages / GETS,
	       sl->arena->page_count);
	check(2 * pages / GETS * 4 < sl->arena->page_count);
}
