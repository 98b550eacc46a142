/*
 * Keys that are read and then written, among many that are stored once. Goal: an update does not
 * make its key look unused: while the hand goes round and round, none of them is evicted. Method:
 * in a full store each of some thousand counters is got and then updated, in one way after the
 * other, several times while the hand goes round; every get that misses is counted. One thread,
 * no clock: a run repeats exactly.
 *
 * stress_hot [caught [FIRST]]: with "caught" the store is a mutant, and must lose a hot key, with
 * one of the seeds from FIRST on.
 */
#include "store/conditional.h"
#include "../support/store_calls.h"
#include "image/store_image.h"

#include <stdio.h>
#include <stdlib.h>

#define HOT       4000u
#define ROUNDS    60u     /* updates of all hot keys */
#define COLD      2u      /* keys stored for each hot one that is used */
#define WARM      300000u /* keys stored first: more than there is room for */
#define TURN_OPS  16u
#define SEEDS     20u /* seeds that a mutant is run with, one after the other */
#define EXPIRES_S 1000000u
#define NUMBER    "100000                          " /* as long as others' values */

/* Memory in MB. Each size moves other pages of hot keys. */
static const size_t sizes[] = {16, 20, 10, 15, 19};

enum update { SET, INCR, APPEND, TOUCH, CAS, UPDATES };

struct run {
	struct store_core *core;
	uint64_t ops, random;
	uint32_t cold, missed, refused;
	bool used[HOT]; /* the key was used since it was stored after a miss */
};

static uint32_t
next_random(struct run *r)
{
	r->random = r->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(r->random >> 33);
}

static void
turn(struct run *r)
{
	if (r->ops++ % TURN_OPS != 0)
		return;
	store_turn(r->core, STORE_CLOCK_START);
	store_housekeeping(r->core);
}

static struct view
name_of(char *text, const char *what, uint32_t n)
{
	return (struct view){(const uint8_t *)text, (uint32_t)sprintf(text, "%s%08u", what, n)};
}

static enum store_result
store(struct run *r, struct view key, const char *value, enum store_mode mode, uint64_t cas)
{
	const uint32_t len = (uint32_t)strlen(value);
	struct fill f;
	enum store_result result =
		store_begin(r->core, &f, key, store_hash(r->core, key), len, 0, 0);

	turn(r);
	if (result == STORE_OK) {
		store_fill(r->core, &f, value, len);
		result = store_finish(r->core, &f, mode, cas);
	}
	r->refused += result == STORE_NO_MEMORY || result == STORE_NOT_YET;
	return result;
}

static void
store_cold(struct run *r)
{
	char text[32];

	store(r, name_of(text, "cold", r->cold++), "a value of 32 bytes, used by none", STORE_SET,
	      0);
}

static void
update(struct run *r, struct view key, enum update how, uint64_t cas)
{
	const uint64_t hash = store_hash(r->core, key);
	const struct item *it;
	uint64_t value;

	switch (how) {
	case SET:
		store(r, key, NUMBER, STORE_SET, 0);
		break;
	case INCR:
		store_count(r->core, key, hash, 1, false, &value);
		break;
	case APPEND:
		store(r, key, "7", STORE_APPEND, 0);
		break;
	case TOUCH:
		store_touch(r->core, key, hash, EXPIRES_S, &it);
		break;
	default:
		store(r, key, NUMBER, STORE_CAS, cas);
		break;
	}
}

static void
use(struct run *r, uint32_t n, enum update how)
{
	char text[32];
	const struct view key = name_of(text, "hot", n);
	const struct item *it = store_get(r->core, key, store_hash(r->core, key));

	turn(r);
	if (it == NULL) {
		r->missed += r->used[n];
		r->used[n] = false;
		store(r, key, NUMBER, STORE_SET, 0);
		return;
	}
	r->used[n] = true;
	update(r, key, how, item_cas(it));
}

static void
run(struct run *r)
{
	char text[32];

	store_turn(r->core, STORE_CLOCK_START);
	for (uint32_t i = 0; i < WARM; i++)
		store_cold(r);
	for (uint32_t n = 0; n < HOT; n++)
		store(r, name_of(text, "hot", n), NUMBER, STORE_SET, 0);
	for (uint32_t n = 0; n < HOT * ROUNDS; n++) {
		use(r, next_random(r) % HOT, (enum update)(next_random(r) % UPDATES));
		for (uint32_t i = 0; i < COLD; i++)
			store_cold(r);
	}
}

/* Runs with a store of this many MB. True if no hot key was lost. */
static bool
keeps_hot_keys(size_t mb, uint64_t seed)
{
	const struct store_config cfg = {
		.memory_bytes = mb << 20, .cores = 1, .value_max = STORE_VALUE_MAX, .seed = 0x5eed};
	struct region region = {.size = align_up(store_bytes(&cfg), 4096)};
	void *memory = region.base = aligned_alloc(4096, region.size);
	struct run r = {.random = seed};
	uint64_t evicted;

	if (memory == NULL)
		exit(1);
	r.core = store_core_of(store_create(&region, &cfg), 0);
	run(&r);
	evicted = counter_read(&store_counters(r.core)[STORE_EVICTED]);
	printf("%zu MB: %u of %u gets missed, %u refused, %llu evicted\n", mb, r.missed,
	       HOT * ROUNDS, r.refused, (unsigned long long)evicted);
	free(memory);
	return r.missed == 0 && r.refused == 0;
}

int
main(int argc, char **argv)
{
	const bool mutant = argc > 1 && strcmp(argv[1], "caught") == 0;
	const uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	bool kept = true;

	for (uint64_t seed = first; seed < first + (mutant ? SEEDS : 1) && kept; seed++)
		for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes && kept; i++)
			kept = keeps_hot_keys(sizes[i], seed);
	return kept == mutant;
}
