/*
 * weak_slabs.c - objects, pages and their states between two cores.
 *
 * Goal:   no object is given out twice; a hand that finds an object in the index may read its item;
 *         an item that expires is noted, or seen, by the hand of expiry; a core that answers a
 *         recall gives back what it has of the page; and what a load brings is no removed key.
 * Method: weak.h.
 */
#include "weak_setup.h"
#include "image/store_saved.h"
#include "slab/hand.h"
#include "store/expire.h"
#include "store/load_marks.h"

#include <string.h>

static struct slab *
slab(void)
{
	return &setup_store->slab;
}

static uint32_t
class_of(uint64_t key)
{
	return slab_class_of_ref(slab(), item_ref(setup_store, setup_item(0, key)));
}

/* ---- magazines are empty, so both cores come to the class's pages, and to the pool ---- */

static void
begin_cold(void)
{
	setup_begin(2);
	setup_turns(0, 1);
	setup_turns(1, 1);
}

static void
set_a(void)
{
	setup_put(0, setup_key_a, 10);
}

static void
set_b(void)
{
	setup_put(1, setup_key_b, 20);
}

static void
end_two(void)
{
	weak_check(setup_get(0, setup_key_a) == 10 && setup_get(0, setup_key_b) == 20,
		   "one object for two keys");
}

static void
begin_full_magazines(void)
{
	setup_two_keys();
	slab_empty_magazines(slab(), setup_core(1)->magazines);
}

static void
empty_magazines(void)
{
	slab_empty_magazines(slab(), setup_core(0)->magazines);
}

/* ---- a hand beside a set ---- */

static uint32_t class;

static void
begin_hand(void)
{
	setup_two_keys();
	class = class_of(setup_key_a);
	slab_set_referenced(slab(), item_ref(setup_store, setup_item(0, setup_key_a)));
	setup_drop(0, setup_key_b);
	setup_turns(0, 4);
	setup_turns(1, 4);
}

static void
set_b_0(void)
{
	setup_put(0, setup_key_b, 12);
}

static void
look_by_hand(void)
{
	uint32_t refs[2 * OBJECTS_PER_LOOK];
	const uint32_t n =
		hand_clock(slab(), setup_core(1)->magazines, class, true, refs, OBJECTS_PER_LOOK);

	for (uint32_t i = 0; i < n; i++)
		weak_check(item_key_len(item_at(setup_store, refs[i])) == sizeof setup_key_a,
			   "the hand's object has no item");
}

/* ---- the hand of expiry ---- */

#define NOW   (STORE_CLOCK_START + 10)
#define LATER (NOW + 100)

static void
put_expiring(uint32_t core, uint64_t key, uint32_t at_s)
{
	const uint64_t value[SETUP_VALUE / 8] = {10, 10, 10};
	struct fill f;

	ensure(store_begin(setup_core(core), &f, setup_view(&key), setup_hash(key), SETUP_VALUE, 0,
			   at_s) == STORE_OK);
	store_fill(setup_core(core), &f, value, SETUP_VALUE);
	ensure(store_finish(setup_core(core), &f, STORE_SET, 0) == STORE_OK);
}

/* The first key has expired, so a round of the hand begins. */
static void
begin_expiry(void)
{
	setup_two_keys();
	put_expiring(1, setup_key_a, NOW - 1);
	class = class_of(setup_key_a);
	put_expiring(0, setup_key_b, LATER + 1000);
	for (uint32_t core = 0; core < 2; core++)
		for (uint32_t i = 0; i < 2; i++)
			store_turn(setup_core(core), NOW);
}

static void
begin_expiry_set(void)
{
	begin_expiry();
	setup_drop(0, setup_key_b);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t core = 0; core < 2; core++)
			store_turn(setup_core(core), NOW);
}

/* Something seems to be due in the class, and nothing is on its page. */
static void
begin_expiry_page(void)
{
	setup_two_keys();
	put_expiring(0, setup_key_b, LATER + 1000);
	class = class_of(setup_key_b);
	for (uint32_t core = 0; core < 2; core++)
		store_turn(setup_core(core), NOW);
	atomic_store(&slab()->classes[class].due_s, NOW - 1);
}

static void
set_expiring(void)
{
	put_expiring(0, setup_key_b, LATER);
}

static void
touch(void)
{
	const struct item *it;

	weak_check(store_touch(setup_core(0), setup_view(&setup_key_b), setup_hash(setup_key_b),
			       LATER, &it) == STORE_OK,
		   "a touch was refused");
}

static void
expire(void)
{
	for (uint32_t i = 0; i < 2; i++)
		expire_for_memory(setup_core(1), class, 4);
}

static void
end_expiry(void)
{
	const uint32_t ref = item_ref(setup_store, setup_item(0, setup_key_b));
	const struct page *p = &slab()->pages[slab_page_of(slab(), ref)];

	weak_check(atomic_load(&p->due_s) <= LATER &&
			   atomic_load(&slab()->classes[class].due_s) <= LATER,
		   "the hand of expiry passes an item for good");
}

/* ---- a recall ---- */

/* Objects of another class in core 0's magazines, so that a turn empties no others beside. */
static void
begin_recall(void)
{
	uint32_t refs[RECALL_SLICE];
	const uint32_t other = 0;

	setup_two_keys();
	class = class_of(setup_key_a);
	ensure(class != other);
	for (uint32_t i = 0; i < RECALL_SLICE; i++)
		refs[i] = slab_alloc(slab(), setup_core(0)->magazines, other, 0);
	for (uint32_t i = 0; i < RECALL_SLICE; i++)
		slab_free(slab(), setup_core(0)->magazines, refs[i]);
	setup_core(0)->recall_class = slab()->class_count - 1;
}

static void
turn_0(void)
{
	setup_turns(0, 1);
}

static void
turns_0(void)
{
	setup_turns(0, 2);
}

static void
evacuate(void)
{
	slab_evacuate_last(slab(), class);
}

static void
end_recall(void)
{
	const struct magazine *m = &setup_core(0)->magazines[class];

	for (uint32_t i = 0; setup_core(0)->recall_begun == slab()->recall && i < magazine_count(m);
	     i++)
		weak_check(!slab_evacuating(slab(), m->ref[i]),
			   "an object of an evacuated page stays in a magazine");
}

/* ---- a load beside a delete ---- */

static void
begin_load(void)
{
	setup_two_keys();
	atomic_store(&setup_store->marks.used, true);
	setup_store->marks.generation = store_generation(setup_store);
	store_core_marks(setup_core(0), true);
	store_core_marks(setup_core(1), true);
}

static void
load_a(void)
{
	const uint64_t value[SETUP_VALUE / 8] = {5, 5, 5};
	struct store_saved_item saved = {.key = setup_view(&setup_key_a),
					 .hash = setup_hash(setup_key_a),
					 .cas = 1,
					 .value_len = SETUP_VALUE,
					 .bits = OBJECT_KEPT};
	struct fill f;

	if (store_load_begin(setup_core(0), &f, &saved) != STORE_LOADED)
		return;
	store_fill(setup_core(0), &f, value, SETUP_VALUE);
	store_load_finish(setup_core(0), &f, &saved);
}

static void
delete_a(void)
{
	setup_drop(1, setup_key_a);
}

static void
end_load(void)
{
	weak_check(setup_get(0, setup_key_a) == 0, "a deleted key is loaded");
}

static const struct weak_case cases[] = {
	{"alloc-alloc", begin_cold, {set_a, set_b}, end_two, 1, 1},
	{"free-alloc", begin_full_magazines, {empty_magazines, set_b}, end_two, 1, 1},
	{"hand-set", begin_hand, {set_b_0, look_by_hand}, setup_nothing, 1, 1},
	{"expire-set", begin_expiry_set, {set_expiring, expire}, end_expiry, 2, 1},
	{"expire-touch", begin_expiry, {touch, expire}, end_expiry, 2, 1},
	{"expire-page", begin_expiry_page, {touch, expire}, end_expiry, 2, 1},
	{"recall", begin_recall, {turn_0, evacuate}, end_recall, 1, 1},
	{"recalls", begin_recall, {turns_0, evacuate}, end_recall, 1, 1},
	{"load-delete", begin_load, {load_a, delete_a}, end_load, 1, 1},
};
const struct weak_protocol weak_slabs = WEAK_PROTOCOL("magazines, pages and states", cases);
