/*
 * bench_mixed.c - measures gets beside inserts on two threads (MemC3, figures 6b and 7).
 *
 * The store is half full of items. Each thread runs batches in which a share of the operations
 * inserts new keys, and the others get existing keys. Gets and inserts of a batch are timed
 * separately, in ticks of the time stamp counter. Inserted keys are deleted before the next
 * measurement.
 *
 *   bench_mixed [--keys N] [--operations N] [--runs N]
 */
#include "own_store.h"

#include "base/ticks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS       2u
#define BATCH         32u
#define BYTES_AN_ITEM 136u /* room for twice the keys */
/* A longer batch was interrupted: the core ran something else. Such batches are counted. */
#define BATCH_TICKS_MAX 200000u
#define TICK_SPAN_NS    20000000u

static const uint32_t shares[] = {0, 5, 10, 50}; /* inserts in a hundred operations */
#define SHARES (sizeof shares / sizeof *shares)

struct mix {
	struct own_store own;
	uint32_t keys, operations, share;
	pthread_barrier_t barrier;
};

struct mixer {
	struct mix *mix;
	uint32_t number;
	uint64_t random;
	uint64_t gets, get_ticks, inserts, timed, insert_ticks, hits, asked, interrupted;
};

static uint64_t
new_key(const struct mixer *m)
{
	return (uint64_t)m->mix->keys + m->inserts * THREADS + m->number;
}

static void
take_time(struct mixer *m, uint64_t start, uint32_t count, uint64_t *ticks, uint64_t *timed)
{
	const uint64_t spent = ticks_read() - start;

	if (spent > BATCH_TICKS_MAX) {
		m->interrupted++;
		return;
	}
	*ticks += spent;
	*timed += count;
}

static void
get_batch(struct mixer *m, struct store_core *sc, uint32_t count)
{
	struct bench_key keys[BATCH];
	const struct item *items[BATCH];
	uint64_t start;

	for (uint32_t i = 0; i < count; i++)
		keys[i] = bench_key_of(bench_below(&m->random, m->mix->keys));
	start = ticks_read();
	own_get_batch(sc, keys, count, items);
	m->asked += count;
	take_time(m, start, count, &m->get_ticks, &m->gets);
	for (uint32_t i = 0; i < count; i++)
		m->hits += items[i] != NULL;
}

static void
insert_batch(struct mixer *m, struct store_core *sc, uint32_t count)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	const uint64_t start = ticks_read();

	for (uint32_t i = 0; i < count; i++, m->inserts++) {
		const struct bench_key k = bench_key_of(new_key(m));

		ensure(own_put(sc, own_key(&k), store_hash(sc, own_key(&k)), value, sizeof value) ==
		       STORE_OK);
	}
	take_time(m, start, count, &m->insert_ticks, &m->timed);
}

static void
delete_all(struct mixer *m, struct store_core *sc)
{
	for (uint64_t n = 0; m->inserts > 0; n++) {
		m->inserts--;

		const struct bench_key k = bench_key_of(new_key(m));

		if (n % BATCH == 0) {
			store_turn(sc, STORE_CLOCK_START);
			store_housekeeping(sc);
		}
		ensure(store_delete(sc, own_key(&k), store_hash(sc, own_key(&k))) == STORE_OK);
	}
}

static void *
work(void *arg)
{
	struct mixer *m = arg;
	struct store_core *sc = store_core_of(m->mix->own.store, m->number);
	const uint64_t inserts_before = m->inserts;

	pthread_barrier_wait(&m->mix->barrier);
	for (uint32_t done = 0; done < m->mix->operations; done += BATCH) {
		uint32_t inserts = 0;

		for (uint32_t i = 0; i < BATCH; i++)
			inserts += bench_below(&m->random, 100) < m->mix->share;
		store_turn(sc, STORE_CLOCK_START);
		store_housekeeping(sc);
		get_batch(m, sc, BATCH - inserts);
		insert_batch(m, sc, inserts);
	}
	ensure(inserts_before == 0 && m->hits == m->asked);
	/* A thread that waits here makes no turns, and the other may wait for one. */
	store_offline(sc);
	pthread_barrier_wait(&m->mix->barrier);

	const uint64_t inserted = m->inserts;

	delete_all(m, sc);
	m->inserts = inserted;
	store_offline(sc);
	return NULL;
}

/* Returns the nanoseconds of a tick of the time stamp counter. */
static double
tick_ns(void)
{
	const uint64_t ns = bench_ns(), ticks = ticks_read();

	while (bench_ns() - ns < TICK_SPAN_NS)
		;
	return (double)(bench_ns() - ns) / (double)(ticks_read() - ticks);
}

static void
measure(struct mix *mix, uint32_t share, double tick)
{
	static uint64_t seed = 7;
	struct mixer m[THREADS];
	pthread_t thread[THREADS];
	double gets = 0, get_ns = 0, inserts = 0, insert_ns = 0;
	uint64_t interrupted = 0;

	mix->share = share;
	for (uint32_t i = 0; i < THREADS; i++) {
		m[i] = (struct mixer){.mix = mix, .number = i, .random = bench_mix(++seed)};
		ensure(pthread_create(&thread[i], NULL, work, &m[i]) == 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		gets += (double)m[i].gets;
		get_ns += (double)m[i].get_ticks * tick;
		inserts += (double)m[i].timed;
		interrupted += m[i].interrupted;
		insert_ns += (double)m[i].insert_ticks * tick;
	}
	printf("{\"part\": \"mixed\", \"share\": %u, \"get_ns\": %.2f, \"insert_ns\": %.2f, "
	       "\"operation_ns\": %.2f, \"retries\": %llu, \"interrupted\": %llu}\n",
	       share, get_ns / gets, inserts > 0 ? insert_ns / inserts : 0,
	       (get_ns + insert_ns) / (gets + inserts),
	       (unsigned long long)own_counted(&mix->own, STORE_RETRIES),
	       (unsigned long long)interrupted);
	fflush(stdout);
}

static void
load(struct mix *mix)
{
	static const uint8_t value[BENCH_VALUE_BYTES];
	struct store_core *sc = store_core_of(mix->own.store, 0);

	for (uint32_t i = 0; i < mix->keys; i++) {
		const struct bench_key k = bench_key_of(i);
		const uint64_t hash = store_hash(sc, own_key(&k));

		own_turn(&mix->own, sc);
		ensure(own_put(sc, own_key(&k), hash, value, sizeof value) == STORE_OK);
		store_get(sc, own_key(&k), hash);
		bench_progress("loading", i, mix->keys);
	}
	store_offline(sc);
}

int
main(int argc, char **argv)
{
	static struct mix mix;
	uint32_t runs = 3;

	mix.keys = 1u << 20;
	mix.operations = 1u << 19;
	const struct bench_option known[] = {
		BENCH_NUMBER("keys", &mix.keys, 1000, 100000000),
		BENCH_NUMBER("operations", &mix.operations, 1, 100000000),
		BENCH_NUMBER("runs", &runs, 1, 99),
		{0}};

	bench_options(argc, argv, known);
	if (mix.operations > mix.keys / 2) {
		fprintf(stderr, "bench_mixed: more inserts than room: --operations at most half "
				"of --keys\n");
		return 2;
	}
	own_create(&mix.own, (size_t)mix.keys * BYTES_AN_ITEM + 64 * BENCH_MIB, THREADS);
	pthread_barrier_init(&mix.barrier, NULL, THREADS);
	load(&mix);

	const double tick = tick_ns();

	for (uint32_t run = 0; run < runs; run++)
		for (uint32_t i = 0; i < SHARES; i++) {
			bench_progress("gets beside inserts", run, runs);
			measure(&mix, shares[i], tick);
		}
	return 0;
}
