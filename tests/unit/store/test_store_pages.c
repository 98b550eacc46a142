/*
 * Pages that move. Goal: a page that is taken from its class costs no item that is in use, and an
 * item that moved is the same in everything a client sees; chunked and pinned ones stay right.
 * Method: fill a class, take its pages away one by one as the rebalancer does, use some items
 * meanwhile, and look them up afterwards.
 */
#include "support/test.h"
#include "store_rig.h"

#define USED      60u
#define EXPIRES_S 1000u

struct row {
	uint32_t value_len, flags, expiry_s;
	uint32_t count; /* items, a few pages of them */
};

static const struct row rows[] = {
	{10, 0, 0, 20000},        {100, 7, 0, 8000},         {100, 0, EXPIRES_S, 8000},
	{90, 9, EXPIRES_S, 8000}, {3000, 5, EXPIRES_S, 150}, {30000, 1, 0, 20},
};

static uint8_t bytes[40000];

static struct view
name_of(uint32_t i, char *text)
{
	return (struct view){(const uint8_t *)text, (uint32_t)snprintf(text, 24, "item%010u", i)};
}

/* Returns a value that differs from all others. */
static struct view
value_of(const struct row *row, uint32_t i)
{
	memset(bytes, (int)(i * 31 + 1), row->value_len);
	memcpy(bytes, &i, sizeof i);
	return (struct view){bytes, row->value_len};
}

static void
store_item(struct store_core *sc, const struct row *row, uint32_t i)
{
	char text[24];
	struct fill f;
	const struct view key = name_of(i, text), value = value_of(row, i);

	check_eq(
		store_begin(sc, &f, key, store_hash(sc, key), value.len, row->flags, row->expiry_s),
		STORE_OK);
	store_fill(sc, &f, value.data, value.len);
	check_eq(store_finish(sc, &f, STORE_SET, 0), STORE_OK);
}

static const struct item *
item_number(struct store_core *sc, uint32_t i)
{
	char text[24];
	const struct view key = name_of(i, text);

	return store_get(sc, key, store_hash(sc, key));
}

static uint32_t
class_of(const struct rig *rig, const struct item *it)
{
	return slab_class_of_ref(&rig->store->slab, item_ref(rig->store, it));
}

/* Marks all objects as used except those on the item's page: that page is evacuated first. */
static void
make_page_go_first(struct rig *rig, const struct item *it)
{
	struct slab *sl = &rig->store->slab;
	const uint32_t page = slab_page_of(sl, item_ref(rig->store, it));

	for (size_t w = 0; w < (size_t)sl->arena->page_count * sl->stride; w++) {
		const uint64_t in = states_in(sl->states[w]);

		sl->states[w] = w / sl->stride == page ? in << 1 : in | in << 1;
	}
	step_stamp(rig->store);
}

/* Lets the class give a page, while the cached items below `used` are used every turn. */
static void
take_a_page(struct rig *rig, uint32_t class, uint32_t used)
{
	struct slab *sl = &rig->store->slab;

	check(slab_evacuate_start(sl, class));
	for (uint32_t turn = 0; turn < 200 && sl->evacuating_count != 0; turn++) {
		for (uint32_t i = 0; i < used; i++)
			item_number(rig->core, i);
		turns(rig->core, 1);
	}
	check_eq(sl->evacuating_count, 0);
}

TEST(an_item_in_use_moves_with_all_that_belongs_to_it)
{
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		const struct row *row = &rows[r];
		struct rig rig = rig_up(16, 1);
		uint64_t cas[USED];
		const uint32_t used = row->count / 4 < USED ? row->count / 4 : USED;

		check_eq(set(rig.core, "before the flush", ""), STORE_OK);
		store_flush(rig.core, 0);
		for (uint32_t i = 0; i < row->count; i++)
			store_item(rig.core, row, i);
		for (uint32_t i = 0; i < used; i++) {
			store_item(rig.core, row, i); /* makes cas numbers differ */
			cas[i] = item_cas(item_number(rig.core, i));
		}
		turns(rig.core, 8);

		const struct item *first = item_number(rig.core, 0);
		make_page_go_first(&rig, first);
		item_number(rig.core, 0);
		take_a_page(&rig, class_of(&rig, first), used);
		check(item_number(rig.core, 0) != first);
		check(counted(rig.core, STORE_RESCUED) > 0);
		for (uint32_t i = 0; i < used; i++) {
			const struct item *it = item_number(rig.core, i);

			check(value_is(rig.core, it, value_of(row, i)));
			check_eq(item_cas(it), cas[i]);
			check_eq(item_flags(it), row->flags);
			check_eq(item_expiry_s(it), row->expiry_s);
		}
		store_turn(rig.core, EXPIRES_S);
		check((item_number(rig.core, 0) == NULL) == (row->expiry_s != 0));
		store_flush(rig.core, 0);
		check_null(item_number(rig.core, 0));
		rig_down(&rig);
	}
}

/* Nothing is evicted as there is room for all, and counts stay right. */
TEST(half_empty_pages_become_one_without_a_loss)
{
	const struct row row = {100, 0, 0, 20000};
	struct rig rig = rig_up(16, 1);
	struct store_usage before, after;
	char text[24];

	for (uint32_t i = 0; i < row.count; i++)
		store_item(rig.core, &row, i);

	const uint32_t class = class_of(&rig, item_number(rig.core, 0));

	for (uint32_t i = 0; i < row.count; i++)
		if (i % 4 != 0)
			del(rig.core, (const char *)name_of(i, text).data);
	seconds(rig.core, 4);
	store_usage_mt(rig.store, &before);

	const uint32_t pages = rig.store->slab.classes[class].page_count;

	for (uint32_t i = 0; i < pages / 2; i++)
		take_a_page(&rig, class, 0);
	store_usage_mt(rig.store, &after);
	check(pages >= 8);
	check_eq(rig.store->slab.classes[class].page_count, pages - pages / 2);
	check_eq(after.items, row.count / 4);
	check_eq(after.item_bytes, before.item_bytes);
	check_eq(counted(rig.core, STORE_EVICTED), 0);
	for (uint32_t i = 0; i < row.count; i += 4)
		check(value_is(rig.core, item_number(rig.core, i), value_of(&row, i)));
	rig_down(&rig);
}

TEST(a_class_that_ends_leaves_what_is_in_use_to_a_larger_one)
{
	static const struct row small = {100, 3, 0, 100}, larger = {150, 0, 0, 0};
	struct rig rig = rig_up(16, 1);

	for (uint32_t i = 0; i < small.count; i++)
		store_item(rig.core, &small, i);
	store_item(rig.core, &larger, small.count);

	const uint32_t class = class_of(&rig, item_number(rig.core, 0));
	const uint32_t other = class_of(&rig, item_number(rig.core, small.count));
	struct store_usage usage;

	check(other > class);
	take_a_page(&rig, class, small.count);
	check_eq(rig.store->slab.classes[class].page_count, 0);
	for (uint32_t i = 0; i < small.count; i++) {
		const struct item *it = item_number(rig.core, i);

		check(value_is(rig.core, it, value_of(&small, i)));
		check_eq(item_flags(it), 3);
		check_eq(class_of(&rig, it), other);
	}
	store_usage_mt(rig.store, &usage);
	check_eq(usage.item_bytes, (small.count + 1) * rig.store->slab.classes[other].size);
	rig_down(&rig);
}

/* The pin holds the bytes that were found, and their page. */
TEST(a_pinned_item_stays_while_its_copy_moves)
{
	const struct row row = {3000, 0, 0, 300};
	struct rig rig = rig_up(16, 1);

	for (uint32_t i = 0; i < row.count; i++)
		store_item(rig.core, &row, i);

	const struct item *it = item_number(rig.core, 0);
	const uint32_t class = class_of(&rig, it);

	store_pin(it);
	make_page_go_first(&rig, it);
	check(value_is(rig.core, item_number(rig.core, 0), value_of(&row, 0)));
	check(slab_evacuate_start(&rig.store->slab, class));
	for (uint32_t turn = 0; turn < 50; turn++) {
		check(value_is(rig.core, item_number(rig.core, 0), value_of(&row, 0)));
		turns(rig.core, 1);
	}
	check(item_number(rig.core, 0) != it);
	check_eq(rig.store->slab.evacuating_count, 1); /* the one that is pinned */
	check(value_is(rig.core, it, value_of(&row, 0)));
	store_unpin(it);
	turns(rig.core, 8);
	check_eq(rig.store->slab.evacuating_count, 0);
	check_eq(del(rig.core, "item0000000000"), STORE_OK);
	turns(rig.core, 8);
	check_eq(rig.core->retire_list.head, rig.core->retire_list.tail); /* the copy has no pin */
	rig_down(&rig);
}

/* Hot items that are never stored again, beside a stream of others of another size. */
TEST(a_class_read_and_never_written_keeps_what_is_in_use)
{
	const struct row hot = {3000, 0, 0, 1000};
	struct rig rig = rig_up(16, 1);
	uint32_t kept = 0;
	char text[24];

	for (uint32_t i = 0; i < hot.count; i++)
		store_item(rig.core, &hot, i);
	for (uint32_t i = 0; i < 400000; i++) {
		snprintf(text, sizeof text, "once%010u", i);
		check_eq(set(rig.core, text, "forty bytes, so that memory runs out first"),
			 STORE_OK);
		item_number(rig.core, i % hot.count);
		if (i % 32 == 0)
			turns(rig.core, 1);
	}
	for (uint32_t i = 0; i < hot.count; i++)
		kept += item_number(rig.core, i) != NULL;
	printf("%u of %u kept\n", kept, hot.count);
	check(counted(rig.core, STORE_EVICTED) > 200000);
	check(kept > hot.count * 98 / 100);
	rig_down(&rig);
}

/* Returns the class of a page being evacuated; SLAB_CLASSES_MAX if there is none. */
static uint32_t
class_that_gives(const struct rig *rig)
{
	const struct slab *sl = &rig->store->slab;

	for (uint32_t i = 0; i < rig->store->arena.page_count; i++)
		if (sl->pages[i].state == PAGE_EVACUATING)
			return sl->pages[i].class;
	return SLAB_CLASSES_MAX;
}

static enum store_result
try_item(struct store_core *sc, uint32_t i, uint32_t len)
{
	char text[24];

	return put(sc, name_of(i, text), (struct view){bytes, len}, STORE_SET, 0);
}

/* A turn stores more than its class holds back, so it takes pages of the reserve. The other class
 * stores nothing; its hand is slower, and it gives no page. */
TEST(a_class_that_borrows_gives_the_next_page)
{
	enum { SMALL = 64, OTHER = 1000, SHARE = 16 };
	struct rig rig = rig_up(16, 1);
	struct slab *sl = &rig.store->slab;
	uint32_t i = 0, small;

	for (; counted(rig.core, STORE_EVICTED) < 20000; i++) {
		try_item(rig.core, i, i % SHARE == 0 ? OTHER : SMALL);
		turns(rig.core, i % 32 == 0);
	}
	turns(rig.core, 20);
	check_eq(try_item(rig.core, ++i, SMALL), STORE_OK);
	small = slab_class_of_ref(sl, item_ref(rig.store, item_number(rig.core, i)));
	check(slab_pool(sl) >= sl->reserve);
	check_eq(class_that_gives(&rig), SLAB_CLASSES_MAX);
	for (uint32_t n = 0; class_that_gives(&rig) == SLAB_CLASSES_MAX; n++) {
		check(n < 100000);
		try_item(rig.core, ++i, SMALL);
	}
	check(slab_pool(sl) < sl->reserve);
	check_eq(class_that_gives(&rig), small);
	rig_down(&rig);
}

/* Deletes every step-th item, from `last` down. */
static void
delete_some(struct store_core *sc, uint32_t last, uint32_t count, uint32_t step)
{
	for (uint32_t k = 0; k < count; k++) {
		char text[24];
		const struct view key = name_of(last - k * step, text);

		store_delete(sc, key, store_hash(sc, key));
	}
	turns(sc, 20);
}

/* A class has enough free objects to be filling a page, but too few to give one without a loss.
 * It stores nothing more, so it gives its pages nevertheless. */
TEST(a_class_that_stores_nothing_fills_no_page)
{
	enum { OLD = 9000, NEW = 100, NEW_COUNT = 400000, DELETED = 50, STEP = 28 };
	struct rig rig = rig_up(16, 1);
	struct slab *sl = &rig.store->slab;
	struct slab_class *c;
	uint32_t i = 0, pages;

	for (; counted(rig.core, STORE_EVICTED) < 2000; i++) {
		try_item(rig.core, i, OLD);
		turns(rig.core, i % 4 == 0);
	}
	turns(rig.core, 20);
	c = &sl->classes[slab_class_of_ref(sl, item_ref(rig.store, item_number(rig.core, i - 1)))];
	delete_some(rig.core, i - 1, DELETED, STEP);
	pages = slab_class_pages(c);
	check(c->free_count > slab_class_ahead(c) + c->per_page / 4);
	check(c->free_count <= slab_class_ahead(c) + c->per_page + c->per_page / 8);
	for (uint32_t n = 0; n < NEW_COUNT; n++) {
		try_item(rig.core, ++i, NEW);
		turns(rig.core, n % 32 == 0);
	}
	printf("%u of %u pages kept\n", slab_class_pages(c), pages);
	check(slab_class_pages(c) < pages / 4);
	rig_down(&rig);
}

static uint32_t
how_many(struct rig *rig, const struct row *row, uint32_t from)
{
	uint32_t there = 0;

	for (uint32_t i = from; i < from + row->count; i++)
		there += value_is(rig->core, item_number(rig->core, i), value_of(row, i));
	return there;
}

/* Two classes of a few items each, all in use, in a full store: they share a page, and no item is
 * lost. Once pages are free each class has its own again. */
TEST(classes_that_hardly_fill_a_page_share_one)
{
	enum { USE_EVERY = 100 };
	static const struct row small = {100, 3, 0, 100}, larger = {300, 0, 0, 100};
	static const struct row stream = {1000, 0, 0, 60000};
	struct rig rig = rig_up(16, 1);
	const struct slab *sl = &rig.store->slab;
	uint32_t class, other;

	for (uint32_t i = 0; i < small.count; i++)
		store_item(rig.core, &small, i);
	for (uint32_t i = 0; i < larger.count; i++)
		store_item(rig.core, &larger, small.count + i);
	class = class_of(&rig, item_number(rig.core, 0));
	other = class_of(&rig, item_number(rig.core, small.count));
	check(other > class);
	for (uint32_t i = 0; i < stream.count; i++) {
		store_item(rig.core, &stream, 1000 + i);
		for (uint32_t n = 0; i % USE_EVERY == 0 && n < small.count + larger.count; n++)
			item_number(rig.core, n);
		turns(rig.core, i % 32 == 0);
		store_housekeeping(rig.core);
	}
	check_eq(slab_class_pages(&sl->classes[class]), 0);
	check_eq(slab_class_taken(sl, class), other);
	check_eq(how_many(&rig, &small, 0), small.count);
	check_eq(how_many(&rig, &larger, small.count), larger.count);
	store_item(rig.core, &small, 1);
	check_eq(class_of(&rig, item_number(rig.core, 1)), other);
	turns(rig.core, 100);
	check(slab_is_settled(sl)); /* a check without the lock finds the classes settled */
	store_flush(rig.core, 0);
	seconds(rig.core, 120);
	check_eq(slab_class_taken(sl, class), class);
	rig_down(&rig);
}

/* Returns a length, log-uniform from 16 bytes: each power of two has as many keys, and each key
 * one length. */
static uint32_t
length_of(uint64_t key)
{
	const uint32_t bits = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 40);
	const uint32_t octave = 16u << (bits & 7);

	return octave + (uint32_t)((uint64_t)octave * (bits >> 8) >> 16);
}

/* Lengths are requested alike, so a page of small values has most hits. Most requested small
 * values are kept; of the large ones only those that are requested often. */
TEST(small_values_get_the_memory_that_their_hits_are_worth)
{
	enum { GETS = 1000000, KEYS_SHIFT = 18 };
	struct rig rig = rig_up(16, 1);
	uint64_t random = 1, hits = 0;
	struct store_usage usage;
	char text[24];

	for (uint32_t i = 0; i < GETS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;

		/* Zipf: each power of two of the keys is requested as often as any other. */
		const uint64_t first = 1ull << (random >> 56) % KEYS_SHIFT;
		const uint32_t key = (uint32_t)(first + (random >> 24 & (first - 1)));

		turns(rig.core, i % 32 == 0);
		store_housekeeping(rig.core);
		if (item_number(rig.core, key) != NULL) {
			hits += i >= GETS / 2;
			continue;
		}
		check_eq(put(rig.core, name_of(key, text), (struct view){bytes, length_of(key)},
			     STORE_SET, 0),
			 STORE_OK);
	}
	store_usage_mt(rig.store, &usage);
	printf("%.3f of the gets hit, %llu items\n", 2.0 * (double)hits / GETS,
	       (unsigned long long)usage.items);
	check(hits * 1000 > GETS / 2 * 797ull);
	check(usage.items > 50000);
	rig_down(&rig);
}
