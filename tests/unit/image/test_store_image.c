/*
 * A store that is left and opened again. Goal: all items that it held when its threads ended are
 * there, at another address and in another process, and it works on; an image that cannot be kept
 * is refused with its reason. Method: stores of many kinds are left; fields that no successor may
 * rely on are overwritten; all keys are looked up, all pages counted, and more is stored. Then
 * single bits are turned.
 */
#include "support/test.h"
#include "../store/store_rig.h"
#include "stress/reopen.h"

#define KEYS   4000u
#define LARGE  150000u
#define SOON_S 5u
#define FEW    300u

static uint8_t bytes[LARGE + KEYS];

static struct view
name_of(uint32_t key, char *name)
{
	return (struct view){(const uint8_t *)name, (uint32_t)sprintf(name, "key-%u", key)};
}

static struct view
value_of(uint32_t key, uint32_t version)
{
	const uint32_t len = key % 200 == 0 ? LARGE - key : (key * 7 + version) % 900;

	return (struct view){bytes + (key + version) % KEYS, len};
}

static void
store_keys(struct store_core *sc, uint32_t from, uint32_t to, uint32_t version, uint32_t expiry_s)
{
	char name[24];

	for (uint32_t key = from; key < to; key++) {
		const struct view k = name_of(key, name), value = value_of(key, version);
		enum store_result r = STORE_NOT_YET;

		for (uint32_t tries = 0; tries < 100 && r == STORE_NOT_YET; tries++) {
			struct fill f;

			r = store_begin(sc, &f, k, store_hash(sc, k), value.len, key % 3, expiry_s);
			if (r == STORE_OK) {
				store_fill(sc, &f, value.data, value.len);
				r = store_finish(sc, &f, STORE_SET, 0);
			}
			turns(sc, key % 8 == 0 || r == STORE_NOT_YET);
		}
		check_eq(r, STORE_OK);
	}
}

static bool
has(struct store_core *sc, uint32_t key, uint32_t version)
{
	char name[24];
	const struct view k = name_of(key, name);
	const struct item *it = store_get(sc, k, store_hash(sc, k));

	if (it != NULL) {
		check(value_is(sc, it, value_of(key, version)));
		check_eq(item_flags(it), key % 3);
	}
	return it != NULL;
}

static uint32_t
how_many(struct store_core *sc, uint32_t from, uint32_t to, uint32_t version)
{
	uint32_t there = 0;

	for (uint32_t key = from; key < to; key++)
		there += has(sc, key, version);
	return there;
}

static void
leave(struct store *st)
{
	store_offline(&st->cores[0]);
	check(store_image_leave(st));
}

/* Checks that each class still knows whether its pages hold chunks.
 * Returns the number of chunks. */
static int32_t
parts_counted(const struct store *before, const struct store *after)
{
	int32_t parts = 0;

	for (uint32_t i = 0; i < before->slab.class_count; i++) {
		check_eq(after->slab.classes[i].value_parts, before->slab.classes[i].value_parts);
		parts += after->slab.classes[i].value_parts;
	}
	return parts;
}

/* Checks that the items left are counted and found, and that the store works on. Returns the
 * number of chunks. */
static int32_t
opens_with(struct rig *rig, const struct store_config *cfg, struct reopened *r)
{
	struct store_usage before, after;
	const uint32_t now_s = rig->core->now_s;
	int32_t parts;

	store_usage_mt(rig->store, &before);
	leave(rig->store);
	reopen(r, rig->store, cfg, now_s);
	check_eq(r->look.kind, STORE_IMAGE_CLEAN);
	check_eq(r->look.seed, 0x5eed);
	check_ptr(r->store);
	check(!r->report.checksums_wrong);
	check_null(reopen_look_at_pages(r->store));
	store_usage_mt(r->store, &after);
	check_eq(after.items, before.items);
	check_eq(r->report.items, before.items);
	check_eq(after.item_bytes, before.item_bytes);
	check_eq(after.flushed, before.flushed);
	check_eq(after.index_slots, before.index_slots);
	check_eq(after.index_resizing, before.index_resizing);
	parts = parts_counted(rig->store, r->store);
	memset(rig->memory, 0xa5, store_bytes(cfg));
	store_turn(store_core_of(r->store, 0), now_s);
	return parts;
}

TEST(what_was_left_is_there_and_the_store_goes_on)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct reopened r;
	struct store_core *sc;

	store_keys(rig.core, 0, KEYS, 0, 0);
	store_keys(rig.core, 0, KEYS / 2, 1, 0);
	check_eq(opens_with(&rig, &cfg, &r), 2 * KEYS / 200);
	sc = store_core_of(r.store, 0);
	check_eq(how_many(sc, 0, KEYS / 2, 1), KEYS / 2);
	check_eq(how_many(sc, KEYS / 2, KEYS, 0), KEYS / 2);
	store_keys(sc, 0, KEYS, 2, 0);
	check_eq(how_many(sc, 0, KEYS, 2), KEYS);
	rig_down(&rig);
	reopen_end(&r);
}

/* A full store evicts, before and after. */
TEST(a_full_store_is_kept)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct reopened r;
	struct store_core *sc;
	uint32_t there;

	for (uint32_t round = 0; round < 8; round++)
		store_keys(rig.core, round * KEYS, (round + 1) * KEYS, 0, 0);
	check(counted(rig.core, STORE_EVICTED) != 0);
	there = how_many(rig.core, 0, 8 * KEYS, 0);
	opens_with(&rig, &cfg, &r);
	sc = store_core_of(r.store, 0);
	check_eq(how_many(sc, 0, 8 * KEYS, 0), there);
	for (uint32_t round = 0; round < 8; round++)
		store_keys(sc, round * KEYS, (round + 1) * KEYS, 1, 0);
	check(counted(sc, STORE_EVICTED) != 0);
	check(has(sc, 8 * KEYS - 1, 1));
	rig_down(&rig);
	reopen_end(&r);
}

TEST(what_was_flushed_or_expires_stays_away)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct reopened r;
	struct store_core *sc;
	uint64_t cas;
	char name[24];

	store_keys(rig.core, 0, FEW, 0, 0);
	check_eq(store_flush(rig.core, 0), STORE_OK);
	store_keys(rig.core, FEW, 2 * FEW, 0, rig.core->now_s + SOON_S);
	store_keys(rig.core, 2 * FEW, 3 * FEW, 0, 0);
	cas = item_cas(find(rig.core, "key-899"));
	check_eq(store_delete(rig.core, text("key-899"), store_hash(rig.core, text("key-899"))),
		 STORE_OK);
	check_eq(store_flush(rig.core, rig.core->now_s + 2 * SOON_S), STORE_OK);
	opens_with(&rig, &cfg, &r);
	sc = store_core_of(r.store, 0);
	check_eq(how_many(sc, 0, FEW, 0), 0);
	check_eq(how_many(sc, FEW, 2 * FEW, 0), FEW);
	seconds(sc, SOON_S);
	check_eq(how_many(sc, FEW, 2 * FEW, 0), 0);
	store_keys(sc, 3 * FEW - 1, 3 * FEW, 0, 0);
	check(item_cas(find(sc, "key-899")) > cas);
	check_eq(how_many(sc, 2 * FEW, 3 * FEW, 0), FEW);
	seconds(sc, SOON_S + 1); /* the flush requested before is due */
	check_eq(how_many(sc, 0, 3 * FEW, 0), 0);
	(void)name_of(0, name);
	rig_down(&rig);
	reopen_end(&r);
}

/* The first flush of the new process flushes the kept items. A delayed flush that came due
 * meanwhile is done. */
TEST(the_first_flush_flushes_what_was_kept)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);

	for (uint32_t due = 0; due < 2; due++) {
		struct rig rig = rig_up_with(&cfg);
		struct reopened r;

		store_keys(rig.core, 0, FEW, 0, 0);
		if (due)
			check_eq(store_flush(rig.core, rig.core->now_s + 1), STORE_OK);
		leave(rig.store);
		reopen(&r, rig.store, &cfg, rig.core->now_s + due);
		check_ptr(r.store);
		store_turn(store_core_of(r.store, 0), rig.core->now_s + due);
		if (!due) {
			check_eq(how_many(store_core_of(r.store, 0), 0, FEW, 0), FEW);
			check_eq(store_flush(store_core_of(r.store, 0), 0), STORE_OK);
		}
		check_eq(how_many(store_core_of(r.store, 0), 0, FEW, 0), 0);
		rig_down(&rig);
		reopen_end(&r);
	}
}

TEST(a_resize_under_way_goes_on)
{
	const struct store_config cfg = rig_config(64, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct reopened r;
	struct store_core *sc;

	store_keys(rig.core, 0, KEYS, 0, 0);
	check(resize_begin(rig.core, 2 * index_bucket_count(&rig.store->ix)));
	while (rig.store->resize_phase != RESIZE_MIGRATE)
		store_turn(rig.core, rig.core->now_s);
	turns(rig.core, 3);
	opens_with(&rig, &cfg, &r);
	check((index_seq(&r.store->ix) & GEOMETRY_RESIZING) != 0);
	sc = store_core_of(r.store, 0);
	check_eq(how_many(sc, 0, KEYS, 0), KEYS);
	turns(sc, 4000);
	check_eq(index_seq(&r.store->ix) & GEOMETRY_RESIZING, 0);
	check_eq(how_many(sc, 0, KEYS, 0), KEYS);
	rig_down(&rig);
	reopen_end(&r);
}

/* Options may change; the size of the memory may not. */
TEST(other_options_keep_it_and_another_size_does_not)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct store_config other = cfg;
	struct store_image_look look;
	struct reopened r;

	store_keys(rig.core, 0, FEW, 0, 0);
	leave(rig.store);
	other.cores = 3;
	other.value_max = 4 << 20;
	other.never_evict = true;
	other.limit_bytes = 12 << 20;
	other.seed = 1;
	reopen(&r, rig.store, &other, rig.core->now_s);
	check_ptr(r.store);
	store_turn(store_core_of(r.store, 2), rig.core->now_s);
	check_eq(how_many(store_core_of(r.store, 2), 0, FEW, 0), FEW);
	other.memory_bytes += 1 << 20;
	store_image_look(reopen_image_of(rig.store), &other, &look);
	check_eq(look.kind, STORE_IMAGE_EMPTY);
	check_eq(look.fault, STORE_IMAGE_RESIZED);
	check_eq(look.memory_bytes, cfg.memory_bytes);
	rig_down(&rig);
	reopen_end(&r);
}

/* The image is as of a build that cut the same memory into larger pages. */
TEST(pages_of_another_size_are_kept)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);
	struct store_plan plan = store_plan_of(&cfg);
	struct reopened r;
	struct rig rig;

	plan.page_shift++;
	plan.page_count = plan.page_count / 2 - 1;
	store_plan_rest(&cfg, &plan);
	rig = rig_up_planned(&cfg, &plan);
	store_keys(rig.core, 0, KEYS, 0, 0);
	opens_with(&rig, &cfg, &r);
	check_eq(r.store->arena.page_shift, plan.page_shift);
	check_eq(how_many(store_core_of(r.store, 0), 0, KEYS, 0), KEYS);
	store_keys(store_core_of(r.store, 0), 0, KEYS, 1, 0);
	check_eq(how_many(store_core_of(r.store, 0), 0, KEYS, 1), KEYS);
	rig_down(&rig);
	reopen_end(&r);
}

TEST(a_turned_bit_of_the_header_is_refused)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	uint8_t *image = reopen_image_of(rig.store);
	struct store_image_look look;

	leave(rig.store);
	for (uint32_t bit = 0; bit < 8 * sizeof(struct image_header); bit++) {
		image[bit / 8] ^= (uint8_t)(1u << bit % 8);
		store_image_look(image, &cfg, &look);
		check_eq(look.kind, STORE_IMAGE_EMPTY);
		check_ne(look.fault, STORE_IMAGE_SOUND);
		image[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	store_image_look(image, &cfg, &look);
	check_eq(look.kind, STORE_IMAGE_CLEAN);
	rig_down(&rig);
}

/* Returns the offset of the states of a page with items: the first byte that hands read. *end is
 * behind the last one, *room the number of bytes set aside. */
static size_t
states_of_a_page(const struct rig *rig, size_t *end, size_t *room)
{
	const struct slab *sl = &rig->store->slab;
	uint32_t n = 0;
	size_t at;

	while (!slab_page_has_class(sl, &sl->pages[n]))
		n++;
	at = (size_t)((const uint8_t *)&sl->states[(size_t)n << sl->stride_shift] -
		      reopen_image_of(rig->store));
	*end = at + slab_class_state_words(&sl->classes[sl->pages[n].class]) * sizeof(uint64_t);
	*room = sl->stride * sizeof(uint64_t);
	check(*end - at < *room);
	return at;
}

/* Any turned bit is detected in the fields that a successor trusts. */
TEST(a_turned_bit_of_what_is_trusted_is_seen)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	uint8_t *image = reopen_image_of(rig.store);
	const struct arena *a = &rig.store->arena;
	const struct image_parts p =
		image_parts_of(cfg.memory_bytes, a->page_count, a->page_shift, a->shift);
	size_t states_end, room;

	store_keys(rig.core, 0, FEW, 0, 0);

	const size_t states = states_of_a_page(&rig, &states_end, &room);
	const size_t index_end = p.pages + index_bucket_end(&rig.store->ix) * sizeof(struct bucket);
	const size_t places[] = {p.floors + 80,
				 p.record + 20,
				 p.reciprocals + 8,
				 p.page_table + 300,
				 states,
				 states_end - 1,
				 p.pages + 64 * 77,
				 index_end - 1,
				 IMAGE_STORE_AT + 28,
				 IMAGE_STORE_AT + 73,
				 IMAGE_STORE_AT + 81};

	leave(rig.store);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct reopened r;

		image[places[i]] ^= 2;
		reopen(&r, rig.store, &cfg, rig.core->now_s);
		check(r.store == NULL || r.report.checksums_wrong);
		image[places[i]] ^= 2;
		reopen_end(&r);
	}
	rig_down(&rig);
}

/* States that no hand reads may have any value: those of pages without a class, and those beyond
 * the objects. */
TEST(states_of_no_object_mean_nothing)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	const struct slab *sl = &rig.store->slab;
	struct reopened r;
	uint32_t there;

	store_keys(rig.core, 0, FEW, 0, 0);
	there = how_many(rig.core, 0, FEW, 0);
	for (uint32_t n = 0; n < sl->arena->page_count; n++) {
		const struct page *p = &sl->pages[n];
		const uint32_t used = slab_page_has_class(sl, p)
					      ? slab_class_state_words(&sl->classes[p->class])
					      : 0;

		memset((void *)(sl->states + ((size_t)n << sl->stride_shift) + used), 0x5a,
		       (sl->stride - used) * sizeof(uint64_t));
	}
	opens_with(&rig, &cfg, &r);
	check_eq(how_many(store_core_of(r.store, 0), 0, FEW, 0), there);
	for (uint32_t round = 0; round < 8; round++)
		store_keys(store_core_of(r.store, 0), 0, KEYS, round, 0);
	check(counted(store_core_of(r.store, 0), STORE_EVICTED) != 0);
	rig_down(&rig);
	reopen_end(&r);
}

/* A page that the index gave back in the last turns has no class, whichever states it had. */
TEST(a_page_that_the_index_gave_back_is_free)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct slab *sl = &rig.store->slab;
	const uint32_t n = atomic_load(&sl->index_pages);
	struct reopened r;

	store_keys(rig.core, 0, FEW, 0, 0);
	check_eq(atomic_load(&sl->pages[n].state), PAGE_POOL);
	memset((void *)(sl->states + ((size_t)n << sl->stride_shift)), 0x5a,
	       sl->stride * sizeof(uint64_t));
	check(slab_index_claim(sl));
	slab_index_release(sl, n, 0);
	opens_with(&rig, &cfg, &r);
	check_eq(atomic_load(&r.store->slab.pages[n].state), PAGE_POOL);
	rig_down(&rig);
	reopen_end(&r);
}

TEST(a_store_in_use_is_not_left)
{
	const struct store_config cfg = rig_config(8, 2, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct store_image_look look;

	check(!store_image_leave(rig.store)); /* core 0 is online */
	store_offline(rig.core);
	rig.store->tombstones = 1;
	check(!store_image_leave(rig.store));
	rig.store->tombstones = 0;
	store_image_look(reopen_image_of(rig.store), &cfg, &look);
	check_eq(look.kind, STORE_IMAGE_DIRTY);
	check(store_image_leave(rig.store));
	rig_down(&rig);
}

TEST(a_refused_image_becomes_an_empty_store)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct region region = {.size = store_private_bytes(&cfg)};
	struct store_image_look look;
	struct store *st;

	store_keys(rig.core, 0, FEW, 0, 0);
	leave(rig.store);
	((uint8_t *)store_image_app_page(reopen_image_of(rig.store)))[9] = 1;
	region.base = aligned_alloc(64, align_up(region.size, 64));
	st = store_open_cold(store_open(&region, reopen_image_of(rig.store), &cfg, 9), 77);
	store_turn(store_core_of(st, 0), 9);
	check_eq(how_many(store_core_of(st, 0), 0, FEW, 0), 0);
	store_keys(store_core_of(st, 0), 0, FEW, 0, 0);
	check_eq(how_many(store_core_of(st, 0), 0, FEW, 0), FEW);
	store_image_look(reopen_image_of(st), &cfg, &look);
	check_eq(look.kind, STORE_IMAGE_DIRTY);
	check_eq(look.seed, 77);
	check_eq(((uint8_t *)store_image_app_page(reopen_image_of(st)))[9], 0);
	free(region.base);
	rig_down(&rig);
}

/* Returns the item of key 0, which is large. */
static const struct item *
first(struct store_core *sc)
{
	char name[24];
	const struct view k = name_of(0, name);

	return store_get(sc, k, store_hash(sc, k));
}

static uint32_t
pins_of_first(struct store_core *sc)
{
	return atomic_load(item_pins_at(first(sc)));
}

/* No checksum covers the contents of pages: a chunk may name any owner,
 * and nothing else is read. */
TEST(chunks_that_name_anything_count_for_nothing)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct slab *sl = &rig.store->slab;
	uint32_t random = 1, spoilt = 0;

	store_keys(rig.core, 0, FEW, 0, 0);
	leave(rig.store);
	for (uint32_t round = 0; round < 64; round++) {
		struct reopened r;

		for (uint32_t n = 0; n < sl->arena->page_count; n++) {
			uint8_t *page = sl->arena->base + ((size_t)n << sl->arena->page_shift);

			if (!slab_page_has_class(sl, &sl->pages[n]) ||
			    sl->classes[sl->pages[n].class].size != SLAB_OBJECT_MAX)
				continue;
			random = random * 1664525 + 1013904223;
			memcpy(page + offsetof(struct item_chunk, owner), &random, sizeof random);
			spoilt++;
		}
		reopen(&r, rig.store, &cfg, 9);
		check_eq(r.look.kind, STORE_IMAGE_CLEAN);
		check_null(reopen_look_at_pages(r.store));
		reopen_end(&r);
	}
	check(spoilt >= 64);
	rig_down(&rig);
}

/* The image is as after a crash: no core has left it, and a reply pins an item. */
TEST(what_a_crash_leaves_is_repaired)
{
	const struct store_config cfg = rig_config(16, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	struct store_usage before, after;
	struct reopened r;

	store_keys(rig.core, 0, KEYS, 0, 0);
	store_keys(rig.core, 0, FEW, 1, rig.core->now_s + SOON_S);
	store_usage_mt(rig.store, &before);
	store_pin(first(rig.core));
	check_eq(pins_of_first(rig.core), 1);
	reopen(&r, rig.store, &cfg, rig.core->now_s);
	check_eq(r.look.kind, STORE_IMAGE_DIRTY);
	check_ptr(r.store);
	check_eq(r.report.lost, 0);
	check_null(reopen_look_at_pages(r.store));
	check_eq(parts_counted(rig.store, r.store), 2 * KEYS / 200);
	store_usage_mt(r.store, &after);
	check_eq(after.items, before.items);
	check_eq(after.item_bytes, before.item_bytes);
	store_turn(store_core_of(r.store, 0), rig.core->now_s);
	check_eq(pins_of_first(store_core_of(r.store, 0)), 0);
	check_eq(how_many(store_core_of(r.store, 0), 0, FEW, 1), FEW);
	check_eq(how_many(store_core_of(r.store, 0), FEW, KEYS, 0), KEYS - FEW);
	seconds(store_core_of(r.store, 0), SOON_S);
	check_eq(how_many(store_core_of(r.store, 0), 0, FEW, 1), 0);
	store_keys(store_core_of(r.store, 0), 0, KEYS, 2, 0);
	check_eq(how_many(store_core_of(r.store, 0), 0, KEYS, 2), KEYS);
	rig_down(&rig);
	reopen_end(&r);
}

TEST(a_repair_that_is_cut_off_runs_again)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);

	store_keys(rig.core, 0, FEW, 0, 0);
	for (uint32_t clean = 0; clean < 2; clean++) {
		uint32_t there = 0;

		if (clean)
			leave(rig.store);
		there = FEW;
		for (uint32_t steps = 0; steps < 40; steps++) {
			struct region region = {.size = store_private_bytes(&cfg)};
			struct store_opening *open;
			struct reopened r;

			region.base = aligned_alloc(64, align_up(region.size, 64));
			open = store_open(&region, reopen_image_of(rig.store), &cfg, 9);
			for (uint32_t i = 0; i < steps; i++)
				if (!store_open_step_mt(open))
					store_open_next(open);
			memset(region.base, 0xa5, region.size);
			reopen(&r, rig.store, &cfg, 9);
			check_eq(r.look.kind, STORE_IMAGE_DIRTY);
			check_ptr(r.store);
			store_turn(store_core_of(r.store, 0), 9);
			there = how_many(store_core_of(r.store, 0), 0, FEW, 0);
			check(there >= FEW - 4); /* chunks take two of the eight megabytes */
			free(region.base);
			reopen_end(&r);
		}
		rig_down(&rig);
		rig = rig_up_with(&cfg);
		store_keys(rig.core, 0, FEW, 0, 0);
	}
	rig_down(&rig);
}

/* An image of any bytes is opened or refused, and a store that opens is consistent. */
TEST(no_damage_leads_outside)
{
	const struct store_config cfg = rig_config(8, 1, STORE_VALUE_MAX);
	struct rig rig = rig_up_with(&cfg);
	const struct arena *a = &rig.store->arena;
	const struct image_parts p =
		image_parts_of(cfg.memory_bytes, a->page_count, a->page_shift, a->shift);
	uint8_t *image = aligned_alloc(4096, cfg.memory_bytes);
	uint64_t random = 1;
	uint32_t opened = 0;

	store_keys(rig.core, 0, FEW, 0, 0);
	for (uint32_t round = 0; round < 400; round++) {
		const uint32_t words = 1u << round % 10;
		struct reopened r;

		memcpy(image, reopen_image_of(rig.store), cfg.memory_bytes);
		for (uint32_t i = 0; i < words; i++) {
			const size_t from[] = {p.pages, p.page_table, IMAGE_STORE_AT, p.pages,
					       p.floors};
			const size_t span[] = {1u << a->page_shift, p.states - p.page_table,
					       STORE_KEPT_BYTES, cfg.memory_bytes - p.pages,
					       p.states - p.floors};
			const uint32_t part = (round + i) % 5 == 2 && i != 0 ? 0 : (round + i) % 5;
			uint32_t word;

			random = random * 6364136223846793005ull + 1442695040888963407ull;
			word = (uint32_t)(random >> 32);
			memcpy(image + from[part] + (random >> 20) % (span[part] - 4), &word, 4);
		}
		reopen_at(&r, image, &cfg, 9);
		opened += r.store != NULL;
		if (r.store != NULL) {
			char name[24];

			check_null(reopen_look_at_pages(r.store));
			store_turn(store_core_of(r.store, 0), 9);
			for (uint32_t key = 0; key < FEW; key++) {
				const struct view k = name_of(key, name);

				store_get(store_core_of(r.store, 0), k,
					  store_hash(store_core_of(r.store, 0), k));
			}
			for (uint32_t i = 0; i < 4; i++)
				store_keys(store_core_of(r.store, 0), 201, FEW, i, 0);
		}
		free(r.beside);
	}
	check(opened > 100);
	free(image);
	rig_down(&rig);
}

int
main(void)
{
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 24);
	return tests_run(NULL, NULL);
}
