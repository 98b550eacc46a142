/*
 * A load beside threads that change the same keys. Goal: a thread finds the state that it has
 * stored or removed, although a load stores other keys meanwhile; and no key has a cas twice.
 * Method: a store's items are scanned into an array; then, round after round, one thread loads
 * them into a fresh store in random order, while three change keys of their own, with small and
 * large memory in turns. Each knows the right state of its keys.
 *
 * stress_load [caught]: with "caught" the store is a mutant, and must fail.
 */
#include "caught.h"
#include "gaps.h"
#include "store/conditional.h"
#include "image/store_image.h"
#include "image/store_saved.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS       3u
#define KEYS          3000u
#define ROUNDS        12u
#define CAUGHT_ROUNDS 400u
#define OPS           6000u
#define MEMORY        (24u << 20)
#define SMALL_MEMORY  (8u << 20)
#define VALUE_BYTES   1500u
#define NOW_S         STORE_CLOCK_START
#define SEED          0x5eed

static struct {
	char key[16];
	struct store_saved_item item;
	uint8_t value[VALUE_BYTES];
} saved[KEYS];
static uint64_t floors[STORE_SAVED_FLOORS];
static uint32_t saved_count;

struct run {
	struct store *store;
	uint32_t round;
	_Atomic bool lied, loaded;
};

struct client {
	struct run *run;
	struct store_core *core;
	uint32_t id;
	uint64_t random;
	struct {
		enum { SAVED, MINE, GONE } is;
		uint32_t version;
		uint64_t top; /* the largest cas that the key has had */
	} keys[KEYS];
};

static void
lie(struct run *run, const char *what, uint32_t key)
{
	if (!atomic_exchange(&run->lied, true))
		printf("lie: %s, key %u, round %u\n", what, key, run->round);
}

static uint32_t
any(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*random >> 33) % below);
}

static struct view
name_of(uint32_t key, char *to)
{
	return (struct view){(const uint8_t *)to, (uint32_t)sprintf(to, "key-%u", key)};
}

static uint32_t
value_of(uint32_t key, uint32_t version, uint8_t *to)
{
	const uint32_t len = version == 0 ? key % VALUE_BYTES + 8 : 40 + version % 8;

	memset(to, (int)(key + version), len < VALUE_BYTES ? len : VALUE_BYTES);
	memcpy(to, &version, sizeof version);
	return len < VALUE_BYTES ? len : VALUE_BYTES;
}

static struct store *
make(size_t memory, bool loads, struct region *region)
{
	const struct store_config cfg = {.memory_bytes = memory,
					 .cores = CLIENTS + 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = SEED,
					 .loads = loads};

	*region = (struct region){.size = store_bytes(&cfg)};
	region->base = aligned_alloc(4096, align_up(region->size, 4096));
	return store_create(region, &cfg);
}

static bool
put(struct store_core *sc, uint32_t key, uint32_t version)
{
	uint8_t value[VALUE_BYTES];
	char name[16];
	const struct view k = name_of(key, name);
	const uint64_t hash = store_hash(sc, k);
	const uint32_t len = value_of(key, version, value);
	struct fill f;

	if (store_begin(sc, &f, k, hash, len, 0, 0) == STORE_OK) {
		store_fill(sc, &f, value, len);
		if (store_finish(sc, &f, STORE_SET, 0) == STORE_OK)
			return true;
	}
	store_delete(sc, k, hash);
	return false;
}

/* Scans a store's items into the array that is loaded. */
static void
save_all(void)
{
	static struct store_scan scan;
	struct region region = {0};
	struct store *store = make(MEMORY, false, &region);
	struct store_core *sc = store_core_of(store, 0);
	const struct item *it;

	store_turn(sc, NOW_S);
	for (uint32_t n = 0; n < 3 * KEYS; n++) {
		put(sc, n % KEYS, 0);
		store_turn(sc, NOW_S);
		store_housekeeping(sc);
	}
	store_offline(sc);
	while ((it = store_scan_next(store, &scan, NOW_S)) != NULL) {
		const struct view key = item_key(it), value = store_value_at(sc, it, 0);

		memcpy(saved[saved_count].key, key.data, key.len);
		memcpy(saved[saved_count].value, value.data, value.len);
		saved[saved_count].item = (struct store_saved_item){
			.key = {(const uint8_t *)saved[saved_count].key, key.len},
			.hash = store_hash(sc, key),
			.cas = item_cas(it),
			.value_len = item_value_len(it),
			.bits = store_saved_bits_of(store, it),
		};
		saved_count++;
	}
	store_saved_floors(store, &scan, floors);
	ensure(saved_count == KEYS);
	free(region.base);
}

static void
look(struct client *c, uint32_t key)
{
	uint8_t value[VALUE_BYTES];
	char name[16];
	const struct view k = name_of(key, name);
	const struct item *it = store_get(c->core, k, store_hash(c->core, k));

	if (it == NULL)
		return;
	if (c->keys[key].is == GONE)
		lie(c->run, "what was removed came back", key);

	const uint32_t version = c->keys[key].is == MINE ? c->keys[key].version : 0;
	const uint32_t len = value_of(key, version, value);

	if (item_value_len(it) != len ||
	    memcmp(store_value_at(c->core, it, 0).data, value, len) != 0)
		lie(c->run, "another value than the last one", key);
}

static void
change(struct client *c, uint32_t key, uint32_t version)
{
	char name[16];
	const struct view k = name_of(key, name);
	const uint64_t hash = store_hash(c->core, k);
	const struct item *it;

	if (any(&c->random, 3) != 0) {
		store_delete(c->core, k, hash);
		c->keys[key].is = GONE;
		return;
	}
	c->keys[key].is = put(c->core, key, version) ? MINE : GONE;
	c->keys[key].version = version;
	it = store_get(c->core, k, hash);
	if (it == NULL)
		return;
	if (item_cas(it) <= c->keys[key].top)
		lie(c->run, "a number came twice", key);
	c->keys[key].top = item_cas(it);
}

static void *
client_run(void *arg)
{
	struct client *c = arg;

	gaps_begin(c->random);
	store_turn(c->core, NOW_S);
	for (uint32_t n = 1; n < OPS && !atomic_load(&c->run->lied); n++) {
		const uint32_t key = any(&c->random, KEYS / CLIENTS) * CLIENTS + c->id;

		look(c, key);
		if (any(&c->random, 2) == 0)
			change(c, key, n);
		store_turn(c->core, NOW_S);
		store_housekeeping(c->core);
	}
	for (uint32_t key = c->id; key < KEYS; key += CLIENTS) {
		look(c, key);
		store_turn(c->core, NOW_S);
	}
	store_offline(c->core);
	return NULL;
}

static void
load(struct run *run, uint64_t random)
{
	struct store_core *sc = store_core_of(run->store, CLIENTS);

	gaps_begin(random);
	store_turn(sc, NOW_S);
	for (uint32_t n = 0; n < saved_count && !atomic_load(&run->lied); n++) {
		const uint32_t i = (uint32_t)(((uint64_t)n * 1009 + random) % saved_count);
		struct fill f;

		if (store_load_begin(sc, &f, &saved[i].item) == STORE_LOADED) {
			store_fill(sc, &f, saved[i].value, saved[i].item.value_len);
			store_load_finish(sc, &f, &saved[i].item);
		}
		store_turn(sc, NOW_S);
		store_housekeeping(sc);
	}
	store_load_end(run->store);
	store_offline(sc);
}

static bool
play(uint32_t round)
{
	static struct client clients[CLIENTS];
	struct region region = {0};
	struct run run = {.store = make(round % 2 ? SMALL_MEMORY : MEMORY, true, &region),
			  .round = round};
	pthread_t threads[CLIENTS];

	store_load_prepare(run.store, floors, 0);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){.run = &run,
					     .core = store_core_of(run.store, i),
					     .id = i,
					     .random = round * CLIENTS + i};
		for (uint32_t n = 0; n < saved_count; n++)
			clients[i].keys[atoi(saved[n].key + 4)].top = saved[n].item.cas;
		ensure(pthread_create(&threads[i], NULL, client_run, &clients[i]) == 0);
	}
	load(&run, round);
	for (uint32_t i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	free(region.base);
	return run.lied;
}

int
main(int argc, char **argv)
{
	const bool caught = argc > 1 && strcmp(argv[1], "caught") == 0;
	bool lied = false;

	if (caught)
		crash_is_harm();
	save_all();
	for (uint32_t round = 0; round < (caught ? CAUGHT_ROUNDS : ROUNDS) && !lied; round++)
		lied = play(round);
	printf("%s\n", lied ? "lied" : "no lie seen");
	return lied == caught ? 0 : 1;
}
