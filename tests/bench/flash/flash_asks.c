/*
 * flash_asks.c - makes gets through the product's backend, whose reads, judgements and answers
 * are the product's, without connections. Each client makes the next get once it is answered.
 * There are more clients than reads at a time, so that some wait.
 */
#include "flash_asks.h"

#include "../store/own_store.h"

#include "flash/flash_backend.h"
#include "backend/pending.h"

#include <stdlib.h>
#include <string.h>

#define STORE_BYTES (64ull << 20)
#define CLIENTS_MAX 1024u
#define SHARE       2u /* clients, divided by reads at a time */
#define NOW_S       100u

struct client {
	struct session session;
	uint64_t n;
};

static struct {
	struct flash_rig *rig;
	struct own_store own;
	struct store_core *sc;
	struct serve *sv;
	struct flash_backend *backend;
	struct client client[CLIENTS_MAX];
	uint32_t idle[CLIENTS_MAX], idle_count;
	uint64_t items, left, random;
} asks;

static struct flash_backend_config
backend_config(struct flash_rig *rig)
{
	return (struct flash_backend_config){.tier = &rig->tier,
					     .serve = asks.sv,
					     .store = asks.sc,
					     .device = rig->device,
					     .pages = rig->reads,
					     .reads_small = rig->c.depth,
					     .reads_large = 1,
					     .item_max = FLASH_RIG_VALUE_MAX,
					     .deadline_ns = 1ull << 40};
}

size_t
flash_asks_read_bytes(uint32_t depth)
{
	const struct flash_backend_config c = {
		.reads_small = depth, .reads_large = 1, .item_max = FLASH_RIG_VALUE_MAX};

	return (size_t)flash_backend_pages(&c) * FLASH_PAGE_BYTES;
}

void
flash_asks_open(struct flash_rig *rig, uint64_t items)
{
	const struct store_config s = {.memory_bytes = STORE_BYTES,
				       .cores = 1,
				       .value_max = STORE_VALUE_MAX,
				       .seed = RIG_SEED};
	struct region region = {.size = flash_backend_bytes() + backend_bytes()};
	struct backend backend;

	asks.rig = rig;
	asks.items = items;
	own_create_for(&asks.own, &s);
	asks.sc = store_core_of(asks.own.store, 0);
	asks.sv = bench_map(sizeof *asks.sv);
	asks.sv->store = asks.sc;
	region.base = bench_map(region.size);

	const struct flash_backend_config c = backend_config(rig);

	asks.backend = flash_backend_create(&region, &c);
	backend = flash_backend_of(asks.backend);
	backend_attach(&region, asks.sv, &backend);
	asks.idle_count = SHARE * rig->c.depth;
	ensure(asks.idle_count <= CLIENTS_MAX);
	for (uint32_t i = 0; i < asks.idle_count; i++)
		asks.idle[i] = i;
}

static void
ask(struct client *c, struct view key, uint64_t hash)
{
	const struct mc_req req = {
		.verb = MC_MG, .meta = {.flags = MC_FLAG_VALUE | MC_FLAG_NO_BUMP}, .key = key};

	ensure(pending_ask(asks.sv, &c->session, NULL, &req, key, hash) != NULL);
}

/* Runs a pass: announces its misses, checks them and requests them. False: there are none. */
static bool
pass(void)
{
	const struct backend *by = backend_of(asks.sv);
	struct bench_key keys[OPS_MAX];
	uint64_t hashes[OPS_MAX];
	uint32_t count = asks.idle_count < OPS_MAX ? asks.idle_count : OPS_MAX;

	if (count > asks.left)
		count = (uint32_t)asks.left;
	for (uint32_t i = 0; i < count; i++) {
		struct client *c = &asks.client[asks.idle[asks.idle_count - 1 - i]];

		c->n = bench_random(&asks.random) % asks.items;
		keys[i] = bench_key_of(c->n);
		hashes[i] = flash_rig_hash(asks.rig, own_key(&keys[i]));
	}
	by->tier.prefetch(by->arg, hashes, count);
	for (uint32_t i = 0; i < count; i++) {
		ensure(by->tier.may_have(by->arg, own_key(&keys[i]), hashes[i]));
		ask(&asks.client[asks.idle[--asks.idle_count]], own_key(&keys[i]), hashes[i]);
	}
	asks.left -= count;
	return count != 0;
}

/* Completes and compares the answers. Returns their number. */
static uint64_t
hear(void)
{
	struct pending_table *pt = asks.sv->pending;
	uint64_t heard = 0;

	for (; !list_empty(&pt->ready); heard++) {
		struct pending *a = container_of(pt->ready.next, struct pending, due);
		struct client *c = container_of(a->session, struct client, session);
		const struct item *it = a->answer.item;

		ensure(it != NULL && item_value_len(it) == asks.rig->c.value_bytes);
		ensure(flash_rig_is_value(asks.rig, c->n, store_value_at(asks.sc, it, 0).data));
		pending_free(asks.sv, a);
		asks.idle[asks.idle_count++] = (uint32_t)(c - asks.client);
	}
	return heard;
}

/* Waits until as many reads have ended as the raw side waits for, unless there is other work. */
static void
rest(void)
{
	const struct flash_backend *s = asks.backend;
	const uint32_t at_once = flash_rig_at_once(asks.rig);

	if (s->runnable_count == 0 && s->under_way != 0)
		flash_rig_sleep(asks.rig, s->under_way < at_once ? s->under_way : at_once);
}

void
flash_asks_run(uint64_t count, uint64_t seed)
{
	const struct backend *by = backend_of(asks.sv);
	uint64_t heard = 0;

	asks.left = count;
	asks.random = seed;
	while (heard < count) {
		asks.sv->clock.now_ns = bench_ns();
		store_turn(asks.sc, NOW_S);
		by->poll(by->arg, asks.sv->clock.now_ns);
		heard += hear();
		while (pass())
			;
		by->send(by->arg);
		rest();
	}
}
