/*
 * flash_busy.c - measures hits of the store while another thread does the work of the tier's:
 * copies, checksums and transfers of segments, over a device in memory. The thread works and
 * rests alternately for some milliseconds.
 *
 * Store and shard share nothing but the machine: a hit of the store executes the same
 * instructions with and without a tier (tests/bench/budget_test.py).
 */
#include "flash_parts.h"
#include "flash_rig.h"

#include "../store/own_store.h"
#include "../../support/sorted.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define ITEMS   200000u /* items in the store, more than the caches hold */
#define BATCH   32u
#define BLOCK   40000u /* batches in a turn */
#define PUTS    512u
#define IDLE_US 200u
#define MIB     (1ull << 20)

static struct {
	struct flash_rig rig;
	_Atomic bool on, stop;
	_Atomic uint64_t puts;
} busy;

static void *
be_busy(void *unused)
{
	const struct timespec idle = {.tv_nsec = IDLE_US * 1000};

	(void)unused;
	for (uint64_t n = 0; !busy.stop;) {
		if (!busy.on) {
			nanosleep(&idle, NULL);
			continue;
		}
		/* An index without room causes as much work. */
		for (uint32_t i = 0; i < PUTS; i++)
			flash_rig_put(&busy.rig, n++);
		busy.puts = n;
	}
	return NULL;
}

/* Runs a turn's batches, and times each. */
static void
time_gets(struct own_store *o, uint64_t *ns, uint64_t *random)
{
	struct store_core *sc = store_core_of(o->store, 0);
	struct bench_key keys[BATCH];
	const struct item *items[BATCH];

	for (uint32_t i = 0; i < BLOCK; i++) {
		for (uint32_t k = 0; k < BATCH; k++)
			keys[k] = bench_key_of(bench_below(random, ITEMS));

		const uint64_t from = bench_ns();

		own_get_batch(sc, keys, BATCH, items);
		ns[i] = bench_ns() - from;
		for (uint32_t k = 0; k < BATCH; k++)
			ensure(items[k] != NULL);
		store_turn(sc, STORE_CLOCK_START);
	}
	sort_u64(ns, BLOCK);
}

static void
fill_store(struct own_store *o, uint32_t value_bytes)
{
	struct store_core *sc = store_core_of(o->store, 0);
	static uint8_t value[2048];

	for (uint32_t n = 0; n < ITEMS; n++) {
		const struct bench_key k = bench_key_of(n);

		ensure(own_put(sc, own_key(&k), store_hash(sc, own_key(&k)), value, value_bytes) ==
		       STORE_OK);
		own_turn(o, sc);
	}
}

void
flash_part_busy(const struct flash_trial *t)
{
	const struct flash_rig_config c = {
		.bytes = t->mib * MIB, .value_bytes = t->value, .depth = 1};
	static uint64_t ns[BLOCK];
	uint64_t random = t->run + 1;
	struct own_store o;
	pthread_t thread;

	flash_rig_open(&busy.rig, &c);
	own_create(&o, 2ull * ITEMS * (t->value + 64), 1);
	fill_store(&o, t->value);
	ensure(pthread_create(&thread, NULL, be_busy, NULL) == 0);
	for (uint32_t i = 0; i < 2 * t->rounds; i++) {
		const uint64_t before = busy.puts;

		busy.on = i % 2 == 1;
		time_gets(&o, ns, &random);
		printf("{\"part\": \"busy\", \"who\": \"%s\", \"run\": %u, \"round\": %u, "
		       "\"p50_ns\": %.2f, \"p99_ns\": %.2f, \"puts\": %llu}\n",
		       busy.on ? "on" : "off", t->run, i / 2, (double)ns[BLOCK / 2] / BATCH,
		       (double)ns[BLOCK * 99 / 100] / BATCH,
		       (unsigned long long)(busy.puts - before));
	}
	busy.stop = true;
	pthread_join(thread, NULL);
	own_destroy(&o);
	flash_rig_close(&busy.rig);
}
