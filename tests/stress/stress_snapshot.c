/*
 * A snapshot beside threads that change its keys. Goal: each item of the snapshot is a value that
 * its key had at some moment between the snapshot's begin and end, whole, and once; a key that was
 * cached all the time is in it; a store that loads it gives no key a cas that the key has had.
 * Method: in each round three threads set and remove keys of their own, with the times of each
 * operation by a shared counter, while a fourth takes a snapshot; the operations of all threads
 * judge it. Small memory evicts and soon reuses it; with large memory no key may be missing.
 *
 * stress_snapshot [caught]: with "caught" the store is a mutant, and must fail.
 */
#include "caught.h"
#include "gaps.h"
#include "image/store_image.h"
#include "image/store_saved.h"
#include "store/introspect.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS       3u
#define KEYS          1500u
#define ROUNDS        10u
#define CAUGHT_ROUNDS 200u
#define OPS_MAX       60000u       /* operations of a client in a round */
#define MEMORY        (256u << 20) /* nothing is evicted: all that clients retire in a round fits */
#define SMALL_MEMORY  (24u << 20)
#define VALUE_BYTES   1400u
#define NOW_S         STORE_CLOCK_START
#define SEED          0x5eed
#define ITEMS_A_TURN  6u

/* A set, or a removal with version 0. */
struct op {
	uint32_t key, version;
	uint64_t begun, ended;
};

static struct {
	uint32_t key, version;
	struct store_saved_item item;
	char name[16];
	uint8_t value[VALUE_BYTES + 8];
} taken[KEYS + 1];
static uint32_t taken_count;

struct run {
	struct store *store;
	uint32_t round;
	_Atomic uint64_t clock;
	_Atomic bool lied, over;
	_Atomic uint32_t warm; /* clients that have stored all their keys */
	uint64_t begun, ended; /* ticks of the snapshot's begin and end */
	uint64_t floors[STORE_SAVED_FLOORS];
	enum store_snapshot_end end;
};

struct client {
	struct run *run;
	struct store_core *core;
	uint32_t id, op_count;
	uint64_t random;
	struct op ops[OPS_MAX];
	uint64_t top[KEYS]; /* the largest cas that the key has had */
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

/* Writes the value of a version. Every part of the value contains the version. */
static uint32_t
value_of(uint32_t key, uint32_t version, uint8_t *to)
{
	const uint32_t words = 2 + (key * 31 + version) % (VALUE_BYTES / 8 - 2);

	for (uint32_t i = 0; i < words; i++)
		memcpy(to + (size_t)i * 8, &(uint32_t[2]){key, version}, 8);
	return words * 8;
}

static struct store *
make(size_t memory, struct region *region)
{
	const struct store_config cfg = {.memory_bytes = memory,
					 .cores = CLIENTS + 1,
					 .value_max = STORE_VALUE_MAX,
					 .seed = SEED,
					 .loads = true};

	*region = (struct region){.size = store_bytes(&cfg)};
	region->base = aligned_alloc(4096, align_up(region->size, 4096));
	return store_create(region, &cfg);
}

/* ---- clients ---- */

static void
change(struct client *c, uint32_t key, uint32_t version)
{
	struct op *op = &c->ops[c->op_count];
	uint8_t value[VALUE_BYTES + 8];
	char name[16];
	const struct view k = name_of(key, name);
	const uint64_t hash = store_hash(c->core, k);
	const struct item *it;
	struct fill f;

	*op = (struct op){key, version, atomic_fetch_add(&c->run->clock, 1), 0};
	if (version == 0) {
		store_delete(c->core, k, hash);
	} else {
		const uint32_t len = value_of(key, version, value);

		if (store_begin(c->core, &f, k, hash, len, 0, 0) != STORE_OK)
			return;
		store_fill(c->core, &f, value, len);
		ensure(store_finish(c->core, &f, STORE_SET, 0) == STORE_OK);
	}
	op->ended = atomic_fetch_add(&c->run->clock, 1);
	c->op_count++;
	it = store_get(c->core, k, hash);
	if (it != NULL && item_cas(it) > c->top[key])
		c->top[key] = item_cas(it);
}

static void
client_turn(struct client *c)
{
	store_turn(c->core, NOW_S);
	store_housekeeping(c->core);
}

/* Sets and removes keys. It leaves a tenth of them unchanged. */
static void *
client_run(void *arg)
{
	struct client *c = arg;

	gaps_begin(c->random);
	store_turn(c->core, NOW_S);
	for (uint32_t key = c->id; key < KEYS; key += CLIENTS) {
		change(c, key, 1);
		client_turn(c);
	}
	atomic_fetch_add(&c->run->warm, 1);
	for (uint32_t n = 2; c->op_count < OPS_MAX && !atomic_load(&c->run->over); n++) {
		const uint32_t key = any(&c->random, KEYS / CLIENTS) * CLIENTS + c->id;

		if (key % 10 != 0)
			change(c, key, any(&c->random, 4) == 0 ? 0 : n);
		client_turn(c);
	}
	store_offline(c->core);
	return NULL;
}

/* ---- the snapshot ---- */

static void
take(struct store_core *sc, const struct item *it)
{
	struct store_saved_item saved;
	struct view run;

	store_snapshot_read(sc, it, &saved);
	if (taken_count == KEYS + 1 || saved.value_len > VALUE_BYTES || saved.key.len > 15)
		return;
	memcpy(taken[taken_count].name, saved.key.data, saved.key.len);
	taken[taken_count].name[saved.key.len] = '\0';
	for (uint32_t from = 0; from < saved.value_len; from += run.len) {
		run = store_value_at(sc, it, from);
		memcpy(taken[taken_count].value + from, run.data, run.len);
	}
	saved.key.data = (const uint8_t *)taken[taken_count].name;
	saved.hash = store_hash(sc, saved.key);
	taken[taken_count].item = saved;
	taken[taken_count].key = (uint32_t)atoi(taken[taken_count].name + 4);
	memcpy(&taken[taken_count].version, taken[taken_count].value + 4, sizeof(uint32_t));
	taken_count++;
}

static void
snapshot(struct run *run, uint64_t random)
{
	struct store_core *sc = store_core_of(run->store, CLIENTS);
	static struct store_snapshot snap;
	uint32_t due_s;

	gaps_begin(random);
	while (atomic_load(&run->warm) != CLIENTS)
		gaps_yield(1);
	taken_count = 0;
	store_turn(sc, NOW_S);
	run->begun = atomic_fetch_add(&run->clock, 1);
	store_snapshot_begin(sc, &snap);
	while (!snap.cursor.done) {
		store_turn(sc, NOW_S);
		for (uint32_t i = 0; i < ITEMS_A_TURN && !snap.cursor.done; i++) {
			const struct item *it = store_snapshot_next(sc, &snap);

			if (it != NULL)
				take(sc, it);
		}
		store_offline(sc);
		gaps_yield(4);
	}
	run->end = store_snapshot_end(sc, &snap, run->floors, &due_s);
	run->ended = atomic_fetch_add(&run->clock, 1);
}

/* ---- judges ---- */

/* True if the operation's value may have been its key's while the snapshot was taken. next is the
 * key's next operation, or NULL. */
static bool
was_there(const struct run *run, const struct op *op, const struct op *next)
{
	return op->begun < run->ended && (next == NULL || next->ended > run->begun);
}

static const struct op *
next_of(const struct client *c, const struct op *op)
{
	for (const struct op *next = op + 1; next < c->ops + c->op_count; next++)
		if (next->key == op->key)
			return next;
	return NULL;
}

static const struct op *
find_op(const struct client *c, uint32_t key, uint32_t version)
{
	for (uint32_t i = 0; i < c->op_count; i++)
		if (c->ops[i].key == key && c->ops[i].version == version)
			return &c->ops[i];
	return NULL;
}

static uint64_t
evicted(struct store *store)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i <= CLIENTS; i++)
		sum += counter_read(&store_counters(store_core_of(store, i))[STORE_EVICTED]);
	return sum;
}

static void
judge_items(struct run *run, const struct client *clients)
{
	uint32_t times[KEYS] = {0};
	uint8_t value[VALUE_BYTES + 8];

	for (uint32_t i = 0; i < taken_count; i++) {
		const uint32_t key = taken[i].key, version = taken[i].version;
		const struct client *c = &clients[key % CLIENTS];
		const struct op *op = key < KEYS && version != 0 ? find_op(c, key, version) : NULL;

		if (op == NULL || taken[i].item.value_len != value_of(key, version, value) ||
		    memcmp(taken[i].value, value, taken[i].item.value_len) != 0) {
			lie(run, "a value that nobody stored", key);
			return;
		}
		if (!was_there(run, op, next_of(c, op)))
			lie(run, "a value of another time", key);
		if (++times[key] > 1)
			lie(run, "a key twice", key);
	}
	for (uint32_t key = 0; key < KEYS && evicted(run->store) == 0; key += 10)
		if (find_op(&clients[key % CLIENTS], key, 1) != NULL && times[key] != 1)
			lie(run, "a key that was there all the time is missing", key);
}

/* Loads the snapshot elsewhere, and writes each key there. */
static void
judge_numbers(struct run *run, const struct client *clients)
{
	struct region region;
	struct store *store = make(SMALL_MEMORY, &region);
	struct store_core *sc = store_core_of(store, CLIENTS);
	uint8_t value[VALUE_BYTES + 8];
	char name[16];
	struct fill f;

	store_load_prepare(store, run->floors, 0);
	store_turn(sc, NOW_S);
	for (uint32_t i = 0; i < taken_count; i++) {
		if (store_load_begin(sc, &f, &taken[i].item) != STORE_LOADED)
			continue;
		store_fill(sc, &f, taken[i].value, taken[i].item.value_len);
		store_load_finish(sc, &f, &taken[i].item);
		store_turn(sc, NOW_S);
		store_housekeeping(sc);
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct view k = name_of(key, name);
		const uint64_t hash = store_hash(sc, k);
		const uint32_t len = value_of(key, 1, value);

		ensure(store_begin(sc, &f, k, hash, len, 0, 0) == STORE_OK);
		store_fill(sc, &f, value, len);
		ensure(store_finish(sc, &f, STORE_SET, 0) == STORE_OK);
		if (item_cas(store_get(sc, k, hash)) <= clients[key % CLIENTS].top[key])
			lie(run, "a number comes twice", key);
		store_turn(sc, NOW_S);
	}
	store_offline(sc);
	free(region.base);
}

static bool
play(uint32_t round)
{
	static struct client clients[CLIENTS];
	struct region region = {0};
	static struct run run;
	pthread_t threads[CLIENTS];

	memset(&run, 0, sizeof run);
	run.store = make(round % 2 ? SMALL_MEMORY : MEMORY, &region);
	run.round = round;
	atomic_store(&run.clock, 1);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		memset(&clients[i], 0, sizeof clients[i]);
		clients[i].run = &run;
		clients[i].core = store_core_of(run.store, i);
		clients[i].id = i;
		clients[i].random = round * CLIENTS + i;
		ensure(pthread_create(&threads[i], NULL, client_run, &clients[i]) == 0);
	}
	snapshot(&run, round);
	atomic_store(&run.over, true);
	for (uint32_t i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	ensure(run.end == STORE_SNAPSHOT_WHOLE);
	ensure(round % 2 != 0 || evicted(run.store) == 0);
	judge_items(&run, clients);
	if (!run.lied)
		judge_numbers(&run, clients);
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
	for (uint32_t round = 0; round < (caught ? CAUGHT_ROUNDS : ROUNDS) && !lied; round++)
		lied = play(round);
	printf("%s\n", lied ? "lied" : "no lie seen");
	return lied == caught ? 0 : 1;
}
