/*
 * Values that are sent to clients that do not read. Goal: pinned memory is missing, and nothing
 * else: no set is refused while there is something to evict, none waits longer than without pins,
 * pages still move, and too many pinned bytes are reported. Method: a store filled with values,
 * some of them pinned, one thread; the wait of a set is counted in turns. With 2Q pinned items
 * were used, and mostly stay; so the same runs under CLOCK alone, which evicts them.
 */
#include "slab/eviction.h"
#include "support/test.h"
#include "store_rig.h"

#include <stdio.h>

#define WAITS_MAX     2000u /* turns: a set that waits this long is refused */
#define SETS_A_SECOND 4000u
#define STUCK_S       30u /* each page with pins was tried by then, and went back */

static uint8_t bytes[1 << 20];
static const struct eviction_policy *eviction;
static const struct item *pins[32768];
static uint32_t pin_count;

static struct rig
rig_of(size_t mebibytes)
{
	struct store_config cfg = rig_config(mebibytes, 1, STORE_VALUE_MAX);

	cfg.eviction = eviction;
	return rig_up_with(&cfg);
}

static void
with_2q(void)
{
	eviction = &eviction_2q;
}

SETUP(with_clock)
{
	eviction = &eviction_clock;
}

static struct view
key_of(char *text_of, const char *name, uint32_t n)
{
	snprintf(text_of, 32, "%s%u", name, n);
	return text(text_of);
}

struct waits {
	uint32_t sets, refused, longest, all;
	uint32_t wants_release; /* sets after which pins were to be released */
	uint32_t pages; /* of the class of the old values, once no value is pinned any more */
};

/* Makes `count` sets, with a turn after each, as a connection does. Returns their waits. */
static struct waits
store_values(struct rig *rig, const char *name, uint32_t first, uint32_t count, uint32_t len)
{
	struct waits w = {.sets = count};
	char k[32];

	for (uint32_t i = 0; i < count; i++) {
		uint32_t waited;
		const enum store_result r =
			put_waiting(rig->core, key_of(k, name, first + i),
				    (struct view){bytes, len}, WAITS_MAX, &waited);

		w.refused += r != STORE_OK;
		w.all += waited;
		w.longest = waited > w.longest ? waited : w.longest;
		w.wants_release += store_pins_memory_pressure(rig->core) != 0;
		if (i % SETS_A_SECOND == 0)
			store_turn(rig->core, rig->core->now_s + 1);
		turns(rig->core, 1);
		if (w.refused > 3)
			break;
	}
	return w;
}

/* Pins every step-th cached key, at most max of them. All are in use for now. */
static void
pin_values(struct rig *rig, const char *name, uint32_t first, uint32_t count, uint32_t step,
	   uint32_t max)
{
	char k[32];

	pin_count = 0;
	for (uint32_t i = first; i < first + count && pin_count < max; i += step) {
		const struct view key = key_of(k, name, i);

		/* A miss would count as evidence that probation is too short (asked.h). */
		if (store_peek(rig->core, key, store_hash(rig->core, key)) == NULL)
			continue;

		const struct item *it = find(rig->core, k);

		store_pin(it);
		pins[pin_count++] = it;
	}
	turns(rig->core, 1);
}

static void
unpin_values(struct rig *rig)
{
	for (uint32_t i = 0; i < pin_count; i++)
		store_unpin(pins[i]);
	pin_count = 0;
	for (uint32_t i = 0; i < 4; i++)
		seconds(rig->core, 1);
}

static const struct {
	uint32_t mebibytes, len, filled, pins;
} crowds[] = {
	{64, 60000, 1500, 60},     {64, 60000, 1500, 300},  {64, 1100, 70000, 3000},
	{96, 1024, 110000, 17000}, {64, 5000, 16000, 2000}, {64, 100000, 900, 60},
};

static void
pinned_values_stop_no_eviction(void)
{
	for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++) {
		struct rig rig = rig_of(crowds[i].mebibytes);
		const uint32_t n = crowds[i].filled, len = crowds[i].len;

		check_eq(store_values(&rig, "k", 0, n, len).refused, 0);

		const struct waits before = store_values(&rig, "k", n, n, len);

		pin_values(&rig, "k", n, n, 1, crowds[i].pins);
		check_eq(pin_count, crowds[i].pins);

		const struct waits w = store_values(&rig, "k", 2 * n, 3 * n, len);

		print_message("%u of %u bytes pinned: %u refused, waits %u (%u at most), before %u "
			      "(%u)\n",
			      pin_count, len, w.refused, w.all, w.longest, before.all,
			      before.longest);
		check_eq(w.refused, 0);
		check(w.longest <= before.longest + before.longest / 2);
		unpin_values(&rig);
		rig_down(&rig);
	}
}

TEST(pinned_values_stop_no_eviction_with_2q, with_2q)
{
	pinned_values_stop_no_eviction();
}

TEST(pinned_values_stop_no_eviction_with_clock)
{
	pinned_values_stop_no_eviction();
}

/* Values of another size arrive: pages move to them, but not those that cannot. */
static const struct {
	uint32_t old_len, old_count, step, len, count;
	bool wants_release; /* no other pages are left */
} shifts[] = {
	{5000, 16000, 52, 300, 60000, true}, /* a value on each page */
	{5000, 16000, 5, 300, 60000, true},  /* ten on each */
	{60000, 1500, 4, 700, 40000, true},     {5000, 16000, 500, 300, 60000, false},
	{1100, 70000, 300, 1000000, 60, false}, {60000, 1500, 20, 1000000, 60, false},
};

static uint32_t
pages_for(const struct rig *rig, uint32_t len)
{
	const struct slab *sl = &rig->store->slab;

	return slab_class_pages(&sl->classes[slab_class_for(sl, len + 40)]);
}

static struct waits
shift(size_t row, bool pinned)
{
	struct rig rig = rig_of(64);
	const uint32_t old = shifts[row].old_len, n = shifts[row].count;
	struct waits w;

	check_eq(store_values(&rig, "old", 0, shifts[row].old_count, old).refused, 0);
	if (pinned)
		pin_values(&rig, "old", 0, shifts[row].old_count, shifts[row].step, 32768);
	w = store_values(&rig, "new", 0, n, shifts[row].len);
	print_message("%u bytes after %u bytes%s: %u refused, waits %u (%u at most), %u pages, "
		      "asked to release after %u\n",
		      shifts[row].len, old, pinned ? ", some pinned" : "", w.refused, w.all,
		      w.longest, pages_for(&rig, old), w.wants_release);
	if (pinned && shifts[row].wants_release) {
		/* A page that cannot be emptied is of use to its class again. How many are tried is
		 * the policy's: one that evicts items in use has more pins among its retired
		 * items. */
		for (uint32_t s = 0; s < STUCK_S && rig.store->slab.stuck_count != 0; s++)
			seconds(rig.core, 1);
		check_eq(rig.store->slab.stuck_count, 0);
		unpin_values(&rig);
		store_values(&rig, "new", n, n, shifts[row].len);
	}
	w.pages = pages_for(&rig, old);
	unpin_values(&rig);
	check(!store_pins_memory_pressure(rig.core));
	check_eq(rig.store->pinned_bytes, 0);
	check_eq(rig.store->slab.stuck_count, 0);
	rig_down(&rig);
	return w;
}

static void
pages_are_rebalanced_past_those_with_pinned_items(void)
{
	for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++) {
		const struct waits without = shift(i, false), with = shift(i, true);

		check_eq(without.refused, 0);
		check_eq(without.wants_release, 0);
		check_eq(with.refused, 0);
		check(with.longest <= without.longest + without.longest / 2);
		check_eq(with.wants_release != 0, shifts[i].wants_release);
		/* Pages that pins held move once the values are sent. */
		if (shifts[i].wants_release)
			check(with.pages <= without.pages + without.pages / 8);
	}
}

TEST(pages_are_rebalanced_past_those_with_pinned_items_with_2q, with_2q)
{
	pages_are_rebalanced_past_those_with_pinned_items();
}

TEST(pages_are_rebalanced_past_those_with_pinned_items_with_clock)
{
	pages_are_rebalanced_past_those_with_pinned_items();
}

static const struct {
	uint32_t len, pins;
	bool wants_release;
} alarms[] = {{60000, 60, false}, {1 << 20, 61, true}, {60000, 200, true}, {1024, 3000, false}};

TEST(many_pinned_bytes_are_memory_pressure_and_few_are_not)
{
	for (size_t i = 0; i < sizeof alarms / sizeof *alarms; i++) {
		struct rig rig = rig_of(64);
		const uint32_t len = alarms[i].len, n = (72u << 20) / len;
		struct waits w;

		check_eq(store_values(&rig, "k", 0, n, len).wants_release, 0);
		pin_values(&rig, "k", 0, n, 1, alarms[i].pins);
		/* Without sets, pinned items are in the way of none. */
		seconds(rig.core, 4);
		check(!store_pins_memory_pressure(rig.core));
		w = store_values(&rig, "k", n, 2 * n, len);
		print_message(
			"%u of %u bytes pinned: asked to release after %u of %u, %u refused\n",
			pin_count, len, w.wants_release, w.sets, w.refused);
		check_eq(w.wants_release != 0, alarms[i].wants_release);
		unpin_values(&rig);
		check(!store_pins_memory_pressure(rig.core));
		check_eq(store_values(&rig, "k", 3 * n, n, len).refused, 0);
		rig_down(&rig);
	}
}
