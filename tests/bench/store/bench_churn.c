/*
 * bench_churn.c - simulates a long life: value sizes shift from 100 bytes to 10 kB and back.
 *
 * The cache is half as large as the requested items. Gets follow Zipf; a miss is followed by a
 * set of a value within a quarter of the phase's size. After each phase the content of the cache
 * and its hit ratio in the phase's last tenth are printed, beside those of a store that never had
 * another size, with the longest upkeep of a turn and the longest set, in CPU time of the thread.
 *
 *   bench_churn [--memory MB] [--operations N]
 */
#include "own_store.h"

#include <stdio.h>
#include <stdlib.h>

#define THETA        0.9
#define VALUE_MAX    16384u
#define TAIL         10u /* the last tenth of a phase is measured */
#define OVERHEAD     40u /* bytes of an item beyond its value, approximately */
#define WORKING_SETS 2u  /* the requested bytes are this many times the cache's */
#define SETS_IN_100  5u
#define LONG_NS      100000u /* limit that no turn and no set should exceed */

static const uint32_t phases[] = {100, 1000, 10000, 1000, 100, 10000, 100};
#define PHASES (sizeof phases / sizeof *phases)

/* The maximum of a time, and how often it exceeded the limit. */
struct span {
	uint64_t max_ns, count, over;
};

struct churn {
	struct own_store own;
	size_t memory_bytes;
	uint64_t random;
	uint64_t refused;        /* sets that failed in the end */
	uint64_t waits;          /* turns in which sets waited for memory */
	struct span turns, sets; /* of a phase */
	uint8_t value[VALUE_MAX];
};

struct outcome {
	double hit;    /* ratio of hits to gets */
	double filled; /* bytes of items divided by the budget */
	uint64_t items;
};

static uint32_t
length_around(struct churn *ch, uint32_t size)
{
	return size - size / 4 + bench_below(&ch->random, size / 2 + 1);
}

static void
span_end(struct span *s, uint64_t from_ns)
{
	const uint64_t spent = bench_cpu_ns() - from_ns;

	s->count++;
	s->over += spent > LONG_NS;
	if (spent > s->max_ns)
		s->max_ns = spent;
}

static void
turn(struct churn *ch, struct store_core *sc)
{
	const uint64_t from = bench_cpu_ns();

	store_turn(sc, STORE_CLOCK_START);
	store_housekeeping(sc);
	span_end(&ch->turns, from);
}

static void
set(struct churn *ch, struct store_core *sc, struct view key, uint64_t hash, uint32_t len)
{
	enum store_result r = STORE_NOT_YET;

	for (uint32_t tries = 0; tries < OWN_WAITS_MAX && r == STORE_NOT_YET; tries++) {
		const uint64_t from = bench_cpu_ns();

		r = own_put_once(sc, key, hash, ch->value, len);
		span_end(&ch->sets, from);
		/* As lib/serve does, the set is tried again in the next turn. */
		if (r == STORE_NOT_YET)
			turn(ch, sc);
		ch->waits += r == STORE_NOT_YET;
	}
	ch->refused += r != STORE_OK;
}

static bool
operate(struct churn *ch, struct store_core *sc, uint32_t number, uint32_t size, bool set_it)
{
	/* Each size has keys of its own: items of the previous phase are of no use in the
	 * next. */
	const struct bench_key k = bench_key_of((uint64_t)size << 32 | number);
	const uint64_t hash = store_hash(sc, own_key(&k));

	if (ch->own.operations++ % OWN_TURN_EVERY == 0)
		turn(ch, sc);
	if (!set_it && store_get(sc, own_key(&k), hash) != NULL)
		return true;
	set(ch, sc, own_key(&k), hash, length_around(ch, size));
	return false;
}

static struct outcome
phase(struct churn *ch, uint32_t size, uint64_t operations)
{
	struct store_core *sc = store_core_of(ch->own.store, 0);
	const uint64_t tail_from = operations - operations / TAIL;
	struct store_usage usage;
	uint64_t gets = 0, hits = 0;
	struct zipf zipf;

	ch->turns = ch->sets = (struct span){0};
	zipf_init(&zipf, (uint32_t)(WORKING_SETS * ch->memory_bytes / (size + OVERHEAD)), THETA);
	for (uint64_t i = 0; i < operations; i++) {
		const bool set = bench_below(&ch->random, 100) < SETS_IN_100;
		const bool hit = operate(ch, sc, zipf_next(&zipf, &ch->random), size, set);

		gets += i >= tail_from && !set;
		hits += i >= tail_from && hit;
		bench_progress("churning", i, operations);
	}
	store_usage_mt(ch->own.store, &usage);
	return (struct outcome){(double)hits / (double)gets,
				(double)usage.item_bytes / (double)usage.memory_bytes, usage.items};
}

static void
say(const struct churn *ch, const char *what, uint32_t size, struct outcome o)
{
	printf("{\"part\": \"churn\", \"what\": \"%s\", \"size\": %u, \"hit\": %.5f, "
	       "\"filled\": %.5f, \"items\": %llu, \"refused\": %llu, \"waits\": %llu, "
	       "\"turn_max_us\": %.1f, \"turns\": %llu, \"turns_long\": %llu, "
	       "\"set_max_us\": %.1f, \"sets\": %llu, \"sets_long\": %llu}\n",
	       what, size, o.hit, o.filled, (unsigned long long)o.items,
	       (unsigned long long)ch->refused, (unsigned long long)ch->waits,
	       (double)ch->turns.max_ns / 1e3, (unsigned long long)ch->turns.count,
	       (unsigned long long)ch->turns.over, (double)ch->sets.max_ns / 1e3,
	       (unsigned long long)ch->sets.count, (unsigned long long)ch->sets.over);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static struct churn ch;
	uint32_t mebibytes = 64;
	uint64_t operations = 2000000;

	const struct bench_option known[] = {
		BENCH_NUMBER("memory", &mebibytes, 8, 65536),
		BENCH_NUMBER("operations", &operations, 1000, 2000000000),
		{0}};

	bench_options(argc, argv, known);
	operations /= PHASES;
	ch.memory_bytes = mebibytes * BENCH_MIB;

	static const uint32_t sizes[] = {100, 1000, 10000};

	for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		ch.random = 1;
		own_create(&ch.own, ch.memory_bytes, 1);
		say(&ch, "fresh", sizes[i], phase(&ch, sizes[i], operations));
		own_destroy(&ch.own);
	}
	ch.random = 1;
	ch.refused = ch.waits = 0;
	own_create(&ch.own, ch.memory_bytes, 1);
	for (uint32_t i = 0; i < PHASES; i++)
		say(&ch, "churned", phases[i], phase(&ch, phases[i], operations));
	own_destroy(&ch.own);
	return 0;
}
