/*
 * The figures that operators see, and flushes. Goal: a flushed item no longer counts from the
 * flush on, and an item stored since then counts, however far the walk has come. Method: the
 * figures are compared with a walk over all live items, bytes by bytes and class by class, while
 * two cores store, replace, count, delete, evict and flush at random.
 */
#include "store_rig.h"
#include "support/store_calls.h"
#include "support/test.h"

enum { BATCH = 64, KEYS = 6000 };

struct living {
	uint64_t items, memory;
	struct tally classes[SLAB_CLASSES_MAX];
};

static void
living_add(const struct store *st, struct living *l, const struct item *it)
{
	const uint32_t class = slab_class_of_ref(&st->slab, item_ref(st, it));

	l->items++;
	l->memory += item_memory(st, it);
	l->classes[class].items++;
	l->classes[class].bytes += item_bytes(it);
}

static struct living
living_now(struct store_core *sc)
{
	struct walk_cursor cursor = {0};
	const struct item *items[BATCH];
	struct living l = {0};

	while (!cursor.done) {
		const uint32_t n = store_walk(sc, &cursor, STORE_ALL_CLASSES, items, BATCH);

		for (uint32_t i = 0; i < n; i++)
			living_add(sc->store, &l, items[i]);
	}
	return l;
}

/* Compares all figures. No resize may be under way: the walk over all items
 * would wait for a shrink. */
static void
check_figures(struct store_core *sc)
{
	const struct living l = living_now(sc);
	struct store_usage all;

	store_usage_mt(sc->store, &all);
	check_eq(all.items, l.items);
	check_eq(all.item_bytes, l.memory);
	for (uint32_t class = 0; class < sc->store->slab.class_count; class ++) {
		struct store_class_usage u;

		store_class_usage_mt(sc->store, class + 1, sc->now_s, &u);
		check_eq(u.items, l.classes[class].items);
		check_eq(u.item_bytes, l.classes[class].bytes);
	}
}

static struct store_usage
usage_of(struct store_core *sc)
{
	struct store_usage usage;

	store_usage_mt(sc->store, &usage);
	return usage;
}

static uint8_t bytes[STORE_VALUE_MAX];

static void
store_keys(struct store_core *sc, uint32_t from, uint32_t to, uint32_t len)
{
	char key[16];
	uint32_t waited;

	for (uint32_t i = from; i < to; i++) {
		snprintf(key, sizeof key, "key%u", i);
		check_eq(put_waiting(sc, text(key), (struct view){bytes, len}, 1000, &waited),
			 STORE_OK);
		if (i % 64 == 0)
			turns(sc, 1);
	}
}

TEST(a_flush_is_seen_at_once_and_what_is_stored_after_it_counts)
{
	static const struct {
		uint32_t count, len;
	} rows[] = {{1000, 1}, {1000, 300}, {20, 3 * ITEM_CHUNK_BYTES}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct rig r = rig_up_buckets(64, 1, 1024, 0);

		store_keys(r.core, 0, rows[i].count, rows[i].len);
		check_eq(usage_of(r.core).items, rows[i].count);
		flush_now(r.core);
		check_eq(usage_of(r.core).items, 0);
		check_eq(usage_of(r.core).item_bytes, 0);
		check_eq(usage_of(r.core).flushed, rows[i].count);
		check_figures(r.core);
		/* The first item replaces a flushed one, the second is new. */
		check_eq(set(r.core, "key1", "v"), STORE_OK);
		check_eq(set(r.core, "another", "v"), STORE_OK);
		check_eq(usage_of(r.core).items, 2);
		check_eq(usage_of(r.core).flushed, rows[i].count - 1);
		check_figures(r.core);
		for (uint32_t s = 0; s < 2 * SWEEP_PASS_S; s++) {
			seconds(r.core, 1);
			check_eq(usage_of(r.core).items, 2);
		}
		check_eq(usage_of(r.core).flushed, 0);
		check_figures(r.core);
		rig_down(&r);
	}
}

/* An item that is flushed twice counts once. */
TEST(flushes_one_after_the_other_leave_what_came_after_the_last)
{
	struct rig r = rig_up_buckets(64, 1, 1024, 0);

	for (uint32_t i = 0; i < 10; i++) {
		store_keys(r.core, 100 * i, 100 * i + 100, 10);
		check_eq(usage_of(r.core).items, 100);
		check(usage_of(r.core).flushed <= 100 * i); /* an urgent sweep takes some */
		flush_now(r.core);
		check_eq(usage_of(r.core).items, 0);
		check_figures(r.core);
	}
	rig_down(&r);
}

/* Each core counts its share of the items; another core may remove them. */
TEST(what_one_core_stored_and_another_one_takes_out_is_right)
{
	struct rig r = rig_up_buckets(64, 3, 1024, 0);
	struct store_core *b = store_core_of(r.store, 1);

	store_keys(r.core, 0, 500, 10);
	store_turn(b, r.core->now_s);
	for (uint32_t i = 0; i < 200; i++) {
		char key[16];

		snprintf(key, sizeof key, "key%u", i);
		check_eq(del(b, key), STORE_OK);
	}
	check_eq(usage_of(b).items, 300);
	flush_now(r.core);
	check_eq(usage_of(b).items, 0);
	check_eq(set(b, "key300", "v"), STORE_OK);
	check_eq(set(b, "key1", "v"), STORE_OK);
	check_eq(usage_of(b).items, 2);
	check_eq(del(r.core, "key300"), STORE_OK);
	check_eq(usage_of(b).items, 1);
	check_figures(r.core);
	/* The third core's first write since the flush replaces a short value by a longer one. */
	store_keys(store_core_of(r.store, 2), 1, 2, 1000);
	check_figures(r.core);
	rig_down(&r);
}

/* ---- random calls ---- */

struct dice {
	uint64_t seed;
};

static uint32_t
roll(struct dice *d, uint32_t sides)
{
	d->seed = d->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(d->seed >> 33) % sides;
}

/* Stores a value if there is memory now. */
static void
store_some(struct store_core *sc, const char *key, uint32_t len)
{
	put(sc, text(key), (struct view){bytes, len}, STORE_SET, 0);
}

static void
do_something(struct store_core *sc, struct dice *d)
{
	const uint32_t what = roll(d, 1000);
	uint64_t value;
	uint32_t i = roll(d, KEYS);
	char key[16];

	snprintf(key, sizeof key, "key%u", i);
	if (what < 1)
		store_flush(sc, 0);
	else if (what < 10)
		store_some(sc, key, roll(d, 3 * ITEM_CHUNK_BYTES));
	else if (what < 700)
		store_some(sc, key, roll(d, 4000));
	else if (what < 800)
		del(sc, key);
	else if (what < 850)
		set(sc, key, "1");
	else if (what < 900)
		store_count(sc, text(key), store_hash(sc, text(key)), 1, false, &value);
	else if (what < 950)
		put(sc, text(key), text("more"), STORE_APPEND, 0);
	else
		find(sc, key);
}

TEST(figures_are_those_of_what_is_alive_whatever_is_done)
{
	enum { STEPS = 30000, CHECK_STEPS = 500 };
	struct rig r = rig_up_buckets(8, 2, 1024, 0);
	struct store_core *cores[] = {r.core, store_core_of(r.store, 1)};
	struct dice d = {0xf1a5};

	for (uint32_t step = 0; step < STEPS; step++) {
		struct store_core *sc = cores[roll(&d, 2)];

		do_something(sc, &d);
		if (step % 8 == 0)
			for (uint32_t i = 0; i < 2; i++)
				turns(cores[i], 1);
		if (step % 4000 == 0)
			seconds(cores[0], 1 + roll(&d, 40));
		if (step % CHECK_STEPS == 0)
			check_figures(sc);
	}
	check(store_sum(r.store, STORE_EVICTED) > 0);
	check(store_sum(r.store, STORE_FLUSHED) > 0);
	check(store_sum(r.store, STORE_RESCUED) > 0);
	rig_down(&r);
}
